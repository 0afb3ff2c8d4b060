//! Estimates the cost of a preemption for a program, and the part due to cold caches, by footprint:
//! the number of bytes that the preempting task touches. The data are runs of two copies of a
//! program, or phases of a service.
//!
//! Each run of two copies gives one value: the additional core cycles of the preempted copy,
//! divided by the number of its preemptions. Core cycles are CPU time divided by the time that a
//! chain of multiplications took in the same run. Costs in nanoseconds are at the mean core clock
//! of all runs.

mod doubt;
mod power;
mod service;
#[cfg(test)]
pub(crate) mod tests;

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;
use switchcost_record::injection::{Header, Injection, Plan, Run, Timing, TwinRun, Way};
use switchcost_record::{Cache, CoreClock};
use switchcost_units::{Bytes, CpuId, Nanos};

use crate::measurement::serialised::or_null;
use crate::statistics::Estimate;
use crate::statistics::estimate::estimate;
use crate::statistics::order_statistics::median;

pub use doubt::{Doubt, LEAST_NS, doubt};
pub use power::{Power, half_width_ns, power};
pub use service::ServiceFindings;

const CONFIDENCE: f64 = 0.9;

/// A typical number of switches between competing tasks on one CPU, per second: one every 4 ms.
pub const USUAL_RATE: f64 = 250.0;

/// Least share of preemptions at which the program must have been on the CPU. With a smaller share,
/// the program was mostly waiting.
const LEAST_HIT: f64 = 0.95;

/// Findings from the record of an injection.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct Findings {
    /// Mean CPU time of a copy that is not preempted, in nanoseconds.
    pub cpu_ns: Option<f64>,
    /// Mean core clock in hertz, to which costs are scaled; `None` if the number of cycles of a
    /// multiplication on this core is unknown.
    pub core_hertz: Option<f64>,
    /// Number of preemptions per second at the first period: of the program's CPU time, or for a
    /// service of wall time.
    pub preemptions_per_second: f64,
    /// Footprint that reports show first: the largest that fits into the second-level cache, else
    /// the largest of all.
    pub headline_footprint_bytes: Option<Bytes>,
    /// Rate of preemptions per second for `share_at_usual_rate`.
    pub usual_rate_per_second: f64,
    /// Costs by footprint at the first period, in the plan's order.
    pub footprints: Vec<FootprintFinding>,
    /// Costs at each period. Empty if there is only one period.
    pub periods: Vec<PeriodFinding>,
    /// Cost of a move to another CPU or back; `None` if copies were not moved.
    pub moved: Option<MovedFinding>,
    /// Findings for a service, of which only the cost of cold caches is known; `None` for copies of
    /// a program.
    #[serde(skip)]
    pub service: Option<ServiceFindings>,
}

/// Largest difference between the costs at two periods, as a share of the cost, that is regarded as
/// no difference.
const SMALL: f64 = 0.25;

impl Findings {
    /// Whether the total cost is proportional to the number of preemptions: the difference `more`
    /// between the costs at another period and at the first is small.
    pub fn is_in_proportion(&self, more: &Estimate) -> bool {
        let cost = self.first().and_then(FootprintFinding::lost);
        cost.is_some_and(|cost| more.low.abs().max(more.high.abs()) <= SMALL * cost.estimate)
    }

    /// Returns the finding for the footprint that reports show first, at the first period.
    pub fn first(&self) -> Option<&FootprintFinding> {
        self.headline_of(&self.footprints)
    }

    /// Returns the finding for preemptions that touch no memory, at the first period.
    pub fn direct(&self) -> Option<&FootprintFinding> {
        self.footprints.first()
    }

    fn headline_of<'a>(&self, footprints: &'a [FootprintFinding]) -> Option<&'a FootprintFinding> {
        footprints
            .iter()
            .find(|found| Some(found.footprint_bytes) == self.headline_footprint_bytes)
    }
}

/// Costs of a preemption at one period.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
#[schemars(rename = "Period")]
pub struct PeriodFinding {
    /// Time between two preemptions in nanoseconds.
    pub period_ns: Nanos,
    /// Number of preemptions per second: of the program's CPU time, or for a service of wall time.
    pub preemptions_per_second: f64,
    /// Costs by footprint, in the plan's order.
    pub footprints: Vec<FootprintFinding>,
    /// Cost of cold caches at this period minus that at the first period, for the footprint that
    /// reports show first. For a footprint of 0, the difference of the whole cost. `None` for the
    /// first period.
    #[serde(serialize_with = "or_null")]
    #[schemars(with = "Option<Estimate>")]
    pub more_than_first_ns: Option<Result<Estimate, String>>,
}

impl PeriodFinding {
    /// Returns the finding at this period for the footprint that reports show first.
    pub fn headline<'a>(&'a self, findings: &Findings) -> Option<&'a FootprintFinding> {
        findings.headline_of(&self.footprints)
    }
}

/// Cost of a preemption by a task that touches a footprint.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
#[schemars(rename = "Footprint")]
pub struct FootprintFinding {
    /// Number of bytes that the preempting task touches.
    pub footprint_bytes: Bytes,
    /// Number of runs, or of groups of phases, with this footprint.
    pub runs: usize,
    /// Number of preemptions in all runs with this footprint.
    pub preemptions: u64,
    /// Mean time for which the preempting task had the CPU, in nanoseconds.
    pub away_ns: Option<f64>,
    /// Share of preemptions at which the program was on the CPU, from the kernel's count of
    /// involuntary switches. For a service, the share of preemptions after which the service ran
    /// before the next one.
    pub hit: Option<f64>,
    /// Whole cost of a preemption in nanoseconds; `None` if not measured.
    pub cost_ns: Option<Estimate>,
    /// Part of the cost in nanoseconds that is due to cold caches, of the program and of the
    /// kernel's switch path: the difference from a preemption that touches no memory, in the same
    /// block of runs. `None` for a command and a footprint of 0. For a service and a footprint of 0,
    /// the difference tests the instrument, and should be 0. The error is the reason why the part
    /// was not measured.
    #[serde(serialize_with = "or_null")]
    #[schemars(with = "Option<Estimate>")]
    pub reload_ns: Option<Result<Estimate, String>>,
    /// Whole cost at the usual rate of preemptions, as a share of the program's time; `None` if not
    /// measured.
    pub share_at_usual_rate: Option<f64>,
    /// Reason why the cost was not measured; `None` if it was.
    pub why_not_measured: Option<String>,
}

impl FootprintFinding {
    /// Whether the whole cost of a preemption, or its part due to cold caches, was measured.
    pub fn is_measured(&self) -> bool {
        self.cost_ns.is_some() || self.reload().is_some()
    }

    /// Returns the part of the cost due to cold caches; `None` if not measured.
    pub fn reload(&self) -> Option<&Estimate> {
        self.reload_ns.as_ref()?.as_ref().ok()
    }

    /// Returns the part of the cost due to cold caches, or the whole cost if that part is not
    /// defined (for a command and a footprint of 0).
    fn lost(&self) -> Option<&Estimate> {
        if self.reload_ns.is_some() {
            self.reload()
        } else {
            self.cost_ns.as_ref()
        }
    }
}

/// Cost of a preemption that touches no memory, and that moves the program to another CPU or back.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
#[schemars(rename = "Moved")]
pub struct MovedFinding {
    /// CPU to which the program was moved.
    pub cpu: CpuId,
    /// Number of moves in all runs together.
    pub moves: u64,
    /// Cost of a preemption with a move, in nanoseconds.
    pub cost_ns: Option<Estimate>,
    /// Cost of a preemption with a move minus that of a preemption without, in nanoseconds.
    pub more_than_staying_ns: Option<Estimate>,
    /// All findings on preemptions that moved the program to another CPU or back.
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

/// Returns the findings from the record of an injection.
pub fn analyse(record: &Injection) -> Findings {
    match &record.header.service {
        Some(service) => service::analyse(record, service),
        None => twin_findings(record),
    }
}

fn twin_findings(record: &Injection) -> Findings {
    let (plan, runs) = (&record.header.plan, &record.runs);
    let twins = runs.iter().flat_map(|run| &run.twins);
    let chain_ns = mean_chain_ns(twins.map(|twin| (twin.cpu_ns, twin.chain_ps)));
    let in_place = |timing, footprint| Way {
        timing,
        footprint,
        is_moved: false,
    };
    let moved = Way {
        is_moved: true,
        ..in_place(0, 0)
    };
    let moved = |cpu| MovedFinding::new(cpu, finding(plan, runs, moved, chain_ns));
    let undisturbed = runs.iter().map(|run| run.undisturbed());
    Findings {
        cpu_ns: mean(undisturbed.map(|twin| twin.cpu_ns.0 as f64)),
        moved: plan.moves_to.map(moved),
        ..findings(
            &record.header,
            chain_ns,
            |timing, footprint| finding(plan, runs, in_place(timing, footprint), chain_ns),
            |timing, footprint| reloads(runs, in_place(timing, footprint), chain_ns),
            |timing| 1e9 / plan.timings()[timing].period_ns.0.max(1) as f64,
        )
    }
}

/// Returns the findings that both an injection into two copies of a program and one into a service
/// have. `finding` and `reloads` have the indices of the timing and the footprint as arguments:
/// `finding` returns one finding, and `reloads` the cost of cold caches in each block of runs.
/// `per_second` returns the number of preemptions per second at a timing.
fn findings(
    header: &Header,
    chain_ns: Option<f64>,
    finding: impl Fn(usize, usize) -> FootprintFinding,
    reloads: impl Fn(usize, usize) -> BTreeMap<u32, f64>,
    per_second: impl Fn(usize) -> f64,
) -> Findings {
    let plan = &header.plan;
    let headline = headline(&plan.footprints_bytes, &header.host.caches);
    let footprints = |timing| -> Vec<FootprintFinding> {
        (0..plan.footprints_bytes.len())
            .map(|footprint| finding(timing, footprint))
            .collect()
    };
    let more = |timing| paired(&reloads(timing, headline), &reloads(0, headline));
    let period = |(timing, of): (usize, &Timing)| PeriodFinding {
        period_ns: of.period_ns,
        preemptions_per_second: per_second(timing),
        footprints: footprints(timing),
        more_than_first_ns: (timing > 0).then(|| judged(more(timing).into_values())),
    };
    let timings = plan.timings();
    let several = timings.iter().enumerate().filter(|_| timings.len() > 1);
    Findings {
        cpu_ns: None,
        core_hertz: hertz(&header.core_clock, chain_ns),
        preemptions_per_second: per_second(0),
        headline_footprint_bytes: plan.footprints_bytes.get(headline).copied(),
        usual_rate_per_second: USUAL_RATE,
        footprints: footprints(0),
        periods: several.map(period).collect(),
        moved: None,
        service: None,
    }
}

fn hertz(clock: &CoreClock, chain_ns: Option<f64>) -> Option<f64> {
    Some(clock.chain_cycles()? / chain_ns? * 1e9)
}

/// Returns the mean time of a multiplication chain in nanoseconds, from the CPU time of each part
/// of a run and the chain's time in that part. The mean is harmonic and weighted by CPU time, so
/// that it gives the right total number of core cycles.
fn mean_chain_ns(parts: impl Iterator<Item = (Nanos, u64)>) -> Option<f64> {
    let (mut cpu_ns, mut all) = (0.0, 0.0);
    for (cpu, chain_ps) in parts {
        cpu_ns += cpu.0 as f64;
        all += chains(cpu, chain_ps).unwrap_or(0.0);
    }
    (all > 0.0).then_some(cpu_ns / all)
}

/// Returns CPU time in units of multiplication chains, each of which has the same number of core
/// cycles; `None` if `chain_ps` is 0.
fn chains(cpu_ns: Nanos, chain_ps: u64) -> Option<f64> {
    (chain_ps > 0).then(|| cpu_ns.0 as f64 * 1e3 / chain_ps as f64)
}

fn mean(values: impl Iterator<Item = f64>) -> Option<f64> {
    let (count, sum) = values.fold((0, 0.0), |(count, sum), value| (count + 1, sum + value));
    (count > 0).then(|| sum / f64::from(count))
}

/// Returns the cost of a preemption in this run, in nanoseconds at the core clock with which a
/// chain takes `chain_ns`. `None` if no preemption was made, or if a chain's time is unknown.
fn cost_ns(run: &Run, chain_ns: f64) -> Option<f64> {
    let chains = |twin: &TwinRun| chains(twin.cpu_ns, twin.chain_ps);
    let more = chains(run.preempted())? - chains(run.undisturbed())?;
    let preemptions = run.preempted().preemptions;
    (preemptions > 0).then(|| more * chain_ns / preemptions as f64)
}

/// Returns the share of preemptions at which the program was on the CPU: the median over runs of
/// the preempted copy's additional involuntary switches per preemption. Switches at the ends of
/// time slices are subtracted from both copies. The median is robust against other tasks that take
/// the CPU for a while.
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
    let preemptions: u64 = own.iter().map(|run| run.preempted().preemptions).sum();
    let each = |sum: f64| (preemptions > 0).then(|| sum / preemptions as f64);
    let hit = hit(&own).filter(|_| !plan.preempts_nobody);
    let costs = own.iter().filter_map(|run| cost_ns(run, chain_ns?));
    let cost = found_on_cpu(hit).and_then(|()| judged(costs));
    let reload = || judged(reloads(runs, way, chain_ns).into_values());
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
        reload_ns: (!is_direct(way)).then(|| found_on_cpu(hit).and_then(|()| reload())),
    }
}

/// Returns an error if the program was too often off the CPU at preemptions. A waiting program
/// cannot be preempted.
fn found_on_cpu(hit: Option<f64>) -> Result<(), String> {
    match hit {
        Some(hit) if hit < LEAST_HIT => Err(format!(
            "the program had the CPU at {:.0} % of the preemptions alone: it waits, and who waits is not preempted",
            hit.max(0.0) * 100.0
        )),
        _ => Ok(()),
    }
}

fn judged(values: impl Iterator<Item = f64>) -> Result<Estimate, String> {
    let values: Vec<f64> = values.collect();
    estimate(&values, CONFIDENCE).map_err(|few| few.to_string())
}

/// Whether preemptions of the kind `way` touch no memory, and do not move the program to another
/// CPU.
fn is_direct(way: Way) -> bool {
    way.footprint == 0 && !way.is_moved
}

/// Returns the cost of cold caches in each block of runs: the difference from a preemption that
/// touches no memory in the same block. Slow changes of the machine affect both. For preemptions
/// that touch no memory, returns the whole cost.
fn reloads(runs: &[Run], way: Way, chain_ns: Option<f64>) -> BTreeMap<u32, f64> {
    let costs = |way: Way| -> BTreeMap<u32, f64> {
        let own = runs.iter().filter(|run| run.way() == way);
        own.filter_map(|run| Some((run.block, cost_ns(run, chain_ns?)?)))
            .collect()
    };
    if is_direct(way) {
        return costs(way);
    }
    let direct = Way {
        footprint: 0,
        is_moved: false,
        ..way
    };
    paired(&costs(way), &costs(direct))
}

/// Returns the difference between two costs in each block of runs that has both.
fn paired(of: &BTreeMap<u32, f64>, base: &BTreeMap<u32, f64>) -> BTreeMap<u32, f64> {
    of.iter()
        .filter_map(|(block, cost)| Some((*block, cost - base.get(block)?)))
        .collect()
}

/// Returns the index of the footprint that reports show first: the largest that fits into the
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
