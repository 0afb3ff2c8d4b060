use std::collections::BTreeMap;

use switchcost_record::observation::{Behind, Observation};

use super::neighbours::threads_of_the_kernel;
use schemars::JsonSchema;
use serde::Serialize;
use switchcost_units::Nanos;

/// Waits of an observed program's runnable tasks behind another program. Processes of one name count as one program.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct KeptWaitingFinding {
    /// Name of the observed program; hostile text until escaped.
    pub observed: String,
    /// Whether the observed tasks are kernel threads.
    pub is_kernel: bool,
    /// Tasks that the observed waited behind.
    pub behind: Behind,
    /// Whether those tasks are observed, too.
    pub is_own: bool,
    /// Waiting time, in nanoseconds.
    pub wait_ns: f64,
    /// Share of all time that the observed waited for CPUs.
    pub share: f64,
    /// Number of waits; null if the observed waited behind something other than a process.
    pub waits: Option<u64>,
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

/// Part of the waits of a process.
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
