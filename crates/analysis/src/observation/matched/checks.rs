//! Checks of the assumptions on which the comparison of calls with and without a switch is based.

use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde::Serialize;

use super::arms::{Anchors, chance, compare, mixed};
use super::blocks::Blocks;
use super::calls::{Away, Calls};
use super::effect::{Effect, Observed, Positions};
use super::{FEWEST, PART};
use crate::statistics::Interval;

/// Largest accepted cost of short waits, in nanoseconds. A larger cost is accepted if it is less
/// than half of the cost of all waits.
const INTERCEPT_NS: f64 = 2_000.0;
const INTERCEPT_PART: f64 = 0.5;
/// Number of checks with random labels.
const DRAWS: u64 = 20;
/// Largest number of checks with random labels whose intervals may exclude 0. Of 20 intervals at 90
/// %, more than 5 exclude 0 with a probability of 1 in 90.
const MOST_OUTSIDE: usize = 5;
/// Expected number of calls in each check with random labels.
const LABELLED: f64 = 20_000.0;
const HALF_US: u64 = 50_000;

/// A check of an assumption, and its outcome.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct Check {
    /// Name of the checked assumption.
    pub name: CheckName,
    /// Whether the assumption holds, as far as the check shows.
    pub outcome: Outcome,
    /// Effect that the check found, in nanoseconds. For random labels, the number of intervals that
    /// exclude 0. Null if the check was not possible.
    pub found: Option<Interval>,
}

/// Checks of the assumptions of a comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq, JsonSchema, Serialize, strum::Display)]
#[serde(rename_all = "kebab-case")]
pub enum CheckName {
    /// The user code before calls with a wait takes as long as before calls without.
    #[strum(serialize = "interval before")]
    IntervalBefore,
    /// The user code after the previous call that could have waited takes as long before calls with
    /// a wait as before calls without.
    #[strum(serialize = "work before")]
    WorkBefore,
    /// Waits during which other tasks hardly ran cost nothing.
    #[strum(serialize = "intercept")]
    Intercept,
    /// Calls without a wait do not differ among themselves, if half of them get a random label.
    #[strum(serialize = "random labels")]
    RandomLabels,
    /// Calls without a wait do not differ among themselves by odd and even times.
    #[strum(serialize = "time")]
    Time,
}

/// Outcome of the check of an assumption.
#[derive(Clone, Copy, Debug, PartialEq, Eq, JsonSchema, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    /// The checked assumption holds.
    Passed,
    /// The assumption does not hold: an effect was found.
    Failed,
    /// There are too few data for the check, or they vary too much.
    NotMade,
}

/// Runs all checks except the one of short waits. `sum` is the estimated cost, to which effects are
/// compared.
pub(super) fn run_checks(calls: &Calls<'_>, arms: &Anchors, sum: Interval) -> Vec<Check> {
    let check = |name, effect: Option<Effect>| {
        Check::new(name, effect.map(|effect| effect.ns), |found| {
            judge(found, sum)
        })
    };
    vec![
        check(CheckName::IntervalBefore, interval_before(calls, arms)),
        check(CheckName::WorkBefore, work_before(calls, arms)),
        random_labels(calls, arms),
        check(
            CheckName::Time,
            compare(calls, &sort_by_time(calls, arms), false),
        ),
    ]
}

/// Returns whether an effect that should be 0 is small compared with the estimated cost `sum`. An
/// interval that is wider than the upper end of the cost shows nothing. In 17 runs of 8 s the
/// widest was 0.4 times as wide as the cost; in a run with more work after waits, 1.3 times.
fn judge(found: Interval, sum: Interval) -> Outcome {
    let is_small = found.estimate.abs() <= PART * sum.estimate.abs();
    if !is_small && !found.contains(0.0) {
        Outcome::Failed
    } else if sum.low > 0.0 && found.high - found.low > sum.high {
        Outcome::NotMade
    } else {
        Outcome::Passed
    }
}

/// Checks that short waits cost nothing, given their comparison with calls without a wait.
pub(super) fn intercept(found: Option<Effect>, sum: f64) -> Check {
    let found = found.filter(|found| found.treated >= FEWEST);
    let judge = |found: Interval| {
        if found.low > INTERCEPT_NS && found.estimate > INTERCEPT_PART * sum {
            Outcome::Failed
        } else {
            Outcome::Passed
        }
    };
    Check::new(CheckName::Intercept, found.map(|found| found.ns), judge)
}

impl Check {
    fn new(name: CheckName, found: Option<Interval>, judge: impl Fn(Interval) -> Outcome) -> Check {
        Check {
            name,
            outcome: found.map_or(Outcome::NotMade, judge),
            found,
        }
    }
}

/// Compares the work before calls that waited and before calls that did not; `None` if too few
/// calls can be compared. A wait cannot change the work before it.
fn placebo(observed: &[Observed], blocks: &Blocks) -> Option<Effect> {
    let treated = observed.iter().filter(|it| it.is_treated).count();
    if treated == 0 {
        return None;
    }
    let mut positions = Positions::new(treated, blocks);
    let covered = positions.add(observed, treated, true);
    (covered >= FEWEST).then(|| positions.effect()).flatten()
}

fn interval_before(calls: &Calls<'_>, arms: &Anchors) -> Option<Effect> {
    const LONG_AGO: u32 = 8;
    let blocks = Blocks::new(arms.all.iter().map(|(at, _)| calls.get(*at)));
    let observed = arms.all.iter().filter_map(|&(at, is_treated)| {
        let before = calls.preceding(at)?;
        let (call, earlier) = (calls.get(before), calls.get(calls.preceding(before)?));
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

/// Compares, between the arms, the user code after the thread's previous call that could have
/// waited. A call like the controls (with or without a wait) is a control even soon after a switch,
/// when [`Anchors`] has none, because the compared code ran before the call.
fn work_before(calls: &Calls<'_>, arms: &Anchors) -> Option<Effect> {
    let treated: BTreeSet<usize> = arms.treated().collect();
    let has_controls_that_blocked = arms.controls().any(|at| calls.waited(at).is_some());
    let blocks = Blocks::new((0..calls.len()).map(|at| calls.get(at)));
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
        let is_control = match call.in_call {
            Away::Never => !has_controls_that_blocked,
            Away::Waited(_) => has_controls_that_blocked,
            Away::Preempted(_) => false,
        };
        if !is_control && !treated.contains(&at) {
            continue;
        }
        let ran = match before.in_call {
            Away::Never => 0,
            // Each class covers a factor of 4 in time.
            Away::Waited(others) | Away::Preempted(others) => 1 + others.max(1).ilog2() / 2,
        };
        observed.push(Observed {
            key: mixed(mixed(u64::from(before.role), before.site), ran),
            is_treated: treated.contains(&at),
            block: blocks.number(call),
            user_ns: f64::from(before.user_ns),
            call_ns: 0.0,
        });
    }
    placebo(&observed, &blocks)
}

fn random_labels(calls: &Calls<'_>, arms: &Anchors) -> Check {
    let name = CheckName::RandomLabels;
    let all = arms.controls().count();
    let is_drawn = |at: &usize| chance(*at as u64) * (all as f64) < LABELLED;
    let controls: Vec<usize> = arms.controls().filter(is_drawn).collect();
    let drawn = |draw: u64| {
        let label = |at: &usize| (*at, chance((draw << 40) + *at as u64) < 0.5);
        let anchors = Anchors::of(controls.iter().map(label).collect());
        compare(calls, &anchors, true).map(|effect| effect.ns)
    };
    let found: Option<Vec<Interval>> = (1..=DRAWS).map(drawn).collect();
    let outside = found.map(|found| found.iter().filter(|it| !it.contains(0.0)).count());
    let count = outside.map(|outside| Interval::exact(outside as f64));
    Check::new(name, count, |count| {
        if count.estimate as usize <= MOST_OUTSIDE {
            Outcome::Passed
        } else {
            Outcome::Failed
        }
    })
}

fn sort_by_time(calls: &Calls<'_>, arms: &Anchors) -> Anchors {
    let label = |at: usize| (at, (calls.get(at).at_us / HALF_US) % 2 == 1);
    Anchors::of(arms.controls().map(label).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_check_passes_only_if_it_could_have_found_an_effect() {
        let interval =
            |estimate: f64, half: f64| Interval::new(estimate, estimate - half, estimate + half);
        let cost = interval(19_332.0, 6_121.0);
        let outcome = |estimate, half| judge(interval(estimate, half), cost);
        assert_eq!(outcome(-12.0, 67.0), Outcome::Passed);
        assert_eq!(outcome(900.0, 300.0), Outcome::Passed);
        assert_eq!(outcome(-5_395.0, 888.0), Outcome::Failed);
        assert_eq!(outcome(-8_391.0, 16_691.0), Outcome::NotMade);
        // Without a cost there is nothing that the work could explain.
        let nothing = judge(interval(10.0, 90.0), interval(20.0, 50.0));
        assert_eq!(nothing, Outcome::Passed);
    }
}
