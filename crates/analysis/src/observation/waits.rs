use std::collections::BTreeMap;

use switchcost_record::observation::{Behind, Observation};

use super::neighbours::threads_of_the_kernel;
use super::{Findings, ProcessFinding};
use schemars::JsonSchema;
use serde::Serialize;
use switchcost_units::Nanos;

/// Waits for a CPU of the runnable tasks of one observed program, while one other program had the
/// CPU. Processes of one name count as one program.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct KeptWaitingFinding {
    /// Name of the observed program; untrusted text that must be escaped before it is shown.
    pub observed: String,
    /// Whether the observed tasks are kernel threads.
    pub is_kernel: bool,
    /// Program that had the CPU during the waits, or another reason for the waits.
    pub behind: Behind,
    /// Whether the program that had the CPU is observed, too.
    pub is_own: bool,
    /// Waiting time in nanoseconds, summed over the tasks.
    pub wait_ns: f64,
    /// Waiting time as a share of the waits for a CPU of all observed tasks.
    pub share: f64,
    /// Number of waits; null if the reason is not a program.
    pub waits: Option<u64>,
}

impl Findings {
    /// Returns the share of the waits for a CPU of all observed tasks during which the program
    /// `name` had the CPU.
    pub fn share_of_waits(&self, name: &str) -> f64 {
        let is_it = |behind: &Behind| matches!(behind, Behind::Process(other) if other == name);
        let found = self.kept_waiting.iter();
        let found = found.filter(|found| is_it(&found.behind));
        found.map(|found| found.share).sum()
    }
}

pub(super) fn find(observation: &Observation) -> Vec<KeptWaitingFinding> {
    let mut sums: BTreeMap<(&str, Behind), KeptWaitingFinding> = BTreeMap::new();
    let of_the_kernel = threads_of_the_kernel(observation);
    for part in parts(observation).filter(|part| part.ns > Nanos(0)) {
        let sum = sums
            .entry((part.observed, part.behind.clone()))
            .or_insert_with(|| KeptWaitingFinding {
                observed: part.observed.to_owned(),
                is_kernel: of_the_kernel.contains(part.observed),
                behind: part.behind,
                is_own: true,
                wait_ns: 0.0,
                share: 0.0,
                waits: part.waits.map(|_| 0),
            });
        sum.is_own &= part.is_own;
        sum.wait_ns += part.ns.0 as f64;
        sum.waits = sum
            .waits
            .zip(part.waits)
            .map(|(sum, waits)| sum.saturating_add(waits));
    }
    let mut found: Vec<KeptWaitingFinding> = sums.into_values().collect();
    let all: f64 = found.iter().map(|each| each.wait_ns).sum();
    found
        .iter_mut()
        .for_each(|each| each.share = each.wait_ns / all);
    found.sort_by(|a, b| b.wait_ns.total_cmp(&a.wait_ns));
    found
}

/// Least wait for CPUs that a report shows first, as a share of the window and of the CPU time.
const LONG: f64 = 0.1;

/// Time for which all observed tasks waited for CPUs, without the time due to quotas.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct WaitForCpus {
    /// Waiting time in nanoseconds, summed over the tasks.
    pub wait_ns: f64,
    /// Program that had the CPU for most of this time; null if no program had the CPU for a tenth
    /// of the time.
    pub behind: Option<WaitBehind>,
}

/// The program that had the CPU for most of a waiting time.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct WaitBehind {
    /// Name of the program, or kernel threads; untrusted text that must be escaped before it is
    /// shown.
    pub program: Behind,
    /// Whether the program is observed, too.
    pub is_own: bool,
    /// Share of the waiting time during which the program had the CPU.
    pub share: f64,
}

/// Returns the wait for CPUs; `None` unless the wait is longer than a tenth of the window and of
/// the CPU time, and longer than the switches took.
pub(super) fn long_wait(
    found: &[KeptWaitingFinding],
    all: &ProcessFinding,
    window_ns: f64,
) -> Option<WaitForCpus> {
    let for_cpus = || {
        let observed = found.iter().filter(|found| !found.is_kernel);
        observed.filter(|found| found.behind != Behind::Throttled)
    };
    let wait_ns: f64 = for_cpus().map(|found| found.wait_ns).sum();
    let cost = all.likely_ns().unwrap_or(0.0);
    let is_long = wait_ns > LONG * window_ns.max(all.cpu_ns.unwrap_or(0.0)) && wait_ns > cost;
    let mut sums: BTreeMap<&Behind, (f64, bool)> = BTreeMap::new();
    for found in for_cpus() {
        if matches!(found.behind, Behind::Process(_) | Behind::Kernel) {
            let (ns, is_own) = sums.entry(&found.behind).or_insert((0.0, true));
            *ns += found.wait_ns;
            *is_own &= found.is_own;
        }
    }
    let most = sums
        .into_iter()
        .max_by(|(_, a), (_, b)| a.0.total_cmp(&b.0));
    let behind = most.map(|(program, (ns, is_own))| WaitBehind {
        program: program.clone(),
        is_own,
        share: ns / wait_ns,
    });
    is_long.then(|| WaitForCpus {
        wait_ns,
        behind: behind.filter(|behind| behind.share >= LONG),
    })
}

/// Part of the time for which the tasks of a process waited for a CPU, with one reason.
struct Part<'a> {
    observed: &'a str,
    behind: Behind,
    is_own: bool,
    ns: Nanos,
    waits: Option<u64>,
}

fn parts(observation: &Observation) -> impl Iterator<Item = Part<'_>> {
    let own: std::collections::BTreeSet<u32> =
        observation.pairs.iter().map(|pair| pair.process).collect();
    let of_pairs = observation.pairs.iter().map(move |pair| Part {
        observed: &pair.process_name,
        behind: pair
            .other
            .map_or(Behind::Kernel, |_| Behind::Process(pair.name.clone())),
        is_own: pair.other.is_some_and(|other| own.contains(&other)),
        ns: pair.kept_waiting_ns,
        waits: Some(pair.kept_waiting),
    });
    let of_waits = observation.waits.iter().flat_map(|waits| {
        let parts = [
            (Behind::Nobody, waits.nobody_ns),
            (Behind::Throttled, waits.throttled_ns),
            (Behind::Moved, waits.moved_ns),
            (Behind::Others, waits.others_ns),
        ];
        parts.map(|(behind, ns)| Part {
            observed: &waits.process_name,
            behind,
            is_own: false,
            ns,
            waits: None,
        })
    });
    of_pairs.chain(of_waits)
}
