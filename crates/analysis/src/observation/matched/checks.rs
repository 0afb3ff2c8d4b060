//! What must hold if the comparison is to mean anything.

use schemars::JsonSchema;
use serde::Serialize;

use super::arms::{Anchors, Blocks, chance, compare, mixed, short_waits};
use super::calls::{Away, Calls};
use super::effect::{Effect, Observed, Positions};
use super::{FEWEST, Interval};

/// What is found where nothing should be, is no more than this part of the sum.
const PART: f64 = 0.1;
/// Short waits cost no more than this, or less than half of what all do.
const INTERCEPT_NS: f64 = 2_000.0;
const INTERCEPT_PART: f64 = 0.5;
/// Random labels are drawn so often, and so many intervals may not hold 0: of 20 at 90 % more do so in 1 of 90 cases.
const DRAWS: u64 = 20;
const MOST_OUTSIDE: usize = 5;
/// Calls that get random labels.
const LABELLED: f64 = 20_000.0;
const HALF_US: u64 = 50_000;

/// A check and its outcome.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct Check {
    /// Which.
    pub name: CheckName,
    /// How it ended.
    pub outcome: Outcome,
    /// What was found, in nanoseconds; of random labels the number of intervals that do not hold 0. Null if it could not be made.
    pub found: Option<Interval>,
}

/// The checks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, JsonSchema, Serialize, strum::Display)]
#[serde(rename_all = "kebab-case")]
pub enum CheckName {
    /// The interval before a call that blocks, compared with that before one that does not.
    #[strum(serialize = "interval before")]
    IntervalBefore,
    /// The same of the interval after the previous call that could have blocked.
    #[strum(serialize = "work before")]
    WorkBefore,
    /// Waits in which hardly anybody ran, compared with calls that did not block.
    #[strum(serialize = "intercept")]
    Intercept,
    /// Calls that did not block, with labels by chance.
    #[strum(serialize = "random labels")]
    RandomLabels,
    /// The same, by odd and even times.
    #[strum(serialize = "time")]
    Time,
}

/// How a check ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, JsonSchema, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    /// As it should.
    Passed,
    /// Something was found that must not be there.
    Failed,
    /// There was too little to compare.
    NotMade,
}

pub(super) fn all(calls: &Calls<'_>, waits: &Anchors, sum: Option<&Effect>) -> Vec<Check> {
    let Some(sum) = sum.map(|sum| sum.ns.estimate) else {
        return Vec::new();
    };
    let is_small = |found: Interval| found.holds(0.0) || found.estimate.abs() <= PART * sum.abs();
    let ns = |effect: Option<Effect>| effect.map(|effect| effect.ns);
    let intercept = short_waits(calls, waits);
    let intercept = (intercept.treated().count() >= FEWEST)
        .then(|| ns(compare(calls, &intercept, true)))
        .flatten();
    let is_near =
        |found: Interval| found.low <= INTERCEPT_NS || found.estimate <= INTERCEPT_PART * sum;
    vec![
        Check::new(
            CheckName::IntervalBefore,
            ns(interval_before(calls, waits)),
            is_small,
        ),
        Check::new(CheckName::WorkBefore, ns(work_before(calls)), is_small),
        Check::new(CheckName::Intercept, intercept, is_near),
        random_labels(calls, waits),
        Check::new(
            CheckName::Time,
            ns(compare(calls, &by_time(calls, waits), false)),
            is_small,
        ),
    ]
}

impl Check {
    fn new(name: CheckName, found: Option<Interval>, holds: impl Fn(Interval) -> bool) -> Check {
        let outcome = match found {
            None => Outcome::NotMade,
            Some(found) if holds(found) => Outcome::Passed,
            Some(_) => Outcome::Failed,
        };
        Check {
            name,
            outcome,
            found,
        }
    }
}

/// One comparison of what already was, which no wait can have changed.
fn placebo(observed: &[Observed], blocks: &Blocks) -> Option<Effect> {
    let treated = observed.iter().filter(|it| it.is_treated).count();
    if treated == 0 {
        return None;
    }
    let mut positions = Positions::new(treated, blocks.len());
    let covered = positions.add(observed, treated, true);
    (covered >= FEWEST).then(|| positions.effect()).flatten()
}

fn interval_before(calls: &Calls<'_>, waits: &Anchors) -> Option<Effect> {
    const LONG_AGO: u32 = 8;
    let all = waits.all.iter().map(|(at, _)| *at);
    let blocks = Blocks::of(calls, waits.treated(), all);
    let observed = waits.all.iter().filter_map(|&(at, is_treated)| {
        let before = calls.before(at)?;
        let (call, earlier) = (calls.get(before), calls.get(calls.before(before)?));
        let is_switched = call.in_call.is_any() || call.in_user.is_any();
        let path = mixed(mixed(u64::from(call.role), earlier.site), call.site);
        (!is_switched).then(|| Observed {
            key: mixed(path, call.since.min(LONG_AGO)),
            is_treated,
            block: blocks.number(calls.get(at)),
            user_ns: f64::from(call.user_ns),
            call_ns: 0.0,
        })
    });
    placebo(&observed.collect::<Vec<_>>(), &blocks)
}

fn work_before(calls: &Calls<'_>) -> Option<Effect> {
    let is_wait = |at: &usize| calls.waited(*at).is_some();
    let blocks = Blocks::of(calls, (0..calls.len()).filter(is_wait), 0..calls.len());
    let mut observed = Vec::new();
    let mut previous: Option<usize> = None;
    for at in 0..calls.len() {
        if !calls.can_block(at) {
            continue;
        }
        let call = calls.get(at);
        let before = previous.replace(at).map(|before| calls.get(before));
        let Some(before) = before.filter(|it| it.thread == call.thread && !it.in_user.is_any())
        else {
            continue;
        };
        if matches!(call.in_call, Away::Preempted(_)) {
            continue;
        }
        let ran = match before.in_call {
            Away::Never => 0,
            // A factor of 4 each.
            Away::Waited(others) | Away::Preempted(others) => 1 + (others + 1).ilog2() / 2,
        };
        observed.push(Observed {
            key: mixed(mixed(u64::from(before.role), before.site), ran),
            is_treated: matches!(call.in_call, Away::Waited(_)),
            block: blocks.number(call),
            user_ns: f64::from(before.user_ns),
            call_ns: 0.0,
        });
    }
    placebo(&observed, &blocks)
}

fn random_labels(calls: &Calls<'_>, waits: &Anchors) -> Check {
    let name = CheckName::RandomLabels;
    let all = waits.controls().count();
    let is_drawn = |at: &usize| chance(*at as u64) * (all as f64) < LABELLED;
    let controls: Vec<usize> = waits.controls().filter(is_drawn).collect();
    let drawn = |draw: u64| {
        let label = |at: &usize| (*at, chance((draw << 40) + *at as u64) < 0.5);
        let anchors = Anchors::of(controls.iter().map(label).collect());
        compare(calls, &anchors, true).map(|effect| effect.ns)
    };
    let found: Option<Vec<Interval>> = (1..=DRAWS).map(drawn).collect();
    let outside = found.map(|found| found.iter().filter(|it| !it.holds(0.0)).count());
    let count = outside.map(|outside| Interval {
        estimate: outside as f64,
        low: outside as f64,
        high: outside as f64,
    });
    Check::new(name, count, |count| count.estimate as usize <= MOST_OUTSIDE)
}

fn by_time(calls: &Calls<'_>, waits: &Anchors) -> Anchors {
    let label = |at: usize| (at, (calls.get(at).at_us / HALF_US) % 2 == 1);
    Anchors::of(waits.controls().map(label).collect())
}
