//! Streams for tests: any sequence of [`Step`]s becomes a valid run of chunks, whatever its
//! numbers.
//!
//! The input is steps from proptest ([`chunks`]) or from a seed ([`seeded`]); the output is chunks
//! that obey every rule of the format, with several processes, threads, switches, system calls and
//! faults.

mod fixtures;
mod stream;

use proptest::collection::vec;
use proptest::prelude::*;

use crate::Chunk;

pub use fixtures::{birth, block, find_problems, switch, written};
pub use stream::Stream;

/// A step of a random stream. The number of a task selects one of the living tasks.
#[derive(Clone, Debug)]
pub enum Step {
    /// The running task executes a piece of code `times` times; the code's data move by `stride`
    /// each time.
    Run {
        /// Piece of code that is executed.
        code: u16,
        /// Number of executions of the piece.
        times: u8,
        /// Start of the code's data.
        data: u32,
        /// Distance by which the data move.
        stride: i16,
    },
    /// The kernel executes a piece of code.
    Kernel {
        /// Piece of code that is executed.
        code: u16,
    },
    /// A command of the user begins.
    Command,
    /// The running task starts a process.
    Fork,
    /// The running task starts a thread.
    Thread,
    /// The running task executes another program.
    Exec,
    /// The running task ends, and another task, or no task, runs.
    Exit,
    /// Another task runs, or no task.
    Switch {
        /// Task that runs next.
        to: u8,
        /// Cause of the switch; also decides whether it is voluntary.
        cause: u16,
    },
    /// The running task makes a system call.
    Syscall {
        /// Number of the system call.
        number: u16,
        /// Bytes that the kernel touches.
        bytes: u16,
    },
    /// The running task faults on a page, whose physical address is recorded.
    Fault {
        /// Number of the page.
        page: u32,
    },
    /// A file is mapped.
    Map {
        /// Number of the file.
        file: u8,
    },
    /// A piece of memory is unmapped.
    Unmap {
        /// Number of the file.
        file: u8,
    },
    /// The current chunk ends.
    Cut,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        12 => (any::<u16>(), any::<u8>(), any::<u32>(), any::<i16>())
            .prop_map(|(code, times, data, stride)| Step::Run { code: code % 64, times, data, stride }),
        6 => (0..8u16, 1..4u8, 0..4u32).prop_map(|(code, times, data)| Step::Run { code, times, data, stride: 8 }),
        1 => (0..16u16).prop_map(|code| Step::Kernel { code }),
        1 => Just(Step::Command),
        1 => Just(Step::Fork),
        1 => Just(Step::Thread),
        1 => Just(Step::Exec),
        1 => Just(Step::Exit),
        4 => (any::<u8>(), any::<u16>()).prop_map(|(to, cause)| Step::Switch { to, cause }),
        3 => (any::<u16>(), any::<u16>()).prop_map(|(number, bytes)| Step::Syscall { number: number % 400, bytes }),
        1 => any::<u32>().prop_map(|page| Step::Fault { page }),
        1 => any::<u8>().prop_map(|file| Step::Map { file }),
        1 => any::<u8>().prop_map(|file| Step::Unmap { file }),
        1 => Just(Step::Cut),
    ]
}

/// Returns a strategy for valid streams of up to `steps` steps.
pub fn chunks(steps: usize) -> impl Strategy<Value = Vec<Chunk>> {
    vec(step(), 0..=steps).prop_map(|steps| {
        let mut stream = Stream::default();
        steps.iter().for_each(|step| stream.step(step));
        stream.finish()
    })
}

/// Generates a valid stream of at least `blocks` blocks. Equal seeds give equal streams.
pub fn seeded(seed: u64, blocks: usize) -> Vec<Chunk> {
    let mut stream = Stream::default();
    let mut dice = SplitMix64(seed);
    stream.step(&Step::Command);
    stream.step(&Step::Command);
    stream.step(&Step::Switch { to: 0, cause: 6 });
    while stream.blocks() < blocks {
        stream.step(&dice.step());
    }
    stream.finish()
}

/// Random number generator SplitMix64 (Steele, Lea, Flood 2014): little code, and the same numbers
/// on all machines.
struct SplitMix64(u64);

impl SplitMix64 {
    fn roll(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    fn step(&mut self) -> Step {
        let roll = self.roll();
        match roll % 64 {
            0 => Step::Fork,
            1 => Step::Thread,
            2 => Step::Exec,
            3 => Step::Exit,
            4 => Step::Command,
            5 => Step::Map {
                file: (roll >> 8) as u8,
            },
            6 => Step::Unmap {
                file: (roll >> 8) as u8,
            },
            7 => Step::Fault {
                page: (roll >> 8) as u32,
            },
            8 => Step::Cut,
            9 => Step::Kernel {
                code: (roll >> 8) as u16 % 16,
            },
            10..16 => Step::Switch {
                to: (roll >> 8) as u8,
                cause: (roll >> 16) as u16,
            },
            16..20 => Step::Syscall {
                number: (roll >> 8) as u16 % 400,
                bytes: (roll >> 24) as u16,
            },
            _ => Step::Run {
                code: (roll >> 8) as u16 % 48,
                times: (roll >> 16) as u8 % 12 + 1,
                data: (roll >> 24) as u32 % 256,
                stride: [0, 4, 8, 64, -8][(roll >> 56) as usize % 5],
            },
        }
    }
}
