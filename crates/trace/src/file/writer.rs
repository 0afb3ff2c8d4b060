//! Writes a trace chunk by chunk.

use std::io::{self, Seek, Write};

use super::appender::{Appender, Written};
use super::error::WriteTraceError;
use super::header::TraceHeader;
use crate::codec::{self, ChunkEncoder, EncodeError, Piece, limits};
use crate::{BlockRun, Chunk, Dependences, KernelSymbols, Placed};

/// Writer that appends chunks to a trace. Each chunk becomes a complete record, so a crash loses
/// none of the chunks before.
pub struct TraceWriter<W> {
    appender: Appender<W>,
    encoder: ChunkEncoder,
}

impl<W: Write> TraceWriter<W> {
    /// Begins a trace with its header.
    pub fn create(into: W, header: &TraceHeader) -> Result<Self, WriteTraceError> {
        Ok(TraceWriter {
            appender: Appender::create(into, header)?,
            encoder: ChunkEncoder::new(),
        })
    }

    /// Appends a chunk, in several records if it is long. An empty chunk is ignored.
    pub fn write(&mut self, chunk: &Chunk) -> Result<(), WriteTraceError> {
        check(chunk)?;
        let mut rest = Rest {
            chunk,
            block: 0,
            reference: 0,
            mark: 0,
        };
        while let Some(piece) = rest.next_piece() {
            self.piece(piece)?;
        }
        Ok(())
    }

    /// Replaces the header of an imported trace, for notes that follow from later parts of the
    /// source.
    ///
    /// # Errors
    ///
    /// If the header does not fit into the room of the first one, or cannot be written.
    pub fn replace_header(&mut self, header: &TraceHeader) -> Result<(), WriteTraceError>
    where
        W: Seek,
    {
        self.appender.replace_header(header)
    }

    /// Sets the symbols of the traced kernel, which are written at the end of the trace.
    pub fn name_symbols(&mut self, symbols: KernelSymbols) {
        self.appender.name_symbols(symbols);
    }

    /// Sets the dependences of blocks, which are written at the end of the trace.
    pub fn set_dependences(&mut self, dependences: Dependences) {
        self.appender.set_dependences(dependences);
    }

    /// Ends the trace with its index, flushes the output, and returns it with the totals.
    pub fn finish(self) -> Result<(W, Written), WriteTraceError> {
        self.appender.finish()
    }

    /// Returns the totals written so far.
    pub fn written(&self) -> Written {
        self.appender.written()
    }

    /// Returns the output to which the trace was written.
    pub fn get_ref(&self) -> &W {
        self.appender.get_ref()
    }

    fn piece(&mut self, piece: Piece<'_>) -> Result<(), WriteTraceError> {
        let open = self.encoder.encode(piece).map_err(|error| match error {
            EncodeError::Unfit { block, why } => WriteTraceError::Unfit {
                block: (piece.first_block + block) as u64,
                why,
            },
            EncodeError::Shape(why) => self.appender.failed(io::Error::other(why)),
        })?;
        self.appender.close(open, piece.marks, piece.first_block)
    }
}

fn check(chunk: &Chunk) -> Result<(), WriteTraceError> {
    let claimed: u64 = chunk
        .blocks
        .iter()
        .map(|block| u64::from(block.references))
        .sum();
    if claimed != chunk.references.len() as u64 {
        let found = chunk.references.len() as u64;
        return Err(WriteTraceError::Parts {
            what: "references",
            found,
            need: claimed,
        });
    }
    let (mut least, most) = (0, chunk.blocks.len() as u64);
    for (mark, placed) in chunk.marks.iter().enumerate() {
        let found = placed.before_block;
        if found < least || u64::from(found) > most {
            return Err(WriteTraceError::Place {
                mark,
                found,
                least,
                most,
            });
        }
        if let Some(found) = codec::oversized(&placed.mark) {
            return Err(WriteTraceError::Text {
                mark,
                found,
                most: limits::TEXT_BYTES,
            });
        }
        least = found;
    }
    Ok(())
}

/// The part of a chunk that is not written yet.
struct Rest<'a> {
    chunk: &'a Chunk,
    block: usize,
    reference: usize,
    mark: usize,
}

impl<'a> Rest<'a> {
    /// Returns the next piece that fits into one record: at least one block or mark. A mark goes
    /// into the record of the blocks before it if possible.
    fn next_piece(&mut self) -> Option<Piece<'a>> {
        let (_, blocks) = self.chunk.blocks.run().split_at(self.block);
        let marks = &self.chunk.marks[self.mark..];
        if blocks.is_empty() && marks.is_empty() {
            return None;
        }
        let mark_count = marks_that_fit(marks);
        let all_marks_fit = mark_count == marks.len();
        // Blocks after the last mark that fits go into the next record.
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
    marks
        .iter()
        .take(limits::CUT_MARKS)
        .take_while(fits)
        .count()
}

/// Returns the number of blocks that fit into one record, and the number of their references. If
/// there is a block, at least one fits.
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
