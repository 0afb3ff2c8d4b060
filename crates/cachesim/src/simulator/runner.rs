//! One interface for a single design and for a [`Family`], designs that are simulated in one pass.

use switchcost_design::Design;
use switchcost_design::result::{DesignResult, Interval};
use switchcost_trace::{BlockRun, Reference};

use crate::attribution::{Attribution, ByPlace, group_by_place};
use crate::machine::{Machine, PageChange, RunContext};
use crate::processes::Running;
use crate::sweep::{Family, groups};

#[derive(Debug)]
pub(super) enum Runner {
    /// A single design with its index in the list of designs.
    One(u16, Box<Machine<Attribution>>),
    Many(Box<Family>),
}

/// Expression that calls the same method on either kind of runner.
macro_rules! either {
    ($runner:ident.$call:ident($($argument:expr),*)) => {
        match $runner {
            Runner::One(_, machine) => machine.$call($($argument),*),
            Runner::Many(family) => family.$call($($argument),*),
        }
    };
}

/// Makes runners for all designs. At least `fewest_swept` designs (and at least 2) that can be
/// simulated in one pass have a common runner, a [`Family`]; each other design has a separate
/// runner.
pub(super) fn runners(designs: Vec<Design>, fewest_swept: usize) -> Vec<Runner> {
    let groups = groups(&designs, fewest_swept.max(2));
    let mut designs: Vec<Option<Design>> = designs.into_iter().map(Some).collect();
    let mut runners = Vec::new();
    for group in groups {
        let take = |&place: &usize| designs[place].take().map(|design| (place as u16, design));
        let members = group.members.iter().filter_map(take).collect();
        runners.push(Runner::Many(Box::new(Family::new(group, members))));
    }
    for (number, design) in designs.into_iter().enumerate() {
        if let Some(design) = design {
            runners.push(Runner::One(number as u16, Box::new(Machine::new(design))));
        }
    }
    runners
}

impl Runner {
    /// Returns the number of designs that are simulated one by one: 1 for a single design, and 0
    /// for a [`Family`].
    pub(super) fn designs_in_full(&self) -> usize {
        match self {
            Runner::One(..) => 1,
            Runner::Many(_) => 0,
        }
    }

    /// Returns the machine of the single design, or of the first design of a [`Family`].
    pub(super) fn full_machine(&mut self) -> &mut Machine<Attribution> {
        match self {
            Runner::One(_, machine) => machine,
            Runner::Many(family) => family.guide_mut(),
        }
    }

    pub(super) fn tell_tasks_apart(&mut self) {
        either!(self.tell_tasks_apart())
    }

    pub(super) fn change_pages(&mut self, change: PageChange) {
        either!(self.change_pages(change))
    }

    pub(super) fn most_processes(&self) -> u64 {
        either!(self.most_processes())
    }

    /// Begins a chunk that has `kinds` distinct blocks.
    pub(super) fn begin_chunk(&mut self, kinds: usize) {
        self.full_machine().begin_chunk(kinds);
    }

    pub(super) fn run(
        &mut self,
        blocks: BlockRun<'_>,
        references: &[Reference],
        context: &RunContext<'_>,
    ) {
        either!(self.run(blocks, references, context))
    }

    pub(super) fn touch(
        &mut self,
        address: u64,
        bytes: u64,
        is_store: bool,
        context: &RunContext<'_>,
    ) -> [u64; 2] {
        either!(self.touch(address, bytes, is_store, context))
    }

    pub(super) fn empty_flushed_view(&mut self) {
        either!(self.empty_flushed_view())
    }

    pub(super) fn change_process(&mut self, to: Running) {
        either!(self.change_process(to))
    }

    pub(super) fn drop_process(&mut self, process: u32) {
        either!(self.drop_process(process))
    }

    pub(super) fn close_interval(&mut self, interval: Interval) {
        match self {
            Runner::One(number, machine) => {
                machine.close_interval(Interval {
                    design: *number,
                    ..interval
                });
            }
            Runner::Many(family) => family.close_interval(interval),
        }
    }

    pub(super) fn end_segment(&mut self, end: u32, intervals: &mut Vec<Interval>) {
        either!(self.end_segment(end, intervals))
    }

    /// Appends the sums of intervals that a [`Family`] still keeps for its designs other than the
    /// first. Must be called at the end of the trace. Does nothing for a single design.
    pub(super) fn give_sums(&mut self, intervals: &mut Vec<Interval>) {
        if let Runner::Many(family) = self {
            family.give_sums(intervals);
        }
    }

    /// Returns the index and the counts of each design so far, without attributions to places.
    /// Families return nothing, because they support only whole traces.
    pub(super) fn results(&mut self, references: [u64; 3]) -> Vec<(u16, DesignResult)> {
        match self {
            Runner::One(number, machine) => vec![(*number, machine.result(references))],
            Runner::Many(_) => Vec::new(),
        }
    }

    /// Returns the result of each design with its index and its attributions. In a [`Family`], only
    /// the first design has attributions.
    pub(super) fn into_results(
        self,
        references: [u64; 3],
    ) -> Vec<(u16, DesignResult, Option<ByPlace>)> {
        match self {
            Runner::One(number, machine) => {
                let (result, listener) = machine.into_result(references);
                vec![(number, result, Some(group_by_place(listener)))]
            }
            Runner::Many(family) => family.into_results(references),
        }
    }
}
