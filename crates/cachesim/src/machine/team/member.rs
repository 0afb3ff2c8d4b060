//! One machine of a team, while blocks are under way. Steps that may move the shared view and the private one apart say so.

use super::front::Found;
use crate::machine::address::Address;
use crate::machine::code::Attribution;
use crate::machine::hierarchy::Hierarchy;
use crate::machine::lane::store;
use crate::machine::plan::Kind;
use crate::machine::run::Entry;
use crate::machine::skim::Sums;
use crate::machine::views::{Misses, Views};
use crate::machine::{Machine, Scene};

/// Whether a miss is counted together with others of the same reference or instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Join {
    No,
    Yes,
}

/// What a step may have done.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Effect {
    /// The shared view and the private one may be further apart.
    pub(super) is_uneven: bool,
    /// Something may have changed behind the first levels.
    pub(super) is_behind: bool,
}

impl std::ops::BitOrAssign for Effect {
    #[inline(always)]
    fn bitor_assign(&mut self, other: Effect) {
        self.is_uneven |= other.is_uneven;
        self.is_behind |= other.is_behind;
    }
}

pub(super) struct Member<'a> {
    views: Views<'a>,
    bill: &'a mut Attribution,
    entry: Entry,
    /// What the team's time is counted from, on the shared view's clock.
    start: u64,
    /// Of the team's stores, those that are in the write buffers.
    stores: u64,
    /// Those that the next level was asked for one by one.
    stores_apart: u64,
    /// While all stores take the same time in all views, when the newest one is written; else the queues say.
    newest: Option<u64>,
    /// What a store takes in the buffers, and what all buffers together do.
    pace: [u64; 2],
    opened: [u64; 3],
    difference: u64,
    /// All of a key but the line, of fetches and of data.
    process_bits: [u64; 2],
    /// What was counted, but for the clocks.
    sums: Sums,
    /// Which views missed in the reference under way.
    joined: Misses,
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
        let pace = views.shared.levels[entry.data_cache].writes.pace(entry.lane.next_hit_cycles);
        let mut member = Member {
            entry,
            bill,
            start: opened[0],
            stores: 0,
            stores_apart: 0,
            newest: None,
            pace,
            opened,
            difference,
            process_bits,
            sums: Sums::default(),
            joined: [false; 3],
            views,
        };
        member.take_newest();
        member
    }

    /// After the last block, with all stores in the buffers.
    pub(super) fn finish(mut self, time: u64) -> Clocks {
        let clocks = self.walk(time, |views| views.clocks());
        let Member { mut views, entry, mut sums, opened, .. } = self;
        sums.next_stores = self.stores - self.stores_apart;
        views.take_sums(&entry, &sums);
        views.settle();
        [opened, clocks]
    }

    /// The views by themselves, as complete as if there were no team.
    #[inline]
    fn walk<T>(&mut self, time: u64, act: impl FnOnce(&mut Views<'a>) -> T) -> T {
        self.views.ahead = self.ahead(time);
        self.give_newest();
        let result = act(&mut self.views);
        self.take_newest();
        self.start = (self.views.shared.now + self.views.ahead).wrapping_sub(time);
        result
    }

    fn give_newest(&mut self) {
        if let Some(newest) = self.newest {
            self.views.shared.levels[self.entry.data_cache].writes.set_newest(newest);
        }
    }

    fn take_newest(&mut self) {
        let writes = &self.views.shared.levels[self.entry.data_cache].writes;
        let is_one = self.views.buffers.are_alike || writes.is_absent();
        self.newest = if is_one { writes.newest(self.pace[0]) } else { None };
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

    /// Puts stores into the write buffers, so that so many of the team's are there. They all come at the same time.
    #[inline(always)]
    pub(super) fn catch_up(&mut self, time: u64, stores: u64) -> bool {
        let more = stores - self.stores;
        if more == 0 {
            return false;
        }
        self.stores = stores;
        match self.newest {
            Some(newest) => self.put_together(time, newest, more),
            None => return self.catch_up_apart(time, more),
        }
        false
    }

    /// Stores that all views take alike. One after the other is written, from when the one before is; the last one waits
    /// longest for a buffer, and all together wait as long.
    #[inline(always)]
    fn put_together(&mut self, time: u64, newest: u64, stores: u64) {
        let now = self.start.wrapping_add(time);
        let [service, all] = self.pace;
        let newest = newest.max(now) + stores * service;
        let wait = newest.saturating_sub(now + all);
        self.newest = Some(newest);
        if wait != 0 {
            self.start = self.start.wrapping_add(wait);
            self.views.buffers.stall_cycles += wait;
        }
    }

    /// One store after the other. Gives whether some view waited.
    #[inline(never)]
    fn catch_up_apart(&mut self, time: u64, stores: u64) -> bool {
        let mut has_waited = false;
        for done in 0..stores {
            if let Some(newest) = self.newest {
                self.put_together(time, newest, stores - done);
                break;
            }
            let (at, next_cycles) = (self.entry.data_cache, self.entry.lane.next_hit_cycles);
            if self.views.buffers.are_alike {
                let now = self.start.wrapping_add(time);
                let writes = &mut self.views.shared.levels[at].writes;
                let wait = store(writes, now, next_cycles, &mut self.views.buffers.stall_cycles);
                self.start = self.start.wrapping_add(wait);
                self.take_newest();
            } else {
                has_waited |= self.walk(time, |views| views.put_apart_waiting(at, next_cycles));
            }
        }
        has_waited
    }

    /// A fetch or load of a line that no view holds: all hold another one in its place.
    #[inline(always)]
    pub(super) fn miss(&mut self, time: u64, kind: Kind, address: u64, join: Join) -> Effect {
        if !self.is_near(address) {
            return self.miss_far(time, kind, address, join);
        }
        let misses = u64::from(join == Join::No);
        let lane = &self.entry.lane;
        if kind == Kind::Fetch {
            self.sums.code_misses += misses;
            self.sums.code_fills += 1;
            self.start = self.start.wrapping_add(lane.code_miss_cycles + lane.next_hit_cycles);
        } else {
            self.sums.load_misses += misses;
            self.sums.load_fills += 1;
            self.start = self.start.wrapping_add(lane.data_miss_cycles + lane.next_hit_cycles);
        }
        if join == Join::Yes {
            self.joined = [true; 3];
        }
        Effect::default()
    }

    /// What comes behind the first level may change something there.
    #[inline(never)]
    fn miss_far(&mut self, time: u64, kind: Kind, address: u64, join: Join) -> Effect {
        let at = self.first(kind);
        let target = self.target(address);
        self.walk(time, |views| views.miss_together(at, kind, &target, true));
        self.count(at, kind, [true; 3], join);
        Effect { is_uneven: true, is_behind: true }
    }

    /// A fetch or load of a line of whose place nothing is known.
    #[inline(never)]
    pub(super) fn look_up(&mut self, time: u64, kind: Kind, address: u64, join: Join) -> Effect {
        let (at, next) = (self.first(kind), self.entry.lane.next);
        let is_near = self.is_near(address);
        let target = self.target(address);
        let misses = self.walk(time, |views| match is_near {
            true => views.look_up_alone(at, kind, &target, next),
            false => views.look_up(at, kind, address),
        });
        self.count(at, kind, misses, join);
        Effect { is_uneven: !is_near || misses[0] != misses[1], is_behind: !is_near }
    }

    /// Whether all views hold a line behind the first level, and to find it there changes nothing.
    #[inline(always)]
    fn is_near(&self, address: u64) -> bool {
        self.entry.lane.next.is_none_or(|next| {
            let filter = self.views.shortcuts[next].filter.as_ref();
            filter.holds(filter.line_of(address))
        })
    }

    fn first(&self, kind: Kind) -> usize {
        if kind == Kind::Fetch { self.entry.fetch_cache } else { self.entry.data_cache }
    }

    fn target(&self, address: u64) -> Address {
        Address { process: self.views.scene.process, virtual_address: address, physical: 0 }
    }

    #[inline]
    fn count(&mut self, at: usize, kind: Kind, misses: Misses, join: Join) {
        match join {
            Join::No => self.views.count_misses(at, kind, misses),
            Join::Yes => self.joined.iter_mut().zip(misses).for_each(|(joined, miss)| *joined |= miss),
        }
    }

    /// All lines of a reference or of an instruction have been looked up.
    pub(super) fn end_join(&mut self, kind: Kind) {
        let misses = std::mem::take(&mut self.joined);
        self.views.count_misses(self.first(kind), kind, misses);
    }

    /// Whether all that a store does behind the buffers is the same in all views, and changes nothing there.
    #[inline(always)]
    pub(super) fn absorbs(&self, address: u64) -> bool {
        let lane = &self.entry.lane;
        let is_near = |next: usize| {
            let filter = self.views.shortcuts[next].filter.as_ref();
            filter.holds_stored(filter.line_of(address))
        };
        lane.absorbs_stores && lane.next.is_none_or(is_near)
    }

    /// Whether [`Member::absorbs`] has to be asked.
    pub(super) fn is_asked(&self) -> bool {
        !self.entry.lane.absorbs_stores || self.entry.lane.next.is_some()
    }

    /// The team's next store, behind so many, which does more than to go into the buffers.
    #[inline(never)]
    pub(super) fn store(&mut self, time: u64, before: u64, address: u64) {
        self.catch_up(time, before);
        self.stores += 1;
        self.stores_apart += 1;
        let (at, target) = (self.entry.data_cache, self.target(address));
        self.walk(time, |views| views.go_on_together(at, &target));
    }

    /// Counts the views that a store misses in.
    #[inline(always)]
    pub(super) fn count_store(&mut self, line: u64, found: Found, join: Join) {
        let misses = match found {
            Found::Here => [false; 3],
            Found::Other => [true; 3],
            Found::Nothing => self.look_for(line),
        };
        match join {
            Join::No => {
                self.sums.store_misses.iter_mut().zip(misses).for_each(|(sum, miss)| *sum += u64::from(miss));
            }
            Join::Yes => self.joined.iter_mut().zip(misses).for_each(|(joined, miss)| *joined |= miss),
        }
    }

    /// Which views do not hold a line of data.
    fn look_for(&self, line: u64) -> Misses {
        let at = self.entry.data_cache;
        let (sets, key) = (self.views.plan.levels[at].sets, self.process_bits[1] | line);
        let set = line as usize & (sets - 1);
        [&*self.views.shared, self.views.private, self.views.flushed]
            .map(|hierarchy| hierarchy.levels[at].find(set, key).is_none())
    }
}
