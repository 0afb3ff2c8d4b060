//! What a part of a trace came to: what was counted in the end, less what had been counted before it.

use crate::{
    ByView, DesignResult, Detail, Eviction, GainedCycles, HierarchyCounts, LevelCounts, LostCycles, LostLines, LostTo,
    MissDifference, MissOrigins, PhysicalPages, ProcessMisses, WorkingSetLoss,
};

impl DesignResult {
    /// What has been counted since `before`, an earlier result of the same design. The most lines held, and what is attributed to places,
    /// calls and batches, is left as it is.
    #[must_use]
    pub fn since(self, before: &DesignResult) -> DesignResult {
        DesignResult {
            hierarchies: self.hierarchies.since(&before.hierarchies),
            by_process: by_process(self.by_process, &before.by_process),
            physical_pages: both(self.physical_pages, before.physical_pages.as_ref(), PhysicalPages::since),
            detail: both(self.detail, before.detail.as_ref(), Detail::since),
            ..self
        }
    }
}

impl Detail {
    fn since(self, before: &Detail) -> Detail {
        Detail {
            origins: each(self.origins, &before.origins, MissOrigins::since),
            miss_differences: each(self.miss_differences, &before.miss_differences, MissDifference::since),
            lost_lines: lost_lines(self.lost_lines, &before.lost_lines),
            lost_cycles: self.lost_cycles.since(before.lost_cycles),
            gained_cycles: self.gained_cycles.since(before.gained_cycles),
            losses: each(self.losses, &before.losses, WorkingSetLoss::since),
            evictions: evictions(self.evictions, &before.evictions),
            ..self
        }
    }
}

fn each<T>(now: Vec<T>, before: &[T], since: impl Fn(T, &T) -> T) -> Vec<T> {
    now.into_iter().zip(before).map(|(now, before)| since(now, before)).collect()
}

fn both<T>(now: Option<T>, before: Option<&T>, since: impl Fn(T, &T) -> T) -> Option<T> {
    now.zip(before).map(|(now, before)| since(now, before))
}

fn by_process(now: Vec<ProcessMisses>, before: &[ProcessMisses]) -> Vec<ProcessMisses> {
    let since = |now: ProcessMisses| {
        let then = before.iter().find(|then| then.process == now.process);
        now.since(then)
    };
    now.into_iter().map(since).filter(ProcessMisses::is_any).collect()
}

/// Both are in the same order, and none goes away.
fn lost_lines(now: Vec<LostLines>, before: &[LostLines]) -> Vec<LostLines> {
    let mut before = before.iter().peekable();
    let since = |now: LostLines| {
        let is_same = |then: &&LostLines| {
            (&then.found_alone, &then.missed, then.kind) == (&now.found_alone, &now.missed, now.kind)
        };
        let then = before.next_if(is_same).map_or(0, |then| then.lines);
        LostLines { lines: now.lines - then, ..now }
    };
    now.into_iter().map(since).filter(|lost| lost.lines > 0).collect()
}

/// Both are in the same order, and no pair goes away.
fn evictions(now: Vec<Eviction>, before: &[Eviction]) -> Vec<Eviction> {
    let mut before = before.iter().peekable();
    let since = |now: Eviction| {
        let is_same =
            |then: &&Eviction| (&then.level, then.evictor, then.victim) == (&now.level, now.evictor, now.victim);
        let then = before.next_if(is_same).map_or(0, |then| then.lines);
        Eviction { lines: now.lines - then, ..now }
    };
    now.into_iter().map(since).filter(|eviction| eviction.lines > 0).collect()
}

impl ByView<HierarchyCounts> {
    fn since(self, before: &ByView<HierarchyCounts>) -> ByView<HierarchyCounts> {
        ByView {
            shared: self.shared.since(&before.shared),
            private: self.private.since(&before.private),
            flushed: self.flushed.since(&before.flushed),
        }
    }
}

impl HierarchyCounts {
    fn since(self, before: &HierarchyCounts) -> HierarchyCounts {
        HierarchyCounts {
            cycles: self.cycles - before.cycles,
            write_stall_cycles: self.write_stall_cycles - before.write_stall_cycles,
            levels: each(self.levels, &before.levels, LevelCounts::since),
            tlbs: each(self.tlbs, &before.tlbs, LevelCounts::since),
        }
    }
}

impl LevelCounts {
    fn since(self, before: &LevelCounts) -> LevelCounts {
        LevelCounts {
            instruction_accesses: self.instruction_accesses - before.instruction_accesses,
            instruction_misses: self.instruction_misses - before.instruction_misses,
            load_accesses: self.load_accesses - before.load_accesses,
            load_misses: self.load_misses - before.load_misses,
            store_accesses: self.store_accesses - before.store_accesses,
            store_misses: self.store_misses - before.store_misses,
            fills: self.fills - before.fills,
            write_backs: self.write_backs - before.write_backs,
            prefetches: self.prefetches - before.prefetches,
            victim_hits: self.victim_hits - before.victim_hits,
            stream_hits: self.stream_hits - before.stream_hits,
            cycles: self.cycles - before.cycles,
            prefetch_hits: self.prefetch_hits - before.prefetch_hits,
            late_stream_hits: self.late_stream_hits - before.late_stream_hits,
            back_invalidations: self.back_invalidations - before.back_invalidations,
            moves: self.moves - before.moves,
            bus_lines: self.bus_lines - before.bus_lines,
            ..self
        }
    }
}

impl MissOrigins {
    fn since(self, before: &MissOrigins) -> MissOrigins {
        MissOrigins {
            intrinsic: self.intrinsic - before.intrinsic,
            evicted_by_others: self.evicted_by_others - before.evicted_by_others,
            evicted_by_kernel: self.evicted_by_kernel - before.evicted_by_kernel,
            aged_by_others: self.aged_by_others - before.aged_by_others,
            flushed: self.flushed - before.flushed,
            state: self.state - before.state,
            ..self
        }
    }
}

impl MissDifference {
    fn since(self, before: &MissDifference) -> MissDifference {
        MissDifference {
            lost: self.lost - before.lost,
            gained: self.gained - before.gained,
            first_touches: self.first_touches - before.first_touches,
            ..self
        }
    }
}

impl WorkingSetLoss {
    fn since(self, before: &WorkingSetLoss) -> WorkingSetLoss {
        WorkingSetLoss {
            returns: self.returns - before.returns,
            resident_at_departure: self.resident_at_departure - before.resident_at_departure,
            lost: self.lost - before.lost,
            restored: self.restored - before.restored,
            ..self
        }
    }
}

impl LostCycles {
    fn since(self, before: LostCycles) -> LostCycles {
        LostCycles { programs: self.programs.since(before.programs), kernel: self.kernel.since(before.kernel) }
    }
}

impl LostTo {
    fn since(self, before: LostTo) -> LostTo {
        LostTo {
            processes: self.processes - before.processes,
            kernel: self.kernel - before.kernel,
            aged: self.aged - before.aged,
            flushed: self.flushed - before.flushed,
            state: self.state - before.state,
            other: self.other - before.other,
        }
    }
}

impl GainedCycles {
    fn since(self, before: GainedCycles) -> GainedCycles {
        GainedCycles {
            others: self.others - before.others,
            first_touches_of_code: self.first_touches_of_code - before.first_touches_of_code,
            first_touches_of_data: self.first_touches_of_data - before.first_touches_of_data,
            state: self.state - before.state,
        }
    }
}

impl PhysicalPages {
    fn since(self, before: &PhysicalPages) -> PhysicalPages {
        PhysicalPages { recorded: self.recorded - before.recorded, assigned: self.assigned - before.assigned }
    }
}
