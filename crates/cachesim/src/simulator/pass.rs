//! Runs one pass over the events of a trace, for a single design or a
//! [`Family`](crate::sweep::Family) of designs, and follows the running process.

use switchcost_design::result::{ByView, DesignResult, FIRST_FILL_POINT, Interval};
use switchcost_trace::{Block, BlockRun, Chunk, Mark, Purpose, Reference};

use super::parts::{ALL, Counted, Fed, Part};
use super::pieces::{TakePieces, take_pieces};
use super::runner::Runner;
use super::{Options, Outcome};
use crate::attribution::{ByPlace, KernelBlocks};
use crate::causes::Why;
use crate::machine::{Context, Listener, PageChange, RunContext};
use crate::processes::{Change, Processes, Running};

/// Largest number of blocks simulated in one step. The counts of this many blocks fit into one
/// word.
const SLICE_BLOCKS: usize = 2048;
/// Number of blocks in a group. The end of the interval is checked once per group, and before each
/// block in the group that reaches it.
const GROUP_BLOCKS: usize = 64;

/// Final result of a pass.
#[derive(Debug)]
pub(super) struct PassResult {
    /// Facts about the trace; its list of designs is empty.
    pub(super) facts: Outcome,
    /// Result of each design, with its index and its attributions to places. In a
    /// [`Family`](crate::sweep::Family), only the first design has attributions.
    pub(super) designs: Vec<(u16, DesignResult, Option<ByPlace>)>,
    /// Names of programs. Attributions refer to programs by their index in this list.
    pub(super) programs: Vec<String>,
    /// Number of instructions executed in each of the kernel's blocks.
    pub(super) kernel_blocks: KernelBlocks,
    /// Intervals that have not been taken yet.
    pub(super) intervals: Vec<Interval>,
    /// Parts of the trace, if the trace was not simulated as a whole.
    pub(super) parts: Vec<Part>,
}

/// Counts from the start of the trace to some position.
#[derive(Clone, Debug, Default)]
struct Before {
    counted: Counted,
    designs: Vec<(u16, DesignResult)>,
}

/// State of one pass over the events of a trace, for a single design or a
/// [`Family`](crate::sweep::Family) of designs.
#[derive(Debug)]
pub(super) struct Pass {
    options: Options,
    runner: Runner,
    /// Weight of each distinct block of the chunk: see [`weight`].
    weights: Vec<u64>,
    /// Number of kernel instructions in each distinct block of the chunk; empty if the chunk has
    /// none.
    kernel_weights: Vec<u64>,
    /// Number of executions of each distinct block, if the chunk has kernel code.
    kernel_runs: Vec<u64>,
    /// Number of kernel instructions executed so far.
    kernel_instructions: u64,
    kernel_blocks: KernelBlocks,
    processes: Processes,
    /// Whether the machine has been told the running process.
    has_begun: bool,
    /// The open interval without its cycles, which the machine counts; `None` if no interval is
    /// open.
    open: Option<Interval>,
    counted: Counted,
    /// Number of instructions at which the next point of the fill curve is due.
    doubled_at: u64,
    /// Intervals of segments that have ended in the chunk.
    intervals: Vec<Interval>,
    /// Index of the current part; `None` while caches are warmed up. A whole trace is one part.
    part: Option<usize>,
    /// Counts at the beginning of the first part; `None` if the first part begins with the trace.
    before_all: Option<Before>,
    /// Counts at the beginning of the current part; `None` if it begins with the trace.
    before: Option<Before>,
    parts: Vec<Part>,
}

impl Pass {
    pub(super) fn new(runner: Runner, options: Options) -> Pass {
        Pass {
            processes: Processes::new(options.private_by),
            options,
            runner,
            weights: Vec::new(),
            kernel_weights: Vec::new(),
            kernel_runs: Vec::new(),
            kernel_instructions: 0,
            kernel_blocks: KernelBlocks::new(),
            has_begun: false,
            open: None,
            counted: Counted::default(),
            doubled_at: FIRST_FILL_POINT,
            intervals: Vec::new(),
            part: Some(ALL),
            before_all: None,
            before: None,
            parts: Vec::new(),
        }
    }

    /// Returns 1 for a single design, and 0 for a [`Family`](crate::sweep::Family).
    pub(super) fn designs_in_full(&self) -> usize {
        self.runner.designs_in_full()
    }

    /// Returns the number of processes that the designs distinguish.
    pub(super) fn most_processes(&self) -> u64 {
        self.runner.most_processes()
    }

    /// Takes the intervals of segments that have ended since the last call.
    pub(super) fn take_intervals(&mut self, intervals: &mut Vec<Interval>) {
        if self.part.is_none() && self.before_all.is_none() {
            // Intervals before the first part belong to no part.
            self.intervals.clear();
        }
        intervals.append(&mut self.intervals);
    }

    /// Simulates a chunk, which must have passed its check.
    pub(super) fn feed(&mut self, chunk: &Chunk, fed: Fed) {
        self.take_purpose(fed);
        let kinds = chunk.blocks.run().kinds();
        self.runner.begin_chunk(kinds.len());
        self.weights.clear();
        self.weights.extend(kinds.iter().map(weight));
        self.kernel_weights.clear();
        if kinds.iter().any(|block| block.flags.is_kernel()) {
            let of_kernel = |block: &Block| {
                if block.flags.is_kernel() {
                    u64::from(block.instructions)
                } else {
                    0
                }
            };
            self.kernel_weights.extend(kinds.iter().map(of_kernel));
            self.kernel_runs.clear();
            self.kernel_runs.resize(kinds.len(), 0);
        }
        take_pieces(chunk, self);
        self.count_kernel_blocks(kinds);
    }

    /// Adds the chunk's executed kernel instructions to `kernel_blocks`, by block address.
    fn count_kernel_blocks(&mut self, kinds: &[Block]) {
        for (block, (runs, weight)) in kinds
            .iter()
            .zip(self.kernel_runs.iter().zip(&self.kernel_weights))
        {
            if runs * weight > 0 {
                *self.kernel_blocks.entry(block.address).or_default() += runs * weight;
            }
        }
    }

    /// Opens the interval of the next block, if none is open. Returns the number of instructions
    /// left in the interval.
    fn open_interval(&mut self) -> u64 {
        self.begin();
        let process = self.processes.running().process;
        let segment = *self.processes.segment();
        let length = self.options.interval_instructions;
        let number = (segment.instructions / length).min(self.options.intervals.into());
        if self
            .open
            .is_some_and(|open| u64::from(open.number) != number)
        {
            self.close_interval();
        }
        self.open.get_or_insert(Interval {
            design: 0,
            segment: segment.number,
            segments: 1,
            task: self.processes.task().0,
            process,
            cause: segment.cause,
            end: 0,
            number: number as u32,
            instructions: 0,
            cycles: ByView::default(),
            of_others: None,
        });
        match number == u64::from(self.options.intervals) {
            true => u64::MAX,
            false => (number + 1)
                .saturating_mul(length)
                .saturating_sub(segment.instructions),
        }
    }

    fn run(&mut self, blocks: BlockRun<'_>, references: &[Reference], instructions: u64) {
        self.counted.instructions += instructions;
        self.processes.count(instructions);
        if !self.kernel_weights.is_empty() {
            let of_kernel = |number: &u32| self.kernel_weights[*number as usize];
            self.kernel_instructions += blocks.numbers().iter().map(of_kernel).sum::<u64>();
            blocks
                .numbers()
                .iter()
                .for_each(|number| self.kernel_runs[*number as usize] += 1);
        }
        if let Some(open) = &mut self.open {
            open.instructions += instructions;
        }
        self.run_in_context(|runner, context| runner.run(blocks, references, context));
        let stores: u64 = references
            .iter()
            .map(|reference| u64::from(reference.is_store()))
            .sum();
        self.counted.loads += references.len() as u64 - stores;
        self.counted.stores += stores;
    }

    /// Adds a point to the fill curve, at the end of the first block at which the number of
    /// instructions has doubled.
    fn see_doubled(&mut self) {
        let instructions = self.counted.instructions;
        if instructions >= self.doubled_at {
            self.runner
                .full_machine()
                .listener_mut()
                .instructions_doubled(instructions);
            self.doubled_at = FIRST_FILL_POINT << ((instructions / FIRST_FILL_POINT).ilog2() + 1);
        }
    }

    /// Makes process 0 run before the first switch.
    fn begin(&mut self) {
        if !self.has_begun {
            self.change_process();
        }
    }

    fn change_process(&mut self) {
        self.has_begun = true;
        let to = self.processes.running();
        self.runner.change_process(to);
        let facts = self.processes.facts(to.process);
        self.runner
            .full_machine()
            .let_fill(&facts.name, facts.process);
    }

    /// Calls `act` with the runner and the context of the code that runs at the current position.
    fn run_in_context(&mut self, act: impl FnOnce(&mut Runner, &RunContext<'_>)) {
        let Running { process, space, .. } = self.processes.running();
        let code = Context {
            program: self.processes.program(process),
            cause: self.processes.cause(),
        };
        let context = RunContext {
            space,
            code,
            mappings: self.processes.mappings(space),
        };
        act(&mut self.runner, &context);
    }

    fn end_call(&mut self, is_switch: bool) {
        let instructions = self.counted.instructions;
        self.runner.full_machine().end_call(instructions, is_switch);
    }

    fn close_interval(&mut self) {
        let Some(open) = self.open.take() else { return };
        self.runner.close_interval(open);
    }

    fn mappings_change(&mut self) {
        if self.processes.has_begun() {
            self.run_in_context(|runner, context| {
                runner
                    .full_machine()
                    .listener_mut()
                    .mappings_change(context.mappings)
            });
        }
    }

    /// Applies a mark about the running process's memory.
    fn memory(&mut self, mark: &Mark) {
        if !self.has_begun {
            return;
        }
        let space = self.processes.running().space;
        match mark {
            &Mark::KernelTouch {
                address,
                bytes,
                is_store,
            } if self.options.kernel_touches => {
                let mut touches = [0; 2];
                self.run_in_context(|runner, context| {
                    touches = runner.touch(address, bytes, is_store, context)
                });
                self.counted
                    .kernel_touches
                    .iter_mut()
                    .zip(touches)
                    .for_each(|(sum, more)| *sum += more);
            }
            Mark::Map(mapping) => {
                self.mappings_change();
                self.processes.mappings_mut(space).map(mapping);
                let (start, bytes) = (mapping.start, mapping.bytes);
                self.runner.change_pages(PageChange::Remapped {
                    space,
                    start,
                    bytes,
                });
            }
            &Mark::Unmap { start, bytes } => {
                self.mappings_change();
                self.processes.mappings_mut(space).unmap(start, bytes);
                self.runner.change_pages(PageChange::Remapped {
                    space,
                    start,
                    bytes,
                });
            }
            &Mark::Page {
                virtual_address,
                physical_address,
                bytes,
            } => {
                let physical = physical_address;
                self.runner.change_pages(PageChange::Recorded {
                    space,
                    virtual_address,
                    physical,
                    bytes,
                });
            }
            _ => {}
        }
    }

    fn change(&mut self, change: Change) {
        if let Some((parent, child)) = change.fork {
            self.runner
                .change_pages(PageChange::Forked { parent, child });
        }
        if change.is_other {
            self.close_interval();
            self.change_process();
        }
        if let Some(process) = change.ended {
            self.runner.drop_process(process);
        }
        if let Some(space) = change.ended_space {
            self.runner.change_pages(PageChange::Ended { space });
        }
    }

    fn take_purpose(&mut self, fed: Fed) {
        if let Some(instructions) = fed.since_switch {
            self.processes.set_since_switch(instructions);
        }
        let part = match fed.purpose {
            Purpose::Count { part } => Some(part),
            Purpose::WarmUp | Purpose::LastUses => None,
        };
        if part != self.part {
            self.end_part();
            self.part = part;
            if part.is_some() {
                self.begin_part();
            }
        }
    }

    fn begin_part(&mut self) {
        let is_first = self.before_all.is_none();
        if is_first {
            self.mappings_change();
            self.close_interval();
            self.intervals.clear();
            self.processes.begin_parts();
            self.runner.full_machine().begin_parts();
            self.kernel_blocks.clear();
        }
        let before = self.counts_so_far();
        if is_first {
            self.before_all = Some(before.clone());
        }
        self.before = Some(before);
    }

    fn end_part(&mut self) {
        let Some(before) = self.before.take() else {
            return;
        };
        let Before { counted, designs } = self.counts_so_far();
        let designs = designs.into_iter().zip(&before.designs);
        let designs = designs
            .map(|((number, result), (_, before))| (number, result.since(before)))
            .collect();
        self.parts.push(Part {
            counted: counted.since(before.counted),
            designs,
        });
    }

    fn counts_so_far(&mut self) -> Before {
        let counted = self.counted;
        Before {
            counted,
            designs: self.runner.results(counted.seen()),
        }
    }

    /// Ends the last segment, and returns the results of the pass.
    pub(super) fn finish(mut self) -> PassResult {
        self.mappings_change();
        self.close_interval();
        let end = self.processes.causes.number(Why::EndOfTrace);
        self.runner.end_segment(end, &mut self.intervals);
        self.runner.give_sums(&mut self.intervals);
        let all = self.counted;
        self.end_part();
        let before = self.before_all.take().unwrap_or_default();
        let mut designs = self.runner.into_results(all.seen());
        for ((_, result, _), (_, before)) in designs.iter_mut().zip(&before.designs) {
            *result = result.clone().since(before);
        }
        let counted = all.since(before.counted);
        let (processes, causes, programs) = self.processes.into_facts();
        let facts = Outcome {
            instructions: counted.instructions,
            loads: counted.loads,
            stores: counted.stores,
            voluntary_switches: counted.voluntary_switches,
            involuntary_switches: counted.involuntary_switches,
            processes,
            causes,
            designs: Vec::new(),
            parts: Vec::new(),
        };
        let (intervals, parts, kernel_blocks) = (self.intervals, self.parts, self.kernel_blocks);
        PassResult {
            facts,
            designs,
            programs,
            kernel_blocks,
            intervals,
            parts,
        }
    }
}

impl TakePieces for Pass {
    fn blocks<'a>(
        &mut self,
        mut blocks: BlockRun<'_>,
        mut references: &'a [Reference],
    ) -> &'a [Reference] {
        while !blocks.is_empty() {
            let limit = self
                .open_interval()
                .min(self.doubled_at - self.counted.instructions);
            let run = Run::cut(blocks, &self.weights, limit);
            let (now, later) = references.split_at(run.references);
            let (these, rest) = blocks.split_at(run.blocks);
            self.run(these, now, run.instructions);
            self.see_doubled();
            blocks = rest;
            references = later;
        }
        references
    }

    fn mark(&mut self, mark: &Mark) {
        match mark {
            Mark::Map(_) | Mark::Unmap { .. } | Mark::Page { .. } | Mark::KernelTouch { .. } => {
                self.memory(mark)
            }
            Mark::Birth { .. } | Mark::Exec { .. } | Mark::Exit { .. } => {
                self.mappings_change();
                let change = self.processes.follow(mark);
                self.change(change);
            }
            Mark::Switch {
                is_voluntary,
                cause,
                ..
            } => {
                let one = u64::from(mark.is_switch());
                if mark.is_switch() {
                    let switches =
                        self.counted.voluntary_switches + self.counted.involuntary_switches;
                    self.runner
                        .full_machine()
                        .listener_mut()
                        .task_switched(switches, self.kernel_instructions);
                }
                match is_voluntary {
                    true => self.counted.voluntary_switches += one,
                    false => self.counted.involuntary_switches += one,
                }
                self.end_call(true);
                self.mappings_change();
                self.close_interval();
                let (end, is_other) = self.processes.switch(mark, *is_voluntary, *cause);
                self.runner.end_segment(end, &mut self.intervals);
                self.runner.empty_flushed_view();
                self.change(Change {
                    is_other,
                    ..Change::default()
                });
            }
            &Mark::SyscallEnter { number } => {
                let instructions = self.counted.instructions;
                self.runner.full_machine().enter_call(number, instructions);
            }
            Mark::SyscallExit { .. } => self.end_call(false),
            Mark::Fault { .. } => {}
        }
    }
}

/// Size of a run of consecutive blocks of one interval, with at most [`SLICE_BLOCKS`] blocks.
struct Run {
    blocks: usize,
    references: usize,
    instructions: u64,
}

/// Returns the number of a block's instructions in the lower bits and the number of its references
/// in the upper bits, so that one addition sums up both. The sums of one step fit.
fn weight(block: &Block) -> u64 {
    u64::from(block.instructions) | u64::from(block.references) << 32
}

const _: () = assert!(SLICE_BLOCKS * (u16::MAX as usize) < 1 << 32);

impl Run {
    /// Returns the size of the run that ends with the last block that starts within `limit`
    /// instructions, and has at least one block. `weights` has the [`weight`] of each distinct
    /// block of the chunk.
    fn cut(blocks: BlockRun<'_>, weights: &[u64], limit: u64) -> Run {
        let weight = |number: &u32| weights[*number as usize];
        let numbers = &blocks.numbers()[..blocks.len().min(SLICE_BLOCKS)];
        let (mut blocks, mut sum) = (0, 0);
        for group in numbers.chunks(GROUP_BLOCKS) {
            let more: u64 = group.iter().map(weight).sum();
            if instructions_in(sum + more) >= limit {
                break;
            }
            (blocks, sum) = (blocks + group.len(), sum + more);
        }
        for number in &numbers[blocks..] {
            if instructions_in(sum) >= limit && blocks > 0 {
                break;
            }
            (blocks, sum) = (blocks + 1, sum + weight(number));
        }
        Run {
            blocks,
            references: (sum >> 32) as usize,
            instructions: instructions_in(sum),
        }
    }
}

fn instructions_in(weights: u64) -> u64 {
    weights & u64::from(u32::MAX)
}
