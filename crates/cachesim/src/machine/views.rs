//! The three views of a design, looked up together.
//!
//! Where the [`Filter`] knows enough, one step stands for all three; else each view is walked by itself.

use design::{Inclusion, Replacement};

use super::Scene;
use super::address::Address;
use super::buffers::Buffers;
use super::filter::{Filter, Known, Slots};
use super::frames::Frames;
use super::hierarchy::{Answer, Hierarchy};
use super::ledger::{Bookkeeper, Ledger, Privates};
use super::plan::{Kind, LevelPlan, Plan, path_of};
use super::watch::Nobody;

/// Which views missed.
pub(super) type Misses = [bool; 3];

/// What all three views count alike in one level.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Together {
    accesses: [u64; 3],
    misses: [u64; 3],
    fills: u64,
    cycles: u64,
}

/// What makes lookups in one level fast.
#[derive(Debug)]
pub(super) struct Shortcut {
    pub(super) filter: Filter,
    /// One way, virtual, nothing beside it: a line that the filter does not name is in no view.
    pub(super) is_plain: bool,
    /// A line that was just brought in is found without any change.
    settles_at_once: bool,
    /// A store leaves no trace in the level and takes no time there, whether the line is there or not.
    pub(super) passes_stores: bool,
    /// A store that misses asks the next level twice: each view must do both before the next view does either, as it
    /// matters to where the second miss comes from.
    asks_twice: bool,
    /// A store brings its line in and stays there.
    keeps_stores: bool,
    /// The design is timed: a store that goes on does so in each view by itself.
    is_timed: bool,
    /// A miss in every view brings the line in, in place of one that the filter names.
    replaces_last: bool,
    together: Together,
}

impl Shortcut {
    /// Whether one step may stand for a lookup in all views.
    #[inline]
    pub(super) fn goes_together(&self, known: Known, is_store: bool) -> bool {
        match known {
            Known::Hit => !self.is_timed,
            Known::HitUnmodified => self.is_plain,
            Known::Conflict => self.is_plain && !(is_store && self.asks_twice),
            Known::Unknown => false,
        }
    }

    /// Whether [`Hierarchy::look_up_plainly`] does what a lookup has to.
    #[inline]
    fn is_walked_plainly(&self, kind: Kind) -> bool {
        self.is_plain && (kind != Kind::Store || self.keeps_stores)
    }

    /// All views miss.
    #[inline]
    pub(super) fn count_misses(&mut self, kind: Kind, misses: u64) {
        self.together.misses[kind as usize] += misses;
    }

    /// All views are asked by the level before.
    pub(super) fn count_accesses(&mut self, kind: Kind, accesses: u64) {
        self.together.accesses[kind as usize] += accesses;
    }

    /// All views bring lines in, and wait.
    pub(super) fn count_fills(&mut self, fills: u64, cycles: u64) {
        self.together.fills += fills;
        self.together.cycles += cycles;
    }

    /// The shortcuts of all levels.
    pub(super) fn all(plan: &Plan) -> Vec<Shortcut> {
        let is_free = plan.levels.iter().all(|level| level.inclusion == Inclusion::Neither)
            && plan.pages.is_none()
            && !plan.is_timed;
        let is_plain = |level: &LevelPlan| is_free && level.is_plain() && !level.is_swept;
        let one = |level: &LevelPlan| Shortcut {
            filter: Filter::new(level, level.is_tlb || (level.is_write_through && plan.pages.is_none())),
            is_plain: is_plain(level),
            settles_at_once: !level.is_swept && (level.replacement != Replacement::Srrip || level.ways == 1),
            passes_stores: is_plain(level) && level.is_write_through && !level.allocates && level.hit_cycles == 0,
            asks_twice: level.is_write_through && level.allocates,
            keeps_stores: level.is_tlb || (!level.is_write_through && level.allocates),
            is_timed: plan.is_timed,
            replaces_last: level.is_alone()
                && !level.carries_addresses
                && !plan.is_timed
                && level.inclusion == Inclusion::Neither,
            together: Together::default(),
        };
        plan.levels.iter().map(one).collect()
    }
}

/// A line is used in all views, in the slots where they hold it.
pub(super) fn use_slots(views: &mut [&mut Hierarchy; 3], at: usize, slots: Slots) {
    views.iter_mut().zip(slots).for_each(|(view, slot)| view.levels[at].found(slot as usize));
}

/// The hierarchies of a run of blocks of one process.
pub(super) struct Views<'a> {
    pub(super) plan: &'a Plan,
    pub(super) shared: &'a mut Hierarchy,
    pub(super) private: &'a mut Hierarchy,
    pub(super) flushed: &'a mut Hierarchy,
    pub(super) ledger: &'a mut Ledger,
    /// Private hierarchies of the other processes.
    pub(super) others: &'a mut Privates,
    pub(super) frames: Option<&'a mut Frames>,
    pub(super) shortcuts: &'a mut [Shortcut],
    pub(super) scene: &'a Scene<'a>,
    /// Cycles that every view takes and that are not on their clocks yet.
    pub(super) ahead: u64,
    pub(super) buffers: &'a mut Buffers,
}

impl Views<'_> {
    /// Shared, private and flushed clock.
    #[inline]
    pub(super) fn clocks(&self) -> [u64; 3] {
        [self.shared.now, self.private.now, self.flushed.now].map(|now| now + self.ahead)
    }

    /// How much longer the shared view has taken so far, up to a constant.
    #[inline]
    pub(super) fn difference(&self) -> u64 {
        self.shared.now.wrapping_sub(self.private.now)
    }

    fn settle_clocks(&mut self) {
        let ahead = std::mem::take(&mut self.ahead);
        self.shared.now += ahead;
        self.private.now += ahead;
        self.flushed.now += ahead;
    }

    fn tell_buffers_apart(&mut self) {
        let later = Buffers::distances(self.shared, self.private, self.flushed);
        self.buffers.part(later, self.shared, self.private, self.flushed);
    }

    /// At the end of a run: what was counted together goes to each view.
    pub(super) fn settle(&mut self) {
        self.settle_clocks();
        for (at, shortcut) in self.shortcuts.iter_mut().enumerate() {
            if shortcut.together == Together::default() {
                continue;
            }
            let together = std::mem::take(&mut shortcut.together);
            for hierarchy in [&mut *self.shared, &mut *self.private, &mut *self.flushed] {
                let counts = &mut hierarchy.levels[at].counts;
                counts.accesses.iter_mut().zip(together.accesses).for_each(|(sum, more)| *sum += more);
                counts.misses.iter_mut().zip(together.misses).for_each(|(sum, more)| *sum += more);
                counts.fills += together.fills;
                counts.cycles += together.cycles;
            }
            self.ledger.count_own_fills(at, together.fills);
        }
    }

    /// One lookup at a first level, in every view.
    pub(super) fn look_up(&mut self, at: usize, kind: Kind, address: u64) -> Misses {
        let is_store = kind == Kind::Store && !self.plan.levels[at].is_tlb;
        let known = self.known(at, self.shortcuts[at].filter.line_of(address), is_store);
        if known == Known::Hit && !(is_store && self.plan.levels[at].is_write_through) {
            self.charge(at, self.plan.levels[at].hit_cycles, true);
            return [false; 3];
        }
        let shortcut = &self.shortcuts[at];
        if shortcut.goes_together(known, is_store) {
            let target = Address { process: self.scene.process, virtual_address: address, physical: 0 };
            // A line that is here needs its physical address only to be passed on.
            let target = if known == Known::Hit { self.translated(target, kind, at) } else { target };
            return [self.together(at, kind, &target, true, known).1; 3];
        }
        let target = Address { process: self.scene.process, virtual_address: address, physical: 0 };
        if is_store && self.shortcuts[at].passes_stores {
            return self.pass_store(at, &target);
        }
        let target = self.translated(target, kind, at);
        self.apart(at, kind, &target, true).1
    }

    /// What is known of a line of a first level. Where all views hold it, it is the one used last in its set from here on.
    #[inline(always)]
    pub(super) fn known(&mut self, at: usize, line: u64, is_store: bool) -> Known {
        let filter = &self.shortcuts[at].filter;
        let known = filter.known(line, is_store);
        if known == Known::Hit || !filter.is_deep() { known } else { self.known_in_list(at, line, is_store) }
    }

    #[inline(never)]
    fn known_in_list(&mut self, at: usize, line: u64, is_store: bool) -> Known {
        let keeps_stores = !self.plan.levels[at].is_write_through;
        let filter = &mut self.shortcuts[at].filter;
        let (address, mut has_moved) = (filter.address_of(line), false);
        let known = filter.find(line, is_store, |known| {
            // The page of a first store may get a frame of its own; the line is another one then.
            if let Some(frames) = self.frames.as_deref_mut().filter(|_| known == Known::HitUnmodified && keeps_stores) {
                frames.translate(self.scene.process, address, true, self.scene.mappings);
                has_moved = frames.take_moved();
            }
            !has_moved
        });
        if has_moved {
            self.forget_known();
        } else if known == Known::HitUnmodified && keeps_stores {
            let slots = filter.slots(line);
            filter.note_stored(line);
            for (view, slot) in [&mut *self.shared, &mut *self.private, &mut *self.flushed].into_iter().zip(slots) {
                view.levels[at].modify(slot as usize);
            }
            return Known::Hit;
        }
        known
    }

    fn forget_known(&mut self) {
        let mut views = [&mut *self.shared, &mut *self.private, &mut *self.flushed];
        for (at, shortcut) in self.shortcuts.iter_mut().enumerate() {
            shortcut.filter.settle_all(|slots| use_slots(&mut views, at, slots));
            shortcut.filter.forget();
        }
    }

    /// The order of a set in each view is up to date from here on.
    fn settle_set(&mut self, at: usize, set: usize) {
        let mut views = [&mut *self.shared, &mut *self.private, &mut *self.flushed];
        self.shortcuts[at].filter.settle(set, |slots| use_slots(&mut views, at, slots));
    }

    /// A store that changes nothing in this level, whatever line each view holds; it goes on from all alike.
    fn pass_store(&mut self, at: usize, address: &Address) -> Misses {
        let level = &self.plan.levels[at];
        let (set, key) = (level.set(address), level.key(address));
        let misses = [&*self.shared, &*self.private, &*self.flushed]
            .map(|hierarchy| hierarchy.levels[at].find(set, key).is_none());
        if misses == [false; 3] {
            let filter = &mut self.shortcuts[at].filter;
            filter.keep(filter.line_of(address.virtual_address), true);
        }
        self.go_on_together(at, address);
        misses
    }

    #[inline]
    fn translated(&mut self, address: Address, kind: Kind, at: usize) -> Address {
        if self.frames.is_none() { address } else { self.translated_by_frames(address, kind, at) }
    }

    fn translated_by_frames(&mut self, address: Address, kind: Kind, at: usize) -> Address {
        let Some(frames) = &mut self.frames else { return address };
        if self.plan.levels[at].is_tlb {
            return address;
        }
        let is_store = kind == Kind::Store;
        let physical = frames.translate(address.process, address.virtual_address, is_store, self.scene.mappings);
        if frames.take_moved() {
            self.forget_known();
        }
        Address { physical, ..address }
    }

    #[inline]
    pub(super) fn charge(&mut self, at: usize, cycles: u64, is_demand: bool) {
        if is_demand && cycles != 0 {
            self.ahead += cycles;
            self.shortcuts[at].together.cycles += cycles;
        }
    }

    /// A request of a level that was looked up together, at the next one. Gives the cycles of each view.
    #[inline]
    fn ask_next(&mut self, from: usize, kind: Kind, address: &Address, is_demand: bool) -> [u64; 3] {
        let Some(at) = self.plan.levels[from].next[path_of(kind)] else { return [0; 3] };
        let is_store = kind == Kind::Store && !self.plan.levels[at].is_tlb;
        let shortcut = &mut self.shortcuts[at];
        shortcut.together.accesses[kind as usize] += 1;
        let known = shortcut.filter.known(shortcut.filter.line_of(address.virtual_address), is_store);
        if known == Known::Hit && !(is_store && self.plan.levels[at].is_write_through) {
            let cycles = self.plan.levels[at].hit_cycles;
            self.charge(at, cycles, is_demand);
            return [cycles; 3];
        }
        self.ask_changing(at, kind, address, is_demand, known)
    }

    /// What [`Views::ask_next`] does where something changes.
    fn ask_changing(&mut self, at: usize, kind: Kind, address: &Address, is_demand: bool, known: Known) -> [u64; 3] {
        if self.shortcuts[at].goes_together(known, kind == Kind::Store) {
            let (cycles, is_miss) = self.together(at, kind, address, is_demand, known);
            self.shortcuts[at].together.misses[kind as usize] += u64::from(is_miss);
            return cycles;
        }
        let (cycles, misses) = self.apart(at, kind, address, is_demand);
        self.count_misses(at, kind, misses);
        cycles
    }

    /// A lookup that all views answer alike in this level: the filter knows the line, or the level is plain.
    fn together(
        &mut self,
        at: usize,
        kind: Kind,
        address: &Address,
        is_demand: bool,
        known: Known,
    ) -> ([u64; 3], bool) {
        let level = &self.plan.levels[at];
        let is_store = kind == Kind::Store && !level.is_tlb;
        if known == Known::Conflict {
            return (self.miss_together(at, kind, address, is_demand), true);
        }
        self.charge(at, level.hit_cycles, is_demand);
        if is_store {
            self.store_together(at, address);
        }
        ([level.hit_cycles; 3], false)
    }

    /// What a store does to a line that all views hold.
    fn store_together(&mut self, at: usize, address: &Address) {
        let level = &self.plan.levels[at];
        if level.is_write_through {
            self.go_on_together(at, address);
            return;
        }
        let filter = &mut self.shortcuts[at].filter;
        let line = filter.line_of(address.virtual_address);
        if filter.holds_stored(line) {
            return;
        }
        filter.keep(line, true);
        let slot = level.set(address);
        self.shared.levels[at].modify(slot);
        self.private.levels[at].modify(slot);
        self.flushed.levels[at].modify(slot);
    }

    /// A line that no view holds in a plain level: another one of this process is there.
    #[inline]
    pub(super) fn miss_together(&mut self, at: usize, kind: Kind, address: &Address, is_demand: bool) -> [u64; 3] {
        let level = &self.plan.levels[at];
        let is_store = kind == Kind::Store && !level.is_tlb;
        if is_store && !level.allocates {
            if level.is_write_through {
                self.go_on_together(at, address);
                return [0; 3];
            }
            return self.ask_next(at, Kind::Store, address, is_demand);
        }
        self.charge(at, level.miss_cycles, is_demand);
        let asked = if is_store { Kind::Load } else { kind };
        let below = self.ask_next(at, asked, address, is_demand);
        self.shortcuts[at].together.fills += 1;
        let (slot, key) = (level.set(address), level.key(address));
        for hierarchy in [&mut *self.shared, &mut *self.private, &mut *self.flushed] {
            hierarchy.replace(self.plan, at, slot, key);
        }
        let filter = &mut self.shortcuts[at].filter;
        filter.keep(filter.line_of(address.virtual_address), false);
        if is_store {
            self.store_together(at, address);
        }
        below.map(|cycles| cycles + level.miss_cycles)
    }

    /// A store goes on from a write-through level that was looked up together.
    #[inline]
    pub(super) fn go_on_together(&mut self, at: usize, address: &Address) {
        if self.shared.levels[at].writes.is_absent() {
            self.ask_next(at, Kind::Store, address, false);
        } else if self.buffers.are_alike && at == self.buffers.level {
            let writes = &self.shared.levels[at].writes;
            let wait = writes.wait(self.shared.now + self.ahead);
            self.ahead += wait;
            self.buffers.stall_cycles += wait;
            let now = self.clocks();
            let cycles = self.ask_next(at, Kind::Store, address, false);
            if self.buffers.are_alike && cycles == [cycles[0]; 3] {
                self.shared.levels[at].writes.put(now[0], cycles[0]);
            } else {
                self.tell_buffers_apart();
                self.put_apart(at, now, cycles);
            }
        } else {
            self.go_on_apart(at, address);
        }
    }

    #[inline(never)]
    fn go_on_apart(&mut self, at: usize, address: &Address) {
        self.tell_buffers_apart();
        let ahead = self.ahead;
        let hierarchies = [&mut *self.shared, &mut *self.private, &mut *self.flushed];
        let now = hierarchies.map(|hierarchy| hierarchy.wait_for_buffer(at, ahead));
        let cycles = self.ask_next(at, Kind::Store, address, false);
        let are_idle = self.shared.levels[at].writes.is_idle(now[0])
            && self.private.levels[at].writes.is_idle(now[1])
            && self.flushed.levels[at].writes.is_idle(now[2]);
        self.put_apart(at, now, cycles);
        // Clocks that have moved apart meanwhile would not tell the same of this store.
        let clocks = self.clocks();
        let is_even = |of: [u64; 3]| of[0] == of[1] && of[0] == of[2];
        let passed = [clocks[0] - now[0], clocks[1] - now[1], clocks[2] - now[2]];
        self.buffers.are_alike = at == self.buffers.level && are_idle && is_even(passed) && is_even(cycles);
    }

    pub(super) fn put_apart(&mut self, at: usize, now: [u64; 3], cycles: [u64; 3]) {
        self.shared.levels[at].writes.put(now[0], cycles[0]);
        self.private.levels[at].writes.put(now[1], cycles[1]);
        self.flushed.levels[at].writes.put(now[2], cycles[2]);
    }

    /// Each view by itself, from this level on.
    #[inline(never)]
    fn apart(&mut self, at: usize, kind: Kind, address: &Address, is_demand: bool) -> ([u64; 3], Misses) {
        if kind == Kind::Store && !self.plan.levels[at].is_tlb {
            self.tell_buffers_apart();
        }
        self.settle_clocks();
        let last = self.last_of_set(at, kind, address);
        if last.is_none() {
            self.settle_set(at, self.plan.levels[at].set(address));
        }
        let distances = Buffers::distances(self.shared, self.private, self.flushed);
        let are_idle = self.shared.levels[self.buffers.level].writes.is_idle(self.shared.now);
        let plan = self.plan;
        let mut bookkeeper = Bookkeeper {
            plan,
            ledger: &mut *self.ledger,
            others: &mut *self.others,
            process: self.scene.process,
            private: Some(&mut *self.private),
        };
        let shortcut = &self.shortcuts[at];
        let answers = if shortcut.is_walked_plainly(kind) {
            [
                self.shared.look_up_plainly(plan, &mut bookkeeper, at, kind, address, is_demand),
                self.private.look_up_plainly(plan, &mut Nobody, at, kind, address, is_demand),
                self.flushed.look_up_plainly(plan, &mut Nobody, at, kind, address, is_demand),
            ]
        } else if let Some(last) = last {
            let [shared, private, flushed] = last.map(usize::from);
            [
                self.shared.bring_into(plan, &mut bookkeeper, at, kind, address, is_demand, shared),
                self.private.bring_into(plan, &mut Nobody, at, kind, address, is_demand, private),
                self.flushed.bring_into(plan, &mut Nobody, at, kind, address, is_demand, flushed),
            ]
        } else {
            [
                self.shared.look_up(plan, &mut bookkeeper, at, kind, address, is_demand),
                self.private.look_up(plan, &mut Nobody, at, kind, address, is_demand),
                self.flushed.look_up(plan, &mut Nobody, at, kind, address, is_demand),
            ]
        };
        // Stores that are all written look the same however long ago that was.
        if !are_idle && Buffers::distances(self.shared, self.private, self.flushed) != distances {
            self.buffers.part(distances, self.shared, self.private, self.flushed);
        }
        let misses = answers.map(|answer| answer.is_miss);
        self.remember(at, kind, address, &answers);
        (answers.map(|answer| answer.cycles), misses)
    }

    /// Where the line is that leaves every view, if no view holds a line that is brought in.
    fn last_of_set(&self, at: usize, kind: Kind, address: &Address) -> Option<Slots> {
        let (level, shortcut) = (&self.plan.levels[at], &self.shortcuts[at]);
        let is_brought_in = kind != Kind::Store || shortcut.keeps_stores;
        if !shortcut.replaces_last || !is_brought_in || level.is_swept {
            return None;
        }
        let last = shortcut.filter.last_of_full(shortcut.filter.line_of(address.virtual_address))?;
        // The same line may be in the list under another virtual address.
        let is_held =
            level.has_physical_tag && self.shared.levels[at].find(level.set(address), level.key(address)).is_some();
        (!is_held).then_some(last)
    }

    /// What the filter knows after a lookup.
    fn remember(&mut self, at: usize, kind: Kind, address: &Address, answers: &[Answer; 3]) {
        let level = &self.plan.levels[at];
        let is_store = kind == Kind::Store && !level.is_tlb;
        let shortcut = &mut self.shortcuts[at];
        let line = shortcut.filter.line_of(address.virtual_address);
        let is_found = answers.iter().all(|answer| !answer.is_miss);
        let is_held = is_found || (shortcut.settles_at_once && (!is_store || level.allocates));
        if is_held && shortcut.filter.is_deep() {
            shortcut.filter.put(line, answers.map(|answer| answer.slot as u16), is_store);
        } else if is_held {
            shortcut.filter.keep(line, is_store);
        } else if !shortcut.is_plain {
            shortcut.filter.forget_line(line);
        }
        self.forget_disturbed();
    }

    /// Sets that were changed by somebody else than their lookup.
    fn forget_disturbed(&mut self) {
        let mut sets = std::mem::take(&mut self.shared.disturbed);
        sets.append(&mut self.private.disturbed);
        sets.append(&mut self.flushed.disturbed);
        for &(at, set) in &sets {
            self.settle_set(at, set);
            self.shortcuts[at].filter.forget_set(set);
        }
        sets.clear();
        self.shared.disturbed = sets;
    }

    /// Misses at a level, each view's its own.
    #[inline]
    pub(super) fn count_misses(&mut self, at: usize, kind: Kind, misses: Misses) {
        match misses {
            [false, false, false] => {}
            [true, true, true] => self.shortcuts[at].together.misses[kind as usize] += 1,
            [shared, private, flushed] => {
                self.shared.levels[at].counts.misses[kind as usize] += u64::from(shared);
                self.private.levels[at].counts.misses[kind as usize] += u64::from(private);
                self.flushed.levels[at].counts.misses[kind as usize] += u64::from(flushed);
            }
        }
    }
}
