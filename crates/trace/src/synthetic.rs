//! Generates streams of several alternating processes: for benchmarks, for tests with a known
//! answer, and for simulating a walk of `workload` in another cache. Equal parameters give equal
//! streams.
//!
//! The input is a description of the processes ([`PingPong`], [`Mixed`], [`Walks`]). The output is
//! [`Chunk`]s of any length, one at a time. First come the births of all tasks, named `synthetic
//! 1`, `synthetic 2` and so on, each in its own process. Each time slice begins with a switch,
//! except later ones of a single process. All processes use the same virtual addresses, as copies
//! of a program do.

mod mixed;
mod ping_pong;
mod walks;

use crate::{Block, Cause, Chunk, Mark, ProcessId, Reference, TaskId};

pub use mixed::Mixed;
pub use ping_pong::PingPong;
pub use walks::Walks;

/// Address at which the code of every process begins.
pub const CODE: u64 = 0x40_0000;
/// Address at which the data of every process begins.
pub const DATA: u64 = 0x1000_0000;
/// Address at which the stack of every process ends.
pub const STACK: u64 = 0x7fff_ffff_0000;

/// Code of one synthetic process.
trait Program {
    /// Executes one block of at most `most` instructions, and appends its references. Returns
    /// `None` if the process gives up the rest of its time slice.
    fn block(&mut self, most: u64, references: &mut Vec<Reference>) -> Option<Block>;
}

/// A stream of chunks, generated while it is read.
pub struct Synthetic {
    programs: Vec<Box<dyn Program + Send>>,
    turn_instructions: u64,
    turns_left: u64,
    instructions_left: u64,
    running: TaskId,
    is_begun: bool,
}

impl Synthetic {
    /// Creates a stream of `switches` time slices, in which `programs` alternate. A time slice has
    /// at most `turn_instructions` instructions.
    fn new(programs: Vec<Box<dyn Program + Send>>, turn_instructions: u64, switches: u64) -> Self {
        let turns_left = if programs.is_empty() { 0 } else { switches };
        let (instructions_left, running, is_begun) = (0, TaskId::NONE, false);
        Synthetic {
            programs,
            turn_instructions,
            turns_left,
            instructions_left,
            running,
            is_begun,
        }
    }

    /// Generates the next chunk in `chunk`, reusing its memory; returns false, and an empty chunk, at the end.
    pub fn next_into(&mut self, chunk: &mut Chunk) -> bool {
        chunk.clear();
        if !std::mem::replace(&mut self.is_begun, true) {
            self.births(chunk);
        }
        while chunk.blocks.len() < Chunk::BLOCKS && chunk.marks.len() < Chunk::BLOCKS {
            if self.running == TaskId::NONE || self.instructions_left == 0 {
                if !self.next_turn(chunk) {
                    break;
                }
                continue;
            }
            let program = &mut self.programs[self.running.0 as usize - 1];
            match program.block(self.instructions_left, &mut chunk.references) {
                Some(block) => {
                    self.instructions_left -= u64::from(block.instructions);
                    chunk.blocks.push(block);
                }
                None => self.instructions_left = 0,
            }
        }
        !chunk.is_empty()
    }

    fn births(&self, chunk: &mut Chunk) {
        for number in 1..=self.programs.len() as u32 {
            let (task, process, parent) = (TaskId(number), ProcessId(number), TaskId::NONE);
            chunk.mark(Mark::Birth {
                task,
                process,
                parent,
                name: format!("synthetic {number}").into_bytes(),
            });
        }
    }

    fn next_turn(&mut self, chunk: &mut Chunk) -> bool {
        if self.turns_left == 0 {
            return false;
        }
        self.turns_left -= 1;
        self.instructions_left = self.turn_instructions;
        let (from, to) = (
            self.running,
            TaskId(self.running.0 % self.programs.len() as u32 + 1),
        );
        let cause = if from == TaskId::NONE {
            Cause::Unknown
        } else {
            Cause::Quantum
        };
        // A single process continues without a switch mark.
        if from != to {
            chunk.mark(Mark::Switch {
                from,
                to,
                is_voluntary: false,
                cause,
            });
        }
        self.running = to;
        true
    }
}

impl Iterator for Synthetic {
    type Item = Chunk;

    fn next(&mut self) -> Option<Chunk> {
        let mut chunk = Chunk::default();
        self.next_into(&mut chunk).then_some(chunk)
    }
}

#[cfg(test)]
mod tests;
