//! State of one level in one hierarchy: its lines and replacement state.

use super::buffers::{Bus, Streams, Victims, WriteQueue};
use super::line::Line;
use super::listener::Requester;
use super::plan::LevelPlan;
use super::prefetchers::Prefetchers;
use super::replacement::{Order, is_open};
use crate::address::Address;

/// View that the lines of a level belong to. The view determines what is stored for each line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    Shared,
    Private,
    Flushed,
}

/// Counts of one level. Arrays are indexed by [`super::plan::Kind`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Counts {
    pub(super) accesses: [u64; 3],
    pub(super) misses: [u64; 3],
    pub(super) fills: u64,
    pub(super) write_backs: u64,
    pub(super) prefetches: u64,
    pub(super) victim_hits: u64,
    pub(super) stream_hits: u64,
    pub(super) cycles: u64,
    pub(super) prefetch_hits: u64,
    pub(super) late_stream_hits: u64,
    pub(super) back_invalidations: u64,
    pub(super) moves: u64,
    pub(super) bus_lines: u64,
}

impl Counts {
    pub(super) fn add(&mut self, other: &Counts) {
        for kind in 0..3 {
            self.accesses[kind] += other.accesses[kind];
            self.misses[kind] += other.misses[kind];
        }
        self.fills += other.fills;
        self.write_backs += other.write_backs;
        self.prefetches += other.prefetches;
        self.victim_hits += other.victim_hits;
        self.stream_hits += other.stream_hits;
        self.cycles += other.cycles;
        self.prefetch_hits += other.prefetch_hits;
        self.late_stream_hits += other.late_stream_hits;
        self.back_invalidations += other.back_invalidations;
        self.moves += other.moves;
        self.bus_lines += other.bus_lines;
    }
}

/// Returns the way that holds a key. Keys are compared without a branch between them, because the
/// way cannot be predicted.
#[inline]
pub(super) fn way_of(ways: &[u64], key: u64) -> Option<usize> {
    way_of_first(ways, ways.len(), key)
}

/// Returns the way among the first `length` that holds a key; `None` if none of them does.
#[inline]
pub(super) fn way_of_first(ways: &[u64], length: usize, key: u64) -> Option<usize> {
    for (number, group) in ways.chunks(u64::BITS as usize).enumerate() {
        let (fours, rest) = group.as_chunks::<4>();
        let mut bits = 0;
        for (number, four) in fours.iter().enumerate() {
            let alike = (0..4).fold(0, |bits, way| bits | u64::from(four[way] == key) << way);
            bits |= alike << (4 * number);
        }
        for (way, held) in rest.iter().enumerate() {
            bits |= u64::from(*held == key) << (4 * fours.len() + way);
        }
        if bits != 0 {
            let way = number * u64::BITS as usize + bits.trailing_zeros() as usize;
            return (way < length).then_some(way);
        }
    }
    None
}

/// List of the slots of a level that have held a line since the last flush.
#[derive(Debug)]
enum Touched {
    Unused,
    Some(Vec<u32>),
    /// The slots are too many to list, so all slots must be examined.
    All,
}

/// State of one cache or TLB. Way number `way` of set `set` is slot `set * ways + way`.
#[derive(Debug)]
pub(super) struct Lines {
    ways: usize,
    /// Keys by slot; 0 is an empty slot.
    keys: Vec<u64>,
    is_modified: Vec<bool>,
    addresses: Vec<Address>,
    requesters: Vec<Requester>,
    /// Notes of private copies by slot (why the shared level lost the line); 0 if there is no note.
    notes: Vec<u64>,
    /// Whether each line was prefetched and not looked up since; empty if the level has no
    /// prefetcher.
    is_unused: Vec<bool>,
    touched: Touched,
    pub(super) order: Order,
    pub(super) victims: Victims,
    pub(super) streams: Streams,
    /// Prefetchers that react to requests, if any.
    pub(super) prefetchers: Option<Box<Prefetchers>>,
    pub(super) writes: WriteQueue,
    pub(super) bus: Bus,
    pub(super) counts: Counts,
}

impl Lines {
    pub(super) fn new(plan: &LevelPlan, role: Role) -> Lines {
        let lines = plan.lines();
        let if_any = |is_wanted: bool| if is_wanted { lines } else { 0 };
        let is_flushed =
            role == Role::Flushed || (role == Role::Shared && plan.is_flushed_on_switch);
        Lines {
            ways: plan.ways,
            keys: vec![0; lines],
            is_modified: vec![false; if_any(!plan.is_tlb)],
            addresses: vec![Address::default(); if_any(plan.carries_addresses)],
            requesters: vec![
                Requester::default();
                if_any(plan.is_compared && role == Role::Shared)
            ],
            notes: vec![0; if_any(plan.is_compared && role == Role::Private)],
            is_unused: vec![false; if_any(plan.prefetches())],
            touched: if is_flushed {
                Touched::Some(Vec::new())
            } else {
                Touched::Unused
            },
            order: Order::new(plan.policy, [plan.sets, plan.ways], plan.seed),
            victims: plan
                .victim
                .map(|victim| Victims::new(victim.lines))
                .unwrap_or_default(),
            streams: plan.streams.map(Streams::new).unwrap_or_default(),
            prefetchers: Prefetchers::new(plan),
            writes: plan
                .write_buffers
                .map(|buffers| WriteQueue::new(buffers.count, buffers.drain_cycles))
                .unwrap_or_default(),
            bus: Bus::new(plan.bus_cycles),
            counts: Counts::default(),
        }
    }

    /// Returns the slot of a line; `None` if the set does not have the line.
    #[inline]
    pub(super) fn find(&self, set: usize, key: u64) -> Option<usize> {
        let start = set * self.ways;
        way_of(&self.keys[start..start + self.ways], key).map(|way| start + way)
    }

    /// Reads a part of the state that the next lookup in the set needs, so that this part is in the
    /// CPU's cache by then. The returned value depends on the reads, so that the compiler keeps
    /// them.
    #[inline]
    pub(super) fn read_ahead(&self, set: usize) -> u64 {
        let (first, last) = (set * self.ways, (set + 1) * self.ways - 1);
        self.keys[first]
            ^ self.keys[last]
            ^ self.order.read_ahead(first)
            ^ self.order.read_ahead(last)
    }

    /// Transfers a line over the bus, starting at `time`; returns how long the line waits for
    /// earlier lines.
    #[inline]
    pub(super) fn take_bus(&mut self, time: u64) -> u64 {
        self.counts.bus_lines += u64::from(self.bus.is_counted());
        self.bus.take(time)
    }

    /// Records that the line in a slot was prefetched.
    pub(super) fn note_prefetched(&mut self, slot: usize) {
        if let Some(is_unused) = self.is_unused.get_mut(slot) {
            *is_unused = true;
        }
    }

    /// Counts the first lookup of a prefetched line as a useful prefetch.
    #[inline]
    pub(super) fn count_use(&mut self, slot: usize) {
        if let Some(is_unused) = self.is_unused.get_mut(slot) {
            self.counts.prefetch_hits += u64::from(std::mem::take(is_unused));
        }
    }

    /// Updates the replacement state after a line was found.
    #[inline]
    pub(super) fn found(&mut self, slot: usize) {
        self.order.found(slot);
    }

    #[inline]
    pub(super) fn modify(&mut self, slot: usize) {
        if let Some(is_modified) = self.is_modified.get_mut(slot) {
            *is_modified = true;
        }
    }

    /// Returns the owner of a line in the shared view.
    #[inline]
    pub(super) fn requester(&self, slot: usize) -> Requester {
        self.requesters.get(slot).copied().unwrap_or_default()
    }

    #[inline]
    pub(super) fn note(&self, slot: usize) -> u64 {
        self.notes.get(slot).copied().unwrap_or(0)
    }

    #[inline]
    pub(super) fn set_note(&mut self, slot: usize, note: u64) {
        if let Some(held) = self.notes.get_mut(slot) {
            *held = note;
        }
    }

    #[inline]
    pub(super) fn empty_slot(&self, set: usize) -> Option<usize> {
        let start = set * self.ways;
        way_of(&self.keys[start..start + self.ways], 0).map(|way| start + way)
    }

    /// Puts a line into a slot that is empty.
    #[inline]
    pub(super) fn put(&mut self, slot: usize, key: u64, line: &Line) {
        self.keys[slot] = key;
        if line.is_modified {
            self.modify(slot);
        }
        if let Some(address) = self.addresses.get_mut(slot) {
            *address = line.address;
        }
        if let Some(requester) = self.requesters.get_mut(slot) {
            *requester = line.requester;
        }
        self.order.came(slot);
        self.touch(slot);
    }

    /// Records that a slot holds a line.
    #[inline]
    pub(super) fn touch(&mut self, slot: usize) {
        if let Touched::Some(slots) = &mut self.touched {
            if slots.len() < self.keys.len() {
                slots.push(slot as u32)
            } else {
                self.touched = Touched::All
            }
        }
    }

    /// Moves a slot's state to [`super::common_lines`]. Returns whether the line was modified, and
    /// its owner.
    #[inline]
    pub(super) fn take_shared(&mut self, slot: usize) -> (bool, Requester) {
        self.order.take_shared(slot);
        let is_modified = self.is_modified.get(slot).copied().unwrap_or_default();
        (is_modified, self.requester(slot))
    }

    /// Moves a slot's state back from [`super::common_lines`], as the line used last.
    #[inline]
    pub(super) fn restore(
        &mut self,
        slot: usize,
        key: u64,
        is_modified: bool,
        requester: Requester,
    ) {
        self.keys[slot] = key;
        if let Some(held) = self.is_modified.get_mut(slot) {
            *held = is_modified;
        }
        if let Some(held) = self.requesters.get_mut(slot) {
            *held = requester;
        }
        // A note says why the shared view has no copy. The shared view has one now.
        self.set_note(slot, 0);
        self.order.found(slot);
    }

    /// Returns a slot for a new line among those that are not listed in `common_lines`, and the
    /// line that leaves the slot, if any.
    #[inline]
    pub(super) fn make_room(
        &mut self,
        plan: &LevelPlan,
        set: usize,
    ) -> (usize, Option<(u64, Line)>) {
        if let Some(slot) = self.empty_slot(set) {
            return (slot, None);
        }
        let slot = set * self.ways + self.order.leaving(set);
        (slot, self.take(plan, slot))
    }

    /// Returns a slot for a new line among the ways in `open`, and the line that leaves the slot,
    /// if any.
    pub(super) fn make_room_within(
        &mut self,
        plan: &LevelPlan,
        set: usize,
        open: u64,
    ) -> (usize, Option<(u64, Line)>) {
        let start = set * self.ways;
        let is_free = |&slot: &usize| is_open(open, slot - start) && self.keys[slot] == 0;
        if let Some(slot) = (start..start + self.ways).find(is_free) {
            return (slot, None);
        }
        let slot = start + self.order.leaving_within(set, open);
        (slot, self.take(plan, slot))
    }

    /// Empties a slot. Returns the slot's line and its key, if the slot had a line.
    #[inline]
    pub(super) fn take(&mut self, plan: &LevelPlan, slot: usize) -> Option<(u64, Line)> {
        let key = std::mem::take(&mut self.keys[slot]);
        if key == 0 {
            return None;
        }
        let is_modified = self.is_modified.get_mut(slot).is_some_and(std::mem::take);
        if let Some(is_unused) = self.is_unused.get_mut(slot) {
            *is_unused = false;
        }
        let address = self
            .addresses
            .get(slot)
            .copied()
            .unwrap_or_else(|| plan.address_of(key));
        let requester = self.requester(slot);
        self.set_note(slot, 0);
        Some((
            key,
            Line {
                address,
                is_modified,
                requester,
            },
        ))
    }

    /// Takes the list of all slots that may hold a line, and begins a new list. The slots are in
    /// the order in which lines came, or ascending if they were not listed.
    pub(super) fn take_touched(&mut self) -> Vec<u32> {
        match &mut self.touched {
            Touched::Some(slots) => std::mem::take(slots),
            Touched::Unused => (0..self.keys.len() as u32).collect(),
            Touched::All => {
                self.touched = Touched::Some(Vec::new());
                (0..self.keys.len() as u32).collect()
            }
        }
    }

    /// Keeps the memory of a list of used slots for reuse.
    pub(super) fn reuse(&mut self, mut list: Vec<u32>) {
        if let Touched::Some(slots) = &mut self.touched {
            list.clear();
            *slots = list;
        }
    }

    pub(super) fn set_of(&self, slot: usize) -> usize {
        slot / self.ways
    }
}
