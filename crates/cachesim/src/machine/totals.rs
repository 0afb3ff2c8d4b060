//! What a machine says in the end.

use simulation_result::{ByView, Depth, DesignResult, HierarchyCounts, LevelCounts};

use super::Machine;
use super::hierarchy::Hierarchy;
use super::lines::Counts;
use super::plan::{Kind, LevelPlan, Plan};

/// Sums over hierarchies that are gone.
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

    pub(super) fn add(&mut self, hierarchy: &Hierarchy) {
        self.cycles += hierarchy.now;
        self.write_stall_cycles += hierarchy.write_stall_cycles;
        self.levels.iter_mut().zip(&hierarchy.levels).for_each(|(sum, level)| sum.add(&level.counts));
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
    /// The result; `references` are the instructions, loads and stores of the whole trace.
    pub(crate) fn into_result(
        mut self,
        references: [u64; 3],
        code_places: usize,
        programs: impl Fn(u32) -> String,
    ) -> DesignResult {
        self.part_buffers();
        let plan = &self.plan;
        let of_one = |hierarchy: &Hierarchy| {
            let mut sums = Ended::new(plan);
            sums.add(hierarchy);
            sums.counts(plan, references)
        };
        let (shared, flushed) = (of_one(&self.shared), of_one(&self.flushed));
        self.privates.all().for_each(|hierarchy| self.ended.add(hierarchy));
        let private = self.ended.counts(plan, references);
        DesignResult {
            depth: Depth::Full,
            hierarchies: ByView { shared, private, flushed },
            origins: self.ledger.origins(),
            losses: self.ledger.losses(),
            evictions: self.ledger.evictions(),
            code: self.attribution.into_costs(code_places, programs),
            design: self.design,
        }
    }
}
