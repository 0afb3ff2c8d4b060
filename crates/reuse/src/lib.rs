//! Which lines of a traced program are used again after a cut, when, and how: what it would have to bring back if others had taken
//! the caches at the cut.
//!
//! What comes in: the chunks of a trace, in their order. What goes out: a [`Profile`], a mean over all cuts, one each
//! [`CUT`] instructions. One pass, and memory for [`MOST_LINES`] lines at most, whatever the length of the trace. Nothing about what
//! a line costs, and no caches of a certain size. How a line is asked for is found by a [`Classifier`], which simulations ask, too.
//!
//! A line that is used in cut interval `t`, and before in `p`, is the first use of it after each of the cuts `p+1 ..= t`. So sums over
//! all cuts come from one look at each such use (P. J. Denning, "The working set model for program behavior", 1968; X. Xiang et al.,
//! "Linear-time modeling of program working set in shared cache", 2011).

mod classifier;
mod over_cuts;
mod quantiles;
mod recency;
mod streams;
mod tree;

use std::collections::BTreeMap;

use switchcost_record::profile::{Profile, Program};
use switchcost_trace::{
    Block, Chunk, Event, Mapping, Mark, ProcessId, ProcessTable, Reference, TraceHeader,
};

pub use classifier::{Access, Arrival, Classifier};
use over_cuts::OverCuts;
use recency::Recency;

/// Instructions between switch points: less than a microsecond of a core.
pub const CUT: u64 = 1024;

/// Number of lines remembered (64 MiB). A line that was not used for longer counts as new.
pub const MOST_LINES: usize = 1 << 20;

/// Number of address bits within a line: profiles have lines of 64 bytes.
pub const LINE_BITS: u32 = 6;
/// Bits of the number of a line of 48 bits of address; the address space stands above.
const NUMBER_BITS: u32 = 48 - LINE_BITS;
/// The address bit that is set in the kernel's half, which is the same in all address spaces.
const KERNEL_BIT: u32 = 47;
/// Names in a profile: a shell script starts any number.
const MOST_PROGRAMS: usize = 32;
/// The kernel touches more than that on a program's behalf in pieces.
const MOST_TOUCHED: u64 = 1 << 20;

/// Follows a trace from its start and makes a profile.
#[derive(Debug)]
pub struct Profiler {
    table: ProcessTable,
    recency: Recency,
    classifier: Classifier,
    over_cuts: OverCuts,
    instructions: u64,
    credited: u64,
    programs: BTreeMap<ProcessId, Ran>,
}

/// Program that ran in an address space.
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
            recency: Recency::new(most),
            classifier: Classifier::default(),
            over_cuts: OverCuts::default(),
            instructions: 0,
            credited: 0,
            programs: BTreeMap::new(),
        }
    }

    /// Follows the next chunk.
    pub fn add(&mut self, chunk: &Chunk) {
        let mut space = self.space();
        for event in chunk.events() {
            match event {
                Event::Mark(mark) => {
                    self.mark(mark);
                    space = self.space();
                }
                Event::Block(block, own) => self.block(space, block, own),
            }
        }
    }

    /// The address space that runs, as the bits above the numbers of lines.
    fn space(&self) -> u64 {
        u64::from(self.process().0) << NUMBER_BITS
    }

    fn process(&self) -> ProcessId {
        self.table.running_process()
    }

    fn block(&mut self, space: u64, block: &Block, references: &[Reference]) {
        let last = block
            .address
            .saturating_add(u64::from(block.bytes).saturating_sub(1));
        self.touch(space, block.address, last, block.address, Access::Fetch);
        for reference in references {
            let (first, access) = (reference.address(), access_of(*reference));
            let last = first.saturating_add(u64::from(reference.bytes()) - 1);
            self.touch(
                space,
                first,
                last,
                block.address.wrapping_add(u64::from(reference.through())),
                access,
            );
        }
        self.run(u64::from(block.instructions));
    }

    fn run(&mut self, instructions: u64) {
        let before = self.instructions / CUT;
        self.instructions += instructions;
        for _ in before..self.instructions / CUT {
            self.recency.cut();
            self.over_cuts.cut();
        }
    }

    fn touch(&mut self, space: u64, first: u64, last: u64, instruction: u64, access: Access) {
        let space = if first >> KERNEL_BIT & 1 == 0 {
            space
        } else {
            0
        };
        let number = |address: u64| (address & ((1 << (KERNEL_BIT + 1)) - 1)) >> LINE_BITS;
        for line in number(first)..=number(last).max(number(first)) {
            let Some(use_of) = self.recency.touch(space | line) else {
                continue;
            };
            let arrival = Arrival {
                line: space | line,
                at: self.instructions,
                instruction,
                access,
                age: use_of.age(),
            };
            let kind = self.classifier.kind(&arrival);
            self.over_cuts.add(kind, use_of);
        }
    }

    fn mark(&mut self, mark: &Mark) {
        self.credit();
        self.table.follow(mark);
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
                let last = address.saturating_add(bytes.min(&MOST_TOUCHED) - 1);
                self.touch(self.space(), *address, last, 0, access);
            }
            Mark::Map(mapping) => self.map(mapping),
            Mark::Birth { process, name, .. } | Mark::Exec { process, name, .. } => {
                self.begin(*process, name)
            }
            _ => {}
        }
    }

    /// Credits what ran since the last mark to the program that ran it.
    fn credit(&mut self) {
        let ran = self.instructions - std::mem::replace(&mut self.credited, self.instructions);
        if ran > 0 {
            self.programs
                .entry(self.process())
                .or_default()
                .instructions += ran;
        }
    }

    /// A name for what runs there from now on, if there is none yet.
    fn begin(&mut self, process: ProcessId, name: &[u8]) {
        let ran = self.programs.entry(process).or_default();
        if ran.name.is_empty() {
            ran.name = name.to_vec();
        }
    }

    /// The first file that may be executed is the program's own.
    fn map(&mut self, mapping: &Mapping) {
        let process = self.process();
        let ran = self.programs.entry(process).or_default();
        if mapping.is_executable && ran.build_id.is_none() {
            ran.build_id = Some(mapping.build_id.clone());
        }
    }

    /// Returns the profile of everything followed.
    pub fn finish(mut self, header: &TraceHeader, program_version: &str) -> Profile {
        self.credit();
        let over_cuts = &self.over_cuts;
        Profile {
            program_version: program_version.to_owned(),
            commands: header.commands.clone(),
            programs: programs(&self.programs),
            instructions: self.instructions,
            lines: over_cuts.spreads(),
            reused: over_cuts.reused(),
            new_lines: over_cuts.new_lines(),
            ..Profile::empty(CUT, over_cuts.times_instructions())
        }
    }
}

/// The programs, with those of the same file added up, most instructions first.
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
