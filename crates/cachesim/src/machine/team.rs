//! Machines that go through the blocks together: what the smallest first levels of all hold is looked up once for all.
//!
//! Each member's first levels have one way and hold what was fetched or loaded last in each set; stores bring nothing in.
//! Sets are numbered by the low bits of the line, so all lines that share a set of the larger level share one of the
//! smaller, too. What was looked up last among those of the smaller set since the last switch was therefore looked up
//! last in its set of every member, and is held there in all three views (Hill and Smith, "Evaluating Associativity in
//! CPU Caches", 1989, call this set refinement). A store changes nothing in these levels and goes on.
//!
//! So a line is looked up in the [`Front`] of the smallest size first, then in those of larger ones, until one holds it.
//! What a front knows is not written into its members' levels before somebody else needs it (at a switch, above all).

mod absorbed;
mod alone;
mod front;
mod member;
mod pass;
mod room;

use record::{DesignResult, Interval};
use trace::{Block, BlockRun, Reference};

use super::address::VIRTUAL_MASK;
use super::{Machine, Scene};
use absorbed::Absorbed;
use front::{ANY, Front, Open};
use member::Member;
use pass::{Code, Pass};

/// Machines with their designs' numbers.
#[derive(Debug)]
pub(crate) struct Team {
    members: Vec<(u16, Box<Machine>)>,
    gait: Gait,
    /// In ascending order of their sets.
    code: Vec<Front>,
    data: Vec<Front>,
    /// The process whose lines they name.
    process: u32,
    /// What is known of each kind of block in the chunk.
    codes: Vec<Code>,
    generation: u64,
    absorbed: Absorbed,
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
        let mut team = Team {
            members: Vec::new(),
            gait,
            code: Vec::new(),
            data: Vec::new(),
            process: 0,
            codes: Vec::new(),
            generation: 1,
            absorbed: Absorbed::new(),
        };
        team.join(number, machine);
        team
    }

    pub(crate) fn gait(&self) -> Gait {
        self.gait
    }

    /// One more, of the same gait; nothing has been simulated yet.
    pub(crate) fn join(&mut self, number: u16, machine: Box<Machine>) {
        let (plan, member) = (&machine.plan, self.members.len());
        Front::enter(&mut self.code, plan.levels[machine.entry.fetch_cache].sets, member);
        Front::enter(&mut self.data, plan.levels[machine.entry.data_cache].sets, member);
        self.members.push((number, machine));
    }

    /// Another chunk begins, with these kinds of blocks.
    pub(crate) fn begin_chunk(&mut self, kinds: &[Block]) {
        let bits = self.gait.code_line_bits;
        self.codes.clear();
        self.codes.extend(kinds.iter().map(|block| Code::new(block, |address| (address & VIRTUAL_MASK) >> bits)));
    }

    pub(crate) fn len(&self) -> usize {
        self.members.len()
    }

    /// All of them, to be told what changes nothing in their first levels.
    pub(crate) fn machines(&mut self) -> impl Iterator<Item = &mut Machine> {
        self.members.iter_mut().map(|(_, machine)| &mut **machine)
    }

    /// All of them, up to date, whatever happens to them.
    fn disturbed(&mut self) -> impl Iterator<Item = &mut Machine> {
        let Team { members, code, data, process, .. } = self;
        self.generation += 1;
        self.absorbed.forget();
        for front in code {
            front.forget(|member, set, line| {
                let machine = &mut members[member].1;
                machine.put_line(machine.entry.fetch_cache, *process, set, line);
            });
        }
        for front in data {
            front.forget(|member, set, line| {
                let machine = &mut members[member].1;
                machine.put_line(machine.entry.data_cache, *process, set, line);
            });
        }
        self.members.iter_mut().for_each(|(_, machine)| machine.forget_first_levels());
        self.machines()
    }

    pub(crate) fn most_processes(&self) -> u64 {
        self.members.iter().map(|(_, machine)| machine.most_processes()).min().unwrap_or(u64::MAX)
    }

    /// Blocks of one process, and their references. Gives the number of stores.
    pub(crate) fn run(&mut self, blocks: BlockRun<'_>, references: &[Reference], scene: &Scene<'_>) -> u64 {
        let lend = |(_, machine): &mut (u16, Box<Machine>)| machine.lend_private(scene.process);
        let mut privates: Vec<_> = self.members.iter_mut().map(lend).collect();
        let lent = self.members.iter_mut().zip(&mut privates);
        let mut crew: Vec<Member<'_>> =
            lent.map(|((_, machine), private)| Member::new(machine, private, scene)).collect();
        self.process = scene.process;
        let behind: Vec<usize> = (0..crew.len()).filter(|&member| crew[member].is_asked()).collect();
        let (code, data) = (&mut self.code[..], &mut self.data[..]);
        let mut march = March {
            code,
            data,
            codes: &mut self.codes,
            behind: &behind,
            absorbed: &mut self.absorbed,
            generation: &mut self.generation,
        };
        let [time, stores] = match [self.gait.code_line_bits, self.gait.data_line_bits] {
            [4, 4] => march.pass::<4>(self.gait, &mut crew, blocks, references),
            [6, 6] => march.pass::<6>(self.gait, &mut crew, blocks, references),
            _ => march.pass::<ANY>(self.gait, &mut crew, blocks, references),
        };
        let clocks: Vec<_> = crew.into_iter().map(|member| member.finish(time)).collect();
        for (((_, machine), private), clocks) in self.members.iter_mut().zip(privates).zip(clocks) {
            machine.take_back(scene.process, private, clocks);
        }
        stores
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

/// What a pass needs beside its members.
struct March<'a> {
    code: &'a mut [Front],
    data: &'a mut [Front],
    codes: &'a mut [Code],
    behind: &'a [usize],
    absorbed: &'a mut Absorbed,
    generation: &'a mut u64,
}

impl March<'_> {
    /// Takes all members through blocks; gives how many instructions and stores these were.
    fn pass<const BITS: u32>(
        &mut self,
        gait: Gait,
        crew: &mut [Member<'_>],
        blocks: BlockRun<'_>,
        references: &[Reference],
    ) -> [u64; 2] {
        let code = Open::<BITS>::new(gait.code_line_bits, self.code);
        let data = Open::<BITS>::new(gait.data_line_bits, self.data);
        let (Some(code), Some(data)) = (code, data) else { return [0; 2] };
        let mut pass = Pass {
            code,
            data,
            crew,
            behind: self.behind,
            absorbed: self.absorbed,
            codes: self.codes,
            generation: *self.generation,
            time: 0,
            stores: 0,
            long_stores: 0,
            is_uneven: false,
        };
        pass.run(blocks, references);
        *self.generation = pass.generation;
        [pass.time, pass.stores - pass.long_stores]
    }
}
