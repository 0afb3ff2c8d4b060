//! Looks up lines in all three views of a design while one process runs.
//!
//! If the lines that all views used last are known, one step stands for the lookups of all three
//! views. Otherwise each view is [looked up separately](super::walk).

use super::common_lines::CommonLine;
use super::level::Promoted;
use super::line::Line;
use super::listener::{Departure, Listener};
use super::plan::{Kind, path_of};
use super::view_set::ViewSet;
use super::walk::Request;
use super::{FLUSHED, Hierarchies, PRIVATE, SHARED, VIEWS};
use crate::address::Address;

/// A request for one line that all views make to one level.
#[derive(Clone, Copy)]
struct RequestOfAll<'r> {
    at: usize,
    kind: Kind,
    address: &'r Address,
    /// Whether an instruction waits for the request.
    is_demand: bool,
}

impl<'r> RequestOfAll<'r> {
    fn request_of(self, view: usize) -> Request<'r> {
        let RequestOfAll {
            at,
            kind,
            address,
            is_demand,
        } = self;
        Request {
            view,
            at,
            kind,
            address,
            is_demand,
        }
    }
}

/// Result of a request that all views make to one level. Cycles that no instruction waits for are
/// in [`Clocks::delays`](super::clocks::Clocks::delays).
#[derive(Clone, Copy)]
struct Outcome {
    missed: ViewSet,
    /// Views in which the line came modified, because an exclusive level gave it up.
    modified: ViewSet,
    /// Slot of the line in the list of common lines; `usize::MAX` if the list need not have the
    /// line.
    slot: usize,
}

impl Outcome {
    const NOTHING: Outcome = Outcome {
        missed: ViewSet::NONE,
        modified: ViewSet::NONE,
        slot: usize::MAX,
    };
}

impl<L: Listener> Hierarchies<'_, L> {
    /// Looks up a line or page of the program in a first level, and makes it the most recently used
    /// of its set. Returns the views that missed.
    pub(super) fn look_up(
        &mut self,
        at: usize,
        kind: Kind,
        address: u64,
        line_start: u64,
    ) -> ViewSet {
        let level = &self.plan.levels[at];
        let is_store = kind == Kind::Store && !level.is_tlb;
        if !(is_store && level.is_write_through)
            && self.levels[at].common_lines.finds(line_start, is_store)
        {
            self.spend_all(at, level.hit_cycles, true);
            return ViewSet::NONE;
        }
        let target = self.translated(line_start, is_store, at);
        if is_store && !level.is_write_through && self.levels[at].common_lines.stores(line_start) {
            self.spend_all(at, level.hit_cycles, true);
            return ViewSet::NONE;
        }
        self.begin_lookup(at, kind, address);
        self.look_up_translated(RequestOfAll {
            at,
            kind,
            address: &target,
            is_demand: true,
        })
    }

    /// Handles a store to a write-through first level, if all views are known to hold the line.
    /// Returns whether the store was handled; otherwise it must be looked up.
    #[inline]
    pub(super) fn writes_through(&mut self, at: usize, first: u64, last: u64) -> bool {
        let level = &self.plan.levels[at];
        let common_lines = &mut self.levels[at].common_lines;
        let bits = level.line_bits;
        // With physical addresses, the store may move the page to another frame, and the line is
        // then another one.
        if first >> bits != last >> bits
            || self.frames.is_some()
            || !level.has_common_top()
            || !common_lines.finds(first, false)
        {
            return false;
        }
        let address = Address {
            process: self.lookup.context.space,
            virtual_address: first,
            physical: 0,
        };
        let before = self.clocks.difference();
        self.begin_lookup(at, Kind::Store, first);
        self.spend_all(at, level.hit_cycles, true);
        self.go_on_from_all(RequestOfAll {
            at,
            kind: Kind::Store,
            address: &address,
            is_demand: true,
        });
        self.end_lookup(before, ViewSet::NONE);
        true
    }

    fn look_up_translated(&mut self, request: RequestOfAll<'_>) -> ViewSet {
        let RequestOfAll {
            at, kind, address, ..
        } = request;
        let is_store = kind == Kind::Store && !self.plan.levels[at].is_tlb;
        let before = self.clocks.difference();
        self.note_request(ViewSet::ALL, request.request_of(SHARED));
        let outcome = self.look_up_in_all(request);
        self.predict(at, is_store, address, outcome);
        self.end_lookup(before, outcome.missed);
        outcome.missed
    }

    /// Updates the prediction for a line after a lookup.
    fn predict(&mut self, at: usize, is_store: bool, address: &Address, outcome: Outcome) {
        let level = &self.plan.levels[at];
        if level.has_wanted_requests {
            return;
        }
        let Outcome { missed, slot, .. } = outcome;
        let (set, key) = (level.set(address), level.key(address));
        let is_stored = is_store && !level.is_write_through;
        let own = &mut self.levels[at];
        if level.has_common_top() {
            if own.common_lines.has(set, slot, key) {
                own.common_lines
                    .predict(slot, address.virtual_address, is_stored);
            }
        } else if level.may_skip_repeat(missed == ViewSet::NONE) {
            // A later level may have evicted the line again, or the store may not have allocated
            // it.
            if own.views.iter().all(|lines| lines.find(set, key).is_some()) {
                own.common_lines
                    .predict_latest(set, address.virtual_address, is_stored);
            }
        }
    }

    fn translated(&mut self, address: u64, is_store: bool, at: usize) -> Address {
        let target = Address {
            process: self.lookup.context.space,
            virtual_address: address,
            physical: 0,
        };
        let Some(frames) = self
            .frames
            .as_mut()
            .filter(|_| !self.plan.levels[at].is_tlb)
        else {
            return target;
        };
        let physical = frames.translate(
            target.process,
            address,
            is_store,
            self.lookup.context.mappings,
        );
        if frames.take_moved() {
            self.levels
                .iter_mut()
                .for_each(|level| level.common_lines.forget_predictions());
        }
        Address { physical, ..target }
    }

    /// Adds the cycles that a request of all views spends in a level to the clocks, or to the
    /// delays if no instruction waits.
    #[inline]
    pub(super) fn spend_all(&mut self, at: usize, cycles: u64, is_demand: bool) {
        if is_demand {
            self.clocks.common += cycles;
            self.levels[at].common.cycles += cycles;
        } else {
            self.clocks
                .delays
                .iter_mut()
                .for_each(|delay| *delay += cycles);
        }
    }

    #[inline]
    fn look_up_in_all(&mut self, request: RequestOfAll<'_>) -> Outcome {
        if self.plan.levels[request.at].has_common_top() {
            self.look_up_top(request)
        } else {
            self.serve_each_alone(request)
        }
    }

    /// Serves the request in each view separately, from the level of the request on.
    #[inline(never)]
    fn serve_each_alone(&mut self, request: RequestOfAll<'_>) -> Outcome {
        let mut outcome = Outcome::NOTHING;
        if request.is_demand {
            self.clocks.delays = [0; VIEWS];
        }
        for view in [SHARED, PRIVATE, FLUSHED] {
            let answer = self.look_up_alone(request.request_of(view));
            outcome.missed = outcome.missed.and(ViewSet::single(view, answer.is_miss));
            outcome.modified = outcome
                .modified
                .and(ViewSet::single(view, answer.is_modified));
        }
        outcome
    }

    /// Passes a request of all views to the next level. Returns the views for which the next level
    /// had the line modified.
    #[inline]
    fn ask_next_of_all(&mut self, request: RequestOfAll<'_>, kind: Kind) -> ViewSet {
        let Some(next) = self.plan.levels[request.at].next[path_of(kind)] else {
            self.ask_memory(request.at, request.address, request.is_demand);
            return ViewSet::NONE;
        };
        self.levels[next].common.accesses[kind as usize] += 1;
        let asked = RequestOfAll {
            at: next,
            kind,
            ..request
        };
        self.note_request(ViewSet::ALL, asked.request_of(SHARED));
        let Outcome {
            missed, modified, ..
        } = self.look_up_in_all(asked);
        if missed != ViewSet::NONE {
            self.levels[next].count_misses(kind as usize, missed);
            self.compare_misses(next, missed);
        }
        modified
    }

    /// Looks up a line in a level whose lists of recent lines are complete before and after the
    /// lookup.
    fn look_up_top(&mut self, request: RequestOfAll<'_>) -> Outcome {
        let RequestOfAll {
            at,
            kind,
            address,
            is_demand,
        } = request;
        let level = &self.plan.levels[at];
        let (set, key) = (level.set(address), level.key(address));
        let is_store = kind == Kind::Store && !level.is_tlb;
        let own = &mut self.levels[at];
        let outcome = if let Some(slot) = own.common_lines.find(set, key) {
            own.common_lines.use_now(slot);
            self.spend_all(at, level.hit_cycles, is_demand);
            Outcome {
                slot,
                ..Outcome::NOTHING
            }
        } else {
            let found = [SHARED, PRIVATE, FLUSHED].map(|view| own.find_below(view, set, key));
            let found_in = |view: usize| ViewSet::single(view, found[view].is_some());
            let holds = found_in(SHARED)
                .and(found_in(PRIVATE))
                .and(found_in(FLUSHED));
            if is_store && holds != ViewSet::ALL && (!level.allocates || level.is_write_through) {
                return self.store_around(request, holds);
            }
            // Notes are read only if needed, because each waits for memory.
            let copy = match found {
                [None, Some(slot), _] => Some(own.views[PRIVATE].note(slot)),
                _ => None,
            };
            if let (Some(slot), None, true) = (found[SHARED], found[PRIVATE], is_demand) {
                self.found_in_shared(at, set, key, slot);
            }
            let modified = self.answer(
                request,
                holds.complement(),
                if is_store { Kind::Load } else { kind },
            );
            if L::COMPARES && !holds.has(SHARED) {
                self.filled(at, copy);
            }
            let slot = self.promote(at, set, key, modified, found);
            Outcome {
                missed: holds.complement(),
                slot,
                ..Outcome::NOTHING
            }
        };
        if is_store && level.is_write_through {
            self.go_on_from_all(request);
        } else if is_store {
            self.levels[at]
                .common_lines
                .modify(outcome.slot, ViewSet::ALL);
        }
        outcome
    }

    /// Adds the level's time to each view's clock, and makes the requests to the next level,
    /// without filling the line. Returns the views in which the next level had the line modified.
    fn answer(&mut self, request: RequestOfAll<'_>, missed: ViewSet, kind: Kind) -> ViewSet {
        let RequestOfAll { at, is_demand, .. } = request;
        let level = &self.plan.levels[at];
        if missed == ViewSet::ALL {
            self.spend_all(at, level.miss_cycles, is_demand);
            self.levels[at].common.fills += 1;
            return self.ask_next_of_all(request, kind);
        }
        let mut modified = ViewSet::NONE;
        if missed == ViewSet::NONE {
            self.spend_all(at, level.hit_cycles, is_demand);
            return modified;
        }
        for view in [SHARED, PRIVATE, FLUSHED] {
            if missed.has(view) {
                self.spend(request.request_of(view), level.miss_cycles);
                self.lines(view, at).counts.fills += 1;
                let below = self.ask_next(request.request_of(view), kind);
                modified = modified.and(ViewSet::single(view, below.is_modified));
            } else {
                self.spend(request.request_of(view), level.hit_cycles);
            }
        }
        modified
    }

    /// Makes a line the most recent one in every view, and brings it into the set of those views
    /// that lack it. `found` has the line's slot in the other views. Returns the line's slot in the
    /// list.
    fn promote(
        &mut self,
        at: usize,
        set: usize,
        key: u64,
        modified: ViewSet,
        found: [Option<usize>; VIEWS],
    ) -> usize {
        let line = CommonLine {
            key,
            modified,
            requester: self.lookup.requester,
        };
        if self.levels[at].common_lines.is_full(set) {
            return self.replace_oldest(at, set, line);
        }
        let Promoted {
            slot,
            requester,
            leaving,
        } = self.levels[at].promote(&self.plan.levels[at], set, line, found);
        if let Some((old, line)) = leaving[SHARED] {
            self.left(at, set, old, line.requester, Departure::Replaced);
        }
        if found[SHARED].is_none() {
            self.came(at, set, key, requester);
        }
        if let Some((old, _)) = leaving[PRIVATE] {
            self.let_go(at, set, old);
        }
        for (view, leaving) in leaving.into_iter().enumerate() {
            if let Some((_, line)) = leaving {
                self.leave_level(view, at, line);
            }
        }
        slot
    }

    /// Replaces the least recently used line of a full list in all views. Returns the slot of the
    /// new line.
    fn replace_oldest(&mut self, at: usize, set: usize, line: CommonLine) -> usize {
        let level = &self.plan.levels[at];
        let (slot, old) = self.levels[at].common_lines.replace_oldest(set, line);
        self.exchanged(
            at,
            set,
            [old.key, line.key],
            [old.requester, line.requester],
        );
        if old.modified != ViewSet::NONE || level.is_left_with_effects {
            let line = Line {
                address: level.address_of(old.key),
                is_modified: false,
                requester: old.requester,
            };
            if old.modified == ViewSet::ALL
                && !level.is_left_with_effects
                && self.give_from_all(at, &line.address)
            {
                return slot;
            }
            for view in [SHARED, PRIVATE, FLUSHED] {
                self.leave_level(
                    view,
                    at,
                    Line {
                        is_modified: old.modified.has(view),
                        ..line
                    },
                );
            }
        }
        slot
    }

    /// Writes a modified line that leaves all views back to the next level in one step, if the next
    /// level is known to hold the line in all views. Returns whether the line was written back.
    fn give_from_all(&mut self, at: usize, address: &Address) -> bool {
        let Some(next) = self.plan.levels[at].next_for_lines else {
            return false;
        };
        let level = &self.plan.levels[next];
        if level.is_write_through || level.has_wanted_requests {
            return false;
        }
        let common_lines = &mut self.levels[next].common_lines;
        let Some(slot) = common_lines.find(level.set(address), level.key(address)) else {
            return false;
        };
        common_lines.modify(slot, ViewSet::ALL);
        self.levels[at].common.write_backs += 1;
        true
    }

    /// Handles a store to a line that not all views hold, in a level that does not allocate on
    /// stores, or that makes two requests to the next level.
    fn store_around(&mut self, request: RequestOfAll<'_>, holds: ViewSet) -> Outcome {
        // The order of the two requests decides the origin of the second miss: each view makes both
        // before the next view makes any.
        if holds != ViewSet::NONE || self.plan.levels[request.at].allocates {
            return self.serve_each_alone(request);
        }
        if self.plan.levels[request.at].is_write_through {
            self.go_on_from_all(request);
        } else {
            self.ask_next_of_all(request, Kind::Store);
        }
        Outcome {
            missed: ViewSet::ALL,
            ..Outcome::NOTHING
        }
    }

    /// Passes a store on from a write-through level. The instruction waits only if all write
    /// buffers are full.
    fn go_on_from_all(&mut self, request: RequestOfAll<'_>) {
        let request = RequestOfAll {
            is_demand: false,
            ..request
        };
        let delays = std::mem::take(&mut self.clocks.delays);
        if self.levels[request.at].views[SHARED].writes.is_absent() {
            self.ask_next_of_all(request, Kind::Store);
        } else {
            let now = self.levels[request.at].wait_for_buffers(self.clocks);
            self.ask_next_of_all(request, Kind::Store);
            self.levels[request.at].take_buffers(now, self.clocks);
        }
        self.clocks.delays = delays;
    }
}
