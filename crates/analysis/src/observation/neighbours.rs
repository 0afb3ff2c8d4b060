use std::collections::{BTreeMap, BTreeSet};

use super::Findings;
use crate::lists::saturating_sum;
use schemars::JsonSchema;
use serde::Serialize;
use switchcost_record::observation::Observation;

/// Relation of another program to an observed one: how long the other ran in place of the observed
/// one, and how often it preempted or woke the observed one. Processes of one name count as one
/// program.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct NeighbourFinding {
    /// Name of the observed program; untrusted text that must be escaped before it is shown.
    pub observed: String,
    /// Whether the observed tasks are kernel threads.
    pub is_kernel: bool,
    /// Name of the other program; untrusted text that must be escaped before it is shown. Empty for
    /// kernel threads.
    pub other: String,
    /// Whether the other program is observed, too.
    pub is_own: bool,
    /// Time for which the other program ran between two time slices of the observed program on the
    /// same CPU, in nanoseconds.
    pub ran_ns: f64,
    /// Number of time slices of the other program between those of the observed program.
    pub runs: u64,
    /// Mean length of these time slices of the other program, in nanoseconds; `None` without any.
    pub run_ns: Option<f64>,
    /// Number of times that the other program preempted the observed program.
    pub preempted: u64,
    /// Number of these preemptions as a share of the preemptions of all observed tasks.
    pub preempted_share: f64,
    /// Number of wake-ups of the observed program while the other program was running.
    pub woke: u64,
}

/// Least share of switches or preemptions that makes a cause or a program the main one.
pub(super) const MOSTLY: f64 = 0.5;

impl Findings {
    /// Returns the program that made most of the preemptions of all observed tasks, with its share;
    /// `None` if no program made at least half of them.
    pub fn main_preemptor(&self) -> Option<(&NeighbourFinding, f64)> {
        let share = |of: &NeighbourFinding| -> f64 {
            let rows = self.neighbours.iter().filter(|row| row.other == of.other);
            rows.map(|row| row.preempted_share).sum()
        };
        let programs = self.neighbours.iter().filter(|row| !row.other.is_empty());
        programs
            .map(|program| (program, share(program)))
            .filter(|(_, share)| *share >= MOSTLY)
            .max_by(|(_, a), (_, b)| a.total_cmp(b))
    }
}

/// Returns the thread names that only kernel threads have.
pub(super) fn threads_of_the_kernel(observation: &Observation) -> BTreeSet<&str> {
    let names = |is_kernel: bool| {
        observation
            .tasks
            .iter()
            .filter(move |tasks| tasks.is_kernel == is_kernel)
            .map(|tasks| tasks.name.as_str())
    };
    let of_programs: BTreeSet<&str> = names(false).collect();
    names(true)
        .filter(|name| !of_programs.contains(name))
        .collect()
}

pub(super) fn find(observation: &Observation) -> Vec<NeighbourFinding> {
    let own: Vec<u32> = observation.pairs.iter().map(|pair| pair.process).collect();
    let of_the_kernel = threads_of_the_kernel(observation);
    let mut sums: BTreeMap<(&str, Option<&str>), NeighbourFinding> = BTreeMap::new();
    for pair in &observation.pairs {
        let other = pair.other.map(|_| pair.name.as_str());
        let sum = sums
            .entry((&pair.process_name, other))
            .or_insert_with(|| NeighbourFinding {
                observed: pair.process_name.clone(),
                is_kernel: of_the_kernel.contains(pair.process_name.as_str()),
                other: other.unwrap_or_default().to_owned(),
                is_own: true,
                ran_ns: 0.0,
                runs: 0,
                run_ns: None,
                preempted: 0,
                preempted_share: 0.0,
                woke: 0,
            });
        sum.is_own &= pair.other.is_some_and(|other| own.contains(&other));
        sum.ran_ns += pair.ran_ns.0 as f64;
        sum.runs = sum.runs.saturating_add(pair.runs);
        sum.preempted = sum.preempted.saturating_add(pair.preempted);
        sum.woke = sum.woke.saturating_add(pair.woke);
    }
    let mut found: Vec<NeighbourFinding> = sums.into_values().collect();
    // Causes are counted for all tasks, including those whose name is unknown.
    let causes = observation.tasks.iter().flat_map(|tasks| &tasks.causes);
    let preemptions = causes.filter(|cause| cause.why.is_preemption());
    let counted = saturating_sum(preemptions.map(|cause| cause.switches));
    let reported = saturating_sum(found.iter().map(|neighbour| neighbour.preempted));
    let all = counted.max(reported);
    for neighbour in &mut found {
        neighbour.run_ns = (neighbour.runs > 0).then(|| neighbour.ran_ns / neighbour.runs as f64);
        neighbour.preempted_share = neighbour.preempted as f64 / all.max(1) as f64;
    }
    found.sort_by(|a, b| b.ran_ns.total_cmp(&a.ran_ns));
    found
}
