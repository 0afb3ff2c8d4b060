//! Simulates the levels after a swept level, for one design of a [`Family`](super::Family).

use switchcost_design::Design;

use super::cold::Cold;
use super::{FLUSHED, VIEWS};
use crate::address::Address;
use crate::machine::{Kind, Machine};

#[derive(Debug)]
pub(super) struct Back {
    /// Index in the [`Family`](super::Family) of the design (*member*) that these levels belong to.
    pub(super) member: usize,
    /// Number of ways of the swept level.
    pub(super) ways: usize,
    pub(super) levels: Box<Machine<()>>,
    /// Cycles of demand requests in all levels after the swept one, by view.
    cycles: [u64; VIEWS],
    /// Number of modified lines that left the swept level, by view.
    pub(super) write_backs: [u64; VIEWS],
    /// Number of unmodified lines that left the swept level for an exclusive next level, by view.
    pub(super) moves: [u64; VIEWS],
    /// Whether [`Cold`] may represent the member's flushed view.
    may_be_cold: bool,
    is_cold: bool,
}

impl Back {
    /// Makes the levels of one design of a [`Family`](super::Family), from level `first` on.
    pub(super) fn new(
        member: usize,
        ways: usize,
        design: &Design,
        first: usize,
        cold: &Cold,
    ) -> Back {
        let may_be_cold = cold.stands_for(design);
        Back {
            member,
            ways,
            levels: Box::new(Machine::new_back(design.clone(), first)),
            cycles: [0; VIEWS],
            write_backs: [0; VIEWS],
            moves: [0; VIEWS],
            may_be_cold,
            is_cold: may_be_cold,
        }
    }

    #[inline]
    pub(super) fn is_cold_in(&self, view: usize) -> bool {
        view == FLUSHED && self.is_cold
    }

    pub(super) fn cycles(&self, cold: &Cold) -> [u64; VIEWS] {
        let mut cycles = self.cycles;
        cycles[FLUSHED] += if self.is_cold { cold.cycles() } else { 0 };
        cycles
    }

    /// Adds the counts of [`Cold`] to the member's, if [`Cold`] represents the member at present.
    pub(super) fn count(&mut self, cold: &Cold) {
        if self.is_cold {
            self.levels.add_counts(FLUSHED, &cold.counts());
            self.cycles = self.cycles(cold);
        }
    }

    /// Stops representing the member by [`Cold`] until the next flush. Must be called when the
    /// member's level loses a line.
    #[cold]
    pub(super) fn part_from(&mut self, cold: &Cold) {
        self.count(cold);
        cold.repeat_for(&mut self.levels);
        self.is_cold = false;
    }

    pub(super) fn empty_flushed_view(&mut self) {
        self.levels.empty_flushed_view();
        self.is_cold = self.may_be_cold;
    }

    /// Handles a request by the swept level. Returns whether the line arrives modified.
    pub(super) fn ask(
        &mut self,
        view: usize,
        kind: Kind,
        address: &Address,
        is_demand: bool,
    ) -> bool {
        let (cycles, is_modified) = self.levels.ask(view, kind, address, is_demand);
        self.cycles[view] += if is_demand { cycles } else { 0 };
        is_modified
    }

    pub(super) fn take_line(&mut self, view: usize, address: &Address, is_modified: bool) {
        self.write_backs[view] += u64::from(is_modified);
        self.moves[view] +=
            u64::from(self.levels.take_line(view, address, is_modified) && !is_modified);
    }
}
