//! One design by itself, some together, or many in one pass: the same to whoever feeds them.

use record::{Design, DesignResult, Interval};
use trace::{Block, BlockRun, Reference};

use crate::machine::{Machine, Scene, Team};
use crate::sweep::{Family, groups};

#[derive(Debug)]
pub(super) enum Runner {
    /// A design, with its number.
    One(u16, Box<Machine>),
    Together(Box<Team>),
    Many(Box<Family>),
}

/// All designs; families of so many or more are swept.
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
            add(&mut runners, number as u16, Box::new(Machine::new(design)));
        }
    }
    runners
}

/// In a team with the one before it, where they may go together: the order of the tuples stays that of the designs.
fn add(runners: &mut Vec<Runner>, number: u16, machine: Box<Machine>) {
    match (machine.gait(), runners.last_mut()) {
        (Some(gait), Some(Runner::Together(team))) if team.gait() == gait => team.join(number, machine),
        (Some(gait), _) => runners.push(Runner::Together(Box::new(Team::new(number, machine, gait)))),
        (None, _) => runners.push(Runner::One(number, machine)),
    }
}

impl Runner {
    /// Designs that are simulated in full.
    pub(super) fn designs_in_full(&self) -> usize {
        match self {
            Runner::One(..) => 1,
            Runner::Together(team) => team.len(),
            Runner::Many(_) => 0,
        }
    }

    /// All machines in it.
    pub(super) fn each_machine(&mut self, mut act: impl FnMut(&mut Machine)) {
        match self {
            Runner::One(_, machine) => act(machine),
            Runner::Together(team) => team.machines().for_each(act),
            Runner::Many(family) => family.machines().for_each(act),
        }
    }

    pub(super) fn most_processes(&self) -> u64 {
        match self {
            Runner::One(_, machine) => machine.most_processes(),
            Runner::Together(team) => team.most_processes(),
            Runner::Many(family) => family.most_processes(),
        }
    }

    /// Another chunk begins, with these kinds of blocks.
    pub(super) fn begin_chunk(&mut self, kinds: &[Block]) {
        if let Runner::Together(team) = self {
            team.begin_chunk(kinds);
        }
    }

    /// Gives the number of stores where that was counted on the way.
    pub(super) fn run(&mut self, blocks: BlockRun<'_>, references: &[Reference], scene: &Scene<'_>) -> Option<u64> {
        match self {
            Runner::One(_, machine) => machine.run(blocks, references, scene),
            Runner::Together(team) => return Some(team.run(blocks, references, scene)),
            Runner::Many(family) => family.run(blocks, references, scene),
        }
        None
    }

    pub(super) fn touch(&mut self, address: u64, bytes: u64, is_store: bool, scene: &Scene<'_>) -> [u64; 2] {
        match self {
            Runner::One(_, machine) => machine.touch(address, bytes, is_store, scene),
            Runner::Together(team) => team.touch(address, bytes, is_store, scene),
            Runner::Many(family) => family.touch(address, bytes, is_store, scene),
        }
    }

    pub(super) fn empty_flushed_view(&mut self) {
        match self {
            Runner::One(_, machine) => machine.empty_flushed_view(),
            Runner::Together(team) => team.empty_flushed_view(),
            Runner::Many(family) => family.empty_flushed_view(),
        }
    }

    pub(super) fn change_process(&mut self, to: u32) {
        match self {
            Runner::One(_, machine) => machine.change_process(to),
            Runner::Together(team) => team.change_process(to),
            Runner::Many(family) => family.change_process(to),
        }
    }

    pub(super) fn drop_process(&mut self, process: u32) {
        match self {
            Runner::One(_, machine) => machine.drop_process(process),
            Runner::Together(team) => team.drop_process(process),
            Runner::Many(family) => family.drop_process(process),
        }
    }

    pub(super) fn close_tuple(&mut self, interval: Interval) {
        match self {
            Runner::One(number, machine) => {
                machine.close_tuple(Interval { design: *number, ..interval });
            }
            Runner::Together(team) => team.close_tuple(interval),
            Runner::Many(family) => family.close_tuple(interval),
        }
    }

    pub(super) fn end_segment(&mut self, end: u32, tuples: &mut Vec<Interval>) {
        match self {
            Runner::One(_, machine) => machine.end_segment(end, tuples),
            Runner::Together(team) => team.end_segment(end, tuples),
            Runner::Many(family) => family.end_segment(end, tuples),
        }
    }

    /// At the end of the trace: tuples that were kept back.
    pub(super) fn give_sums(&mut self, tuples: &mut Vec<Interval>) {
        if let Runner::Many(family) = self {
            family.give_sums(tuples);
        }
    }

    /// Results with the numbers of their designs.
    pub(super) fn into_results(
        self,
        references: [u64; 3],
        code_places: usize,
        programs: impl Fn(u32) -> String,
    ) -> Vec<(u16, DesignResult)> {
        match self {
            Runner::One(number, machine) => vec![(number, machine.into_result(references, code_places, programs))],
            Runner::Together(team) => team.into_results(references, code_places, programs),
            Runner::Many(family) => family.into_results(references, code_places, programs),
        }
    }
}
