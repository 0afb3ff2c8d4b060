//! Decodes the words of shared buffers into chunks. The input is buffers in the order of their
//! submission; the output is chunks whose tasks and address spaces are numbered in order of birth.
//! Any words give chunks or an error, never a panic, and memory stays bounded.

mod dependences;
mod marks;
mod runs;
mod shapes;
mod slots;
mod stamps;
mod take;
#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use switchcost_trace::{Mark, OwnWords, ReadWords};

use crate::protocol::{NOT_DONE, tag};
pub(crate) use runs::is_birth;
use slots::Slots;
pub(crate) use stamps::{Counts, Left, Stamp};
pub(crate) use take::{Chunks, Refused, Take};

/// A problem in the records that a tracing tool wrote, and its position. A message prints "buffer
/// 3, word 17: ...".
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("buffer {buffer}, word {word}: {problem}")]
pub struct DecodeError {
    /// Number of the buffer in the order of submission, from 0.
    pub buffer: u64,
    /// Index of the word in the buffer, from 0.
    pub word: usize,
    /// The problem at the word.
    pub problem: Problem,
}

/// Problem with a word of the records that a tracing tool wrote.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Problem {
    /// The tag belongs to no known record.
    #[error("found the unknown tag {0:#x}")]
    Tag(u8),
    /// The record crosses the end of the buffer, or is too short for its kind.
    #[error("found a record cut short")]
    Short,
    /// An executed block names a shape (constant part of executed code) that is not defined.
    #[error("found a block of the undefined shape {0}")]
    Shape(u64),
    /// The definition of a shape (constant part of executed code) is invalid.
    #[error("found an impossible shape: {0}")]
    Unfit(String),
    /// The trace defines more shapes (constant parts of executed code), or more references of
    /// shapes, than can be stored.
    #[error("found more shapes than fit into memory")]
    TooManyShapes,
    /// A slot number has no task, or is out of range.
    #[error("found slot {0}, which has no task")]
    Slot(u64),
    /// The number for the cause of a switch is unknown.
    #[error("found the unknown cause {0}")]
    Cause(u64),
    /// The number for the reason why a task stopped executing is unknown.
    #[error("found the unknown end {0} of a run")]
    Leave(u64),
    /// In an as-run capture, a task begins to execute without a time stamp.
    #[error("found a run that begins without a time stamp")]
    NoStamp,
}

/// Why decoding stopped.
#[derive(Debug)]
pub(crate) enum Stopped<E> {
    /// The stream is not valid.
    Damaged(DecodeError),
    /// The receiver of the chunks refused a chunk.
    Refused(E),
}

/// Decoder of words into blocks and marks, which are passed to a receiver.
pub(crate) struct Decoder<'a, T> {
    take: &'a mut T,
    slots: Slots,
    switches: u64,
    all_switches: u64,
    is_as_run: bool,
    is_system: bool,
    most_switches: Option<u64>,
    left: Option<Left>,
    ended: Vec<u32>,
}

impl<'a, T: Take> Decoder<'a, T> {
    /// Creates a decoder. `names` are the names of the commands, in the order in which they start.
    pub(crate) fn new(names: Vec<Vec<u8>>, take: &'a mut T) -> Self {
        Decoder {
            take,
            slots: Slots::new(names),
            switches: 0,
            all_switches: 0,
            is_as_run: false,
            is_system: false,
            most_switches: None,
            left: None,
            ended: Vec::new(),
        }
    }

    /// Makes the decoder stop after `most_switches` switches; `None` for no limit.
    pub(crate) fn up_to(self, most_switches: Option<u64>) -> Self {
        Decoder {
            most_switches,
            ..self
        }
    }

    /// Returns whether the limit of switches was reached.
    pub(crate) fn has_all(&self) -> bool {
        self.most_switches.is_some_and(|most| self.switches >= most)
    }

    /// Returns the number of switches away from a task so far.
    pub(crate) fn switches(&self) -> u64 {
        self.switches
    }

    /// Returns the number of switches so far, including switches from no task.
    pub(crate) fn count_all_switches(&self) -> u64 {
        self.all_switches
    }

    /// Returns the number of instructions in the blocks decoded so far. Instructions of an
    /// unfinished chunk may be missing before [`Decoder::flush`].
    pub(crate) fn instructions(&self) -> u64 {
        self.take.instructions()
    }

    /// Decodes buffer number `order`, and passes full chunks on.
    pub(crate) fn buffer(
        &mut self,
        order: u64,
        words: &[AtomicU64],
    ) -> Result<(), Stopped<T::Error>> {
        self.buffer_from(order, words, 0)
    }

    /// Decodes buffer number `order` from word `from` on.
    pub(crate) fn buffer_from(
        &mut self,
        order: u64,
        words: &[AtomicU64],
        from: usize,
    ) -> Result<(), Stopped<T::Error>> {
        // Nearly all words are simple blocks, which are decoded in groups. All others are decoded
        // one by one.
        let mut at = from;
        let damaged = |word, problem| {
            Stopped::Damaged(DecodeError {
                buffer: order,
                word,
                problem,
            })
        };
        while at < words.len() && !self.has_all() {
            let numbers = self.slots.running().numbers();
            let taken = self
                .take
                .shapes::<SharedWords>(&words[at..], numbers)
                .map_err(Stopped::Refused)?;
            if taken == 0 {
                let Some(word) = words.get(at) else { break };
                at += if word.load(Relaxed) >> 56 == tag::BLOCK {
                    self.guarded(&words[at..], |problem| damaged(at, problem))?
                } else {
                    let (mark, length) = self
                        .record(&words[at..])
                        .map_err(|problem| damaged(at, problem))?;
                    if let Some(mark) = mark {
                        self.take.mark(mark).map_err(Stopped::Refused)?;
                    }
                    length
                };
            } else {
                at += taken;
            }
        }
        Ok(())
    }

    /// Does other work while there is no buffer to decode. Returns whether anything was done.
    pub(crate) fn use_time(&mut self) -> bool {
        self.take.use_time()
    }

    /// Passes on the current chunk, although it is not full.
    pub(crate) fn flush(&mut self) -> Result<(), T::Error> {
        self.take.flush()
    }

    /// Decodes a block some of whose references may not have happened, as in a masked move. Returns
    /// the block's length in words.
    #[cold]
    fn guarded(
        &mut self,
        words: &[AtomicU64],
        damaged: impl Fn(Problem) -> Stopped<T::Error>,
    ) -> Result<usize, Stopped<T::Error>> {
        let (id, explicit) = block_head(words[0].load(Relaxed));
        let addresses = words
            .get(1..=explicit)
            .ok_or_else(|| damaged(Problem::Short))?;
        let shapes = self.slots.running();
        let problem = || {
            if shapes.plain(id).is_some() {
                Problem::Short
            } else {
                Problem::Shape(id.into())
            }
        };
        let guarded = shapes
            .guarded(id)
            .map(Arc::clone)
            .ok_or_else(|| damaged(problem()))?;
        let addresses: Vec<u64> = addresses
            .iter()
            .map(|address| address.load(Relaxed))
            .collect();
        let is_done = |number: usize| {
            addresses
                .get(number)
                .is_some_and(|&address| address != NOT_DONE)
        };
        let done = guarded.remove_undone(is_done).map_err(&damaged)?;
        let shape = self
            .take
            .define(&done.blocks, &done.forms)
            .map_err(&damaged)?;
        let happened = addresses.into_iter().filter(|&address| address != NOT_DONE);
        let mut ran: Vec<u64> = std::iter::once(0).chain(happened).collect();
        ran[0] = (ran.len() as u64 - 1) << 32;
        let taken = self
            .take
            .shapes::<OwnWords>(&ran, &[shape])
            .map_err(Stopped::Refused)?;
        if taken == ran.len() {
            Ok(explicit + 1)
        } else {
            Err(damaged(Problem::Short))
        }
    }

    /// Decodes a record other than a block. Returns the mark for which the record stands, if any,
    /// and the record's length in words.
    fn record(&mut self, words: &[AtomicU64]) -> Result<(Option<Mark>, usize), Problem> {
        let head = words[0].load(Relaxed);
        let (tag, count, immediate) = (
            head >> 56,
            (head >> 48 & 0xff) as usize,
            head & 0xffff_ffff_ffff,
        );
        // A record's number of words has eight bits.
        let mut operands = [0; 255];
        let body = words.get(1..=count).ok_or(Problem::Short)?;
        for (operand, word) in operands.iter_mut().zip(body) {
            *operand = word.load(Relaxed);
        }
        let mark = self.apply(tag, immediate, &operands[..count])?;
        Ok((mark, count + 1))
    }
}

/// Returns the number of an executed shape, and the number of explicit addresses that follow the
/// word `head`.
#[inline(always)]
fn block_head(head: u64) -> (u32, usize) {
    (head as u32, (head >> 32 & 0xff) as usize)
}

/// Words of buffers that the traced processes write. Blocks have the form that
/// [`switchcost_trace::Recorder::take`] reads. In other records, the tag makes the number of
/// addresses larger than that of any shape, so that the reader stops there.
enum SharedWords {}

const _: () = assert!(tag::BLOCK == 0, "blocks have no tag to take off");

impl ReadWords for SharedWords {
    type Word = AtomicU64;

    #[inline(always)]
    fn one(word: &AtomicU64) -> u64 {
        word.load(Relaxed)
    }

    #[inline(always)]
    fn four(words: &[AtomicU64; 4]) -> [u64; 4] {
        switchcost_host::shared_file::read(words)
    }
}
