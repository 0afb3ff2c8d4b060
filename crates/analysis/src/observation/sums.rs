use switchcost_record::observation::{Histogram, Observation, Tasks};

use super::{ProcessFinding, observed};
use crate::lists::find_or_add;

/// Number of switches and CPU time of all tasks with one label.
#[derive(Clone, Debug, PartialEq)]
pub struct LabelSum {
    /// Label of the tasks, such as a metric's label.
    pub label: String,
    /// Number of voluntary switches of the tasks.
    pub voluntary: u64,
    /// Number of involuntary switches of the tasks, including calls of sched_yield.
    pub involuntary: u64,
    /// CPU time of the tasks in nanoseconds.
    pub cpu_ns: f64,
}

/// Returns the sums of findings by label, in the order of the labels' first occurrence. `label`
/// returns the label for the name of a finding.
pub fn sum_by_label(
    findings: &[ProcessFinding],
    mut label: impl FnMut(&str) -> String,
) -> Vec<LabelSum> {
    let mut sums: Vec<LabelSum> = Vec::new();
    for found in findings {
        let label = label(&found.name);
        let is_it = |sum: &LabelSum| sum.label == label;
        let sum = find_or_add(&mut sums, is_it, || LabelSum {
            label: label.clone(),
            voluntary: 0,
            involuntary: 0,
            cpu_ns: 0.0,
        });
        sum.voluntary = sum
            .voluntary
            .saturating_add(found.switches.saturating_sub(found.involuntary));
        sum.involuntary = sum.involuntary.saturating_add(found.involuntary);
        sum.cpu_ns += found.cpu_ns.unwrap_or(0.0);
    }
    sums
}

/// Histogram of times of all observed tasks together.
#[derive(Clone, Debug, PartialEq)]
pub struct Times {
    /// Sum of all times in nanoseconds.
    pub sum_ns: f64,
    /// Number of times off the CPU, or of waits, in each bucket. The first bucket begins at 0, and
    /// the last has no end.
    pub counts: Vec<u64>,
}

/// Returns the histogram of completed times off the CPU. `ends_ns` are the upper ends of its
/// buckets in nanoseconds, ascending.
pub fn off_times(observation: &Observation, ends_ns: &[f64]) -> Times {
    times(observation, ends_ns, |tasks| (&tasks.off, tasks.off_ns.0))
}

/// Returns the histogram of completed waits for a CPU. `ends_ns` are the upper ends of its buckets
/// in nanoseconds, ascending.
pub fn wait_times(observation: &Observation, ends_ns: &[f64]) -> Times {
    times(observation, ends_ns, |tasks| (&tasks.wait, tasks.wait_ns.0))
}

fn times(
    observation: &Observation,
    ends_ns: &[f64],
    of: impl Fn(&Tasks) -> (&Histogram, u64),
) -> Times {
    let mut times = Times {
        sum_ns: 0.0,
        counts: vec![0; ends_ns.len() + 1],
    };
    for (histogram, ns) in observed(observation).map(of) {
        times.sum_ns += ns as f64;
        for (_, to, count) in histogram.buckets() {
            // A bucket of the record that extends beyond an end is counted in the next bucket.
            let at = to.map_or(ends_ns.len(), |to| {
                ends_ns.partition_point(|end| *end < to.0 as f64)
            });
            times.counts[at] = times.counts[at].saturating_add(count);
        }
    }
    times
}
