//! The first levels as the tight loop of [`super::skim`] sees them.

use super::aside::WriteQueue;
use super::filter::{FilterMut, FilterRef};
use super::plan::Plan;
use super::views::Shortcut;

/// What the loop may rely on in a design.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Lane {
    /// Where data, and fetches that may miss in the loop, are asked for next.
    pub(super) next: Option<usize>,
    /// Fetches that miss in the first level change nothing but the line in one slot of it.
    replaces_code: bool,
    /// Loads that miss in the first level change nothing but the line in one slot of it.
    replaces_data: bool,
    /// Stores pass the first level without a trace in it, whether they hit or miss.
    pub(super) passes_stores: bool,
    /// Whatever line each view holds in the slot: a look at it tells hits from misses.
    pub(super) sees_stores: bool,
    /// Stores change nothing in the first level once their line was stored to.
    pub(super) keeps_stores: bool,
    /// A store to a line that the next level knows as modified goes no further.
    pub(super) absorbs_stores: bool,
    pub(super) has_buffers: bool,
    pub(super) next_hit_cycles: u64,
    pub(super) code_miss_cycles: u64,
    pub(super) data_miss_cycles: u64,
}

impl Lane {
    pub(super) fn new(plan: &Plan, shortcuts: &[Shortcut], fetch: usize, data: usize) -> Lane {
        let (code, level) = (&plan.levels[fetch], &plan.levels[data]);
        let next = level.next[1];
        let absorbs = next.is_none_or(|next| !plan.levels[next].is_write_through);
        let is_plain = shortcuts[data].is_plain;
        let passes_stores = level.is_write_through && !(level.allocates && is_plain) && absorbs;
        Lane {
            next,
            replaces_code: shortcuts[fetch].is_plain && code.next[0] == next,
            replaces_data: is_plain && level.is_write_through,
            passes_stores,
            sees_stores: passes_stores && shortcuts[data].passes_stores,
            keeps_stores: !level.is_write_through,
            absorbs_stores: absorbs,
            has_buffers: level.write_buffers.is_some(),
            next_hit_cycles: next.map_or(0, |next| plan.levels[next].hit_cycles),
            code_miss_cycles: code.miss_cycles,
            data_miss_cycles: level.miss_cycles,
        }
    }

    pub(super) fn replaces(&self) -> [bool; 2] {
        [self.replaces_code, self.replaces_data]
    }
}

/// What the next level knows.
#[derive(Clone, Copy)]
pub(super) struct Next<'a> {
    pub(super) filter: Option<FilterRef<'a>>,
}

impl Next<'_> {
    #[inline(always)]
    fn has(&self, address: u64) -> bool {
        self.filter.is_none_or(|filter| filter.holds(filter.line_of(address)))
    }

    #[inline(always)]
    fn has_stored(&self, address: u64) -> bool {
        self.filter.is_none_or(|filter| filter.holds_stored(filter.line_of(address)))
    }
}

/// A first level: what is known of it, and what the three views hold.
pub(super) struct First<'a> {
    pub(super) filter: FilterMut<'a>,
    pub(super) keys: [&'a mut [u64]; 3],
    /// All of a key but the line.
    pub(super) process_bits: u64,
    pub(super) next: Next<'a>,
    pub(super) replaces: bool,
}

impl First<'_> {
    #[inline(always)]
    pub(super) fn line_of(&self, address: u64) -> u64 {
        self.filter.as_ref().line_of(address)
    }

    #[inline(always)]
    pub(super) fn holds(&self, line: u64) -> bool {
        self.filter.as_ref().holds(line)
    }

    #[inline(always)]
    fn address_of(&self, line: u64) -> u64 {
        line << self.filter.line_bits()
    }

    /// Whether all that happens is known where the line has to be brought in.
    #[inline(always)]
    pub(super) fn can_replace(&self, line: u64) -> bool {
        self.replaces && self.filter.as_ref().is_known(line) && self.next.has(self.address_of(line))
    }

    /// The same of several lines, whatever happens to the first ones.
    pub(super) fn can_bring_all(&self, first: u64, last: u64) -> bool {
        first <= last
            && ((first..=last).all(|line| self.holds(line)) || (first..=last).all(|line| self.can_replace(line)))
    }

    /// Brings a line in where it is not there; gives whether it was not.
    #[inline(always)]
    pub(super) fn bring(&mut self, line: u64) -> bool {
        if self.holds(line) {
            return false;
        }
        let slot = self.filter.as_ref().slot(line);
        let key = self.process_bits | line;
        self.keys.iter_mut().filter_map(|keys| keys.get_mut(slot)).for_each(|held| *held = key);
        self.filter.keep(line);
        true
    }

    /// Which views do not hold a line that a store is for, and that nothing is known about.
    #[inline(never)]
    fn look(&self, line: u64) -> [bool; 3] {
        let (slot, key) = (self.filter.as_ref().slot(line), self.process_bits | line);
        [0, 1, 2].map(|view: usize| self.keys[view].get(slot) != Some(&key))
    }

    /// Whether a store to the line, which passes this level, is known to change nothing behind it.
    #[inline(always)]
    pub(super) fn can_pass(&self, lane: &Lane, line: u64) -> bool {
        let filter = self.filter.as_ref();
        let is_known = lane.sees_stores || filter.holds(line) || (self.replaces && filter.is_known(line));
        is_known && self.next.has_stored(self.address_of(line))
    }

    /// Which views a store misses in.
    #[inline(always)]
    pub(super) fn missed_by(&self, line: u64) -> [bool; 3] {
        let filter = self.filter.as_ref();
        if filter.holds(line) {
            [false; 3]
        } else if filter.is_known(line) {
            [true; 3]
        } else {
            self.look(line)
        }
    }
}

/// One store through the buffers; gives the cycles that it waited.
#[inline(always)]
pub(super) fn store(writes: &mut WriteQueue, now: u64, next_level_cycles: u64, stall_cycles: &mut u64) -> u64 {
    let wait = writes.wait(now);
    *stall_cycles += wait;
    writes.put(now + wait, next_level_cycles);
    wait
}
