//! What a machine says in the end.

use simulation_result::{ByView, Depth, DesignResult, HierarchyCounts, LevelCounts, MissDifference};

use super::lines::Counts;
use super::plan::{Kind, LevelPlan, Plan};
use super::privates::Private;
use super::{FLUSHED, Machine, PRIVATE, SHARED};
use crate::attribution::{ByPlace, Calls, KernelBatches};
use crate::frames::Frames;

/// Sums over hierarchies.
#[derive(Clone, Debug, Default)]
pub(super) struct Ended {
    levels: Vec<Counts>,
    cycles: u64,
    write_stall_cycles: u64,
}

impl Ended {
    pub(super) fn new(plan: &Plan) -> Ended {
        Ended { levels: vec![Counts::default(); plan.levels.len()], ..Ended::default() }
    }

    fn add<'a>(&mut self, cycles: u64, stalls: u64, counts: impl Iterator<Item = &'a Counts>) {
        self.cycles += cycles;
        self.write_stall_cycles += stalls;
        self.levels.iter_mut().zip(counts).for_each(|(sum, counts)| sum.add(counts));
    }

    /// A private hierarchy that is gone, or that is left at the end.
    pub(super) fn add_private(&mut self, private: &Private) {
        self.add(private.now, private.stalls, private.levels.iter().map(|lines| &lines.counts));
    }

    /// First levels are accessed by whatever the program does, in the order of [`Kind`].
    fn counts(&self, plan: &Plan, references: [u64; 3]) -> HierarchyCounts {
        let rows = plan.levels.iter().zip(&self.levels).map(|(plan, counts)| level_counts(plan, counts, references));
        let mut levels: Vec<LevelCounts> = rows.collect();
        let tlbs = levels.split_off(plan.caches);
        HierarchyCounts { cycles: self.cycles, write_stall_cycles: self.write_stall_cycles, levels, tlbs }
    }
}

fn level_counts(plan: &LevelPlan, counts: &Counts, references: [u64; 3]) -> LevelCounts {
    let [fetches, data] = plan.is_first;
    let accesses = |kind: Kind, is_first: bool| {
        counts.accesses[kind as usize] + if is_first { references[kind as usize] } else { 0 }
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
    }
}

impl Machine {
    /// The result, without what is attributed to places, and that; `references` are the instructions, loads and stores of the whole trace.
    pub(crate) fn into_result(mut self, references: [u64; 3]) -> (DesignResult, ByPlace) {
        (self.result(references), self.state.by_place)
    }

    /// The first part of the trace begins: tuples, calls, batches, and what is attributed to places are counted anew.
    pub(crate) fn begin_parts(&mut self) {
        self.opened = None;
        self.tuples.clear();
        self.calls = Calls::none();
        self.kernel_batches = KernelBatches::none();
        self.state.by_place = ByPlace::new(self.plan.caches);
    }

    /// What has been counted so far, without what is attributed to places.
    pub(crate) fn result(&mut self, references: [u64; 3]) -> DesignResult {
        let plan = &self.plan;
        let (levels, clocks) = (&self.state.levels, &self.state.clocks);
        let private = || {
            let mut sums = self.ended.clone();
            self.state.privates.all().for_each(|private| sums.add_private(private));
            sums
        };
        let of_view = |view: usize| {
            let mut sums = if view == PRIVATE { private() } else { Ended::new(plan) };
            sums.add(clocks.now(view), clocks.stalls[view], levels.iter().map(|level| &level.views[view].counts));
            sums.add(0, 0, levels.iter().map(|level| &level.common));
            sums.counts(plan, references)
        };
        let (shared, private, flushed) = (of_view(SHARED), of_view(PRIVATE), of_view(FLUSHED));
        let differences = plan.levels.iter().zip(levels).map(|(plan, level)| MissDifference {
            level: plan.name.clone(),
            lost: level.lost,
            gained: level.gained,
            first_touches: level.first_touches,
        });
        DesignResult {
            miss_differences: differences.collect(),
            depth: Depth::Full,
            hierarchies: ByView { shared, private, flushed },
            origins: self.state.ledger.origins(),
            lost_cycles: Some(self.state.ledger.lost_cycles()),
            gained_cycles: Some(self.state.ledger.gained_cycles()),
            most_held: self.state.ledger.most_held(),
            losses: self.state.ledger.losses(),
            evictions: self.state.ledger.evictions(),
            calls: self.calls.costs(plan.levels.len()),
            kernel_batches: self.kernel_batches.batches(),
            physical_pages: self.state.frames.as_ref().map(Frames::counts),
            code: Vec::new(),
            data: Vec::new(),
            evictors: Vec::new(),
            design: self.design.clone(),
        }
    }
}
