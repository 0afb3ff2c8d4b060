//! Combines several records of the same workload (trials). The spread between trials shows how much
//! the results depend on a single trace.

use schemars::JsonSchema;
use serde::Serialize;

use super::findings::{Cost, DesignFinding, Findings};
use super::interval::mean_interval;
use itertools::Itertools;

const METHOD: &str = "Student's t over trials";

/// Findings for one design over several trials.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct TrialFinding {
    /// Name of the design.
    pub name: String,
    /// Net cost of a switch in cycles for each trial that has one, in the order of the trials.
    pub costs_cycles: Vec<f64>,
    /// Mean over trials of the net cost of a switch, in cycles.
    pub average_cost_cycles: Cost,
    /// Mean over trials of the cycles lost to other processes per switch.
    pub lost_cycles: Cost,
    /// Mean over trials of the cycles gained from other processes per switch.
    pub gained_cycles: Cost,
    /// Mean over trials of the cycles per switch due to the state of replacement, prefetchers,
    /// buffers and buses.
    pub state_cycles: Cost,
    /// Mean over trials of the overhead, as a share of all cycles.
    pub overhead: Cost,
}

/// Returns one finding for each design of any trial, in the order of first occurrence.
pub fn over_trials(trials: &[Findings], confidence: f64) -> Vec<TrialFinding> {
    let designs = trials.iter().flat_map(|trial| &trial.designs);
    designs
        .map(|design| design.name.as_str())
        .unique()
        .map(|name| finding(name, trials, confidence))
        .collect()
}

fn finding(name: &str, trials: &[Findings], confidence: f64) -> TrialFinding {
    let designs: Vec<&DesignFinding> = trials
        .iter()
        .filter_map(|trial| trial.designs.iter().find(|design| design.name == name))
        .collect();
    let each = |cost: fn(&DesignFinding) -> &Cost| -> Vec<f64> {
        designs
            .iter()
            .filter_map(|design| cost(design).estimate)
            .collect()
    };
    let costs = each(|design| &design.average_cost_cycles);
    let overheads: Vec<f64> = designs
        .iter()
        .filter_map(|design| design.overhead)
        .collect();
    TrialFinding {
        name: name.to_owned(),
        average_cost_cycles: mean(&costs, confidence),
        lost_cycles: mean(&each(|design| &design.lost_cycles), confidence),
        gained_cycles: mean(&each(|design| &design.gained_cycles), confidence),
        state_cycles: mean(&each(|design| &design.state_cycles), confidence),
        overhead: mean(&overheads, confidence),
        costs_cycles: costs,
    }
}

fn mean(values: &[f64], confidence: f64) -> Cost {
    if values.is_empty() {
        return Cost::none("no trial has a cost");
    }
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    match mean_interval(values, confidence) {
        None => Cost::estimate_only(mean, "one trial gives no interval; trace once more"),
        Some(number) => Cost::new(number, confidence, values.len(), METHOD),
    }
}
