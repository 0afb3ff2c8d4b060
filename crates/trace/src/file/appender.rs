//! Appends closed chunks to the file as records, and builds the index.

use std::io::{self, Seek, Write};

use super::error::WriteTraceError;
use super::header::TraceHeader;
use super::index::{ChunkEntry, Life, TraceIndex, changes_lives, is_life};
use super::record::{Records, kind};
use crate::codec::{Body, Closer, Open, Position};
use crate::{Dependences, KernelSymbols, Mark, Placed, TaskId};

/// Maximum size of a header in bytes.
pub(super) const HEADER_BYTES: usize = 1 << 20;

/// A writer that appends finished chunks.
pub(super) struct Appender<W> {
    records: Records<W>,
    header_bytes: usize,
    symbols: KernelSymbols,
    dependences: Dependences,
    closer: Closer,
    index: TraceIndex,
    running: TaskId,
}

/// Totals of a finished trace.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Written {
    /// Number of chunks in the file. The file may have more chunks than were given, because long
    /// chunks are divided.
    pub chunks: u64,
    /// Number of instructions written.
    pub instructions: u64,
    /// Number of data references written.
    pub references: u64,
    /// Size of the file in bytes.
    pub bytes: u64,
}

impl<W: Write> Appender<W> {
    /// Begins a trace with its header.
    pub(super) fn create(into: W, header: &TraceHeader) -> Result<Self, WriteTraceError> {
        let json = encode(header)?;
        if json.len() > HEADER_BYTES {
            return Err(WriteTraceError::Header(format!("{} bytes", json.len())));
        }
        let nothing_yet = |source| WriteTraceError::Append {
            chunks: 0,
            instructions: 0,
            bytes: 0,
            source,
        };
        let closer = Closer::new().map_err(nothing_yet)?;
        let mut records = Records::begin(into);
        records
            .put(kind::HEADER, &Body::whole(&json))
            .map_err(nothing_yet)?;
        Ok(Appender {
            records,
            header_bytes: json.len(),
            symbols: KernelSymbols::default(),
            dependences: Dependences::default(),
            closer,
            index: TraceIndex::default(),
            running: TaskId::NONE,
        })
    }

    /// Sets the kernel's symbols, which are written at the end of the trace.
    pub(super) fn name_symbols(&mut self, symbols: KernelSymbols) {
        self.symbols = symbols;
    }

    /// Sets the dependences of blocks, which are written at the end of the trace.
    pub(super) fn set_dependences(&mut self, dependences: Dependences) {
        self.dependences = dependences;
    }

    /// Ends the trace with its index. Returns the flushed writer and the totals.
    pub(super) fn finish(mut self) -> Result<(W, Written), WriteTraceError> {
        self.end().map_err(|source| self.failed(source))?;
        let written = self.written();
        Ok((self.records.into_inner(), written))
    }

    fn end(&mut self) -> io::Result<()> {
        let at = self.records.bytes().to_le_bytes();
        let index = self.index.encode().map_err(io::Error::other)?;
        self.records.put(kind::INDEX, &Body::whole(&index))?;
        if !self.symbols.is_empty() {
            self.records
                .put(kind::KERNEL_SYMBOLS, &Body::whole(&self.symbols.encode()?))?;
        }
        if !self.dependences.is_empty() {
            let body = self.dependences.encode()?;
            self.records.put(kind::DEPENDENCES, &Body::whole(&body))?;
        }
        self.records.put(kind::FOOTER, &Body::whole(&at))?;
        self.records.get_mut().flush()
    }

    /// Returns the totals written so far.
    pub(super) fn written(&self) -> Written {
        Written {
            chunks: self.index.chunks.len() as u64,
            instructions: self.index.instructions,
            references: self.index.references,
            bytes: self.records.bytes(),
        }
    }

    /// Returns the output to which the trace is written.
    pub(super) fn get_ref(&self) -> &W {
        self.records.get_ref()
    }

    /// Closes a chunk and appends it to the file. Positions of marks are counted from
    /// `first_block`.
    pub(super) fn close(
        &mut self,
        open: &Open,
        marks: &[Placed],
        first_block: usize,
    ) -> Result<(), WriteTraceError> {
        let at = Position {
            instruction: self.index.instructions,
            block: self.index.blocks,
            running: self.running,
        };
        let offset = self.records.bytes();
        let closed = self.closer.close(open, marks, first_block, at);
        let head =
            closed.and_then(|(head, body)| self.records.put(kind::CHUNK, &body).map(|()| head));
        let head = head.map_err(|source| self.failed(source))?;
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
                self.index.lives.push(Life {
                    chunk,
                    before_block,
                    mark: placed.mark.clone(),
                });
            }
        }
        self.index.chunks.push(entry);
    }

    /// Replaces the header by one that takes as many bytes.
    pub(super) fn replace_header(&mut self, header: &TraceHeader) -> Result<(), WriteTraceError>
    where
        W: Seek,
    {
        let json = encode(header)?;
        if json.len() != self.header_bytes {
            return Err(WriteTraceError::Header(format!("{} bytes", json.len())));
        }
        self.records
            .replace_first(kind::HEADER, &Body::whole(&json))
            .map_err(|source| self.failed(source))
    }

    pub(super) fn failed(&self, source: io::Error) -> WriteTraceError {
        WriteTraceError::Append {
            chunks: self.index.chunks.len() as u64,
            instructions: self.index.instructions,
            bytes: self.records.bytes(),
            source,
        }
    }
}

fn encode(header: &TraceHeader) -> Result<Vec<u8>, WriteTraceError> {
    header
        .write_json()
        .map_err(|why| WriteTraceError::Header(why.to_string()))
}
