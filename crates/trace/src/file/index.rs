//! The index at the end of a trace: the position of each chunk, and the births, execs and exits of
//! all tasks.

use serde::{Deserialize, Serialize};

use crate::{Mark, TaskId};

/// Position of a chunk in the file, and the state of the trace at the start of the chunk.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ChunkEntry {
    /// Byte of the file at which the chunk's record begins.
    pub offset: u64,
    /// Number of the chunk's first instruction, from 0.
    pub first_instruction: u64,
    /// Number of the chunk's first block, from 0.
    pub first_block: u64,
    /// Task that runs at the chunk's start.
    pub running: TaskId,
    /// Whether the chunk has a mark that changes which tasks, programs or mappings exist.
    pub changes_lives: bool,
}

const ENTRY_BYTES: usize = 32;
const CHANGES_LIVES: u32 = 1;

/// A birth, exec or exit, with its position.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Life {
    /// Number of the chunk that contains the mark.
    pub chunk: u64,
    /// Index in the trace of the first block after the mark.
    pub before_block: u64,
    /// The birth, exec or exit.
    pub mark: Mark,
}

/// Index of a trace: the positions of its chunks, and the births, execs and exits of its tasks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TraceIndex {
    /// The chunks, in order.
    pub chunks: Vec<ChunkEntry>,
    /// All births, execs and exits, in order.
    pub lives: Vec<Life>,
    /// Number of instructions in the trace.
    pub instructions: u64,
    /// Number of blocks in the trace.
    pub blocks: u64,
    /// Number of data references.
    pub references: u64,
    /// Number of marks in the trace.
    pub marks: u64,
}

/// Whether a mark changes which tasks, programs or mappings exist.
pub(crate) fn changes_lives(mark: &Mark) -> bool {
    is_life(mark) || matches!(mark, Mark::Map(_) | Mark::Unmap { .. })
}

pub(crate) fn is_life(mark: &Mark) -> bool {
    matches!(
        mark,
        Mark::Birth { .. } | Mark::Exec { .. } | Mark::Exit { .. }
    )
}

impl TraceIndex {
    pub(super) fn encode(&self) -> Result<Vec<u8>, postcard::Error> {
        let mut body = Vec::new();
        let counts = [self.chunks.len() as u64, self.lives.len() as u64];
        for total in
            counts
                .into_iter()
                .chain([self.instructions, self.blocks, self.references, self.marks])
        {
            body.extend_from_slice(&total.to_le_bytes());
        }
        for entry in &self.chunks {
            for word in [entry.offset, entry.first_instruction, entry.first_block] {
                body.extend_from_slice(&word.to_le_bytes());
            }
            body.extend_from_slice(&entry.running.0.to_le_bytes());
            body.extend_from_slice(&u32::from(entry.changes_lives).to_le_bytes());
        }
        for life in &self.lives {
            body = postcard::to_extend(life, body)?;
        }
        Ok(body)
    }

    /// Reads an index from the body of a record.
    ///
    /// # Errors
    ///
    /// The fault of the index, as text.
    pub(super) fn decode(body: &[u8]) -> Result<Self, &'static str> {
        const SHORT: &str = "the index ends too early";
        let mut rest = body;
        let mut next_u64 = || {
            let (first, later) = rest.split_first_chunk::<8>().ok_or(SHORT)?;
            rest = later;
            Ok::<u64, &'static str>(u64::from_le_bytes(*first))
        };
        let (chunks, lives) = (next_u64()?, next_u64()?);
        let mut index = TraceIndex {
            instructions: next_u64()?,
            blocks: next_u64()?,
            references: next_u64()?,
            marks: next_u64()?,
            ..TraceIndex::default()
        };
        if chunks > (rest.len() / ENTRY_BYTES) as u64 || lives > rest.len() as u64 {
            return Err(SHORT);
        }
        let (entries, mut rest) = rest.split_at(chunks as usize * ENTRY_BYTES);
        index.chunks = entries.chunks_exact(ENTRY_BYTES).map(entry).collect();
        for _ in 0..lives {
            let (life, later) = postcard::take_from_bytes::<Life>(rest)
                .map_err(|_| "the index has a life that is none")?;
            index.lives.push(life);
            rest = later;
        }
        if rest.is_empty() {
            Ok(index)
        } else {
            Err("the index is too long")
        }
    }

    /// Returns the index of the chunk that contains an instruction; `None` if the trace has fewer
    /// instructions.
    pub fn chunk_of(&self, instruction: u64) -> Option<usize> {
        if instruction >= self.instructions {
            return None;
        }
        self.chunks
            .partition_point(|entry| entry.first_instruction <= instruction)
            .checked_sub(1)
    }
}

fn entry(bytes: &[u8]) -> ChunkEntry {
    let u32_at =
        |at: usize| u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]);
    let u64_at = |at: usize| u64::from(u32_at(at)) | u64::from(u32_at(at + 4)) << 32;
    ChunkEntry {
        offset: u64_at(0),
        first_instruction: u64_at(8),
        first_block: u64_at(16),
        running: TaskId(u32_at(24)),
        changes_lives: u32_at(28) & CHANGES_LIVES != 0,
    }
}
