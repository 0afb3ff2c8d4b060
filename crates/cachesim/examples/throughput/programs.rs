//! Four made-up programs that take turns: loops over code, a stack, walks over a heap.

use switchcost_trace::{Block, BlockFlags, Cause, Chunk, Mark, ProcessId, Reference, TaskId};

const PROGRAMS: u32 = 4;
const FUNCTIONS: u64 = 90;
const QUANTUM_INSTRUCTIONS: u64 = 100_000;
const SIZE_OF_8_BYTES: u8 = 7;

/// SplitMix64 (Steele, Lea and Flood, OOPSLA 2014).
pub(crate) struct Dice(pub(crate) u64);

impl Dice {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ mixed >> 31
    }

    fn below(&mut self, bound: u64) -> u64 {
        self.next() % bound
    }

    /// Small numbers more often than large ones.
    fn skewed(&mut self, bound: u64) -> u64 {
        let (first, second, third) = (self.below(bound), self.below(bound), self.below(bound));
        first.min(second).min(third)
    }
}

/// Where one program stands.
struct Program {
    function: u64,
    block: u64,
    loops: u64,
    heap: u64,
    stack: u64,
}

/// Chunks of full length.
pub(crate) fn chunks(count: usize, dice: &mut Dice) -> Vec<Chunk> {
    let start = |_| Program {
        function: 0,
        block: 0,
        loops: 3,
        heap: 0,
        stack: 0,
    };
    let mut programs: Vec<Program> = (0..PROGRAMS).map(start).collect();
    let mut chunks = Vec::new();
    let (mut running, mut left, mut is_born) = (0, QUANTUM_INSTRUCTIONS, false);
    for _ in 0..count {
        let mut chunk = Chunk::default();
        if !is_born {
            births(&mut chunk);
            is_born = true;
        }
        while chunk.blocks.len() < Chunk::BLOCKS {
            let passed = step(&mut chunk, running, &mut programs[running as usize], dice);
            left = left.saturating_sub(passed);
            if left == 0 || dice.below(20_000) == 0 {
                let next = (running + 1 + dice.below(2) as u32) % PROGRAMS;
                switch(&mut chunk, running, next, left == 0);
                (running, left) = (next, QUANTUM_INSTRUCTIONS);
            }
        }
        chunks.push(chunk);
    }
    chunks
}

fn births(chunk: &mut Chunk) {
    for number in 1..=PROGRAMS {
        chunk.mark(Mark::Birth {
            task: TaskId(number),
            process: ProcessId(number),
            parent: TaskId::NONE,
            name: format!("program{number}").into_bytes(),
        });
    }
    chunk.mark(Mark::Switch {
        from: TaskId::NONE,
        to: TaskId(1),
        is_voluntary: false,
        cause: Cause::Unknown,
    });
}

fn switch(chunk: &mut Chunk, from: u32, to: u32, is_quantum: bool) {
    let cause = if is_quantum {
        Cause::Quantum
    } else {
        Cause::Syscall(0)
    };
    chunk.mark(Mark::Switch {
        from: TaskId(from + 1),
        to: TaskId(to + 1),
        is_voluntary: !is_quantum,
        cause,
    });
}

/// One block; gives its instructions.
fn step(chunk: &mut Chunk, number: u32, program: &mut Program, dice: &mut Dice) -> u64 {
    let shape = program.function * 31 + program.block;
    let instructions = 3 + (shape * 7 % 5) as u16;
    let bytes = instructions * 4;
    let references = 1 + (shape % 3) as u16;
    // Programs of one system are linked to about the same addresses.
    let address =
        0x40_0000 + u64::from(number) * 0x1_1000 + program.function * 0x180 + program.block * 28;
    for slot in 0..references {
        let through = 3 + 4 * (slot * instructions / references);
        let is_store = (shape * 2_654_435_761 + u64::from(slot) * 40_503) >> 7 & 0xff < 85;
        let data = data_address(number, program, shape + u64::from(slot), dice);
        chunk
            .references
            .push(Reference::new(data, SIZE_OF_8_BYTES, through, is_store));
    }
    chunk.blocks.push(Block {
        address,
        bytes,
        instructions,
        references,
        first_bytes: 4,
        flags: BlockFlags::USER,
    });
    advance(program, dice);
    u64::from(instructions)
}

fn advance(program: &mut Program, dice: &mut Dice) {
    program.block += 1;
    if program.block < 3 + program.function % 10 {
        return;
    }
    program.block = 0;
    if program.loops > 0 {
        program.loops -= 1;
        return;
    }
    program.function = dice.skewed(FUNCTIONS);
    program.loops = dice.skewed(40);
    program.stack = dice.skewed(6);
    program.heap = dice.skewed(40) * 256;
}

fn data_address(number: u32, program: &mut Program, choice: u64, dice: &mut Dice) -> u64 {
    let base = u64::from(number) * 0x3_7000;
    match choice % 8 {
        0..=4 => 0x7ffc_0000_0000 + base + program.stack * 96 + choice % 12 * 8,
        5 | 6 => {
            program.heap = (program.heap + 8) % (12 << 10);
            0x5555_0000_6000 + base + program.heap
        }
        _ => 0x5555_0010_a000 + base + dice.skewed(400) * 16,
    }
}
