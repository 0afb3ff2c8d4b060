//! From the words of the shared buffers to chunks. What comes in: buffers in the order of their submission. What goes
//! out: chunks with tasks and address spaces counted in order of birth. Any words whatever give chunks or an error,
//! never a panic, and memory stays bounded.

mod marks;
mod shapes;
mod spaces;
#[cfg(test)]
mod tests;

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use trace::{Block, Chunk, Reference};

use crate::protocol::{NOT_DONE, tag};
use shapes::{Shapes, Template};
use spaces::Spaces;

/// What is wrong with a stream. Reads well behind "buffer 3, word 17: ".
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("buffer {buffer}, word {word}: {problem}")]
pub struct DecodeError {
    /// Order of the buffer, from 0.
    pub buffer: u64,
    /// Word in the buffer, from 0.
    pub word: usize,
    /// What it is.
    pub problem: Problem,
}

/// What can be wrong with a word.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Problem {
    /// A tag that means nothing.
    #[error("found the unknown tag {0:#x}")]
    Tag(u8),
    /// A record that crosses the end of the buffer or is too short.
    #[error("found a record cut short")]
    Short,
    /// A block of a shape that was not defined.
    #[error("found a block of the undefined shape {0}")]
    Shape(u64),
    /// A shape that is none.
    #[error("found an impossible shape: {0}")]
    Unfit(String),
    /// More shapes than are kept.
    #[error("found more shapes than fit into memory")]
    TooManyShapes,
    /// A slot without a task, or out of range.
    #[error("found slot {0}, which has no task")]
    Slot(u64),
    /// A switch for no known reason.
    #[error("found the unknown cause {0}")]
    Cause(u64),
}

/// Receives whole chunks; what it leaves in one is thrown away.
pub(crate) type Emit<'a, E> = &'a mut dyn FnMut(&mut Chunk) -> Result<(), E>;

/// Why decoding stopped.
#[derive(Debug)]
pub(crate) enum Stopped<E> {
    /// By the stream.
    Damaged(DecodeError),
    /// By whoever takes the chunks.
    Refused(E),
}

/// What has been decoded so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Counts {
    pub(crate) switches: u64,
    pub(crate) instructions: u64,
}

/// The decoder's memory between buffers.
#[derive(Debug)]
pub(crate) struct Decoder {
    chunk: Chunk,
    spaces: Spaces,
    counts: Counts,
}

impl Decoder {
    /// `names` are those of the commands, in the order of their start.
    pub(crate) fn new(names: Vec<Vec<u8>>) -> Decoder {
        Decoder { chunk: Chunk::default(), spaces: Spaces::new(names), counts: Counts::default() }
    }

    pub(crate) fn counts(&self) -> Counts {
        self.counts
    }

    /// Decodes one buffer, handing on each chunk that is full.
    pub(crate) fn buffer<E>(&mut self, order: u64, words: &[AtomicU64], emit: Emit<'_, E>) -> Result<(), Stopped<E>> {
        let mut at = 0;
        let damaged = |word, problem| Stopped::Damaged(DecodeError { buffer: order, word, problem });
        while at < words.len() {
            let (end, instructions) = blocks(self.spaces.running(), words, at, &mut self.chunk)
                .map_err(|(word, problem)| damaged(word, problem))?;
            self.counts.instructions += instructions;
            at = end;
            if is_full(&self.chunk) {
                self.flush(emit).map_err(Stopped::Refused)?;
            } else if at < words.len() {
                at += self.record(&words[at..]).map_err(|problem| damaged(at, problem))?;
            }
        }
        Ok(())
    }

    /// Hands on what has not been handed on yet.
    pub(crate) fn flush<E>(&mut self, emit: Emit<'_, E>) -> Result<(), E> {
        if !self.chunk.is_empty() {
            emit(&mut self.chunk)?;
            self.chunk.clear();
        }
        Ok(())
    }

    /// Decodes a record other than a block; returns its length.
    fn record(&mut self, words: &[AtomicU64]) -> Result<usize, Problem> {
        let head = words[0].load(Relaxed);
        let (tag, count, immediate) = (head >> 56, (head >> 48 & 0xff) as usize, head & 0xffff_ffff_ffff);
        let mut operands = [0; 255];
        let body = words.get(1..=count).ok_or(Problem::Short)?;
        for (operand, word) in operands.iter_mut().zip(body) {
            *operand = word.load(Relaxed);
        }
        self.apply(tag, immediate, &operands[..count])?;
        Ok(count + 1)
    }
}

/// References in a chunk before it is cut: some more than its blocks have in any usual program.
const MOST_REFERENCES: usize = 8 * Chunk::BLOCKS;
const MOST_MARKS: usize = Chunk::BLOCKS / 4;

fn is_full(chunk: &Chunk) -> bool {
    chunk.blocks.len() >= Chunk::BLOCKS || chunk.references.len() >= MOST_REFERENCES || chunk.marks.len() >= MOST_MARKS
}

/// Decodes blocks until another record, the end of the words or of the chunk; returns where, and how many instructions
/// the blocks have.
fn blocks(
    shapes: &Shapes,
    words: &[AtomicU64],
    start: usize,
    chunk: &mut Chunk,
) -> Result<(usize, u64), (usize, Problem)> {
    let mut batch =
        Batch { blocks: [Block::default(); BATCH], references: [Reference(0); BATCH_REFERENCES], instructions: 0 };
    let mut at = start;
    while !is_full(chunk) {
        let end = batch.fill(shapes, words, at, chunk)?;
        if end == at {
            break;
        }
        at = end;
    }
    Ok((at, batch.instructions))
}

const BATCH: usize = 64;
const BATCH_REFERENCES: usize = 512;

/// Blocks on their way to the chunk: the hot loop keeps its counts in registers, as no vector grows in it.
struct Batch {
    blocks: [Block; BATCH],
    references: [Reference; BATCH_REFERENCES],
    instructions: u64,
}

impl Batch {
    /// Decodes some blocks and appends them to the chunk; returns where it stopped.
    fn fill(
        &mut self,
        shapes: &Shapes,
        words: &[AtomicU64],
        start: usize,
        chunk: &mut Chunk,
    ) -> Result<usize, (usize, Problem)> {
        let room = BATCH.min(Chunk::BLOCKS - chunk.blocks.len());
        let (mut at, mut count, mut used) = (start, 0, 0);
        for place in &mut self.blocks[..room] {
            let Some(word) = words.get(at) else { break };
            let head = word.load(Relaxed);
            if head >> 56 != tag::BLOCK {
                break;
            }
            let shape = shapes.get(head as u32).ok_or((at, Problem::Shape(head & 0xffff_ffff)))?;
            let templates = shapes.templates(shape);
            let addresses = words.get(at + 1..at + 1 + templates.len()).ok_or((at, Problem::Short))?;
            let Some(places) = self.references.get_mut(used..used + templates.len()) else { break };
            *place = shape.block;
            let is_any_undone = fill_in(templates, addresses, places);
            if is_any_undone {
                place.references = shapes::leave_undone_out(places, addresses);
            }
            used += usize::from(place.references);
            self.instructions += u64::from(place.instructions);
            at += 1 + templates.len();
            count += 1;
        }
        chunk.blocks.extend_from_slice(&self.blocks[..count]);
        chunk.references.extend_from_slice(&self.references[..used]);
        Ok(at)
    }
}

/// The references of a block. Returns whether any did not happen.
#[inline(always)]
fn fill_in(templates: &[Template], addresses: &[AtomicU64], places: &mut [Reference]) -> bool {
    let mut is_any_undone = false;
    for ((place, address), template) in places.iter_mut().zip(addresses).zip(templates) {
        let address = address.load(Relaxed);
        is_any_undone |= address == NOT_DONE;
        *place = template.at(address);
    }
    is_any_undone
}
