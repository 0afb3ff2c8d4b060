//! Builds small designs and streams, and simulates them with the simulator and the oracle.

use switchcost_cachesim::Options;
use switchcost_design::result::{ByView, Detail, HierarchyCounts, LevelCounts, PrivateBy};
use switchcost_design::{
    AddressKind, DESIGN_SCHEMA, Design, Holds, Level, PageAllocation, PageOrder, Ways,
};
use switchcost_trace::{
    Block, BlockFlags, Cause, Chunk, Mapping, Mark, ProcessId, Reference, TaskId,
};
use switchcost_units::Bytes;

use crate::findings::{compare, of_oracle, run_engine, run_oracle};

pub(crate) const LINE: u64 = 16;
/// Address of the code, whose line is in set 4 of a direct-mapped cache of 8 lines.
const CODE: u64 = 0x40_0040;
/// Cycles of a miss in the level under test.
pub(crate) const MISS: u64 = 7;

/// Makes a data cache of this many lines of 16 bytes.
pub(crate) fn data_cache(lines: u64, ways: Ways) -> Level {
    Level::plain(
        "D",
        Holds::Data,
        Bytes(lines * LINE),
        Bytes(LINE),
        ways,
        MISS as u32,
    )
}

/// Makes a design of these levels alone.
pub(crate) fn design_of(levels: Vec<Level>) -> Design {
    Design {
        schema: DESIGN_SCHEMA.to_owned(),
        name: "small".to_owned(),
        title: String::new(),
        source: String::new(),
        cycle_ns: None,
        levels,
        tlbs: Vec::new(),
        pages: None,
    }
}

/// Makes a design of these levels after an instruction cache whose misses cost nothing.
pub(crate) fn behind_free_fetches(levels: Vec<Level>) -> Design {
    let free = Level {
        name: "I".to_owned(),
        holds: Holds::Instructions,
        miss_cycles: 0,
        ..data_cache(1, Ways::Full)
    };
    design_of(std::iter::once(free).chain(levels).collect())
}

/// Gives the design physical tags, so that processes find each other's lines.
pub(crate) fn with_physical_tags(mut design: Design) -> Design {
    for level in &mut design.levels {
        (level.index, level.tag) = (AddressKind::Physical, AddressKind::Physical);
    }
    design.pages = Some(PageAllocation {
        size: Bytes::kib(4),
        order: PageOrder::Consecutive,
        seed: 0,
    });
    design
}

/// Makes a block of one instruction, which loads or stores once.
pub(crate) fn access_at(address: u64) -> Block {
    Block {
        address,
        bytes: 4,
        instructions: 1,
        references: 1,
        first_bytes: 4,
        flags: BlockFlags::USER,
    }
}

/// A stream of instructions with one load or store each.
#[derive(Default)]
pub(crate) struct Program {
    pub(crate) chunk: Chunk,
    running: TaskId,
}

impl Program {
    /// Starts tasks 1 to `tasks`, each in a process with the same number; task 1 runs.
    pub(crate) fn new(tasks: u32) -> Program {
        Program::with_processes(tasks, |task| task)
    }

    /// Starts tasks 1 to `tasks` as threads of one process; task 1 runs.
    pub(crate) fn of_threads(tasks: u32) -> Program {
        Program::with_processes(tasks, |_| 1)
    }

    fn with_processes(tasks: u32, process_of: fn(u32) -> u32) -> Program {
        let mut program = Program::default();
        for number in 1..=tasks {
            let (task, process) = (TaskId(number), ProcessId(process_of(number)));
            program.chunk.mark(Mark::Birth {
                task,
                process,
                parent: TaskId::NONE,
                name: b"walk".to_vec(),
            });
        }
        program.switch_to(1);
        program
    }

    pub(crate) fn switch_to(&mut self, task: u32) {
        let (from, to) = (self.running, TaskId(task));
        self.chunk.mark(Mark::Switch {
            from,
            to,
            is_voluntary: false,
            cause: Cause::Quantum,
        });
        self.running = to;
    }

    /// Maps the one library that all processes have into the running process.
    pub(crate) fn map_library(&mut self, start: u64) {
        self.chunk.mark(Mark::Map(Mapping {
            start,
            bytes: 4096,
            offset: 0,
            path: b"/lib/one.so".to_vec(),
            build_id: Vec::new(),
            is_executable: true,
        }));
    }

    pub(crate) fn load(&mut self, address: u64) {
        self.access(address, false);
    }

    pub(crate) fn store(&mut self, address: u64) {
        self.access(address, true);
    }

    fn access(&mut self, address: u64, is_store: bool) {
        self.access_by(CODE, address, is_store);
    }

    /// Adds a load by the instruction at address `code`.
    pub(crate) fn load_by(&mut self, code: u64, address: u64) {
        self.access_by(code, address, false);
    }

    fn access_by(&mut self, code: u64, address: u64, is_store: bool) {
        self.chunk.blocks.push(access_at(code));
        let size = Reference::size_code(4).expect("a size");
        self.chunk
            .references
            .push(Reference::new(address, size, 3, is_store));
    }

    /// Makes a program of one task that walks `rounds` times over an array of `lines` lines.
    pub(crate) fn of_walks(rounds: u64, start: u64, lines: u64) -> Program {
        let mut program = Program::new(1);
        (0..rounds).for_each(|_| program.walk(start, lines));
        program
    }

    /// Adds loads of the first word of each line of an array.
    pub(crate) fn walk(&mut self, start: u64, lines: u64) {
        (0..lines).for_each(|line| self.load(start + line * LINE));
    }
}

pub(crate) struct Simulated {
    pub(crate) hierarchies: ByView<HierarchyCounts>,
    pub(crate) found: Detail,
}

/// Simulates a program on one cache for data.
pub(crate) fn run(cache: Level, program: &Program) -> Simulated {
    simulated(&behind_free_fetches(vec![cache]), program)
}

/// Simulates a program with the simulator and the oracle, and returns their common result.
pub(crate) fn simulated(design: &Design, program: &Program) -> Simulated {
    simulated_by(PrivateBy::Process, design, program)
}

/// Simulates a program with the simulator and the oracle, with private hierarchies by process or by
/// task.
pub(crate) fn simulated_by(private_by: PrivateBy, design: &Design, program: &Program) -> Simulated {
    let designs = std::slice::from_ref(design);
    let chunks = std::slice::from_ref(&program.chunk);
    let options = Options {
        intervals: 1,
        places: 10,
        private_by,
        ..Options::default()
    };
    let mut oracle = of_oracle(
        &run_oracle(designs, &options, chunks, None),
        &[true],
        options.places,
    );
    compare(&run_engine(designs, &options, chunks), &oracle)
        .unwrap_or_else(|difference| panic!("{difference}"));
    let findings = oracle.designs.remove(0);
    Simulated {
        hierarchies: findings.hierarchies,
        found: findings.full.expect("asked for"),
    }
}

/// Returns the counters of the level with this name in the shared view.
pub(crate) fn level<'a>(result: &'a Simulated, name: &str) -> &'a LevelCounts {
    let shared = &result.hierarchies.shared;
    shared
        .levels
        .iter()
        .chain(&shared.tlbs)
        .find(|level| level.name == name)
        .expect("the design has it")
}
