//! What the indirect cost is made of: how it is known, and what keeps its upper end from being more.

use switchcost_analysis::observation::{Findings, Limit, Limited, Prices};
use switchcost_record::observation::{KnownReload, Observation};
use switchcost_units::Bytes;

use super::answer::name;
use crate::plain::plain;
use crate::quantity::{count, share, time};

pub(super) fn notes(observation: &Observation, findings: &Findings) -> Vec<String> {
    let limits = (!findings.all.limits.is_empty()).then(|| limited(&findings.all.limits));
    observation
        .known
        .iter()
        .map(known)
        .chain(limits)
        .chain(findings.prices.as_ref().map(priced))
        .collect()
}

fn known(known: &KnownReload) -> String {
    let whose = match known.processes.as_slice() {
        _ if !known.name.is_empty() => name(&known.name),
        [one] => format!("process {one}"),
        several => format!("{} processes", count(several.len() as u64)),
    };
    format!(
        "What cold caches cost {whose} is known by {}: {}.",
        known.by,
        plain(&known.file)
    )
}

/// `Reloading caches at most: behind 83 % of the switches all of the CPU time until the next (12 ms); ...`.
fn limited(limits: &[Limited]) -> String {
    let all = limits
        .iter()
        .fold(0u64, |sum, limited| sum.saturating_add(limited.switches));
    let mut sorted = limits.to_vec();
    sorted.sort_by_key(|limited| std::cmp::Reverse(limited.switches));
    let part = |limited: &Limited| {
        let of = share(Some(limited.switches as f64 / all.max(1) as f64));
        format!(
            "behind {of} of {} switches {} ({})",
            count(all),
            limit(limited.by),
            time(limited.ns)
        )
    };
    format!(
        "Reloading caches costs at most: {}.",
        sorted.iter().map(part).collect::<Vec<_>>().join("; ")
    )
}

fn limit(by: Limit) -> &'static str {
    match by {
        Limit::Memory => "all that the task has",
        Limit::Caches => "all that the caches hold",
        Limit::Others => "what others could evict in the time that they had",
        Limit::Profile => "the lines that its profile uses until the next switch",
        Limit::Turn => "the CPU time until the next switch",
        Limit::Inject => "the upper end of what inject measured",
    }
}

fn priced(prices: &Prices) -> String {
    let far = prices.far.iter().map(|far| far.line_ns);
    let ends = (
        far.clone().fold(f64::INFINITY, f64::min),
        far.fold(0.0, f64::max),
    );
    let a_us = |ns: f64| count((1000.0 / ns) as u64);
    format!(
        "At most: a line from the last level takes {}, one from memory {} to {}; others load {} lines a microsecond from the last level, \
         {} from memory; a program finds up to {} in the last level.",
        time(prices.near_ns),
        time(ends.0),
        time(ends.1),
        a_us(prices.stream_near_ns),
        a_us(prices.stream_far_ns),
        Bytes((prices.last_bytes as u64).next_multiple_of(64 << 10))
    )
}
