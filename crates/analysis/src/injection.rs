//! Estimates the cost of a preemption to a program, and the part due to cold caches, by the
//! footprint of the preemptor. The data are runs of two copies of a program (twins), or phases of a
//! service.
//!
//! Each run gives one value: the core cycles that the preempted copy used more than the other,
//! divided by its preemptions. Core cycles are CPU time divided by the time that a chain of
//! multiplications took in the same run. Costs in nanoseconds are at the mean clock of all runs.

mod doubt;
mod power;
mod service;
#[cfg(test)]
pub(crate) mod tests;

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;
use switchcost_record::injection::{Injection, Plan, Run, TwinRun, Way};
use switchcost_record::{Cache, CoreClock};
use switchcost_units::{Bytes, CpuId, Nanos};

use crate::measurement::serialised::or_null;
use crate::statistics::Estimate;
use crate::statistics::estimate::estimate;
use crate::statistics::order_statistics::median;

pub use doubt::{Doubt, LEAST_NS, doubt};
pub use power::{Power, half_width_ns, power};
pub use service::ServiceFindings;

/// Confidence of every interval in this module.
const CONFIDENCE: f64 = 0.9;

/// A typical rate of switches between competing tasks on a CPU, per second: one every 4 ms.
pub const USUAL_RATE: f64 = 250.0;

/// Least share of preemptions that must find the program on the CPU: with a smaller share, the
/// program was mostly waiting.
const LEAST_HIT: f64 = 0.95;

/// Findings of an injection.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct Findings {
    /// CPU time of a copy that is not preempted, in nanoseconds.
    pub cpu_ns: Option<f64>,
    /// Mean clock of the core, at which costs are reported, if the cycles of its multiplication are known.
    pub core_hertz: Option<f64>,
    /// Preemptions per second of the program's own time (for a service, of wall time) at the first period.
    pub preemptions_per_second: f64,
    /// Footprint that is reported first: the largest that fits into the second-level cache, else the largest of all.
    pub headline_footprint_bytes: Option<Bytes>,
    /// Rate to which `share_at_usual_rate` refers.
    pub usual_rate_per_second: f64,
    /// One finding for each footprint of the plan, in order, at the first period.
    pub footprints: Vec<FootprintFinding>,
    /// Findings at each period; empty if there is only one.
    pub periods: Vec<PeriodFinding>,
    /// Cost of being moved to another CPU, or back; `None` if not tried.
    pub moved: Option<MovedFinding>,
    /// Findings of a service, which has only the cost of cold caches.
    #[serde(skip)]
    pub service: Option<ServiceFindings>,
}

/// Largest difference between periods, as a share of the number, that counts as no difference.
const SMALL: f64 = 0.25;

impl Findings {
    /// Whether the difference `more` from the first period is small enough to call the cost
    /// proportional to the number of preemptions.
    pub fn is_in_proportion(&self, more: &Estimate) -> bool {
        let cost = self.first().and_then(FootprintFinding::lost);
        cost.is_some_and(|cost| more.low.abs().max(more.high.abs()) <= SMALL * cost.estimate)
    }

    /// Returns the finding of the footprint that is reported first.
    pub fn first(&self) -> Option<&FootprintFinding> {
        self.headline_of(&self.footprints)
    }

    /// Returns the finding for preemptions that touch no memory.
    pub fn direct(&self) -> Option<&FootprintFinding> {
        self.footprints.first()
    }

    fn headline_of<'a>(&self, footprints: &'a [FootprintFinding]) -> Option<&'a FootprintFinding> {
        footprints
            .iter()
            .find(|found| Some(found.footprint_bytes) == self.headline_footprint_bytes)
    }
}

/// Costs of a preemption at one of several periods.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
#[schemars(rename = "Period")]
pub struct PeriodFinding {
    /// Time that the program runs until it is preempted.
    pub period_ns: Nanos,
    /// Preemptions per second of the program's own time (for a service, of wall time).
    pub preemptions_per_second: f64,
    /// One finding for each footprint of the plan, in order.
    pub footprints: Vec<FootprintFinding>,
    /// Additional cost of cold caches compared with the first period, for the footprint that is
    /// reported first. For a footprint of 0 it is the additional cost of a preemption. `None` for
    /// the first period.
    #[serde(serialize_with = "or_null")]
    #[schemars(with = "Option<Estimate>")]
    pub more_than_first_ns: Option<Result<Estimate, String>>,
}

impl PeriodFinding {
    /// Returns the finding of the footprint that is reported first, at this period.
    pub fn headline<'a>(&'a self, findings: &Findings) -> Option<&'a FootprintFinding> {
        findings.headline_of(&self.footprints)
    }
}

/// Cost of a preemption at one footprint of the preemptor.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
#[schemars(rename = "Footprint")]
pub struct FootprintFinding {
    /// Bytes that the preemptor touches.
    pub footprint_bytes: Bytes,
    /// Runs, or groups of phases, with this footprint.
    pub runs: usize,
    /// Preemptions in all these runs.
    pub preemptions: u64,
    /// Mean time for which the preemptor had the CPU, in nanoseconds.
    pub away_ns: Option<f64>,
    /// Share of preemptions that took the CPU from the program, by the kernel's count of
    /// involuntary switches. For a service, the share of preemptions after which the service ran
    /// before the next preemption.
    pub hit: Option<f64>,
    /// Whole cost of a preemption.
    pub cost_ns: Option<Estimate>,
    /// Part of the cost due to cold caches of the program and of the kernel's switch path: the
    /// difference from a preemption that touches no memory, in the same passes. `None` for a
    /// footprint of 0; for a service this difference checks the instrument and should be 0.
    #[serde(serialize_with = "or_null")]
    #[schemars(with = "Option<Estimate>")]
    pub reload_ns: Option<Result<Estimate, String>>,
    /// Whole cost at the usual rate, as a share of the program's time.
    pub share_at_usual_rate: Option<f64>,
    /// Why no cost was measured; `None` if one was.
    pub why_not_measured: Option<String>,
}

impl FootprintFinding {
    /// Whether a cost was measured.
    pub fn is_measured(&self) -> bool {
        self.cost_ns.is_some() || self.reload().is_some()
    }

    /// Returns the cost of cold caches, if measured.
    pub fn reload(&self) -> Option<&Estimate> {
        self.reload_ns.as_ref()?.as_ref().ok()
    }

    /// Returns the cost of cold caches; for a footprint of 0, the whole cost.
    fn lost(&self) -> Option<&Estimate> {
        if self.reload_ns.is_some() {
            self.reload()
        } else {
            self.cost_ns.as_ref()
        }
    }
}

/// Cost of being moved to another CPU, or back, by a preemption that touches no memory.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
#[schemars(rename = "Moved")]
pub struct MovedFinding {
    /// The CPU to which the program was moved.
    pub cpu: CpuId,
    /// Number of moves in all runs.
    pub moves: u64,
    /// Cost of a move, including its preemption.
    pub cost_ns: Option<Estimate>,
    /// Additional cost of a preemption with a move compared with a preemption in place.
    pub more_than_staying_ns: Option<Estimate>,
    /// Returns the finding of preemptions with moves, in the same form as of preemptions in place.
    #[serde(skip)]
    pub found: FootprintFinding,
}

impl MovedFinding {
    fn new(cpu: CpuId, found: FootprintFinding) -> Self {
        let (cost_ns, more_than_staying_ns) = (found.cost_ns.clone(), found.reload().cloned());
        MovedFinding {
            cpu,
            moves: found.preemptions,
            cost_ns,
            more_than_staying_ns,
            found,
        }
    }
}

/// Analyses the record of an injection.
pub fn analyse(record: &Injection) -> Findings {
    match &record.header.service {
        Some(service) => service::analyse(record, service),
        None => twin_findings(record),
    }
}

fn twin_findings(record: &Injection) -> Findings {
    let plan = &record.header.plan;
    let chain_ns = mean_chain_ns(&record.runs);
    let headline = headline(&plan.footprints_bytes, &record.header.host.caches);
    let at = |timing| {
        let way = |footprint| Way {
            timing,
            footprint,
            is_moved: false,
        };
        let ways = (0..plan.footprints_bytes.len()).map(way);
        ways.map(|way| finding(plan, &record.runs, way, chain_ns))
            .collect::<Vec<_>>()
    };
    let per_second = |period: Nanos| 1e9 / period.0.max(1) as f64;
    let headline_of = |timing| {
        reloads_by_block(
            &record.runs,
            Way {
                timing,
                footprint: headline,
                is_moved: false,
            },
            chain_ns,
        )
    };
    let periods = plan
        .timings()
        .into_iter()
        .enumerate()
        .map(|(timing, of)| PeriodFinding {
            period_ns: of.period_ns,
            preemptions_per_second: per_second(of.period_ns),
            footprints: at(timing),
            more_than_first_ns: (timing > 0)
                .then(|| judged(&paired(&headline_of(timing), &headline_of(0)))),
        });
    let moved = Way {
        timing: 0,
        footprint: 0,
        is_moved: true,
    };
    Findings {
        cpu_ns: mean(
            record
                .runs
                .iter()
                .map(|run| run.undisturbed().cpu_ns.0 as f64),
        ),
        core_hertz: hertz(&record.header.core_clock, chain_ns),
        preemptions_per_second: per_second(plan.period_ns),
        headline_footprint_bytes: plan.footprints_bytes.get(headline).copied(),
        usual_rate_per_second: USUAL_RATE,
        footprints: at(0),
        periods: if plan.further.is_empty() {
            Vec::new()
        } else {
            periods.collect()
        },
        moved: plan
            .moves_to
            .map(|cpu| MovedFinding::new(cpu, finding(plan, &record.runs, moved, chain_ns))),
        service: None,
    }
}

fn hertz(clock: &CoreClock, chain_ns: Option<f64>) -> Option<f64> {
    Some(clock.chain_cycles()? / chain_ns? * 1e9)
}

/// Returns the mean time of a multiplication chain, weighted by CPU time (harmonic mean), so that
/// it stands for the total number of core cycles.
fn mean_chain_ns(runs: &[Run]) -> Option<f64> {
    let twins = || runs.iter().flat_map(|run| &run.twins);
    let cpu: f64 = twins().map(|twin| twin.cpu_ns.0 as f64).sum();
    let chains: f64 = twins().filter_map(chains).sum();
    (chains > 0.0).then_some(cpu / chains)
}

/// Returns the CPU time of a copy as a number of multiplication chains, each of which has the same
/// number of core cycles.
fn chains(twin: &TwinRun) -> Option<f64> {
    (twin.chain_ps > 0).then(|| twin.cpu_ns.0 as f64 * 1e3 / twin.chain_ps as f64)
}

fn mean(values: impl Iterator<Item = f64>) -> Option<f64> {
    let (count, sum) = values.fold((0, 0.0), |(count, sum), value| (count + 1, sum + value));
    (count > 0).then(|| sum / f64::from(count))
}

/// Returns the cost of a preemption in this run, in nanoseconds of a core whose chain takes
/// `chain_ns`.
fn cost_ns(run: &Run, chain_ns: f64) -> Option<f64> {
    let more = chains(run.preempted())? - chains(run.undisturbed())?;
    let preemptions = run.preempted().preemptions;
    (preemptions > 0).then(|| more * chain_ns / preemptions as f64)
}

/// Returns the share of preemptions that took the CPU from the program: the median over runs of the
/// preempted copy's additional involuntary switches per preemption. Both copies have one such
/// switch at the end of each time slice. The median is robust against other tasks that take the CPU
/// for a while.
fn hit(runs: &[&Run]) -> Option<f64> {
    let within = |twin: &TwinRun| twin.involuntary as f64 - twin.turns as f64;
    let more = |run: &Run| within(run.preempted()) - within(run.undisturbed());
    let are_some = runs.iter().filter(|run| run.preempted().preemptions > 0);
    median(
        &mut are_some
            .map(|run| more(run) / run.preempted().preemptions as f64)
            .collect::<Vec<f64>>(),
    )
}

fn finding(plan: &Plan, runs: &[Run], way: Way, chain_ns: Option<f64>) -> FootprintFinding {
    let own: Vec<&Run> = runs.iter().filter(|run| run.way() == way).collect();
    let is_direct = way.footprint == 0 && !way.is_moved;
    let preemptions: u64 = own.iter().map(|run| run.preempted().preemptions).sum();
    let each = |sum: f64| (preemptions > 0).then(|| sum / preemptions as f64);
    let hit = hit(&own).filter(|_| !plan.preempts_nobody);
    let costs: Vec<f64> = own
        .iter()
        .filter_map(|run| cost_ns(run, chain_ns?))
        .collect();
    let cost = found_on_cpu(hit).and_then(|()| judged(&costs));
    FootprintFinding {
        footprint_bytes: plan.footprints_bytes[way.footprint],
        runs: own.len(),
        preemptions,
        away_ns: each(own.iter().map(|run| run.preempted().away_ns.0 as f64).sum()),
        hit,
        share_at_usual_rate: cost
            .as_ref()
            .ok()
            .map(|cost| cost.estimate * USUAL_RATE / 1e9),
        why_not_measured: cost.as_ref().err().cloned(),
        cost_ns: cost.ok(),
        reload_ns: (!is_direct)
            .then(|| found_on_cpu(hit).and_then(|()| judged(&reloads(runs, way, chain_ns)))),
    }
}

/// Checks that the preemptions found the program on the CPU: a waiting program is not preempted.
fn found_on_cpu(hit: Option<f64>) -> Result<(), String> {
    match hit {
        Some(hit) if hit < LEAST_HIT => Err(format!(
            "the program had the CPU at {:.0} % of the preemptions alone: it waits, and who waits is not preempted",
            hit.max(0.0) * 100.0
        )),
        _ => Ok(()),
    }
}

fn judged(values: &[f64]) -> Result<Estimate, String> {
    estimate(values, CONFIDENCE).map_err(|few| few.to_string())
}

/// Returns the cost of cold caches in each pass: the difference from a preemption that touches no
/// memory in the same pass. Slow changes of the machine, and the choice of the preempted copy, are
/// the same in both.
fn reloads(runs: &[Run], way: Way, chain_ns: Option<f64>) -> Vec<f64> {
    paired(
        &costs(runs, way, chain_ns),
        &costs(
            runs,
            Way {
                footprint: 0,
                is_moved: false,
                ..way
            },
            chain_ns,
        ),
    )
}

/// Returns the cost of a preemption in each pass.
fn costs(runs: &[Run], way: Way, chain_ns: Option<f64>) -> BTreeMap<u32, f64> {
    let own = runs.iter().filter(|run| run.way() == way);
    own.filter_map(|run| Some((run.block, cost_ns(run, chain_ns?)?)))
        .collect()
}

/// Returns the difference in each pass in which both arms have a value.
fn paired(of: &BTreeMap<u32, f64>, base: &BTreeMap<u32, f64>) -> Vec<f64> {
    of.iter()
        .filter_map(|(block, cost)| Some(cost - base.get(block)?))
        .collect()
}

/// Returns the cost of cold caches in each pass; for a footprint of 0, the whole cost.
fn reloads_by_block(runs: &[Run], way: Way, chain_ns: Option<f64>) -> BTreeMap<u32, f64> {
    let mut all = costs(runs, way, chain_ns);
    if way.footprint > 0 {
        let direct = costs(
            runs,
            Way {
                footprint: 0,
                ..way
            },
            chain_ns,
        );
        all.retain(|block, _| direct.contains_key(block));
        all.iter_mut()
            .for_each(|(block, cost)| *cost -= direct[block]);
    }
    all
}

/// Returns the index of the footprint that is reported first: the largest that fits into the
/// second-level cache, else the largest of all.
pub fn headline(footprints: &[Bytes], caches: &[Cache]) -> usize {
    let second = caches
        .iter()
        .find(|cache| cache.level == 2)
        .map(|cache| cache.size_bytes);
    let fits = |size: &Bytes| second.is_none_or(|second| *size <= second);
    let largest = footprints.iter().rposition(|size| fits(size) && size.0 > 0);
    largest.unwrap_or(footprints.len().saturating_sub(1))
}
