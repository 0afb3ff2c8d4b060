//! Writes a trace shape by shape, for fast frontends that know the shapes of blocks.

use std::io::Write;

use super::appender::{Appender, Written};
use super::behind::Behind;
use super::error::WriteTraceError;
use super::header::TraceHeader;
use crate::codec::{self, ChunkEncoder, ReadWords, limits};
use crate::shape::{ShapeReference, UnfitShape};
use crate::{Block, Dependences, KernelSymbols, Mark, Placed};

/// Number of a shape that was defined by [`Recorder::define`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ShapeId(u32);

impl ShapeId {
    /// Returns the number, which is never 0.
    pub fn number(self) -> u32 {
        self.0
    }
}

/// Writer of a trace that takes one shape at a time. A separate thread packs and writes full
/// chunks. The open chunk is lost unless [`Recorder::finish`] is called.
pub struct Recorder<W> {
    encoder: ChunkEncoder,
    behind: Behind<W>,
    marks: Vec<Placed>,
    mark_bytes: usize,
    instructions: u64,
    dependences: Dependences,
}

impl<W: Write + Send + 'static> Recorder<W> {
    /// Begins a trace with its header.
    pub fn create(into: W, header: &TraceHeader) -> Result<Self, WriteTraceError> {
        let behind = Behind::new(Appender::create(into, header)?)?;
        let mut encoder = ChunkEncoder::new();
        encoder.begin();
        Ok(Recorder {
            encoder,
            behind,
            marks: Vec::new(),
            mark_bytes: 0,
            instructions: 0,
            dependences: Dependences::default(),
        })
    }

    /// Defines a shape (blocks that run one after the other, and the forms of their references) and
    /// returns its number. Equal shapes get the same number.
    pub fn define(
        &mut self,
        blocks: &[Block],
        forms: &[ShapeReference],
    ) -> Result<ShapeId, UnfitShape> {
        self.encoder.define(blocks, forms).map(ShapeId)
    }

    /// Returns the number of defined shapes in memory, and the number of their references (see
    /// [`Recorder::define`]).
    pub fn kept(&self) -> (usize, usize) {
        (self.encoder.shapes(), self.encoder.forms())
    }

    /// Appends executed shapes, and returns the number of words taken. Each shape is a head and its
    /// explicit addresses, of which the lower 48 bits count. The lower half of a head is the
    /// caller's number for the shape, the upper half the number of addresses. Stops before an
    /// unknown shape, or a shape with a wrong number of addresses. Full chunks are closed.
    ///
    /// `numbers` maps the caller's numbers to [`ShapeId::number`]. An undefined shape has 0, or a
    /// number that no shape has.
    ///
    /// # Errors
    ///
    /// If an earlier chunk could not be written.
    pub fn take<R: ReadWords>(
        &mut self,
        words: &[R::Word],
        numbers: &[u32],
    ) -> Result<usize, WriteTraceError> {
        let mut taken = 0;
        loop {
            let (more, is_full) = self
                .encoder
                .take::<R>(words.get(taken..).unwrap_or_default(), numbers);
            taken += more;
            if !is_full {
                return Ok(taken);
            }
            self.cut()?;
        }
    }

    /// Appends a mark after all blocks so far.
    pub fn mark(&mut self, mark: Mark) -> Result<(), WriteTraceError> {
        if let Some(found) = codec::oversized(&mark) {
            return Err(WriteTraceError::Text {
                mark: self.marks.len(),
                found,
                most: limits::TEXT_BYTES,
            });
        }
        let bytes = codec::text_bytes(&mark);
        if self.marks.len() >= limits::CUT_MARKS || self.mark_bytes + bytes > limits::CUT_MARK_BYTES
        {
            self.cut()?;
        }
        self.mark_bytes += bytes;
        self.marks.push(Placed {
            before_block: self.encoder.blocks() as u32,
            mark,
        });
        Ok(())
    }

    /// Ends the open chunk, if it is not empty.
    ///
    /// # Errors
    ///
    /// If an earlier chunk could not be written. The open chunk stays open then.
    pub fn cut(&mut self) -> Result<(), WriteTraceError> {
        if self.encoder.blocks() > 0 || !self.marks.is_empty() {
            let (spare, no_marks) = self.behind.spare()?;
            let open = self.encoder.exchange(spare);
            self.instructions += open.totals().instructions;
            self.behind
                .append(open, std::mem::replace(&mut self.marks, no_marks));
            self.mark_bytes = 0;
        }
        Ok(())
    }

    /// Writes a closed chunk that waits, unless another thread is writing. Returns whether a chunk
    /// was written.
    pub fn write_one(&mut self) -> bool {
        self.behind.write_one()
    }

    /// Returns the number of instructions in all closed chunks.
    pub fn instructions(&self) -> u64 {
        self.instructions
    }

    /// Sets the symbols of the traced kernel, which are written at the end of the trace.
    pub fn name_symbols(&mut self, symbols: KernelSymbols) {
        self.behind.name_symbols(symbols);
    }

    /// Returns the dependences of blocks, which are written at the end of the trace.
    pub fn dependences(&mut self) -> &mut Dependences {
        &mut self.dependences
    }

    /// Ends the trace with its index, flushes the output, and returns it with the totals.
    pub fn finish(mut self) -> Result<(W, Written), WriteTraceError> {
        let cut = self.cut();
        let finished = self.behind.finish(self.dependences);
        cut.and(finished)
    }
}
