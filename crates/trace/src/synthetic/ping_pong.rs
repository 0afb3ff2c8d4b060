use crate::{Block, BlockFlags, Reference};

use super::{CODE, DATA, Program, Synthetic};

const INSTRUCTION_BYTES: u64 = 4;
const BLOCK_INSTRUCTIONS: u64 = 4;
/// Index of the size 8 in [`crate::SIZES`].
const EIGHT_BYTES: u8 = 7;

/// Processes that loop over code and data of a known size in time slices of a known length, so that
/// every count of a simulation can be calculated.
///
/// An instruction has 4 bytes. A block has four instructions, or fewer at the end of the loop or of
/// the time slice. The first instruction of a block loads 8 bytes, `stride_bytes` after the last
/// load, or from the start of the data if they would not fit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PingPong {
    /// Number of processes in the trace.
    pub processes: u32,
    /// Size of the loop's code in bytes, rounded down to whole instructions, at least one.
    pub code_bytes: u64,
    /// Size of the data in bytes. With fewer than 8 bytes there are no references.
    pub data_bytes: u64,
    /// Distance between two consecutive loads, in bytes.
    pub stride_bytes: u64,
    /// Number of instructions in a time slice.
    pub turn_instructions: u64,
    /// Number of time slices of all processes together. Each begins with a switch; with only one
    /// process, only the first does.
    pub switches: u64,
}

struct Loops {
    code_bytes: u64,
    data_bytes: u64,
    stride_bytes: u64,
    code: u64,
    data: u64,
}

impl PingPong {
    /// Returns the stream of chunks.
    pub fn chunks(&self) -> Synthetic {
        let programs = (0..self.processes)
            .map(|_| Box::new(self.one()) as Box<dyn Program + Send>)
            .collect();
        Synthetic::new(programs, self.turn_instructions, self.switches)
    }

    fn one(&self) -> Loops {
        let PingPong {
            code_bytes,
            data_bytes,
            stride_bytes,
            ..
        } = *self;
        let code_bytes = (code_bytes - code_bytes % INSTRUCTION_BYTES).max(INSTRUCTION_BYTES);
        Loops {
            code_bytes,
            data_bytes,
            stride_bytes,
            code: 0,
            data: 0,
        }
    }
}

impl Program for Loops {
    fn block(&mut self, most: u64, references: &mut Vec<Reference>) -> Option<Block> {
        let left = (self.code_bytes - self.code) / INSTRUCTION_BYTES;
        let instructions = BLOCK_INSTRUCTIONS.min(left).min(most);
        let block = Block {
            address: CODE + self.code,
            bytes: (instructions * INSTRUCTION_BYTES) as u16,
            instructions: instructions as u16,
            references: u16::from(self.data_bytes >= 8),
            first_bytes: INSTRUCTION_BYTES as u8,
            flags: BlockFlags::USER,
        };
        self.code = (self.code + instructions * INSTRUCTION_BYTES) % self.code_bytes;
        if self.data_bytes >= 8 {
            references.push(Reference::new(
                DATA + self.data,
                EIGHT_BYTES,
                INSTRUCTION_BYTES as u16 - 1,
                false,
            ));
            let next = self.data.saturating_add(self.stride_bytes);
            self.data = if next > self.data_bytes - 8 { 0 } else { next };
        }
        Some(block)
    }
}
