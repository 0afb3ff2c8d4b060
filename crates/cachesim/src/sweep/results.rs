//! Computes the counters of each design of a [`Family`](super::Family) from the counters of its
//! first design, the guide, and from the results of the sweep.

use switchcost_design::Design;
use switchcost_design::result::{
    ByView, DesignResult, HierarchyCounts, LevelCounts, ProcessMisses, View,
};

use crate::machine::Kind;

use super::feed::Feed;
use super::shape::{GridSlot, Shape};
use super::{FLUSHED, PRIVATE, SHARED, VIEWS};

#[derive(Debug)]
pub(super) struct Member {
    pub(super) number: u16,
    pub(super) design: Design,
    /// Grid, number of ways and column of the design's counts, for each swept level.
    pub(super) places: Vec<GridSlot>,
    /// Index in a row of the cycles of the levels after the swept one, if there are any.
    pub(super) cycles_behind: Option<usize>,
}

/// Returns the cycles of one swept level, from a row of counters.
fn level_cycles(place: &GridSlot, level: usize, levels: usize, row: &[u64], view: usize) -> u64 {
    let lookups = row[VIEWS * level + view];
    let misses = row[VIEWS * (levels + place.column) + view];
    place.hit_cycles * (lookups - misses) + place.miss_cycles * misses
}

/// Returns the cycles of all swept levels and of the levels after them, from a row of counters.
pub(super) fn swept_cycles(member: &Member, levels: usize, row: &[u64], view: usize) -> u64 {
    let places = member.places.iter().enumerate();
    let swept: u64 = places
        .map(|(level, place)| level_cycles(place, level, levels, row, view))
        .sum();
    swept
        + member
            .cycles_behind
            .map_or(0, |entry| row[VIEWS * entry + view])
}

/// Counters of a [`Family`](super::Family) at the end of the trace.
pub(super) struct Results<'a> {
    pub(super) row: &'a [u64],
    pub(super) shapes: &'a [Shape],
    pub(super) feed: &'a Feed,
    /// Results of the levels after the swept one, by member.
    pub(super) behind: &'a [DesignResult],
    /// Misses by grid and number of ways, for all processes that ran.
    pub(super) by_process: &'a [ProcessMisses],
    pub(super) guide: &'a DesignResult,
    pub(super) guide_member: &'a Member,
}

impl Results<'_> {
    /// Returns the counters of each view for design `number` of the [`Family`](super::Family).
    pub(super) fn hierarchies(&self, number: usize, member: &Member) -> ByView<HierarchyCounts> {
        let of = |view: View, index: usize| self.hierarchy(number, member, view, index);
        ByView {
            shared: of(View::Shared, SHARED),
            private: of(View::Private, PRIVATE),
            flushed: of(View::Flushed, FLUSHED),
        }
    }

    fn hierarchy(
        &self,
        number: usize,
        member: &Member,
        view: View,
        index: usize,
    ) -> HierarchyCounts {
        let levels = self.shapes.len();
        let mut counts = self.guide.hierarchies.get(view).clone();
        let own = swept_cycles(member, levels, self.row, index);
        counts.cycles = (counts.cycles + own).wrapping_sub(swept_cycles(
            self.guide_member,
            levels,
            self.row,
            index,
        ));
        for (level, (shape, place)) in self.shapes.iter().zip(&member.places).enumerate() {
            let swept = &mut counts.levels[shape.level];
            self.level(swept, level, place, index);
            [swept.write_backs, swept.moves] = self.feed.given(number, level, place, index);
            swept.cycles = level_cycles(place, level, levels, self.row, index);
        }
        if let Some(behind) = self.behind.get(number) {
            counts.levels.truncate(self.shapes[0].level + 1);
            counts
                .levels
                .extend_from_slice(&behind.hierarchies.get(view).levels);
        }
        counts
    }

    fn level(&self, counts: &mut LevelCounts, level: usize, place: &GridSlot, view: usize) {
        let depths = self.feed.depths(level, place.grid);
        counts.instruction_misses = depths.misses(view, Kind::Fetch, place.ways);
        counts.load_misses = depths.misses(view, Kind::Load, place.ways);
        counts.store_misses = depths.misses(view, Kind::Store, place.ways);
        counts.fills = depths.fills(view, place.ways);
    }

    /// Returns the misses by process, for processes that have any. For levels that are not swept,
    /// these are the misses of the guide (the first design).
    pub(super) fn misses_by_process(&self, number: usize, member: &Member) -> Vec<ProcessMisses> {
        let own = self
            .by_process
            .iter()
            .map(|columns| self.misses(number, member, columns));
        own.filter(ProcessMisses::is_any).collect()
    }

    fn misses(&self, number: usize, member: &Member, columns: &ProcessMisses) -> ProcessMisses {
        let process = columns.process;
        let caches = self.guide.design.levels.len();
        let mut misses = misses_of_process(self.guide, process);
        for (shape, place) in self.shapes.iter().zip(&member.places) {
            misses[shape.level] = columns.misses[place.column];
        }
        if let Some(behind) = self.behind.get(number) {
            misses.splice(
                self.shapes[0].level + 1..caches,
                misses_of_process(behind, process),
            );
        }
        ProcessMisses { process, misses }
    }
}

/// Returns the misses of a process by level, then by TLB.
fn misses_of_process(result: &DesignResult, process: u32) -> Vec<ByView<u64>> {
    let none = || vec![ByView::default(); result.design.levels.len() + result.design.tlbs.len()];
    let found = result.by_process.iter().find(|one| one.process == process);
    found.map_or_else(none, |one| one.misses.clone())
}
