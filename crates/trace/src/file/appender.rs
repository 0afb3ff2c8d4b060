//! The file at its end: chunks that are ready become records, and the index grows with them.

use std::io::{self, Write};

use super::error::WriteTraceError;
use super::header::TraceHeader;
use super::index::{ChunkEntry, Life, TraceIndex, changes_lives, is_life};
use super::record::{Head, MAGIC, kind};
use crate::codec::{ChunkHead, Closer, Open, Position};
use crate::{Mark, Placed, TaskId};

/// The longest header in bytes.
pub(super) const HEADER_BYTES: usize = 1 << 20;

/// Appends chunks that are ready to be closed.
pub(super) struct Appender<W> {
    into: W,
    closer: Closer,
    body: Vec<u8>,
    index: TraceIndex,
    running: TaskId,
    records: u32,
    bytes: u64,
    /// A part of a record may stand at the end: nothing can follow it.
    is_broken: bool,
}

/// What a finished trace holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Written {
    /// Chunks in the file: more than were given, where long ones were divided.
    pub chunks: u64,
    /// Instructions.
    pub instructions: u64,
    /// Data references.
    pub references: u64,
    /// Bytes of the whole file.
    pub bytes: u64,
}

impl<W: Write> Appender<W> {
    /// Begins a trace.
    pub(super) fn create(into: W, header: &TraceHeader) -> Result<Self, WriteTraceError> {
        let json = header.to_json().map_err(|why| WriteTraceError::Header(why.to_string()))?;
        if json.len() > HEADER_BYTES {
            return Err(WriteTraceError::Header(format!("{} bytes", json.len())));
        }
        let nothing_yet = |source| WriteTraceError::Append { chunks: 0, instructions: 0, bytes: 0, source };
        let closer = Closer::new().map_err(nothing_yet)?;
        let (body, index) = (json, TraceIndex::default());
        let mut writer =
            Appender { into, closer, body, index, running: TaskId::NONE, records: 0, bytes: 0, is_broken: false };
        writer.into.write_all(&MAGIC).map_err(nothing_yet)?;
        writer.bytes = MAGIC.len() as u64;
        writer.record(kind::HEADER)?;
        Ok(writer)
    }

    /// Ends the trace with its index, and hands back what it was written to, flushed.
    pub(super) fn finish(mut self) -> Result<(W, Written), WriteTraceError> {
        let at = self.bytes;
        self.body = self.index.encode().map_err(|why| self.failed(io::Error::other(why)))?;
        self.record(kind::INDEX)?;
        self.body = at.to_le_bytes().to_vec();
        self.record(kind::FOOTER)?;
        self.into.flush().map_err(|source| self.failed(source))?;
        let written = self.written();
        Ok((self.into, written))
    }

    /// What was written so far.
    pub(super) fn written(&self) -> Written {
        Written {
            chunks: self.index.chunks.len() as u64,
            instructions: self.index.instructions,
            references: self.index.references,
            bytes: self.bytes,
        }
    }

    /// What it is written to.
    pub(super) fn get_ref(&self) -> &W {
        &self.into
    }

    /// Closes a chunk and appends it. The places of the marks are counted from `first_block`.
    pub(super) fn close(&mut self, open: &Open, marks: &[Placed], first_block: usize) -> Result<(), WriteTraceError> {
        let at = Position { instruction: self.index.instructions, block: self.index.blocks, running: self.running };
        let closed = self.closer.close(open, marks, first_block, at, &mut self.body);
        let head = closed.map_err(|source| self.failed(source))?;
        self.append(&head, marks, first_block, at)
    }

    fn append(
        &mut self,
        head: &ChunkHead,
        marks: &[Placed],
        first_block: usize,
        at: Position,
    ) -> Result<(), WriteTraceError> {
        let offset = self.bytes;
        self.record(kind::CHUNK)?;
        self.enter(marks, first_block, at, offset);
        self.index.instructions += head.instructions;
        self.index.blocks += u64::from(head.blocks);
        self.index.references += u64::from(head.references);
        self.index.marks += u64::from(head.marks);
        Ok(())
    }

    fn enter(&mut self, marks: &[Placed], first_block: usize, at: Position, offset: u64) {
        let chunk = self.index.chunks.len() as u64;
        let mut entry = ChunkEntry {
            offset,
            first_instruction: at.instruction,
            first_block: at.block,
            running: at.running,
            changes_lives: false,
        };
        for placed in marks {
            entry.changes_lives |= changes_lives(&placed.mark);
            if let Mark::Switch { to, .. } = placed.mark {
                self.running = to;
            }
            if is_life(&placed.mark) {
                let before_block = at.block + u64::from(placed.before_block) - first_block as u64;
                self.index.lives.push(Life { chunk, before_block, mark: placed.mark.clone() });
            }
        }
        self.index.chunks.push(entry);
    }

    fn record(&mut self, kind: u16) -> Result<(), WriteTraceError> {
        if self.is_broken {
            return Err(self.failed(io::Error::other("an earlier chunk did not fit")));
        }
        let head = Head::of(kind, self.records, &self.body);
        let outcome = self.into.write_all(&head.bytes()).and_then(|()| self.into.write_all(&self.body));
        if let Err(source) = outcome {
            self.is_broken = true;
            return Err(self.failed(source));
        }
        self.records += 1;
        self.bytes += (head.bytes().len() + self.body.len()) as u64;
        Ok(())
    }

    pub(super) fn failed(&self, source: io::Error) -> WriteTraceError {
        WriteTraceError::Append {
            chunks: self.index.chunks.len() as u64,
            instructions: self.index.instructions,
            bytes: self.bytes,
            source,
        }
    }
}
