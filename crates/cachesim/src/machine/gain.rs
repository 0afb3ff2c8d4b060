//! Whose doing it is that a lookup took longer in the shared view than in the private one, or less.

use super::hierarchies::Hierarchies;
use super::{PRIVATE, SHARED};
use crate::address::Address;
use crate::attribution::{Arrival, Gain};

/// A line that the shared view found in a level, and that the private one did not hold there.
#[derive(Clone, Copy, Debug)]
pub(super) struct Found {
    arrival: Arrival,
    /// The private level has had it since it came into the shared one.
    was_let_go: bool,
}

impl Hierarchies<'_> {
    /// Takes the cycles of a lookup that differ between the views; `longer` is not 0. Gives whether it gained by a first touch.
    pub(super) fn count_cycles(&mut self, longer: i64) -> bool {
        if longer > 0 {
            self.clocks.lost += self.ledger.count_lost(longer.unsigned_abs());
            self.add_data(longer);
            return false;
        }
        let (gain, cycles) = (self.gain(), longer.unsigned_abs());
        self.ledger.count_gained(cycles, gain, self.lookup.is_code);
        match gain {
            Gain::FirstTouch => {
                self.clocks.first_touches += cycles;
                self.is_first_touch = true;
                return true;
            }
            Gain::FromOthers => self.clocks.gained += cycles,
            Gain::State => {}
        }
        self.add_data(longer);
        false
    }

    fn add_data(&mut self, longer: i64) {
        self.by_place.add_lookup(self.lookup, longer, self.context.code, self.context.mappings);
    }

    fn gain(&self) -> Gain {
        match self.found {
            Some(found) if self.is_of_another(found.arrival) => match found.was_let_go {
                _ if self.is_asked_first => Gain::FirstTouch,
                true => Gain::State,
                false => Gain::FromOthers,
            },
            _ => Gain::State,
        }
    }

    fn is_of_another(&self, arrival: Arrival) -> bool {
        arrival.process() != self.ledger.arrival().process()
    }

    /// The shared view finds a line on demand, before the private view looks it up.
    pub(super) fn note_found(&mut self, at: usize, set: usize, key: u64, slot: usize) {
        let own = &self.levels[at];
        if self.plan.levels[at].has_physical_tag && own.find_below(PRIVATE, set, key).is_none() {
            let arrival = own.views[SHARED].arrival(slot);
            let was_let_go = self.history.has_let_go(at, key, arrival.turn);
            self.found = Some(Found { arrival, was_let_go });
        }
    }

    /// The private view asks memory.
    #[inline]
    pub(super) fn note_asked_memory(&mut self, at: usize, address: &Address, is_demand: bool) {
        let level = &self.plan.levels[at];
        if self.plan.finds_lines_of_others && !level.is_tlb {
            let is_new = self.history.ask_memory(at, level.key(address));
            self.is_asked_first |= is_new && is_demand;
        }
    }

    /// A line leaves the private level; if the shared one still has it from another process, that is why they differ.
    pub(super) fn note_let_go(&mut self, at: usize, set: usize, key: u64) {
        let level = &self.plan.levels[at];
        let may_be_shared = |physical| self.frames.as_ref().is_none_or(|frames| frames.may_be_shared(physical));
        if !level.has_physical_tag || !may_be_shared(level.address_of(key).physical) {
            return;
        }
        let Some(slot) = self.levels[at].views[SHARED].find(set, key) else { return };
        let arrival = self.levels[at].views[SHARED].arrival(slot);
        if self.is_of_another(arrival) {
            self.history.let_go(at, key, arrival.turn);
        }
    }
}
