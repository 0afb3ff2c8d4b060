//! The result for a part of a trace: the counts at the end of the part minus those at its
//! beginning.

use crate::result::{
    ByView, DesignResult, Detail, Eviction, GainedCycles, HierarchyCounts, LevelCounts, LostCycles,
    LostLines, LostTo, MissDifference, MissOrigins, PhysicalPages, ProcessMisses, WorkingSetLoss,
};

impl DesignResult {
    /// Returns the difference between this result and `before`, an earlier result of the same
    /// design. Maxima, and attributions to places, calls and batches, keep the values of this
    /// result.
    #[must_use]
    pub fn since(self, before: &DesignResult) -> DesignResult {
        DesignResult {
            hierarchies: self.hierarchies.since(&before.hierarchies),
            by_process: process_misses_since(self.by_process, &before.by_process),
            physical_pages: since_both(
                self.physical_pages,
                before.physical_pages.as_ref(),
                PhysicalPages::since,
            ),
            detail: since_both(self.detail, before.detail.as_ref(), Detail::since),
            ..self
        }
    }
}

impl Detail {
    fn since(self, before: &Detail) -> Detail {
        Detail {
            origins: since_each(self.origins, &before.origins, MissOrigins::since),
            miss_differences: since_each(
                self.miss_differences,
                &before.miss_differences,
                MissDifference::since,
            ),
            lost_lines: lost_lines(self.lost_lines, &before.lost_lines),
            lost_cycles: self.lost_cycles.since(&before.lost_cycles),
            gained_cycles: self.gained_cycles.since(&before.gained_cycles),
            losses: since_each(self.losses, &before.losses, WorkingSetLoss::since),
            evictions: evictions(self.evictions, &before.evictions),
            ..self
        }
    }
}

fn since_each<T>(now: Vec<T>, before: &[T], since: impl Fn(T, &T) -> T) -> Vec<T> {
    now.into_iter()
        .zip(before)
        .map(|(now, before)| since(now, before))
        .collect()
}

fn since_both<T>(now: Option<T>, before: Option<&T>, since: impl Fn(T, &T) -> T) -> Option<T> {
    now.zip(before).map(|(now, before)| since(now, before))
}

fn process_misses_since(now: Vec<ProcessMisses>, before: &[ProcessMisses]) -> Vec<ProcessMisses> {
    let since = |now: ProcessMisses| {
        let then = before.iter().find(|then| then.process == now.process);
        now.since(then)
    };
    now.into_iter()
        .map(since)
        .filter(ProcessMisses::is_any)
        .collect()
}

/// Returns the lines lost since `before`. Both lists have the same order, and `now` has every entry
/// of `before`.
fn lost_lines(now: Vec<LostLines>, before: &[LostLines]) -> Vec<LostLines> {
    let mut before = before.iter().peekable();
    let since = |now: LostLines| {
        let is_same = |then: &&LostLines| {
            (&then.found_alone, &then.missed, then.kind, then.instruction)
                == (&now.found_alone, &now.missed, now.kind, now.instruction)
        };
        let then = before.next_if(is_same).map_or(0, |then| then.lines);
        LostLines {
            lines: now.lines - then,
            ..now
        }
    };
    now.into_iter()
        .map(since)
        .filter(|lost| lost.lines > 0)
        .collect()
}

/// Returns the evictions since `before`. Both lists have the same order, and `now` has every pair
/// of `before`.
fn evictions(now: Vec<Eviction>, before: &[Eviction]) -> Vec<Eviction> {
    let mut before = before.iter().peekable();
    let since = |now: Eviction| {
        let is_same = |then: &&Eviction| {
            (&then.level, then.evictor, then.victim) == (&now.level, now.evictor, now.victim)
        };
        let then = before.next_if(is_same).map_or(0, |then| then.lines);
        Eviction {
            lines: now.lines - then,
            ..now
        }
    };
    now.into_iter()
        .map(since)
        .filter(|eviction| eviction.lines > 0)
        .collect()
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
            levels: since_each(self.levels, &before.levels, LevelCounts::since),
            tlbs: since_each(self.tlbs, &before.tlbs, LevelCounts::since),
        }
    }
}

/// Builds a value with the counts since `before`. Every field must be named: fields before the
/// semicolon are copied, and fields after it are subtracted.
macro_rules! since {
    ($($kind:ident { $($kept:ident),*; $($counted:ident),+ $(,)? })+) => {$(
        impl $kind {
            fn since(mut self, before: &$kind) -> $kind {
                let $kind { $($kept: _,)* $($counted),+ } = before;
                $(self.$counted -= $counted;)+
                self
            }
        }
    )+};
}

since! {
    MissOrigins { level; intrinsic, evicted_by_others, evicted_by_kernel, aged_by_others, flushed, state }
    MissDifference { level; lost, gained, first_touches }
    WorkingSetLoss { level; returns, resident_at_departure, lost, restored }
    LostTo { ; processes, kernel, aged, flushed, state, other }
    GainedCycles { ; others, first_touches_of_code, first_touches_of_data, state }
    PhysicalPages { ; recorded, assigned }
}

impl LostCycles {
    fn since(self, before: &LostCycles) -> LostCycles {
        LostCycles {
            programs: self.programs.since(&before.programs),
            kernel: self.kernel.since(&before.kernel),
        }
    }
}
