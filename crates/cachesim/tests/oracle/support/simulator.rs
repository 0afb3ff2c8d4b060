//! The oracle: a slow simulator that follows the words of `docs/method/simulation.md` as closely as
//! possible.

use std::collections::BTreeMap;

use switchcost_cachesim::Options;
use switchcost_design::Design;
use switchcost_design::result::{
    ByView, CallCost, FillPoint, Interval, OfOthers, PrivateBy, ProcessFacts, SwitchCause,
};
use switchcost_trace::{Block, Chunk, Event, Mark, Reference};

use super::address::KERNEL;
use super::fault::Fault;
use super::machine::Machine;
use super::memory::Memory;
use super::process_table::{
    CodePlace, Gone, ProcessTable, birth, cause_of, end_of_trace, syscall_name,
};
use super::stack::Kind;
use super::steps::Steps;

/// Excess cycles by program, number of the cause, and place.
pub(crate) type Code = BTreeMap<(String, u32, CodePlace), i64>;

pub(crate) struct OneDesign {
    pub(crate) machine: Machine,
    pub(crate) intervals: Vec<Interval>,
    pub(crate) code: Code,
    pub(crate) data: Code,
    /// Evicted lines by level, program (`None` for the kernel), whether code, and place.
    pub(crate) evictors: BTreeMap<(usize, Option<String>, bool, CodePlace), u64>,
    pub(crate) calls: BTreeMap<u16, CallCost>,
    /// Counts at the beginning of the current call.
    entered: CallCost,
    /// The current interval, with the cycles, and the cycles due to others, before its first block.
    open: Option<(Interval, ByView<u64>, OfOthers)>,
}

struct Segment {
    number: u32,
    instructions: u64,
    cause: u32,
}

pub(crate) struct Oracle {
    pub(crate) designs: Vec<OneDesign>,
    pub(crate) table: ProcessTable,
    /// Causes in the order of appearance.
    pub(crate) causes: Vec<SwitchCause>,
    options: Options,
    fault: Option<Fault>,
    segment: Option<Segment>,
    segments: u32,
    /// Number of instructions of the trace so far.
    instructions: u64,
    /// Number of instructions at which the next doubling is reached.
    doubled_at: u64,
    /// System call that the running task is in.
    call: Option<u16>,
}

impl Oracle {
    pub(crate) fn new(designs: &[Design], options: &Options, fault: Option<Fault>) -> Oracle {
        let tells_tasks_apart = options.private_by == PrivateBy::Task;
        let one = |design| OneDesign {
            machine: Machine::new(design, tells_tasks_apart, fault),
            intervals: Vec::new(),
            code: Code::new(),
            data: Code::new(),
            evictors: BTreeMap::new(),
            calls: BTreeMap::new(),
            entered: CallCost::default(),
            open: None,
        };
        Oracle {
            designs: designs.iter().map(one).collect(),
            table: ProcessTable::new(tells_tasks_apart),
            causes: Vec::new(),
            options: options.clone(),
            fault,
            segment: None,
            segments: 0,
            instructions: 0,
            doubled_at: 256,
            call: None,
        }
    }

    pub(crate) fn feed(&mut self, chunk: &Chunk) {
        for event in chunk.events() {
            match event {
                Event::Mark(mark) => self.mark(mark),
                Event::Block(block, references) => self.block(block, references),
            }
        }
    }

    pub(crate) fn finish(&mut self) {
        self.end_segment(end_of_trace());
    }

    pub(crate) fn processes(&self) -> Vec<ProcessFacts> {
        self.table.processes.clone()
    }

    fn block(&mut self, block: &Block, references: &[Reference]) {
        if self.segment.is_none() {
            self.begin_segment(birth());
        }
        let segment = self.segment.as_mut().expect("begun above");
        let before = segment.instructions;
        let (of_segment, cause) = (segment.number, segment.cause);
        segment.instructions += u64::from(block.instructions);
        let asked = if self.fault == Some(Fault::IntervalOfBlockEnd) {
            segment.instructions
        } else {
            before
        };
        let number =
            (asked / self.options.interval_instructions).min(self.options.intervals.into()) as u32;
        let (task, space) = (self.table.task, self.table.process);
        let process = self.table.number(self.table.who, b"");
        self.instructions += u64::from(block.instructions);
        self.table.facts().instructions += u64::from(block.instructions);
        let program = self.name_program(process);
        let place = self.table.place(block.address);
        let interval = Interval {
            design: 0,
            segment: of_segment,
            segments: 1,
            number,
            task,
            process,
            cause,
            // The segment has not ended.
            end: 0,
            instructions: 0,
            cycles: ByView::default(),
            of_others: None,
        };
        for design in &mut self.designs {
            let excess = design.block(block, references, &interval, space);
            *design
                .code
                .entry((program.clone(), cause, place.clone()))
                .or_default() += excess;
            design.see_places(&self.table, &program, cause);
            if self.instructions >= self.doubled_at {
                let most_held = design.machine.most_held.clone();
                design.machine.fill_curve.push(FillPoint {
                    instructions: self.instructions,
                    most_held,
                });
            }
        }
        while self.instructions >= self.doubled_at {
            self.doubled_at *= 2;
        }
    }

    fn mark(&mut self, mark: &Mark) {
        let is_of_running = matches!(
            mark,
            Mark::Map(_) | Mark::Unmap { .. } | Mark::Page { .. } | Mark::KernelTouch { .. }
        );
        if is_of_running && self.segments == 0 {
            return;
        }
        match mark {
            Mark::Birth {
                task,
                process,
                parent,
                name,
            } => {
                if let Some(parent) = self.table.forked_from(process.0, parent.0) {
                    self.table.fork(parent, process.0);
                    self.memories(|memory| memory.fork(parent, process.0));
                }
                self.place_task(task.0, process.0, name);
            }
            Mark::Exec {
                task,
                process,
                name,
            } => self.place_task(task.0, process.0, name),
            Mark::Exit { task } => {
                let gone = self.table.exit(task.0);
                self.drop_process(gone);
            }
            &Mark::Switch {
                to,
                is_voluntary,
                cause,
                ..
            } => {
                self.end_call(true);
                self.switch(to.0, cause_of(is_voluntary, cause));
            }
            &Mark::KernelTouch {
                address,
                bytes,
                is_store,
            } => self.kernel_touch(address, bytes, is_store),
            Mark::Map(_) | Mark::Unmap { .. } => {
                self.table.map(mark);
                let process = self.table.process;
                self.memories(|memory| memory.map(process, mark));
            }
            &Mark::Page {
                virtual_address,
                physical_address,
                bytes,
            } => {
                let process = self.table.process;
                self.memories(|memory| {
                    memory.tell(process, virtual_address, physical_address, bytes)
                });
            }
            &Mark::SyscallEnter { number } => {
                self.call = Some(number);
                for design in &mut self.designs {
                    design.entered = CallCost {
                        instructions: self.instructions,
                        ..design.machine.counted()
                    };
                }
            }
            Mark::SyscallExit { .. } => self.end_call(false),
            Mark::Fault { .. } => {}
        }
    }

    fn switch(&mut self, to: u32, cause: SwitchCause) {
        self.end_segment(cause.clone());
        let of_other = cause.clone();
        self.table.leave(cause);
        self.table.task = to;
        let process = self.table.process_of(to);
        self.designs
            .iter_mut()
            .for_each(|design| design.machine.switch());
        self.change_process(process);
        let cause = match self.fault {
            Some(Fault::CauseOfOtherTask) => of_other,
            _ => self.table.cause_of_task(to),
        };
        self.begin_segment(cause);
    }

    fn end_call(&mut self, is_switch: bool) {
        let Some(number) = self.call.take() else {
            return;
        };
        for design in &mut self.designs {
            let now = CallCost {
                instructions: self.instructions,
                ..design.machine.counted()
            };
            if now.instructions > design.entered.instructions {
                let sum = design.calls.entry(number).or_default();
                sum.syscall = syscall_name(number);
                sum.with_switch += u64::from(is_switch);
                if !is_switch || self.fault == Some(Fault::DividedCallsCount) {
                    add_difference(sum, &now, &design.entered);
                }
            }
        }
    }

    /// Tells all machines the name of the running process, which has this number; returns the name.
    fn name_program(&mut self, process: u32) -> String {
        let facts = self.table.facts();
        let (program, named) = (facts.name.clone(), facts.process);
        for design in &mut self.designs {
            let programs = &mut design.machine.programs;
            programs.insert(process, (program.clone(), named));
        }
        program
    }

    fn memories(&mut self, change: impl Fn(&mut Memory)) {
        self.designs
            .iter_mut()
            .for_each(|design| change(&mut design.machine.memory));
    }

    /// Places a task in an address space, at its birth or exec.
    fn place_task(&mut self, task: u32, process: u32, name: &[u8]) {
        let gone = self.table.place_task(task, process, name);
        if task == self.table.task && process != self.table.process {
            self.close_intervals();
            if self.fault == Some(Fault::ExecIsNoDeparture) {
                (self.table.process, self.table.who) = (process, self.table.who(process, task));
            }
            self.change_process(process);
        }
        self.drop_process(gone);
    }

    fn change_process(&mut self, to: u32) {
        let is_other_space = std::mem::replace(&mut self.table.process, to) != to;
        let who = self.table.who(to, self.table.task);
        let before = std::mem::replace(&mut self.table.who, who);
        if before != who {
            let from = self.table.known(before);
            let to = self.table.number(who, b"");
            self.designs
                .iter_mut()
                .for_each(|design| design.machine.change_process(from, to, is_other_space));
        }
    }

    fn drop_process(&mut self, gone: Gone) {
        if let Some(space) = gone.space {
            self.table.drop_process(space);
            self.memories(|memory| memory.drop_process(space));
        }
        if let Some(process) = gone.process {
            self.designs
                .iter_mut()
                .for_each(|design| design.machine.drop_process(process));
        }
    }

    fn kernel_touch(&mut self, address: u64, bytes: u64, is_store: bool) {
        if !self.options.kernel_touches {
            return;
        }
        let kind = if is_store { Kind::Store } else { Kind::Load };
        let (process, space) = (self.table.number(self.table.who, b""), self.table.process);
        let program = self.name_program(process);
        let cause = self.segment.as_ref().expect("a task runs").cause;
        for design in &mut self.designs {
            let steps =
                Steps::new(&design.machine.design, process, space).kernel(kind, address, bytes);
            design.machine.references_of(process, &steps);
            design.see_places(&self.table, &program, cause);
        }
    }

    /// Returns the number of a cause.
    fn see_cause(&mut self, cause: SwitchCause) -> u32 {
        let known = self.causes.iter().position(|other| *other == cause);
        let number = known.unwrap_or_else(|| {
            self.causes.push(cause);
            self.causes.len() - 1
        });
        number as u32
    }

    fn begin_segment(&mut self, cause: SwitchCause) {
        let cause = self.see_cause(cause);
        self.segment = Some(Segment {
            number: self.segments,
            instructions: 0,
            cause,
        });
        self.segments += 1;
        self.table.facts().segments += 1;
    }

    fn end_segment(&mut self, end: SwitchCause) {
        let end = self.see_cause(end);
        self.close_intervals();
        let Some(segment) = self.segment.take() else {
            return;
        };
        for design in &mut self.designs {
            let own = design
                .intervals
                .iter_mut()
                .filter(|interval| interval.segment == segment.number);
            own.for_each(|interval| interval.end = end);
        }
    }

    fn close_intervals(&mut self) {
        self.designs.iter_mut().for_each(OneDesign::close_interval);
    }
}

impl OneDesign {
    /// Simulates a block; returns its excess cycles without first touches. `wanted` is the interval
    /// that the block belongs to.
    fn block(
        &mut self,
        block: &Block,
        references: &[Reference],
        wanted: &Interval,
        space: u32,
    ) -> i64 {
        let (before, others_before) = (self.machine.cycles(), self.machine.of_others);
        if self
            .open
            .as_ref()
            .is_some_and(|(open, ..)| open.number != wanted.number)
        {
            self.close_interval();
        }
        let instructions = u64::from(block.instructions);
        self.machine.begin_block(wanted.process, instructions);
        let steps =
            Steps::new(&self.machine.design, wanted.process, space).block(block, references);
        self.machine.references_of(wanted.process, &steps);
        let after = self.machine.cycles();
        let (open, start, others) = self.open.get_or_insert((*wanted, before, others_before));
        open.instructions += instructions;
        open.cycles = ByView {
            shared: after.shared - start.shared,
            private: after.private - start.private,
            flushed: after.flushed - start.flushed,
        };
        let now = self.machine.of_others;
        open.of_others = Some(OfOthers {
            lost: now.lost - others.lost,
            gained: now.gained - others.gained,
            first_touches: now.first_touches - others.first_touches,
        });
        let first_touches = (now.first_touches - others_before.first_touches) as i64;
        (after.shared - before.shared) as i64 - (after.private - before.private) as i64
            + first_touches
    }

    /// Attributes the lookups since the last call to the places of their data and evictors.
    fn see_places(&mut self, table: &ProcessTable, program: &str, cause: u32) {
        for (address, excess) in self.machine.data.drain(..) {
            *self
                .data
                .entry((program.to_owned(), cause, table.data_place(address)))
                .or_default() += excess;
        }
        for (level, owner, is_code, address) in self.machine.evictors.drain(..) {
            let program = (owner != KERNEL).then(|| program.to_owned());
            *self
                .evictors
                .entry((level, program, is_code, table.data_place(address)))
                .or_default() += 1;
        }
    }

    fn close_interval(&mut self) {
        self.intervals
            .extend(self.open.take().map(|(interval, ..)| interval));
    }
}

fn add_difference(sum: &mut CallCost, now: &CallCost, then: &CallCost) {
    let add = |sums: &mut Vec<u64>, now: &[u64], then: &[u64]| {
        sums.resize(now.len(), 0);
        sums.iter_mut()
            .zip(now.iter().zip(then))
            .for_each(|(sum, (now, then))| *sum += now - then);
    };
    sum.calls += 1;
    sum.instructions += now.instructions - then.instructions;
    sum.cycles += now.cycles - then.cycles;
    add(&mut sum.misses, &now.misses, &then.misses);
    add(&mut sum.driven_out, &now.driven_out, &then.driven_out);
}
