//! Internal to switchcost: the reuse profile of a traced program. The profile says which cache
//! lines the program uses again after a switch point, after what time, and in what way. If others
//! had evicted these lines, the program would have to reload them.
//!
//! The input is the chunks of a trace, in order; the output is a [`Profile`], which is a mean over
//! all switch points, with one switch point every [`CUT`] instructions. There is one pass, with
//! memory for [`MOST_LINES`] lines at most, however long the trace is. The profile has no cost of a
//! line, and assumes no size of caches. A [`Classifier`], which simulations use as well, determines
//! how a line is requested.
//!
//! A line that is used in interval `t`, and before that in `p`, is first used in `t` after each of
//! the switch points `p+1 ..= t`. So the sums over all switch points are found by examining each
//! such use once (P. J. Denning, "The working set model for program behavior", 1968; X. Xiang et
//! al., "Linear-time modeling of program working set in shared cache", 2011).

mod chain;
mod classifier;
mod instructions;
mod over_cuts;
mod quantiles;
mod recency;
mod streams;
mod tree;

use std::collections::BTreeMap;

use switchcost_record::profile::{Kind, Profile, Program};
use switchcost_trace::{
    Block, Chunk, DataFlow, Dependences, Event, Mapping, Mark, ProcessId, ProcessTable, Reference,
    TraceHeader,
};

pub use chain::Chain;
pub use classifier::{Access, Arrival, Classifier};
use instructions::ByInstruction;
pub use instructions::KindsByInstruction;
use over_cuts::OverCuts;
use recency::Recency;

/// Number of instructions between two switch points. A core executes this number in less than a
/// microsecond.
pub const CUT: u64 = 1024;

/// Maximum number of lines that are tracked (64 MiB). A line counts as new if at least this number
/// of other lines were used since its last use.
pub const MOST_LINES: usize = 1 << 20;

/// Number of address bits within a line: profiles have lines of 64 bytes.
pub const LINE_BITS: u32 = 6;
/// Number of bits of a line's number, for addresses of 48 bits. The number of the address space is
/// stored above the line's number.
const NUMBER_BITS: u32 = 48 - LINE_BITS;
/// Number of the address bit that is set in the kernel's half, which all address spaces share.
const KERNEL_BIT: u32 = 47;
/// Maximum number of programs in a profile. A shell script may start any number of programs.
const MOST_PROGRAMS: usize = 32;
/// Maximum number of bytes that are counted for one touch by the kernel.
const MOST_TOUCHED: u64 = 1 << 20;

/// Maker of the profile of a trace, which is followed from its start.
#[derive(Debug)]
pub struct Profiler {
    table: ProcessTable,
    flow: DataFlow<Chain>,
    lines: Lines,
    has_dependences: bool,
    credited: u64,
    programs: BTreeMap<ProcessId, Ran>,
}

/// State and sums of the lines that the traced programs use.
#[derive(Debug)]
struct Lines {
    recency: Recency,
    classifier: Classifier,
    over_cuts: OverCuts,
    instructions: u64,
    /// Kinds of requests by instruction; `None` if not wanted.
    by_instruction: Option<ByInstruction>,
}

/// A program that ran in an address space, with the number of its instructions.
#[derive(Debug, Default)]
struct Ran {
    name: Vec<u8>,
    build_id: Option<Vec<u8>>,
    instructions: u64,
}

impl Default for Profiler {
    fn default() -> Profiler {
        Profiler::new_bounded(MOST_LINES)
    }
}

impl Profiler {
    fn new_bounded(most: usize) -> Profiler {
        Profiler {
            table: ProcessTable::default(),
            flow: DataFlow::default(),
            lines: Lines {
                recency: Recency::new(most),
                classifier: Classifier::default(),
                over_cuts: OverCuts::default(),
                instructions: 0,
                by_instruction: None,
            },
            has_dependences: false,
            credited: 0,
            programs: BTreeMap::new(),
        }
    }

    /// Follows the next chunk of the trace. `dependences` are the known dependences of the chunk's
    /// blocks.
    pub fn add(&mut self, chunk: &Chunk, dependences: &Dependences) {
        self.has_dependences |= !dependences.is_empty();
        let mut space = self.space();
        for event in chunk.events() {
            match event {
                Event::Mark(mark) => {
                    self.mark(mark);
                    space = self.space();
                }
                Event::Block(block, own) => self.block(space, block, own, dependences),
            }
        }
    }

    /// Returns the number of the running address space, shifted left so that the number of a line
    /// can be added.
    fn space(&self) -> u64 {
        u64::from(self.process().0) << NUMBER_BITS
    }

    fn process(&self) -> ProcessId {
        self.table.running_process()
    }

    fn block(
        &mut self,
        space: u64,
        block: &Block,
        references: &[Reference],
        dependences: &Dependences,
    ) {
        let Profiler { flow, lines, .. } = self;
        let code = Touched {
            space,
            first: block.address,
            bytes: block.bytes.into(),
            instruction: block.address,
            access: Access::Fetch,
        };
        lines.touch(code, None);
        flow.follow(
            dependences,
            block,
            references,
            |reference, address, stored| {
                let touched = Touched {
                    space,
                    first: reference.address(),
                    bytes: reference.bytes().into(),
                    instruction: block.address.wrapping_add(u64::from(reference.through())),
                    access: access_of(reference),
                };
                let own = lines.touch(touched, address);
                own.max(address.unwrap_or_default()).max(stored)
            },
        );
        lines.run(block.instructions.into());
    }

    fn mark(&mut self, mark: &Mark) {
        self.credit();
        self.table.follow(mark);
        self.flow.mark(mark);
        match mark {
            Mark::KernelTouch {
                address,
                bytes,
                is_store,
            } if *bytes > 0 => {
                let access = if *is_store {
                    Access::Store
                } else {
                    Access::Load
                };
                let touched = Touched {
                    space: self.space(),
                    first: *address,
                    bytes: *bytes.min(&MOST_TOUCHED),
                    instruction: 0,
                    access,
                };
                self.lines.touch(touched, None);
            }
            Mark::Map(mapping) => self.map(mapping),
            Mark::Birth { process, name, .. } | Mark::Exec { process, name, .. } => {
                self.begin(*process, name)
            }
            _ => {}
        }
    }

    /// Credits the running program with the instructions that were executed since the last call.
    fn credit(&mut self) {
        let now = self.lines.instructions;
        let ran = now - std::mem::replace(&mut self.credited, now);
        if ran > 0 {
            self.programs
                .entry(self.process())
                .or_default()
                .instructions += ran;
        }
    }

    /// Records the name of the program that runs in a process from now on, if it has no name yet.
    fn begin(&mut self, process: ProcessId, name: &[u8]) {
        let ran = self.programs.entry(process).or_default();
        if ran.name.is_empty() {
            ran.name = name.to_vec();
        }
    }

    /// Records the build ID of a process's first executable mapping, which belongs to the program's
    /// file.
    fn map(&mut self, mapping: &Mapping) {
        let process = self.process();
        let ran = self.programs.entry(process).or_default();
        if mapping.is_executable && ran.build_id.is_none() {
            ran.build_id = Some(mapping.build_id.clone());
        }
    }

    /// Returns the profile of all chunks so far.
    pub fn finish(mut self, header: &TraceHeader, program_version: &str) -> Profile {
        self.credit();
        let over_cuts = &self.lines.over_cuts;
        Profile {
            program_version: program_version.to_owned(),
            commands: header.commands.clone(),
            programs: programs(&self.programs),
            instructions: self.lines.instructions,
            lines: over_cuts.spreads(),
            reused: over_cuts.reused(),
            new_lines: over_cuts.new_lines(),
            has_dependences: self.has_dependences,
            ..Profile::empty(CUT, over_cuts.times_instructions())
        }
    }
}

/// A range of bytes that an instruction accesses, with the kind of access.
#[derive(Clone, Copy)]
struct Touched {
    space: u64,
    first: u64,
    bytes: u64,
    instruction: u64,
    access: Access,
}

impl Lines {
    fn run(&mut self, instructions: u64) {
        let before = self.instructions / CUT;
        self.instructions += instructions;
        for _ in before..self.instructions / CUT {
            self.recency.cut();
            self.over_cuts.cut();
        }
    }

    /// Counts the use of all lines of a range. `address` is the chain of lines that its address
    /// depends on, if known. Returns the longest chain that ends with one of the lines.
    fn touch(&mut self, touched: Touched, address: Option<Chain>) -> Chain {
        let Touched {
            space,
            first,
            bytes,
            instruction,
            access,
        } = touched;
        let space = if first >> KERNEL_BIT & 1 == 0 {
            space
        } else {
            0
        };
        let number = |address: u64| (address & ((1 << (KERNEL_BIT + 1)) - 1)) >> LINE_BITS;
        let last = first.saturating_add(bytes.saturating_sub(1));
        let mut loaded = Chain::default();
        for line in number(first)..=number(last).max(number(first)) {
            let Some(use_of) = self.recency.touch(space | line) else {
                continue;
            };
            let age = use_of.age();
            let arrival = Arrival {
                line: space | line,
                at: self.instructions,
                instruction,
                access,
                age,
                chain: address,
            };
            let kind = self.classifier.kind(&arrival);
            self.over_cuts.add(kind, use_of);
            if let Some(counts) = &mut self.by_instruction {
                instructions::count(counts, instruction, kind, age);
            }
            // Lines of other kinds are prefetched, or not waited for.
            if matches!(kind, Kind::Gathered | Kind::Dependent | Kind::Chained) {
                let chain = address.unwrap_or_default();
                let end = chain.extended(self.instructions, age.unwrap_or(u32::MAX));
                loaded = loaded.max(end);
            }
        }
        loaded
    }
}

/// Returns at most [`MOST_PROGRAMS`] programs, one for each name and build ID. Programs with the
/// most instructions come first.
fn programs(ran: &BTreeMap<ProcessId, Ran>) -> Vec<Program> {
    let mut by_file: BTreeMap<(String, Option<String>), u64> = BTreeMap::new();
    for Ran {
        name,
        build_id,
        instructions,
    } in ran.values().filter(|ran| ran.instructions > 0)
    {
        let build_id = build_id
            .as_ref()
            .filter(|id| !id.is_empty())
            .map(|id| hexadecimal(id));
        *by_file
            .entry((String::from_utf8_lossy(name).into_owned(), build_id))
            .or_default() += instructions;
    }
    let mut all: Vec<Program> = by_file
        .into_iter()
        .map(|((name, build_id), instructions)| Program {
            name,
            build_id,
            instructions,
        })
        .collect();
    all.sort_by_key(|program| std::cmp::Reverse(program.instructions));
    all.truncate(MOST_PROGRAMS);
    all
}

fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests;

fn access_of(reference: Reference) -> Access {
    if reference.is_store() {
        Access::Store
    } else {
        Access::Load
    }
}
