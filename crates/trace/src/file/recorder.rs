//! Writes a trace block by block: for frontends that know the shapes of blocks, and are in a hurry.

use std::io::Write;

use super::error::WriteTraceError;
use super::header::TraceHeader;
use super::writer::{TraceWriter, Written};
use crate::codec::{self, BlockSource, limits};
use crate::shape::{Form, UnfitShape};
use crate::{Block, Mark, Placed};

/// The number of a shape with one [`Recorder`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ShapeId(u32);

impl ShapeId {
    /// As a number, never 0.
    pub fn number(self) -> u32 {
        self.0
    }
}

/// Writes a trace block by block. Chunks are cut where they are full; what is in the open one is lost unless
/// [`Recorder::finish`] is called.
pub struct Recorder<W> {
    writer: TraceWriter<W>,
    marks: Vec<Placed>,
    mark_bytes: usize,
}

impl<W: Write> Recorder<W> {
    /// Begins a trace.
    pub fn create(into: W, header: &TraceHeader) -> Result<Self, WriteTraceError> {
        let mut writer = TraceWriter::create(into, header)?;
        writer.encoder.begin();
        Ok(Recorder { writer, marks: Vec::new(), mark_bytes: 0 })
    }

    /// The number of a shape, the same for the same one.
    pub fn define(&mut self, block: &Block, forms: &[Form]) -> Result<ShapeId, UnfitShape> {
        self.writer.encoder.define(block, forms).map(ShapeId)
    }

    /// How many shapes and references of shapes are kept in memory.
    pub fn kept(&self) -> (usize, usize) {
        (self.writer.encoder.shapes(), self.writer.encoder.forms())
    }

    /// Appends blocks until the source has none, or has one that does not fit its shape. Cuts chunks where they are
    /// full.
    pub fn take<S: BlockSource>(&mut self, source: &mut S) -> Result<(), WriteTraceError> {
        while self.writer.encoder.take(source) {
            self.cut()?;
        }
        Ok(())
    }

    /// Appends a mark behind all blocks so far.
    pub fn mark(&mut self, mark: Mark) -> Result<(), WriteTraceError> {
        if let Some(found) = codec::oversized(&mark) {
            return Err(WriteTraceError::Text { mark: self.marks.len(), found, most: limits::TEXT_BYTES });
        }
        let bytes = codec::text_bytes(&mark);
        if self.marks.len() >= limits::CUT_MARKS || self.mark_bytes + bytes > limits::CUT_MARK_BYTES {
            self.cut()?;
        }
        self.mark_bytes += bytes;
        self.marks.push(Placed { before_block: self.writer.encoder.blocks() as u32, mark });
        Ok(())
    }

    /// Ends the open chunk, if there is anything in it.
    pub fn cut(&mut self) -> Result<(), WriteTraceError> {
        if self.writer.encoder.blocks() > 0 || !self.marks.is_empty() {
            self.writer.close(&self.marks)?;
            self.writer.encoder.begin();
            self.marks.clear();
            self.mark_bytes = 0;
        }
        Ok(())
    }

    /// What was written so far, without the open chunk.
    pub fn written(&self) -> Written {
        self.writer.written()
    }

    /// Ends the trace with its index, and hands back what it was written to, flushed.
    pub fn finish(mut self) -> Result<(W, Written), WriteTraceError> {
        self.cut()?;
        self.writer.finish()
    }
}
