//! The common case, in one tight loop: blocks that are all there, loads and stores that every view answers alike.
//!
//! Does what [`super::run`] does by single lookups, as long as the filters know all that is needed, and stops where they
//! do not. Nothing here changes how much longer the shared view takes than the private one.

use trace::{Block, Reference};

use super::aside::WriteQueue;
use super::filter::{Filter, Sight};
use super::plan::{Kind, Plan};
use super::run::Entry;
use super::views::{Shortcut, Views};

/// What the loop may rely on in a design.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Lane {
    /// Where data that miss are asked for next.
    next: Option<usize>,
    /// Loads that miss in the first level change nothing but the line in one slot of it.
    replaces: bool,
    /// Stores pass the first level without a trace in it, whether they hit or miss.
    passes_stores: bool,
    /// Stores change nothing in the first level once their line was stored to.
    keeps_stores: bool,
    has_buffers: bool,
    miss_cycles: u64,
    next_hit_cycles: u64,
}

impl Lane {
    /// None where blocks are looked up line by line anyway.
    pub(super) fn new(plan: &Plan, data: usize, is_plain: bool) -> Lane {
        let level = &plan.levels[data];
        let next = level.next[1];
        let absorbs = next.is_none_or(|next| !plan.levels[next].is_write_through);
        Lane {
            next,
            replaces: is_plain && level.is_write_through,
            passes_stores: level.is_write_through && !(level.allocates && is_plain) && absorbs,
            keeps_stores: !level.is_write_through,
            has_buffers: level.write_buffers.is_some(),
            miss_cycles: level.miss_cycles,
            next_hit_cycles: next.map_or(0, |next| plan.levels[next].hit_cycles),
        }
    }
}

/// How far the loop came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Stop {
    /// Blocks that are done.
    pub(super) blocks: usize,
    /// References that are done, of the block behind them too.
    pub(super) references: usize,
    /// References that are done of the block behind, where that has begun.
    pub(super) begun: Option<usize>,
}

/// What was counted on the way.
#[derive(Default)]
struct Sums {
    ahead: u64,
    load_misses: u64,
    store_misses: u64,
    next_stores: u64,
}

/// What the next level knows.
#[derive(Clone, Copy)]
struct Next<'a> {
    sight: Option<Sight<'a>>,
}

impl Next<'_> {
    #[inline(always)]
    fn has(&self, address: u64) -> bool {
        self.sight.is_none_or(|sight| sight.holds(sight.line_of(address)))
    }

    #[inline(always)]
    fn has_stored(&self, address: u64) -> bool {
        self.sight.is_none_or(|sight| sight.holds_stored(sight.line_of(address)))
    }
}

impl Views<'_> {
    /// Runs as many blocks as the filters know all about.
    pub(super) fn skim(&mut self, entry: &Entry, blocks: &[Block], references: &[Reference]) -> Stop {
        let mut sums = Sums::default();
        let stop = self.skim_counting(entry, blocks, references, &mut sums);
        self.take_sums(entry, &sums);
        stop
    }

    #[inline(always)]
    fn skim_counting(&mut self, entry: &Entry, blocks: &[Block], references: &[Reference], sums: &mut Sums) -> Stop {
        let lane = entry.lane;
        let data = entry.data_cache;
        let start = self.shared.now + self.ahead;
        let are_alike = self.buffers.are_alike;
        let Some((fetch_sight, data_filter, next)) = split(self.shortcuts, entry.fetch_cache, data, lane.next) else {
            return Stop { blocks: 0, references: 0, begun: None };
        };
        let (shared_keys, writes) = self.shared.levels[data].keys_and_writes();
        let (private_keys, _) = self.private.levels[data].keys_and_writes();
        let (flushed_keys, _) = self.flushed.levels[data].keys_and_writes();
        let process_bits = self.plan.levels[data].process_bits(self.scene.process);
        let takes_stores = lane.passes_stores && (are_alike || !lane.has_buffers);
        let mut done = 0;
        let mut ahead = 0;
        let stop = |blocks, references, begun, ahead, sums: &mut Sums| {
            sums.ahead = ahead;
            Stop { blocks, references, begun }
        };
        for (index, block) in blocks.iter().enumerate() {
            let last = block.address.saturating_add(u64::from(block.bytes.max(1)) - 1);
            if !fetch_sight.holds_all(block.address, last) {
                return stop(index, done, None, ahead, sums);
            }
            ahead += u64::from(block.instructions);
            let own = &references[done..(done + usize::from(block.references)).min(references.len())];
            for (number, reference) in own.iter().enumerate() {
                let address = reference.address();
                let last = address.wrapping_add(u64::from(reference.bytes()) - 1);
                let sight = data_filter.sight();
                let line = sight.line_of(address);
                if line != sight.line_of(last) || last < address {
                    return stop(index, done + number, Some(number), ahead, sums);
                }
                if reference.is_store() {
                    if lane.keeps_stores && sight.holds_stored(line) {
                        continue;
                    }
                    let is_here = sight.holds(line);
                    let is_known = is_here || (lane.replaces && sight.is_known(line));
                    if !takes_stores || !is_known || !next.has_stored(address) {
                        return stop(index, done + number, Some(number), ahead, sums);
                    }
                    sums.store_misses += u64::from(!is_here);
                    sums.next_stores += 1;
                    if lane.has_buffers {
                        ahead += store(writes, start + ahead, lane.next_hit_cycles, &mut self.buffers.stall_cycles);
                    }
                } else if !sight.holds(line) {
                    if !lane.replaces || !sight.is_known(line) || !next.has(address) {
                        return stop(index, done + number, Some(number), ahead, sums);
                    }
                    let slot = sight.slot(line);
                    let key = process_bits | line;
                    if let (Some(shared), Some(private), Some(flushed)) =
                        (shared_keys.get_mut(slot), private_keys.get_mut(slot), flushed_keys.get_mut(slot))
                    {
                        (*shared, *private, *flushed) = (key, key, key);
                    }
                    data_filter.keep(line, false);
                    sums.load_misses += 1;
                    ahead += lane.miss_cycles + lane.next_hit_cycles;
                }
            }
            done += own.len();
        }
        stop(blocks.len(), done, None, ahead, sums)
    }

    fn take_sums(&mut self, entry: &Entry, sums: &Sums) {
        let lane = entry.lane;
        self.ahead += sums.ahead;
        let first = &mut self.shortcuts[entry.data_cache];
        first.count_misses(Kind::Load, sums.load_misses);
        first.count_misses(Kind::Store, sums.store_misses);
        first.count_fills(sums.load_misses, sums.load_misses * lane.miss_cycles);
        if let Some(next) = lane.next {
            let next = &mut self.shortcuts[next];
            next.count_accesses(Kind::Load, sums.load_misses);
            next.count_accesses(Kind::Store, sums.next_stores);
            next.count_fills(0, sums.load_misses * lane.next_hit_cycles);
        }
    }
}

/// The filters of the first level of fetches, of that of data, and of the one behind that.
fn split(
    shortcuts: &mut [Shortcut],
    fetch: usize,
    data: usize,
    next: Option<usize>,
) -> Option<(Sight<'_>, &mut Filter, Next<'_>)> {
    match next {
        Some(next) => {
            let [fetch, data, next] = shortcuts.get_disjoint_mut([fetch, data, next]).ok()?;
            Some((fetch.filter.sight(), &mut data.filter, Next { sight: Some(next.filter.sight()) }))
        }
        None => {
            let [fetch, data] = shortcuts.get_disjoint_mut([fetch, data]).ok()?;
            Some((fetch.filter.sight(), &mut data.filter, Next { sight: None }))
        }
    }
}

/// One store through the buffers; gives the cycles that it waited.
#[inline(always)]
fn store(writes: &mut WriteQueue, now: u64, next_level_cycles: u64, stall_cycles: &mut u64) -> u64 {
    let wait = writes.wait(now);
    *stall_cycles += wait;
    writes.put(now + wait, next_level_cycles);
    wait
}
