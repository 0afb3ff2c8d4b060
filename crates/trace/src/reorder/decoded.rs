//! Cache of decoded chunks of a trace file.

use std::collections::VecDeque;
use std::sync::Arc;

use crate::{Chunk, ReadTraceError, Reference, TraceFile};

/// Maximum memory for decoded chunks in bytes: about 30 of full length, because alternating tasks
/// may be far apart in the trace.
const ROOM_BYTES: usize = 256 << 20;

/// A decoded chunk, with the number of instructions and references before each block.
#[derive(Debug)]
pub(super) struct Decoded {
    pub(super) chunk: Chunk,
    /// Number of the chunk's instructions before each block, and the total at the end.
    pub(super) instructions: Vec<u32>,
    /// Number of references before each block, and the total at the end.
    pub(super) references: Vec<u32>,
}

impl Decoded {
    fn new(chunk: Chunk) -> Decoded {
        let sums = |of: fn(&crate::Block) -> u16| {
            let mut sum = 0_u32;
            let before = chunk.blocks.iter().map(|block| {
                sum += u32::from(of(block));
                sum
            });
            std::iter::once(0).chain(before).collect()
        };
        let (instructions, references) = (
            sums(|block| block.instructions),
            sums(|block| block.references),
        );
        Decoded {
            instructions,
            references,
            chunk,
        }
    }

    fn bytes(&self) -> usize {
        self.instructions.len() * 12 + self.chunk.references.len() * size_of::<Reference>()
    }
}

/// A trace file with a cache of its most recently decoded chunks.
pub(super) struct DecodedChunks<'f> {
    file: TraceFile<'f>,
    kept: VecDeque<(u32, Arc<Decoded>)>,
    bytes: usize,
}

impl<'f> DecodedChunks<'f> {
    pub(super) fn new(file: TraceFile<'f>) -> Self {
        DecodedChunks {
            file,
            kept: VecDeque::new(),
            bytes: 0,
        }
    }

    /// Returns a chunk by its number in the file.
    pub(super) fn get(&mut self, number: u32) -> Result<Arc<Decoded>, ReadTraceError> {
        if let Some(place) = self.kept.iter().position(|(kept, _)| *kept == number) {
            let found = self.kept.remove(place).map(|(_, decoded)| decoded);
            if let Some(decoded) = found {
                self.kept.push_back((number, Arc::clone(&decoded)));
                return Ok(decoded);
            }
        }
        let mut chunk = Chunk::default();
        self.file.go_to(number as usize);
        self.file.next_into(&mut chunk)?;
        let decoded = Arc::new(Decoded::new(chunk));
        self.bytes += decoded.bytes();
        while self.bytes > ROOM_BYTES
            && let Some((_, oldest)) = self.kept.pop_front()
        {
            self.bytes -= oldest.bytes();
        }
        self.kept.push_back((number, Arc::clone(&decoded)));
        Ok(decoded)
    }
}
