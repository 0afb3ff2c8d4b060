//! Computes the flags of a case: remarks on its costs.

use switchcost_record::{Band, Case, Plan, Refusal};

use crate::measurement::deciding::hands_over_across_cpus;
use crate::measurement::findings::{CaseFinding, Flag, FlagName, Source};
use crate::measurement::judged::Judged;
use crate::measurement::reload::unsettled_flag;
use crate::measurement::stop::precision;
use crate::measurement::verdict::{LEFT_OUT_USUAL, disturbance, other_tasks};
use crate::statistics::Estimate;

/// Flags that make a cost suspect. All other flags only qualify a cost.
const SUSPICIOUS: [FlagName; 4] = [
    FlagName::PartlyDisturbed,
    FlagName::Negative,
    FlagName::OutsideSanityBand,
    FlagName::AboveReloadBound,
];

/// Largest usual share of involuntary switches without real-time priority. The timer alone causes
/// fewer.
const INVOLUNTARY_USUAL: f64 = 0.05;

/// Largest difference between the means with and without trimming, as a share, without a flag.
const HEAVY_TAIL: f64 = 0.05;

/// Largest share of rounds on a shared core that is negligible, because these rounds change no cost
/// by more than its interval.
const SHARED_USUAL: f64 = 0.05;

pub(crate) fn are_suspicious(flags: &[Flag]) -> bool {
    flags.iter().any(|flag| SUSPICIOUS.contains(&flag.name))
}

impl CaseFinding {
    /// Returns the names of the flags that make the cost of the switch or hand-off itself suspect,
    /// not only that of its working set.
    pub fn doubts_of_switch(&self) -> Vec<&'static str> {
        let cost = self.direct_ns.as_ref().or(self.handoff_ns.as_ref());
        let is_of_it = |flag: &&Flag| match flag.name {
            FlagName::PartlyDisturbed | FlagName::OutsideSanityBand => true,
            FlagName::Negative => cost.is_some_and(|cost| cost.high < 0.0),
            _ => false,
        };
        self.flags
            .iter()
            .filter(is_of_it)
            .map(|flag| flag.name.into())
            .collect()
    }
}

/// Returns all flags of a case that has costs.
pub(crate) fn flags(
    found: &CaseFinding,
    judged: &Judged<'_>,
    plan: &Plan,
    refusals: &[&Refusal],
) -> Vec<Flag> {
    let mut flags = Vec::new();
    flags.extend(partly_disturbed(judged));
    flags.extend(shared_cpu_flag(judged));
    flags.extend(refused(refusals));
    flags.extend(about_zero(found));
    flags.extend(outside_sanity_band(found));
    flags.extend(above_reload_bound(found));
    flags.extend(wide_interval(found, plan));
    flags.extend(shared_core(found, judged));
    flags.extend(heavy_tail(found).filter(|_| !judged.is_beside_others()));
    flags.extend(found.reload.as_ref().and_then(unsettled_flag));
    flags.extend(across_cpus(&found.case));
    flags.extend(missing_calls_flag(&found.case));
    flags.extend(involuntary(found, judged));
    flags
}

fn partly_disturbed(judged: &Judged<'_>) -> Option<Flag> {
    let is_many = judged.excluded_share() > LEFT_OUT_USUAL;
    is_many.then(|| Flag {
        name: FlagName::PartlyDisturbed,
        detail: format!("{}. The rest was used", disturbance(judged)),
    })
}

/// Returns the flag that other tasks ran on the CPU; `None` under a real-time policy, or if other
/// tasks ran for a negligible share of the time. Their time slices are left out of the cost, but
/// not their effect on caches and run queue.
fn shared_cpu_flag(judged: &Judged<'_>) -> Option<Flag> {
    let (whose, why) = judged.is_beside_others().then(|| other_tasks(judged))?;
    let detail = format!(
        "{whose}: the cost is that of the hand-offs in between, and includes the effect of the other tasks. For the cost alone: {why}"
    );
    Some(Flag {
        name: FlagName::BesideOthers,
        detail,
    })
}

/// Returns the flag that repetitions could not be run, with the reason for the last one; `None` if
/// `refusals` is empty.
pub(crate) fn refused(refusals: &[&Refusal]) -> Option<Flag> {
    let last = refusals.last()?;
    let detail = format!(
        "{} repetitions could not be run; the last: {}",
        refusals.len(),
        last.why
    );
    Some(Flag {
        name: FlagName::RefusedRepetitions,
        detail,
    })
}

/// Returns the costs of a case by name. The cost of a hand-off is `None` if that of a switch is
/// known.
fn costs(found: &CaseFinding) -> [(&'static str, Option<&Estimate>); 4] {
    let handoff = found
        .handoff_ns
        .as_ref()
        .filter(|_| found.direct_ns.is_none());
    let total = if found.case.mechanism.hands_over() {
        "total cost"
    } else {
        "concurrent walk minus walk alone"
    };
    [
        ("direct cost", found.direct_ns.as_ref()),
        (total, found.total_ns.as_ref()),
        ("indirect cost", found.indirect_ns.as_ref()),
        ("hand-off", handoff),
    ]
}

fn about_zero(found: &CaseFinding) -> impl Iterator<Item = Flag> {
    costs(found).into_iter().filter_map(|(name, cost)| {
        let cost = cost?;
        let interval = interval(cost);
        if !cost.is_distinguishable_from_zero() {
            let detail = format!("{name}: not distinguishable from 0 ({interval}); more time gives a narrower interval");
            return Some(Flag { name: FlagName::NotDistinguishableFrom0, detail });
        }
        (cost.high < 0.0).then(|| Flag {
            name: FlagName::Negative,
            detail: format!(
                "{name}: below 0 ({interval}), which is impossible for a cost: the baseline ran slower than the switching arm, \
                 perhaps because its memory no longer fits a cache, or its pages are placed worse"
            ),
        })
    })
}

fn outside_sanity_band(found: &CaseFinding) -> Option<Flag> {
    let Band { low, high, source } = found.sanity_band_ns?;
    let cost = found.direct_ns.as_ref().or(found.handoff_ns.as_ref())?;
    let is_outside = cost.high < low || cost.low > high;
    is_outside.then(|| Flag {
        name: FlagName::OutsideSanityBand,
        detail: format!(
            "{} is outside {} to {}, the plausible range from published values ({source}): find the reason before you trust it",
            time(cost.estimate),
            time(low),
            time(high)
        ),
    })
}

/// Returns the flag that the reload cost exceeds its bound; `None` if it does not. The bound is for
/// the task's own lines, not for those of the kernel.
fn above_reload_bound(found: &CaseFinding) -> Option<Flag> {
    let (indirect, bound) = (found.indirect_ns.as_ref()?, found.reload_bound_ns?);
    let cost = found.indirect_reload_ns.as_ref().unwrap_or(indirect);
    (cost.low > bound).then(|| Flag {
        name: FlagName::AboveReloadBound,
        detail: format!(
            "the reload of the data ({}) is above {}, the most that reloading every line of one working set can cost at the \
             measured latencies: it includes something other than lost lines",
            interval(cost),
            time(bound)
        ),
    })
}

fn wide_interval(found: &CaseFinding, plan: &Plan) -> Option<Flag> {
    let cost = found.deciding()?;
    let own = found
        .between_runs
        .as_ref()
        .filter(|runs| runs.source == Source::EarlierRecords);
    let reached = if own.is_some() {
        cost.relative_half_width()
    } else {
        cost.relative_half_width_within_run()
    };
    let wanted = precision(plan);
    // On a shared core a longer run would not narrow the interval.
    let is_wide =
        reached > wanted && cost.is_distinguishable_from_zero() && !found.is_of_shared_core();
    let remedy = match own {
        Some(runs) if runs.least_half_width >= wanted => format!(
            "{} earlier runs of this machine differ so much that at best +-{:.2} % can be reached",
            runs.earlier_runs,
            runs.least_half_width * 100.0
        ),
        _ => "give the run more time (--budget)".to_owned(),
    };
    // The reported interval also covers the spread between runs, so the reported interval may be
    // wider.
    let of = if own.is_some() {
        ""
    } else {
        " within this run"
    };
    is_wide.then(|| Flag {
        name: FlagName::WideInterval,
        detail: format!(
            "the interval{of} is +-{:.2} % wide after {} repetitions, but +-{:.2} % was requested; {remedy}",
            reached * 100.0,
            cost.n,
            wanted * 100.0
        ),
    })
}

/// Returns the flag that too few rounds were on an unshared core; `None` if there were enough.
fn shared_core(found: &CaseFinding, judged: &Judged<'_>) -> Option<Flag> {
    let shared = found
        .shared
        .as_ref()
        .filter(|shared| !shared.is_left_out && shared.share > SHARED_USUAL)?;
    let detail = format!(
        "in {:.0} % of the rounds this core was shared with another hardware thread, which leaves too few unshared rounds. So \
         the cost is from all rounds, and its interval extends down to the possible cost without sharing; {}run it again at a \
         quieter time",
        shared.share * 100.0,
        judged
            .remedies
            .advise_cpu("choose another CPU with --cpu, or ")
    );
    Some(Flag {
        name: FlagName::SharedCore,
        detail,
    })
}

/// Returns the flag that the mean of all rounds differs much from the cost, which is a trimmed
/// mean; `None` if the difference is small or within the cost's interval.
fn heavy_tail(found: &CaseFinding) -> Option<Flag> {
    let (mean, cost) = (found.cycles?.mean_ns, found.deciding()?);
    let apart = (mean - cost.estimate).abs();
    let is_heavy = found.case.mechanism.hands_over()
        && apart > HEAVY_TAIL * cost.estimate.abs()
        && apart > (cost.high - cost.low) / 2.0;
    is_heavy.then(|| Flag {
        name: FlagName::HeavyTail,
        detail: format!(
            "the mean of all rounds is {}, but {} without the tenth at either end: some switches take far longer than most, and \
             a program has these, too",
            time(mean),
            time(cost.estimate)
        ),
    })
}

fn across_cpus(case: &Case) -> Option<Flag> {
    let detail = "the hand-off includes the exit from idle and the inter-processor interrupt, so there is no cost of the switch \
        alone. The total and the indirect cost are per hand-off, too. All depend on the host's load, so comparisons assume a \
        wide spread between runs, or use that of earlier records";
    hands_over_across_cpus(case).then(|| Flag {
        name: FlagName::HandoffAcrossCpus,
        detail: detail.to_owned(),
    })
}

fn missing_calls_flag(case: &Case) -> Option<Flag> {
    let detail = format!(
        "no task waits in the baseline of {}, so the baseline makes no system calls: the calls are part of the direct cost",
        case.mechanism
    );
    (!case.mechanism.traits().has_same_system_calls).then_some(Flag {
        name: FlagName::BaselineWithoutSystemCalls,
        detail,
    })
}

/// Returns the flag that many switches were involuntary. Under the default policy, a woken task may
/// preempt the task that woke it. `None` under a real-time policy, and for a mechanism that never
/// blocks, whose switches are all involuntary.
fn involuntary(found: &CaseFinding, judged: &Judged<'_>) -> Option<Flag> {
    let remedy = if judged.remedies.allows_real_time {
        "; real-time priority prevents it"
    } else {
        ""
    };
    let share = found.involuntary_share?;
    let is_many = !found.case.policy.is_real_time()
        && found.case.mechanism.traits().is_blocking
        && share > INVOLUNTARY_USUAL;
    is_many.then(|| Flag {
        name: FlagName::InvoluntarySwitches,
        detail: format!(
            "{:.1} % of the switches were involuntary: the woken task preempts its waker{remedy}",
            share * 100.0
        ),
    })
}

fn interval(estimate: &Estimate) -> String {
    format!("{} to {}", time(estimate.low), time(estimate.high))
}

/// Formats a time for a sentence, with about three digits and a unit.
fn time(ns: f64) -> String {
    match ns.abs() {
        size if size >= 1e6 => format!("{:.2} ms", ns / 1e6),
        size if size >= 1e3 => format!("{:.2} us", ns / 1e3),
        size if size >= 10.0 => format!("{ns:.0} ns"),
        _ => format!("{ns:.2} ns"),
    }
}
