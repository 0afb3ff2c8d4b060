use std::io::Read;

use super::appender::HEADER_BYTES;
use super::error::{Before, ReadTraceError};
use super::header::TraceHeader;
use super::index::TraceIndex;
use super::record::{HEAD_BYTES, Head, MAGIC, kind, read_up_to};
use crate::codec::{ChunkDecoder, limits};
use crate::{Chunk, TaskId};

/// Position and facts of the last chunk read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ChunkPlace {
    /// Number of the chunk in the file, from 0.
    pub number: u64,
    /// Byte of the file at which the chunk's record begins.
    pub offset: u64,
    /// Number of the chunk's first instruction in the trace, from 0.
    pub first_instruction: u64,
    /// Number of the chunk's first block in the trace, from 0.
    pub first_block: u64,
    /// Task that runs at the chunk's start.
    pub running: TaskId,
}

/// Reader of a trace from its start, one chunk after the other.
pub struct TraceReader<R> {
    from: R,
    header: TraceHeader,
    decoder: ChunkDecoder,
    body: Vec<u8>,
    place: ChunkPlace,
    before: Before,
    blocks: u64,
    offset: u64,
    records: u32,
    index: Option<TraceIndex>,
    is_over: bool,
}

impl<R: Read> TraceReader<R> {
    /// Begins to read a trace: reads the magic number and the header.
    pub fn new(mut from: R) -> Result<Self, ReadTraceError> {
        check_magic(&mut from)?;
        let header = TraceHeader::new("", super::TraceOrder::Imported, "");
        let decoder = ChunkDecoder::new().map_err(ReadTraceError::Resources)?;
        let mut reader = TraceReader {
            from,
            header,
            decoder,
            body: Vec::new(),
            place: ChunkPlace::default(),
            before: Before::default(),
            blocks: 0,
            offset: MAGIC.len() as u64,
            records: 0,
            index: None,
            is_over: false,
        };
        match reader.record()? {
            Some(head) if head.kind == kind::HEADER => {
                reader.header = TraceHeader::read_json(&reader.body)?;
                Ok(reader)
            }
            _ => Err(ReadTraceError::NoTrace(
                "its first record is no header".to_owned(),
            )),
        }
    }

    /// Returns the header of the trace.
    pub fn header(&self) -> &TraceHeader {
        &self.header
    }

    /// Reads the next chunk into `chunk`, reusing its memory. Returns false at the end of a
    /// complete trace; `chunk` is empty then and after errors.
    ///
    /// # Errors
    ///
    /// One error after the last complete chunk of a cut or damaged trace. Every later call returns
    /// `Ok(false)`.
    pub fn next_into(&mut self, chunk: &mut Chunk) -> Result<bool, ReadTraceError> {
        let outcome = if self.is_over {
            Ok(false)
        } else {
            self.advance(chunk)
        };
        if !matches!(outcome, Ok(true)) {
            self.is_over = true;
            chunk.clear();
        }
        outcome
    }

    /// Returns the position of the last chunk read.
    pub fn place(&self) -> ChunkPlace {
        self.place
    }

    /// Returns the index; `None` until the end of the trace has been read.
    pub fn index(&self) -> Option<&TraceIndex> {
        self.index.as_ref()
    }

    /// Returns the number of bytes in the complete records read so far.
    pub fn bytes(&self) -> u64 {
        self.offset
    }

    fn advance(&mut self, chunk: &mut Chunk) -> Result<bool, ReadTraceError> {
        loop {
            let offset = self.offset;
            let Some(head) = self.record()? else {
                return Err(ReadTraceError::Unfinished {
                    offset,
                    before: self.before,
                });
            };
            match head.kind {
                kind::CHUNK if self.index.is_none() => {
                    return self.chunk(offset, chunk).map(|()| true);
                }
                kind::INDEX if self.index.is_none() => {
                    let index = TraceIndex::decode(&self.body)
                        .map_err(|what| self.damaged(offset, what))?;
                    self.index = Some(index);
                }
                kind::FOOTER if self.index.is_some() => return self.end().map(|()| false),
                _ if head.may_be_skipped() => {}
                other => {
                    return Err(self.damaged(
                        offset,
                        format!("a record of kind {other} does not belong there"),
                    ));
                }
            }
        }
    }

    fn chunk(&mut self, offset: u64, chunk: &mut Chunk) -> Result<(), ReadTraceError> {
        let head = self
            .decoder
            .decode(&self.body, chunk)
            .map_err(|why| self.damaged(offset, format!("it cannot be decoded: {why}")))?;
        if (head.first_instruction, head.first_block) != (self.before.instructions, self.blocks) {
            return Err(self.damaged(
                offset,
                format!(
                    "it begins with block {} and instruction {}, {} and {} come next",
                    head.first_block, head.first_instruction, self.blocks, self.before.instructions
                ),
            ));
        }
        self.place = ChunkPlace {
            number: self.before.chunks,
            offset,
            first_instruction: head.first_instruction,
            first_block: head.first_block,
            running: head.running,
        };
        self.before.chunks += 1;
        self.before.instructions = self.before.instructions.saturating_add(head.instructions);
        self.blocks += u64::from(head.blocks);
        Ok(())
    }

    /// Checks that the file ends after the footer. Further bytes are an error.
    fn end(&mut self) -> Result<(), ReadTraceError> {
        let offset = self.offset;
        match self.fill(1)? {
            0 => Ok(()),
            _ => Err(self.damaged(offset, "something follows the end of the trace")),
        }
    }

    /// Reads a record into `body`; returns `None` at the end of the file.
    fn record(&mut self) -> Result<Option<Head>, ReadTraceError> {
        let offset = self.offset;
        let read = self.fill(HEAD_BYTES as u64)?;
        let Some(bytes) = self.body.first_chunk::<HEAD_BYTES>() else {
            return if read == 0 {
                Ok(None)
            } else {
                Err(self.cut(offset, offset + read))
            };
        };
        let head = Head::parse(bytes).map_err(|what| self.damaged(offset, what))?;
        self.check_head(&head)
            .map_err(|what| self.damaged(offset, what))?;
        let read = self.fill(head.body_bytes.into())?;
        if read < u64::from(head.body_bytes) {
            return Err(self.cut(offset, offset + HEAD_BYTES as u64 + read));
        }
        if !head.is_of(&self.body) {
            return Err(self.damaged(offset, "its checksum differs"));
        }
        self.records = self.records.wrapping_add(1);
        self.offset = offset + HEAD_BYTES as u64 + read;
        Ok(Some(head))
    }

    fn check_head(&self, head: &Head) -> Result<(), String> {
        if head.number != self.records {
            return Err(format!(
                "it is record {}, record {} comes next",
                head.number, self.records
            ));
        }
        let most = match head.kind {
            kind::HEADER => HEADER_BYTES,
            kind::INDEX => u32::MAX as usize,
            _ => limits::BODY_BYTES,
        };
        if head.body_bytes as usize > most {
            return Err(format!(
                "it claims {} bytes, more than {most}",
                head.body_bytes
            ));
        }
        Ok(())
    }

    fn fill(&mut self, length: u64) -> Result<u64, ReadTraceError> {
        read_up_to(&mut self.from, length, &mut self.body).map_err(|source| ReadTraceError::Io {
            offset: self.offset,
            source,
            before: self.before,
        })
    }

    fn cut(&self, offset: u64, end: u64) -> ReadTraceError {
        ReadTraceError::Cut {
            offset,
            end,
            before: self.before,
        }
    }

    fn damaged(&self, offset: u64, what: impl Into<String>) -> ReadTraceError {
        ReadTraceError::Damaged {
            offset,
            what: what.into(),
            before: self.before,
        }
    }
}

fn check_magic(from: &mut impl Read) -> Result<(), ReadTraceError> {
    let mut found = Vec::new();
    read_up_to(from, MAGIC.len() as u64, &mut found).map_err(|source| ReadTraceError::Io {
        offset: 0,
        source,
        before: Before::default(),
    })?;
    if found.is_empty() {
        return Err(ReadTraceError::NoTrace("it is empty".to_owned()));
    }
    if found != MAGIC {
        return Err(ReadTraceError::NoTrace(
            "it does not begin like one".to_owned(),
        ));
    }
    Ok(())
}
