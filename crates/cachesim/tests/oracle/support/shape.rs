//! Shape of a level, the same for caches and TLBs.

use switchcost_design::{
    AddressKind, Holds, Inclusion, Level, OnSwitch, Partition, Prefetch, Replacement,
    StreamBuffers, Streamer, StridePrefetcher, TlbLevel, VictimCache, Ways, WriteBuffers,
    WritePolicy,
};

#[derive(Clone)]
pub(crate) struct Shape {
    pub(crate) name: String,
    pub(crate) holds: Holds,
    pub(crate) line: u64,
    pub(crate) sets: u64,
    pub(crate) ways: usize,
    pub(crate) replacement: Replacement,
    pub(crate) seed: u64,
    pub(crate) is_write_back: bool,
    pub(crate) allocates_on_write: bool,
    pub(crate) write_buffers: Option<WriteBuffers>,
    pub(crate) hit_cycles: u64,
    pub(crate) miss_cycles: u64,
    pub(crate) bus_cycles: u64,
    pub(crate) inclusion: Inclusion,
    pub(crate) index: AddressKind,
    pub(crate) tag: AddressKind,
    pub(crate) flushes: bool,
    pub(crate) prefetches_next: bool,
    pub(crate) victim: Option<VictimCache>,
    pub(crate) streams: Option<StreamBuffers>,
    pub(crate) stride: Option<StridePrefetcher>,
    pub(crate) streamer: Option<Streamer>,
    pub(crate) partition: Option<Partition>,
}

fn ways_of(ways: Ways, lines: u64) -> u64 {
    match ways {
        Ways::Count(count) => u64::from(count),
        Ways::Full => lines,
    }
}

impl Shape {
    pub(crate) fn of_cache(level: &Level) -> Shape {
        let lines = level.size.0 / level.line.0;
        let ways = ways_of(level.ways, lines);
        Shape {
            name: level.name.clone(),
            holds: level.holds,
            line: level.line.0,
            sets: lines / ways,
            ways: ways as usize,
            replacement: level.replacement,
            seed: level.seed,
            is_write_back: level.write == WritePolicy::Back,
            allocates_on_write: level
                .write_allocate
                .unwrap_or(level.write == WritePolicy::Back),
            write_buffers: level.write_buffers,
            hit_cycles: level.hit_cycles.into(),
            miss_cycles: level.miss_cycles.into(),
            bus_cycles: level.bus_cycles.into(),
            inclusion: level.inclusion,
            index: level.index,
            tag: level.tag,
            flushes: level.on_switch == OnSwitch::Flush,
            prefetches_next: level.prefetch == Prefetch::NextLine,
            victim: level.victim,
            streams: level.streams,
            stride: level.stride,
            streamer: level.streamer,
            partition: level.partition.clone(),
        }
    }

    pub(crate) fn of_tlb(tlb: &TlbLevel) -> Shape {
        let entries = u64::from(tlb.entries);
        let ways = ways_of(tlb.ways, entries);
        Shape {
            name: tlb.name.clone(),
            holds: tlb.holds,
            line: tlb.page.0,
            sets: entries / ways,
            ways: ways as usize,
            replacement: tlb.replacement,
            seed: tlb.seed,
            is_write_back: true,
            allocates_on_write: true,
            write_buffers: None,
            hit_cycles: tlb.hit_cycles.into(),
            miss_cycles: tlb.miss_cycles.into(),
            bus_cycles: 0,
            inclusion: Inclusion::Neither,
            index: AddressKind::Virtual,
            tag: AddressKind::Virtual,
            flushes: tlb.on_switch == OnSwitch::Flush,
            prefetches_next: false,
            victim: None,
            streams: None,
            stride: None,
            streamer: None,
            partition: None,
        }
    }

    /// Whether lines come into the sets without being requested.
    pub(crate) fn prefetches(&self) -> bool {
        self.prefetches_next || self.stride.is_some() || self.streamer.is_some()
    }

    pub(crate) fn is_inclusive(&self) -> bool {
        self.inclusion == Inclusion::Inclusive
    }

    pub(crate) fn is_exclusive(&self) -> bool {
        self.inclusion == Inclusion::Exclusive
    }
}
