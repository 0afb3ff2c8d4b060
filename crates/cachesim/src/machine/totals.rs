//! Computes the results of a machine at the end of a trace.

use switchcost_design::Design;
use switchcost_design::result::{
    ByView, DesignResult, Detail, HierarchyCounts, LevelCounts, ProcessMisses,
};

use super::lines::Counts;
use super::listener::Listener;
use super::plan::{Kind, LevelPlan, Plan};
use super::privates::Private;
use super::{FLUSHED, Machine, PRIVATE, SHARED};
use crate::frames::Frames;

/// Counters added up over private hierarchies that no longer exist.
#[derive(Clone, Debug, Default)]
pub(super) struct Ended {
    levels: Vec<Counts>,
    cycles: u64,
    write_stall_cycles: u64,
}

impl Ended {
    pub(super) fn new(plan: &Plan) -> Ended {
        Ended {
            levels: vec![Counts::default(); plan.levels.len()],
            ..Ended::default()
        }
    }

    fn add<'a>(&mut self, cycles: u64, stalls: u64, counts: impl Iterator<Item = &'a Counts>) {
        self.cycles += cycles;
        self.write_stall_cycles += stalls;
        self.levels
            .iter_mut()
            .zip(counts)
            .for_each(|(sum, counts)| sum.add(counts));
    }

    /// Adds the counters of a private hierarchy, which has ended or exists at the end of the trace.
    pub(super) fn add_private(&mut self, private: &Private) {
        self.add(
            private.now,
            private.stalls,
            private.levels.iter().map(|lines| &lines.counts),
        );
    }

    /// Returns the counters of a hierarchy. `references` are the accesses to first levels, by
    /// [`Kind`].
    fn counts(&self, plan: &Plan, references: [u64; 3]) -> HierarchyCounts {
        let rows = plan
            .levels
            .iter()
            .zip(&self.levels)
            .map(|(plan, counts)| level_counts(plan, counts, references));
        let mut levels: Vec<LevelCounts> = rows.collect();
        let tlbs = levels.split_off(plan.caches);
        HierarchyCounts {
            cycles: self.cycles,
            write_stall_cycles: self.write_stall_cycles,
            levels,
            tlbs,
        }
    }
}

fn level_counts(plan: &LevelPlan, counts: &Counts, references: [u64; 3]) -> LevelCounts {
    let [fetches, data] = plan.is_first;
    let accesses = |kind: Kind, is_first: bool| {
        counts.accesses[kind as usize]
            + if is_first {
                references[kind as usize]
            } else {
                0
            }
    };
    LevelCounts {
        name: plan.name.clone(),
        instruction_accesses: accesses(Kind::Fetch, fetches),
        instruction_misses: counts.misses[Kind::Fetch as usize],
        load_accesses: accesses(Kind::Load, data),
        load_misses: counts.misses[Kind::Load as usize],
        store_accesses: accesses(Kind::Store, data),
        store_misses: counts.misses[Kind::Store as usize],
        fills: counts.fills,
        write_backs: counts.write_backs,
        prefetches: counts.prefetches,
        victim_hits: counts.victim_hits,
        stream_hits: counts.stream_hits,
        cycles: counts.cycles,
        prefetch_hits: counts.prefetch_hits,
        late_stream_hits: counts.late_stream_hits,
        back_invalidations: counts.back_invalidations,
        moves: counts.moves,
        bus_lines: counts.bus_lines,
    }
}

/// Returns a result with counters only, without misses by process and without detail.
pub(crate) fn plain_result(design: Design, hierarchies: ByView<HierarchyCounts>) -> DesignResult {
    DesignResult {
        design,
        hierarchies,
        by_process: Vec::new(),
        physical_pages: None,
        detail: None,
    }
}

impl<L: Listener> Machine<L> {
    /// Returns the result, and the listener, which has the attributions to places. `references` are
    /// the instructions, loads and stores of the whole trace.
    pub(crate) fn into_result(mut self, references: [u64; 3]) -> (DesignResult, L) {
        (self.result(references), self.state.listener)
    }

    /// Begins the first part of the trace: intervals and attributions are reset.
    pub(crate) fn begin_parts(&mut self) {
        self.opened = None;
        self.intervals.clear();
        self.state.listener.parts_begin();
    }

    /// Returns the counts so far, without attributions to places. `references` are the
    /// instructions, loads and stores so far.
    pub(crate) fn result(&mut self, references: [u64; 3]) -> DesignResult {
        let of = |view| self.hierarchy(view, references);
        let hierarchies = ByView {
            shared: of(SHARED),
            private: of(PRIVATE),
            flushed: of(FLUSHED),
        };
        let mut result = plain_result(self.design.clone(), hierarchies);
        self.count_running();
        result.by_process = self
            .by_process
            .misses()
            .filter(ProcessMisses::is_any)
            .collect();
        result.physical_pages = self.state.frames.as_ref().map(Frames::counts);
        if L::COMPARES {
            let shared = &result.hierarchies.shared;
            let levels: Vec<String> = shared
                .levels
                .iter()
                .chain(&shared.tlbs)
                .map(|level| level.name.clone())
                .collect();
            self.state
                .listener
                .report(&levels, result.detail.insert(Detail::default()));
        }
        result
    }

    fn hierarchy(&self, view: usize, references: [u64; 3]) -> HierarchyCounts {
        let (levels, clocks) = (&self.state.levels, &self.state.clocks);
        let mut sums = Ended::new(&self.plan);
        if view == PRIVATE {
            sums = self.ended.clone();
            self.state
                .privates
                .iter()
                .for_each(|private| sums.add_private(private));
        }
        sums.add(
            clocks.now(view),
            clocks.stalls[view],
            levels.iter().map(|level| &level.views[view].counts),
        );
        sums.add(0, 0, levels.iter().map(|level| &level.common));
        sums.counts(&self.plan, references)
    }
}
