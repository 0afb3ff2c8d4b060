//! Compares each lookup in the shared hierarchy with the same lookup in the private one, and finds
//! the process that caused a difference.

use super::Hierarchies;
use super::listener::{Gain, Listener, Origin, Requester, Took};
use super::plan::Kind;
use super::view_set::ViewSet;
use super::{PRIVATE, SHARED};
use crate::address::Address;

/// A line that the shared view found in a level, but that the private view did not hold there.
#[derive(Clone, Copy, Debug)]
struct Found {
    line: Requester,
    /// Whether the private level has lost the line since the line came into the shared level.
    was_let_go: bool,
}

/// Differences between the shared and the private view in the current lookup.
#[derive(Debug, Default)]
pub(super) struct Comparison {
    /// Origin of the first fill in the shared view for which the private view held the line.
    lost_to: Origin,
    found: Option<Found>,
    /// Whether the private view has requested a line from memory that it never requested before.
    is_asked_first: bool,
    /// Set of the levels that missed, one bit each, for the shared and for the private view. A
    /// design has up to 64 caches and 64 TLBs.
    missed: [u128; 2],
    missed_first: ViewSet,
}

impl<L: Listener> Hierarchies<'_, L> {
    #[inline]
    pub(super) fn begin_lookup(&mut self, at: usize, kind: Kind, address: u64) {
        self.lookup.address = address;
        self.lookup.level = at;
        self.lookup.is_code = kind == Kind::Fetch;
        self.lookup.is_store = kind == Kind::Store;
        self.lookup.requester = self.lookup.requester.asking_for(address);
        if L::COMPARES {
            let Comparison {
                lost_to,
                found,
                is_asked_first,
                missed,
                missed_first: _,
            } = &mut self.comparison;
            (*lost_to, *found, *is_asked_first, *missed) = (Origin::Intrinsic, None, false, [0; 2]);
        }
    }

    /// Ends a lookup. `before` is `Clocks::difference` before the lookup; `missed_first` are the
    /// views that missed in the first level.
    #[inline]
    pub(super) fn end_lookup(&mut self, before: u64, missed_first: ViewSet) {
        let longer = self.clocks.difference().wrapping_sub(before) as i64;
        let [shared, private] = self.comparison.missed;
        if L::COMPARES && (longer != 0 || shared != private) {
            self.comparison.missed_first = missed_first;
            self.took(longer);
        }
    }

    #[inline(never)]
    fn took(&mut self, longer: i64) {
        let Comparison {
            lost_to,
            missed,
            missed_first,
            ..
        } = self.comparison;
        let gain = if longer < 0 { self.gain() } else { Gain::State };
        let took = Took {
            longer,
            lost_to,
            gain,
            missed,
            missed_first,
        };
        if longer != 0 {
            self.clocks.count(&took);
        }
        self.listener.took(&self.lookup, &took);
    }

    fn gain(&self) -> Gain {
        match self.comparison.found {
            Some(found) if self.is_of_another(found.line) => match found.was_let_go {
                _ if self.comparison.is_asked_first => Gain::FirstTouch,
                true => Gain::State,
                false => Gain::FromOthers,
            },
            _ => Gain::State,
        }
    }

    pub(super) fn is_of_another(&self, line: Requester) -> bool {
        line.process() != self.lookup.requester.process()
    }

    /// Records which of the shared and the private view missed in a level after the first.
    #[inline]
    pub(super) fn compare_misses(&mut self, at: usize, missed: ViewSet) {
        if L::COMPARES {
            self.comparison.missed[SHARED] |= u128::from(missed.has(SHARED)) << at;
            self.comparison.missed[PRIVATE] |= u128::from(missed.has(PRIVATE)) << at;
        }
    }

    /// Records that a demanded line is about to be filled into the shared level. `note` is the note
    /// on the private copy, if there is a copy.
    #[inline]
    pub(super) fn filled(&mut self, at: usize, note: Option<u64>) {
        let (origin, turn) = note.map_or((Origin::Intrinsic, 0), Origin::decode_note);
        let origin = match origin {
            Origin::Aged if !self.plan.levels[at].keeps_order => Origin::State,
            _ => origin,
        };
        if self.comparison.lost_to == Origin::Intrinsic {
            self.comparison.lost_to = origin;
        }
        self.listener.filled(&self.lookup, at, origin, turn);
    }

    /// Records that the shared view found a demanded line. Must be called before the private view
    /// looks the line up.
    pub(super) fn found_in_shared(&mut self, at: usize, set: usize, key: u64, slot: usize) {
        let own = &self.levels[at];
        if L::COMPARES
            && self.plan.levels[at].is_of_several
            && own.find_below(PRIVATE, set, key).is_none()
        {
            let line = own.views[SHARED].requester(slot);
            let was_let_go = self.history.has_let_go(at, key, line.turn);
            self.comparison.found = Some(Found { line, was_let_go });
        }
    }

    /// Records that the private view requests a line from memory.
    #[inline]
    pub(super) fn ask_memory(&mut self, at: usize, address: &Address, is_demand: bool) {
        let level = &self.plan.levels[at];
        if L::COMPARES
            && self.plan.finds_lines_of_others
            && (!level.is_tlb || self.plan.tells_tasks_apart)
        {
            let is_new = self.history.ask_memory(at, level.key(address));
            self.comparison.is_asked_first |= is_new && is_demand;
        }
    }

    /// Records that the private level loses a line. If another process's request left the line in
    /// the shared level, the loss explains a later difference.
    pub(super) fn let_go(&mut self, at: usize, set: usize, key: u64) {
        let level = &self.plan.levels[at];
        if !L::COMPARES || !level.is_of_several || !self.may_be_shared(level.address_of(key)) {
            return;
        }
        let Some(slot) = self.levels[at].views[SHARED].find(set, key) else {
            return;
        };
        let line = self.levels[at].views[SHARED].requester(slot);
        if L::COMPARES && self.is_of_another(line) {
            self.history.let_go(at, key, line.turn);
        }
    }
}
