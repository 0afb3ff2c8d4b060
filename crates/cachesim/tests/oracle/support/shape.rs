//! Shape of a level, the same for caches and TLBs.

use switchcost_design::{Inclusion, Level, OnSwitch, Prefetch, TlbLevel, WritePolicy};
use switchcost_units::Bytes;

/// A level with the numbers that follow from its fields; a TLB is a cache whose lines are pages.
#[derive(Clone)]
pub(crate) struct Shape {
    level: Level,
    pub(crate) line: u64,
    pub(crate) sets: u64,
    pub(crate) ways: usize,
    pub(crate) hit_cycles: u64,
    pub(crate) miss_cycles: u64,
    pub(crate) bus_cycles: u64,
}

impl std::ops::Deref for Shape {
    type Target = Level;

    fn deref(&self) -> &Level {
        &self.level
    }
}

impl Shape {
    pub(crate) fn of_cache(level: &Level) -> Shape {
        let lines = level.size.0 / level.line.0;
        let ways = level.ways.of(lines);
        Shape {
            line: level.line.0,
            sets: lines / ways,
            ways: ways as usize,
            hit_cycles: level.hit_cycles.into(),
            miss_cycles: level.miss_cycles.into(),
            bus_cycles: level.bus_cycles.into(),
            level: level.clone(),
        }
    }

    pub(crate) fn of_tlb(tlb: &TlbLevel) -> Shape {
        let (size, page) = (Bytes(u64::from(tlb.entries) * tlb.page.0), tlb.page);
        Shape::of_cache(&Level {
            replacement: tlb.replacement,
            seed: tlb.seed,
            hit_cycles: tlb.hit_cycles,
            on_switch: tlb.on_switch,
            ..Level::plain(&tlb.name, tlb.holds, size, page, tlb.ways, tlb.miss_cycles)
        })
    }

    pub(crate) fn is_write_back(&self) -> bool {
        self.write == WritePolicy::Back
    }

    pub(crate) fn allocates_on_write(&self) -> bool {
        self.write_allocate.unwrap_or(self.is_write_back())
    }

    pub(crate) fn flushes(&self) -> bool {
        self.on_switch == OnSwitch::Flush
    }

    pub(crate) fn prefetches_next(&self) -> bool {
        self.prefetch == Prefetch::NextLine
    }

    /// Whether lines come into the sets without being requested.
    pub(crate) fn prefetches(&self) -> bool {
        self.prefetches_next() || self.stride.is_some() || self.streamer.is_some()
    }

    pub(crate) fn is_inclusive(&self) -> bool {
        self.inclusion == Inclusion::Inclusive
    }

    pub(crate) fn is_exclusive(&self) -> bool {
        self.inclusion == Inclusion::Exclusive
    }
}
