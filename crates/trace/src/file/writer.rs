use std::io::{self, Write};

use super::error::WriteTraceError;
use super::header::TraceHeader;
use super::index::{ChunkEntry, Life, TraceIndex, changes_lives, is_life};
use super::record::{Head, MAGIC, kind};
use crate::codec::{self, ChunkEncoder, ChunkHead, EncodeError, Piece, Position, limits};
use crate::{BlockRun, Chunk, Mark, Placed, TaskId};

/// The longest header in bytes.
pub(super) const HEADER_BYTES: usize = 1 << 20;

/// Appends chunks to a trace. Each one is handed over as a whole record, so that a crash keeps those before it.
pub struct TraceWriter<W> {
    into: W,
    pub(super) encoder: ChunkEncoder,
    body: Vec<u8>,
    index: TraceIndex,
    running: TaskId,
    records: u32,
    bytes: u64,
    /// A part of a record may stand at the end: nothing can follow it.
    is_broken: bool,
}

/// What a finished trace holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
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

impl<W: Write> TraceWriter<W> {
    /// Begins a trace.
    pub fn create(into: W, header: &TraceHeader) -> Result<Self, WriteTraceError> {
        let json = header.to_json().map_err(|why| WriteTraceError::Header(why.to_string()))?;
        if json.len() > HEADER_BYTES {
            return Err(WriteTraceError::Header(format!("{} bytes", json.len())));
        }
        let nothing_yet = |source| WriteTraceError::Append { chunks: 0, instructions: 0, bytes: 0, source };
        let encoder = ChunkEncoder::new().map_err(nothing_yet)?;
        let (body, index) = (json, TraceIndex::default());
        let mut writer =
            TraceWriter { into, encoder, body, index, running: TaskId::NONE, records: 0, bytes: 0, is_broken: false };
        writer.into.write_all(&MAGIC).map_err(nothing_yet)?;
        writer.bytes = MAGIC.len() as u64;
        writer.record(kind::HEADER)?;
        Ok(writer)
    }

    /// Appends a chunk, in several records where it is long. An empty one is nothing.
    pub fn write(&mut self, chunk: &Chunk) -> Result<(), WriteTraceError> {
        check(chunk)?;
        let mut rest = Rest { chunk, block: 0, reference: 0, mark: 0 };
        while let Some(piece) = rest.next_piece() {
            self.piece(piece)?;
        }
        Ok(())
    }

    /// Ends the trace with its index, and hands back what it was written to, flushed.
    pub fn finish(mut self) -> Result<(W, Written), WriteTraceError> {
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
    pub fn written(&self) -> Written {
        Written {
            chunks: self.index.chunks.len() as u64,
            instructions: self.index.instructions,
            references: self.index.references,
            bytes: self.bytes,
        }
    }

    /// What it is written to.
    pub fn get_ref(&self) -> &W {
        &self.into
    }

    fn piece(&mut self, piece: Piece<'_>) -> Result<(), WriteTraceError> {
        let at = Position { instruction: self.index.instructions, block: self.index.blocks, running: self.running };
        let head = self.encoder.encode(piece, at, &mut self.body).map_err(|error| match error {
            EncodeError::Unfit { block, why } => {
                WriteTraceError::Unfit { block: (piece.first_block + block) as u64, why }
            }
            EncodeError::Packing(source) => self.failed(source),
        })?;
        self.append(&head, piece.marks, piece.first_block, at)
    }

    /// Ends the chunk that the encoder has open.
    pub(super) fn close(&mut self, marks: &[Placed]) -> Result<(), WriteTraceError> {
        let at = Position { instruction: self.index.instructions, block: self.index.blocks, running: self.running };
        let head = self.encoder.close(marks, 0, at, &mut self.body).map_err(|source| self.failed(source))?;
        self.append(&head, marks, 0, at)
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

    fn failed(&self, source: io::Error) -> WriteTraceError {
        WriteTraceError::Append {
            chunks: self.index.chunks.len() as u64,
            instructions: self.index.instructions,
            bytes: self.bytes,
            source,
        }
    }
}

fn check(chunk: &Chunk) -> Result<(), WriteTraceError> {
    let claimed: u64 = chunk.blocks.iter().map(|block| u64::from(block.references)).sum();
    if claimed != chunk.references.len() as u64 {
        let found = chunk.references.len() as u64;
        return Err(WriteTraceError::Parts { what: "references", found, need: claimed });
    }
    let (mut least, most) = (0, chunk.blocks.len() as u64);
    for (mark, placed) in chunk.marks.iter().enumerate() {
        let found = placed.before_block;
        if found < least || u64::from(found) > most {
            return Err(WriteTraceError::Place { mark, found, least, most });
        }
        if let Some(found) = codec::oversized(&placed.mark) {
            return Err(WriteTraceError::Text { mark, found, most: limits::TEXT_BYTES });
        }
        least = found;
    }
    Ok(())
}

/// What of a chunk is not yet written.
struct Rest<'a> {
    chunk: &'a Chunk,
    block: usize,
    reference: usize,
    mark: usize,
}

impl<'a> Rest<'a> {
    /// As much as fits one record: at least one block or mark. A mark goes with the blocks before it where it can.
    fn next_piece(&mut self) -> Option<Piece<'a>> {
        let (_, blocks) = self.chunk.blocks.run().split_at(self.block);
        let marks = &self.chunk.marks[self.mark..];
        if blocks.is_empty() && marks.is_empty() {
            return None;
        }
        let mark_count = marks_that_fit(marks);
        let all_marks_fit = mark_count == marks.len();
        // Blocks behind the last mark that fits must wait for the next mark.
        let most_blocks = match marks.get(mark_count) {
            Some(next) => next.before_block as usize - self.block,
            None => blocks.len(),
        };
        let (block_count, reference_count) = blocks_that_fit(blocks.slice(0..most_blocks));
        let end = self.block + block_count;
        let mark_count = if all_marks_fit && end == self.chunk.blocks.len() {
            mark_count
        } else {
            marks[..mark_count].partition_point(|placed| placed.before_block as usize <= end)
        };
        let piece = Piece {
            blocks: blocks.slice(0..block_count),
            references: &self.chunk.references[self.reference..][..reference_count],
            marks: &marks[..mark_count],
            first_block: self.block,
        };
        self.block = end;
        self.reference += reference_count;
        self.mark += mark_count;
        Some(piece)
    }
}

fn marks_that_fit(marks: &[Placed]) -> usize {
    let mut bytes = 0;
    let fits = |placed: &&Placed| {
        bytes += codec::text_bytes(&placed.mark);
        bytes <= limits::CUT_MARK_BYTES
    };
    marks.iter().take(limits::CUT_MARKS).take_while(fits).count()
}

/// How many blocks fit, at least one where there is one, and the references in them.
fn blocks_that_fit(blocks: BlockRun<'_>) -> (usize, usize) {
    let (mut count, mut references) = (0, 0);
    for block in blocks.iter().take(Chunk::BLOCKS) {
        let more = references + usize::from(block.references);
        if count > 0 && more > limits::CUT_REFERENCES {
            break;
        }
        count += 1;
        references = more;
    }
    (count, references)
}
