//! One machine of a team, while blocks are under way. Every step gives whether all views went on alike, so that the
//! shared one is as far ahead of the private one as it was.

use crate::machine::aside::WriteQueue;
use crate::machine::code::Bill;
use crate::machine::hierarchy::Hierarchy;
use crate::machine::lane::store;
use crate::machine::plan::Kind;
use crate::machine::run::Entry;
use crate::machine::skim::Sums;
use crate::machine::views::Views;
use crate::machine::{Machine, Scene};

pub(super) struct Member<'a> {
    views: Views<'a>,
    bill: &'a mut Bill,
    entry: Entry,
    /// What the team's time is counted from, on the shared view's clock.
    start: u64,
    /// The shared view's queue of the first level of data, which stands for all three while they are alike. It is taken
    /// out of the view only to be near.
    writes: WriteQueue,
    opened: [u64; 3],
    difference: u64,
    /// All of a key but the line, of fetches and of data.
    process_bits: [u64; 2],
    /// What was counted, but for the clocks.
    sums: Sums,
}

/// Clocks of the three views at the start and at the end of a pass.
pub(super) type Clocks = [[u64; 3]; 2];

impl<'a> Member<'a> {
    pub(super) fn new(machine: &'a mut Machine, private: &'a mut Hierarchy, scene: &'a Scene<'a>) -> Member<'a> {
        let entry = machine.entry;
        let bits = |level: usize| machine.plan.levels[level].process_bits(scene.process);
        let process_bits = [bits(entry.fetch_cache), bits(entry.data_cache)];
        let (views, bill) = machine.views(private, scene);
        let (opened, difference) = (views.clocks(), views.difference());
        let writes = std::mem::take(&mut views.shared.levels[entry.data_cache].writes);
        let sums = Sums::default();
        Member { entry, bill, start: opened[0], writes, opened, difference, process_bits, sums, views }
    }

    /// After the last block.
    pub(super) fn finish(mut self, time: u64) -> Clocks {
        let clocks = self.walk(time, |views| views.clocks());
        let Member { mut views, entry, sums, opened, mut writes, .. } = self;
        std::mem::swap(&mut writes, &mut views.shared.levels[entry.data_cache].writes);
        views.take_sums(&entry, &sums);
        views.settle();
        [opened, clocks]
    }

    /// The views by themselves, as complete as if there were no team.
    #[inline]
    fn walk<T>(&mut self, time: u64, act: impl FnOnce(&mut Views<'a>) -> T) -> T {
        let at = self.entry.data_cache;
        self.views.ahead = self.ahead(time);
        std::mem::swap(&mut self.writes, &mut self.views.shared.levels[at].writes);
        let result = act(&mut self.views);
        std::mem::swap(&mut self.writes, &mut self.views.shared.levels[at].writes);
        self.start = (self.views.shared.now + self.views.ahead).wrapping_sub(time);
        result
    }

    /// Cycles that every view has taken and that are not on its clock yet.
    #[inline(always)]
    fn ahead(&self, time: u64) -> u64 {
        self.start.wrapping_add(time).wrapping_sub(self.views.shared.now)
    }

    /// The block that has just gone by may have cost the shared view more than the private one.
    pub(super) fn pay(&mut self, address: u64) {
        let after = self.views.difference();
        if after != self.difference {
            let excess = after.wrapping_sub(self.difference) as i64;
            self.bill.add(address, excess, self.views.scene.context, self.views.scene.mappings);
            self.difference = after;
        }
    }

    /// A fetch of a line that is a miss by itself.
    #[inline(always)]
    pub(super) fn fetch(&mut self, time: u64, address: u64) -> bool {
        self.bring(time, self.entry.fetch_cache, Kind::Fetch, address)
    }

    /// A load within one line.
    #[inline(always)]
    pub(super) fn load(&mut self, time: u64, address: u64) -> bool {
        self.bring(time, self.entry.data_cache, Kind::Load, address)
    }

    #[inline(always)]
    fn bring(&mut self, time: u64, at: usize, kind: Kind, address: u64) -> bool {
        let filter = self.views.shortcuts[at].filter.sight();
        let line = filter.line_of(address);
        if filter.holds(line) {
            return true;
        }
        let is_near = |next: usize| {
            let filter = self.views.shortcuts[next].filter.sight();
            filter.holds(filter.line_of(address))
        };
        if filter.is_known(line) && self.entry.lane.next.is_none_or(is_near) {
            self.replace(at, kind, line);
            return true;
        }
        self.bring_apart(time, at, kind, address)
    }

    /// All views miss a line, and what comes behind the first level changes nothing there.
    #[inline(always)]
    fn replace(&mut self, at: usize, kind: Kind, line: u64) {
        let Views { shared, private, flushed, shortcuts, .. } = &mut self.views;
        let mut pen = shortcuts[at].filter.pen();
        let slot = pen.sight().slot(line);
        let key = self.process_bits[usize::from(kind != Kind::Fetch)] | line;
        for hierarchy in [&mut **shared, private, flushed] {
            hierarchy.levels[at].put_key(slot, key);
        }
        pen.keep(line);
        let lane = &self.entry.lane;
        if kind == Kind::Fetch {
            self.sums.code_misses += 1;
            self.sums.code_fills += 1;
            self.start = self.start.wrapping_add(lane.code_miss_cycles + lane.next_hit_cycles);
        } else {
            self.sums.load_misses += 1;
            self.sums.load_fills += 1;
            self.start = self.start.wrapping_add(lane.data_miss_cycles + lane.next_hit_cycles);
        }
    }

    /// Something is not known.
    #[inline(never)]
    fn bring_apart(&mut self, time: u64, at: usize, kind: Kind, address: u64) -> bool {
        self.walk(time, |views| {
            let misses = views.look_up(at, kind, address);
            views.count_misses(at, kind, misses);
        });
        self.is_even()
    }

    /// Whether the shared view is as far ahead of the private one as it was.
    #[inline(always)]
    fn is_even(&self) -> bool {
        self.views.difference() == self.difference
    }

    /// All lines of a block's first instruction: at most one miss.
    #[inline(never)]
    pub(super) fn first_instruction(&mut self, time: u64, first: u64, last: u64) -> bool {
        self.refer_at(time, self.entry.fetch_cache, Kind::Fetch, first, last)
    }

    /// A load or store from its first byte to its last.
    #[inline(never)]
    pub(super) fn refer(&mut self, time: u64, kind: Kind, first: u64, last: u64) -> bool {
        self.refer_at(time, self.entry.data_cache, kind, first, last)
    }

    fn refer_at(&mut self, time: u64, at: usize, kind: Kind, first: u64, last: u64) -> bool {
        self.walk(time, |views| views.all_lines(at, kind, first, last));
        self.is_even()
    }

    /// A store within one line, which all views may be known to hold.
    #[inline(always)]
    pub(super) fn store(&mut self, time: u64, address: u64, is_held: bool) -> bool {
        let at = self.entry.data_cache;
        if self.passes(address) && self.has_room(time, at) {
            if !is_held {
                self.count_store(at, address);
            }
            self.pass(time, at);
            return true;
        }
        self.store_apart(time, at, address)
    }

    #[inline(never)]
    fn store_apart(&mut self, time: u64, at: usize, address: u64) -> bool {
        self.walk(time, |views| views.one_line(at, Kind::Store, address));
        self.is_even()
    }

    /// Whether all that a store does in the buffers and behind them is the same in all views.
    #[inline(always)]
    fn passes(&self, address: u64) -> bool {
        let lane = &self.entry.lane;
        let absorbs = |next: usize| {
            let filter = self.views.shortcuts[next].filter.sight();
            filter.holds_stored(filter.line_of(address))
        };
        lane.absorbs_stores && lane.next.is_none_or(absorbs)
    }

    /// Whether a store finds a write buffer in every view without waiting for it, or waits in all views alike.
    #[inline(always)]
    fn has_room(&self, time: u64, at: usize) -> bool {
        self.views.buffers.are_alike || !self.entry.lane.has_buffers || self.has_room_apart(time, at)
    }

    #[inline(never)]
    fn has_room_apart(&self, time: u64, at: usize) -> bool {
        let ahead = self.ahead(time);
        let others = [&*self.views.private, self.views.flushed];
        self.writes.wait(self.start.wrapping_add(time)) == 0
            && others.iter().all(|hierarchy| hierarchy.levels[at].writes.wait(hierarchy.now + ahead) == 0)
    }

    /// Which views a store misses in.
    #[inline(always)]
    fn count_store(&mut self, at: usize, address: u64) {
        let filter = self.views.shortcuts[at].filter.sight();
        let line = filter.line_of(address);
        if filter.is_known(line) {
            let miss = u64::from(!filter.holds(line));
            self.sums.store_misses.iter_mut().for_each(|sum| *sum += miss);
        } else {
            let (slot, key) = (filter.slot(line), self.process_bits[1] | line);
            let views = [&*self.views.shared, self.views.private, self.views.flushed];
            for (sum, hierarchy) in self.sums.store_misses.iter_mut().zip(views) {
                *sum += u64::from(hierarchy.levels[at].find(slot, key).is_none());
            }
        }
    }

    /// A store that goes on from the first level.
    #[inline(always)]
    fn pass(&mut self, time: u64, at: usize) {
        let lane = &self.entry.lane;
        self.sums.next_stores += 1;
        if lane.has_buffers && !self.views.buffers.are_alike {
            self.put_apart(time, at);
        } else if lane.has_buffers {
            let now = self.start.wrapping_add(time);
            let stall_cycles = &mut self.views.buffers.stall_cycles;
            let wait = store(&mut self.writes, now, lane.next_hit_cycles, stall_cycles);
            self.start = self.start.wrapping_add(wait);
        }
    }

    /// A store that no view waits for. Where each has written all that came before, they look alike from here on.
    #[inline(never)]
    fn put_apart(&mut self, time: u64, at: usize) {
        let (now, ahead) = (self.start.wrapping_add(time), self.ahead(time));
        let next_hit_cycles = self.entry.lane.next_hit_cycles;
        let mut are_idle = self.writes.is_idle(now);
        self.writes.put(now, next_hit_cycles);
        for hierarchy in [&mut *self.views.private, self.views.flushed] {
            let now = hierarchy.now + ahead;
            let writes = &mut hierarchy.levels[at].writes;
            are_idle &= writes.is_idle(now);
            writes.put(now, next_hit_cycles);
        }
        self.views.buffers.are_alike = are_idle;
    }
}
