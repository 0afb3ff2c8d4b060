//! The three views of a design while one process runs: lookups in all of them at once.
//!
//! Where the lines that all views used last are known, one step stands for all three; else each view is
//! [walked by itself](super::walk).

use super::clocks::Clocks;
use super::common_lines::{CommonLine, Slots};
use super::comparison::Comparison;
use super::history::History;
use super::level::Level;
use super::line::Line;
use super::listener::{Departure, Listener, Lookup};
use super::plan::{Kind, Plan, path_of};
use super::privates::Privates;
use super::view_set::ViewSet;
use super::walk::{Answer, Request};
use super::{FLUSHED, PRIVATE, SHARED, VIEWS};
use crate::address::Address;
use crate::frames::Frames;

/// A request of all views as it stands before one level.
#[derive(Clone, Copy)]
struct RequestOfAll<'r> {
    at: usize,
    kind: Kind,
    address: &'r Address,
    /// A demand request: somebody waits for it.
    is_demand: bool,
}

impl<'r> RequestOfAll<'r> {
    fn of(self, view: usize) -> Request<'r> {
        let RequestOfAll { at, kind, address, is_demand } = self;
        Request { view, at, kind, address, is_demand }
    }
}

/// All levels of a design, and who runs.
pub(super) struct Hierarchies<'a, L> {
    pub(super) plan: &'a Plan,
    pub(super) levels: &'a mut [Level],
    pub(super) clocks: &'a mut Clocks,
    /// Private hierarchies of the other processes.
    pub(super) others: &'a mut Privates,
    /// What the running process has had.
    pub(super) history: &'a mut History,
    pub(super) frames: Option<&'a mut Frames>,
    pub(super) listener: &'a mut L,
    /// The lookup of the program under way.
    pub(super) lookup: Lookup<'a>,
    pub(super) comparison: Comparison,
    /// How long the request under way takes that nobody waits for, in each view.
    pub(super) passed: [u64; VIEWS],
    /// In which views the line that comes next was modified in an exclusive level.
    pub(super) brought_modified: ViewSet,
    /// Where the line looked up last is in the list of those used last.
    pub(super) slot: usize,
}

impl<L: Listener> Hierarchies<'_, L> {
    /// A lookup of the program at a first level, of an address in a line or page that starts there. The line is the one used last in its set from here on.
    pub(super) fn look_up(&mut self, at: usize, kind: Kind, address: u64, line_start: u64) -> ViewSet {
        let level = &self.plan.levels[at];
        let is_store = kind == Kind::Store && !level.is_tlb;
        let line = self.levels[at].common_lines.line_of(line_start);
        if !(is_store && level.is_write_through) && self.levels[at].common_lines.finds(line, is_store) {
            self.charge_all(at, level.hit_cycles, true);
            return ViewSet::NONE;
        }
        let target = self.translated(line_start, is_store, at);
        self.begin_lookup(address, kind == Kind::Fetch);
        self.look_up_translated(RequestOfAll { at, kind, address: &target, is_demand: true })
    }

    /// A store to a first level that writes through: where all views are known to find it, it is done with.
    #[inline]
    pub(super) fn writes_through(&mut self, at: usize, first: u64, last: u64) -> bool {
        let level = &self.plan.levels[at];
        let common_lines = &mut self.levels[at].common_lines;
        let line = common_lines.line_of(first);
        // With frames its page may get another one, and its line be another one then.
        if line != common_lines.line_of(last)
            || self.frames.is_some()
            || !level.has_common_top()
            || !common_lines.finds(line, false)
        {
            return false;
        }
        let address = Address { process: self.lookup.context.process, virtual_address: first, physical: 0 };
        let before = self.clocks.difference();
        self.begin_lookup(first, false);
        self.charge_all(at, level.hit_cycles, true);
        self.go_on_from_all(RequestOfAll { at, kind: Kind::Store, address: &address, is_demand: true });
        self.end_lookup(before);
        true
    }

    fn look_up_translated(&mut self, request: RequestOfAll<'_>) -> ViewSet {
        let RequestOfAll { at, kind, address, .. } = request;
        let is_store = kind == Kind::Store && !self.plan.levels[at].is_tlb;
        let before = self.clocks.difference();
        let missed = self.look_up_in_all(request);
        self.hint(at, is_store, address, missed);
        self.end_lookup(before);
        missed
    }

    /// What is known of the line after a lookup.
    fn hint(&mut self, at: usize, is_store: bool, address: &Address, missed: ViewSet) {
        if !self.plan.skips_repeats {
            return;
        }
        let slot = self.slot;
        let level = &self.plan.levels[at];
        let (set, key) = (level.set(address), level.key(address));
        let is_stored = is_store && !level.is_write_through;
        let own = &mut self.levels[at];
        let line = own.common_lines.line_of(address.virtual_address);
        if level.has_common_top() {
            if own.common_lines.has(set, slot, key) {
                own.common_lines.hint(slot, line, is_stored);
            }
        } else if level.may_skip_repeat(missed == ViewSet::NONE) {
            // A level behind may have taken it away again, and a store may have brought nothing in.
            if own.views.iter().all(|lines| lines.find(set, key).is_some()) {
                own.common_lines.hint_latest(set, line, is_stored);
            }
        }
    }

    fn translated(&mut self, address: u64, is_store: bool, at: usize) -> Address {
        let target = Address { process: self.lookup.context.process, virtual_address: address, physical: 0 };
        let Some(frames) = self.frames.as_mut().filter(|_| !self.plan.levels[at].is_tlb) else { return target };
        let physical = frames.translate(target.process, address, is_store, self.lookup.context.mappings);
        if frames.take_moved() {
            self.levels.iter_mut().for_each(|level| level.common_lines.forget_hints());
        }
        Address { physical, ..target }
    }

    #[inline]
    pub(super) fn charge_all(&mut self, at: usize, cycles: u64, is_demand: bool) {
        if is_demand {
            self.clocks.common += cycles;
            self.levels[at].common.cycles += cycles;
        } else {
            self.passed.iter_mut().for_each(|passed| *passed += cycles);
        }
    }

    fn charge_one(&mut self, view: usize, at: usize, cycles: u64, is_demand: bool) {
        if is_demand {
            self.clocks.now[view] += cycles;
            self.lines(view, at).counts.cycles += cycles;
        } else {
            self.passed[view] += cycles;
        }
    }

    /// A lookup in every view; gives those that miss.
    #[inline]
    fn look_up_in_all(&mut self, request: RequestOfAll<'_>) -> ViewSet {
        if self.plan.levels[request.at].has_common_top() { self.look_up_top(request) } else { self.each_alone(request) }
    }

    /// Each view by itself, from this level on.
    #[inline(never)]
    fn each_alone(&mut self, request: RequestOfAll<'_>) -> ViewSet {
        let mut missed = ViewSet::NONE;
        for view in [SHARED, PRIVATE, FLUSHED] {
            self.clocks.delay = 0;
            let answer = self.look_up_alone(request.of(view));
            self.take_answer(request, view, answer);
            missed = missed.and(ViewSet::of(view, answer.is_miss));
        }
        missed
    }

    /// What a view looked up by itself: its cycles are on its clock, if it waited for them.
    fn take_answer(&mut self, request: RequestOfAll<'_>, view: usize, answer: Answer) {
        if !request.is_demand {
            self.passed[view] += answer.cycles;
        }
        self.brought_modified = self.brought_modified.and(ViewSet::of(view, answer.is_modified));
    }

    /// The same request of all views at the next level, which counts it.
    #[inline]
    fn ask_next_of_all(&mut self, request: RequestOfAll<'_>, kind: Kind) {
        let Some(next) = self.plan.levels[request.at].next[path_of(kind)] else {
            return self.ask_memory(request.at, request.address, request.is_demand);
        };
        self.levels[next].common.accesses[kind as usize] += 1;
        let missed = self.look_up_in_all(RequestOfAll { at: next, kind, ..request });
        if missed != ViewSet::NONE {
            self.levels[next].count_misses(kind as usize, missed);
            self.compare_misses(next, missed);
        }
    }

    /// A lookup in a level whose lines used last are the same in all views, and stay so.
    fn look_up_top(&mut self, request: RequestOfAll<'_>) -> ViewSet {
        let RequestOfAll { at, kind, address, is_demand } = request;
        let level = &self.plan.levels[at];
        let (set, key) = (level.set(address), level.key(address));
        let is_store = kind == Kind::Store && !level.is_tlb;
        let own = &mut self.levels[at];
        let missed = if let Some(slot) = own.common_lines.find(set, key) {
            own.common_lines.use_now(slot);
            self.slot = slot;
            self.charge_all(at, level.hit_cycles, is_demand);
            ViewSet::NONE
        } else {
            let found = [SHARED, PRIVATE, FLUSHED].map(|view| own.find_below(view, set, key));
            let found_in = |view: usize| ViewSet::of(view, found[view].is_some());
            let holds = found_in(SHARED).and(found_in(PRIVATE)).and(found_in(FLUSHED));
            if is_store && holds != ViewSet::ALL && (!level.allocates || level.is_write_through) {
                return self.store_around(request, holds);
            }
            let copy = found[PRIVATE].map(|slot| own.views[PRIVATE].note(slot));
            if let (Some(slot), None, true) = (found[SHARED], found[PRIVATE], is_demand) {
                self.found_in_shared(at, set, key, slot);
            }
            self.answer(request, holds.others(), if is_store { Kind::Load } else { kind });
            if L::COMPARES && !holds.has(SHARED) {
                self.filled(at, copy);
            }
            self.slot = self.promote(at, set, key, holds);
            holds.others()
        };
        if is_store {
            self.store_to_all(request);
        }
        missed
    }

    /// The time that each view takes, and what it asks the next level for; the line does not come in yet.
    fn answer(&mut self, request: RequestOfAll<'_>, missed: ViewSet, kind: Kind) {
        let RequestOfAll { at, is_demand, .. } = request;
        let level = &self.plan.levels[at];
        if missed == ViewSet::ALL {
            self.charge_all(at, level.miss_cycles, is_demand);
            self.levels[at].common.fills += 1;
            return self.ask_next_of_all(request, kind);
        }
        if missed == ViewSet::NONE {
            return self.charge_all(at, level.hit_cycles, is_demand);
        }
        for view in [SHARED, PRIVATE, FLUSHED] {
            if missed.has(view) {
                self.charge_one(view, at, level.miss_cycles, is_demand);
                self.lines(view, at).counts.fills += 1;
                let below = self.ask_next(request.of(view), kind);
                self.take_answer(request, view, below);
            } else {
                self.charge_one(view, at, level.hit_cycles, is_demand);
            }
        }
    }

    /// A line comes on top in every view, and into the set in those that do not hold it. Gives its slot.
    fn promote(&mut self, at: usize, set: usize, key: u64, holds: ViewSet) -> usize {
        let modified = std::mem::take(&mut self.brought_modified);
        if self.levels[at].common_lines.is_full(set) {
            return self.replace_oldest(at, set, key, modified);
        }
        let level = &self.plan.levels[at];
        let requester = self.lookup.requester;
        let own = &mut self.levels[at];
        let (mut slots, mut leaving) = (Slots::default(), [None; VIEWS]);
        let mut held = CommonLine { key, modified, requester };
        for (view, lines) in own.views.iter_mut().enumerate() {
            let found = if holds.has(view) { lines.find(set, key) } else { None };
            let slot = found.unwrap_or_else(|| {
                let (slot, left) = lines.make_room(level, set);
                leaving[view] = left;
                lines.put(slot, key, &Line { requester, ..Line::default() });
                slot
            });
            let (is_modified, requester) = lines.take_shared(slot);
            held.modified = held.modified.and(ViewSet::of(view, is_modified));
            if view == SHARED {
                held.requester = requester;
            }
            slots[view] = slot as u32;
        }
        let requester = held.requester;
        let slot = own.common_lines.push(set, held, slots);
        if let Some((old, line)) = leaving[SHARED] {
            self.left(at, set, old, line.requester, Departure::Replaced);
        }
        if !holds.has(SHARED) {
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

    /// The same where every view holds the lines of a full list: one leaves all of them.
    fn replace_oldest(&mut self, at: usize, set: usize, key: u64, modified: ViewSet) -> usize {
        let level = &self.plan.levels[at];
        let requester = self.lookup.requester;
        let own = &mut self.levels[at];
        let (slot, old) = own.common_lines.replace_oldest(set, CommonLine { key, modified, requester });
        self.exchanged(at, set, [old.key, key], [old.requester, requester]);
        if old.modified != ViewSet::NONE || level.is_left_with_effects {
            let line = Line { address: level.address_of(old.key), is_modified: false, requester: old.requester };
            for view in [SHARED, PRIVATE, FLUSHED] {
                self.leave_level(view, at, Line { is_modified: old.modified.has(view), ..line });
            }
        }
        slot
    }

    /// What a store does to a line that all views hold.
    #[inline]
    fn store_to_all(&mut self, request: RequestOfAll<'_>) {
        if self.plan.levels[request.at].is_write_through {
            self.go_on_from_all(request);
        } else {
            self.levels[request.at].common_lines.modify(self.slot, ViewSet::ALL);
        }
    }

    /// A store to a line that not all views hold, in a level that brings none in for it, or that asks the next level twice.
    fn store_around(&mut self, request: RequestOfAll<'_>, holds: ViewSet) -> ViewSet {
        // Asked twice, each view does both before the next view does either: where the second miss comes from depends on it.
        if holds != ViewSet::NONE || self.plan.levels[request.at].allocates {
            return self.each_alone(request);
        }
        if self.plan.levels[request.at].is_write_through {
            self.go_on_from_all(request);
        } else {
            self.ask_next_of_all(request, Kind::Store);
        }
        ViewSet::ALL
    }

    /// A store goes on from a write-through level; nobody waits for it, but perhaps for a buffer.
    fn go_on_from_all(&mut self, request: RequestOfAll<'_>) {
        let request = RequestOfAll { is_demand: false, ..request };
        let passed = std::mem::take(&mut self.passed);
        if self.levels[request.at].views[SHARED].writes.is_absent() {
            self.ask_next_of_all(request, Kind::Store);
        } else {
            let now = self.levels[request.at].wait_for_buffers(self.clocks);
            self.ask_next_of_all(request, Kind::Store);
            self.levels[request.at].take_buffers(now, self.passed, self.clocks);
        }
        self.passed = passed;
    }
}
