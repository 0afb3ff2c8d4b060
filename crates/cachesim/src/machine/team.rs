//! Machines that go through the blocks together: what the smallest first levels of all hold is looked up once for all.
//!
//! Each member's first levels have one way and hold what was fetched or loaded last in each set; stores bring nothing in.
//! Sets are numbered by the low bits of the line, so all lines that share a set of the larger level share one of the
//! smaller, too. What was looked up last among those of the smaller set since the last switch was therefore looked up
//! last in its set of every member, and is held there in all three views (Hill and Smith, "Evaluating Associativity in
//! CPU Caches", 1989, call this set refinement). A store changes nothing in these levels and goes on.

mod front;
mod member;
mod pass;

use record::{DesignResult, Interval};
use trace::{BlockRun, Reference};

use super::{Machine, Scene};
use front::{ANY, Front};
use member::Member;
use pass::Pass;

/// Machines with their designs' numbers.
#[derive(Debug)]
pub(crate) struct Team {
    members: Vec<(u16, Box<Machine>)>,
    gait: Gait,
    code: Front,
    data: Front,
}

/// What members must have in common: how long the lines of the first levels are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Gait {
    code_line_bits: u32,
    data_line_bits: u32,
}

impl Machine {
    /// Whether it may go in a team, and in which.
    pub(crate) fn gait(&self) -> Option<Gait> {
        let [code, data] = [self.entry.fetch_cache, self.entry.data_cache];
        let lane = &self.entry.lane;
        let is_plain = lane.replaces() == [true; 2] && self.shortcuts[data].passes_stores;
        (self.entry.can_skim && is_plain).then(|| Gait {
            code_line_bits: self.plan.levels[code].line_bits,
            data_line_bits: self.plan.levels[data].line_bits,
        })
    }
}

impl Team {
    /// A team of one.
    pub(crate) fn new(number: u16, machine: Box<Machine>, gait: Gait) -> Team {
        let sets = |level: usize| machine.plan.levels[level].sets;
        let (code, data) = (sets(machine.entry.fetch_cache), sets(machine.entry.data_cache));
        Team {
            gait,
            code: Front::new(gait.code_line_bits, code),
            data: Front::new(gait.data_line_bits, data),
            members: vec![(number, machine)],
        }
    }

    pub(crate) fn gait(&self) -> Gait {
        self.gait
    }

    /// One more, of the same gait; nothing has been simulated yet.
    pub(crate) fn join(&mut self, number: u16, machine: Box<Machine>) {
        self.code.narrow(machine.plan.levels[machine.entry.fetch_cache].sets);
        self.data.narrow(machine.plan.levels[machine.entry.data_cache].sets);
        self.members.push((number, machine));
    }

    pub(crate) fn len(&self) -> usize {
        self.members.len()
    }

    /// All of them, to be told what changes nothing in their first levels.
    pub(crate) fn machines(&mut self) -> impl Iterator<Item = &mut Machine> {
        self.members.iter_mut().map(|(_, machine)| &mut **machine)
    }

    /// All of them, whatever happens to them.
    fn disturbed(&mut self) -> impl Iterator<Item = &mut Machine> {
        self.code.forget();
        self.data.forget();
        self.machines()
    }

    pub(crate) fn most_processes(&self) -> u64 {
        self.members.iter().map(|(_, machine)| machine.most_processes()).min().unwrap_or(u64::MAX)
    }

    /// Blocks of one process, and their references.
    pub(crate) fn run(&mut self, blocks: BlockRun<'_>, references: &[Reference], scene: &Scene<'_>) {
        let lend = |(_, machine): &mut (u16, Box<Machine>)| machine.lend_private(scene.process);
        let mut privates: Vec<_> = self.members.iter_mut().map(lend).collect();
        let lent = self.members.iter_mut().zip(&mut privates);
        let mut crew: Vec<Member<'_>> =
            lent.map(|((_, machine), private)| Member::new(machine, private, scene)).collect();
        let (code, data) = (&mut self.code, &mut self.data);
        let time = match [code.line_bits(), data.line_bits()] {
            [4, 4] => pass::<4>(code, data, &mut crew, blocks, references),
            [6, 6] => pass::<6>(code, data, &mut crew, blocks, references),
            _ => pass::<ANY>(code, data, &mut crew, blocks, references),
        };
        let clocks: Vec<_> = crew.into_iter().map(|member| member.finish(time)).collect();
        for (((_, machine), private), clocks) in self.members.iter_mut().zip(privates).zip(clocks) {
            machine.take_back(scene.process, private, clocks);
        }
    }

    /// The kernel touches memory of the process. Gives the loads and the stores.
    pub(crate) fn touch(&mut self, address: u64, bytes: u64, is_store: bool, scene: &Scene<'_>) -> [u64; 2] {
        self.disturbed().map(|machine| machine.touch(address, bytes, is_store, scene)).last().unwrap_or_default()
    }

    /// A `Switch` mark, to whatever task.
    pub(crate) fn empty_flushed_view(&mut self) {
        self.disturbed().for_each(Machine::empty_flushed_view);
    }

    /// Another address space runs from here on.
    pub(crate) fn change_process(&mut self, to: u32) {
        self.disturbed().for_each(|machine| machine.change_process(to));
    }

    /// Nobody is left in an address space.
    pub(crate) fn drop_process(&mut self, process: u32) {
        self.disturbed().for_each(|machine| machine.drop_process(process));
    }

    /// The open tuple is over.
    pub(crate) fn close_tuple(&mut self, interval: Interval) {
        for (number, machine) in &mut self.members {
            machine.close_tuple(Interval { design: *number, ..interval });
        }
    }

    /// The segment is over: its tuples are given out.
    pub(crate) fn end_segment(&mut self, end: u32, tuples: &mut Vec<Interval>) {
        self.machines().for_each(|machine| machine.end_segment(end, tuples));
    }

    /// Results with the numbers of their designs.
    pub(crate) fn into_results(
        self,
        references: [u64; 3],
        code_places: usize,
        programs: impl Fn(u32) -> String,
    ) -> Vec<(u16, DesignResult)> {
        let result =
            |(number, machine): (u16, Box<Machine>)| (number, machine.into_result(references, code_places, &programs));
        self.members.into_iter().map(result).collect()
    }
}

/// Takes all members through blocks; gives how many instructions these were.
fn pass<const BITS: u32>(
    code: &mut Front,
    data: &mut Front,
    crew: &mut [Member<'_>],
    blocks: BlockRun<'_>,
    references: &[Reference],
) -> u64 {
    let mut pass = Pass { code: code.open::<BITS>(), data: data.open::<BITS>(), crew, time: 0 };
    pass.run(blocks, references);
    pass.time
}
