//! Estimates the cost of cold caches for an observed program from its own system calls. The code
//! after calls at which the thread switched is compared with the code after the same calls without
//! a switch. The rules are in docs/method/matched-intervals.md.

mod arms;
mod blocks;
mod calls;
mod checks;
mod effect;
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde::Serialize;
use switchcost_record::observation::{ThreadCalls, TracedCalls};

pub use checks::{Check, CheckName, Outcome};
pub use effect::Effect;

use super::Range;
use crate::statistics::Interval;
use arms::{Anchors, compare, only};
use calls::Calls;

/// Longest run time of other tasks in a short preemption, in nanoseconds.
const SHORT_NS: u32 = 30_000;
/// Least number of compared switches for an estimate.
const FEWEST: usize = 100;
/// Least share of the switches that must be compared for a result that applies to all switches.
const LEAST_COVERED: f64 = 0.5;
/// Largest effect that a check may find and still pass, as a share of the estimated cost.
const PART: f64 = 0.1;
/// Upper ends in nanoseconds of the ranges of time for which other tasks ran. Waits are divided by
/// these ranges.
const RANGES: [u32; 5] = [3_000, 30_000, 150_000, 1_000_000, u32::MAX];
/// Largest number of system calls for which the cost of waits is listed.
const MOST_CALLS: usize = 5;

/// Cost of cold caches for one program, estimated from its traced system calls.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct MatchedIntervals {
    /// Name of the program; untrusted text that must be escaped before it is shown.
    pub program: String,
    /// Number of traced system calls of the program.
    pub calls: usize,
    /// Number of traced calls in which the thread waited.
    pub waits: usize,
    /// Number of times that a thread was preempted, in a call or in user code.
    pub preemptions: usize,
    /// Longest run time of other tasks in a short wait, in nanoseconds.
    pub short_wait_ns: u32,
    /// Calls with a wait compared with calls without; null if there are too few of either.
    pub all_waits: Option<Effect>,
    /// Calls with a long wait compared with calls with a short one, which gives a lower end of the
    /// cost; null if there are too few.
    pub dose: Option<Effect>,
    /// Long preemptions in user code compared with short ones (other tasks ran for at most 30 us),
    /// which gives a lower end of the cost; null if there are too few.
    pub long_preemptions: Option<Effect>,
    /// Cost of waits, divided by the time for which other tasks ran meanwhile.
    pub by_others: Vec<EffectOfRange>,
    /// Cost of waits by the system call in which the thread waited, most frequent first.
    pub by_call: Vec<EffectOfCall>,
    /// Checks of the assumptions of the comparison.
    pub checks: Vec<Check>,
    /// Share of all switches that were compared.
    pub covered: f64,
    /// Cost of cold caches per wait, in nanoseconds; null if unknown.
    pub wait_ns: Option<Range>,
    /// Cost of cold caches per preemption, in nanoseconds; null if unknown. Too few preemptions may
    /// have been compared although the cost per wait is known.
    pub preemption_ns: Option<Range>,
    /// Reason why both costs are unknown; null if they are known.
    pub unknown_because: Option<UnknownBecause>,
}

/// Cost of the waits during which other tasks ran for a time within one range.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct EffectOfRange {
    /// Lower end of the range of time, in nanoseconds.
    pub from_ns: u32,
    /// Upper end of the range of time, in nanoseconds; null without an end.
    pub to_ns: Option<u32>,
    /// Cost of a wait during which other tasks ran for a time in this range.
    pub effect: Effect,
}

/// Cost of the waits in one system call, from calls with and without a wait.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct EffectOfCall {
    /// Name of the system call in which the thread waited.
    pub call: String,
    /// Cost of the waits in this system call.
    pub effect: Effect,
}

/// Reason why the cost of cold caches is unknown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, JsonSchema, Serialize, strum::Display)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum UnknownBecause {
    /// No system call of the program was traced.
    NotTraced,
    /// There are too few waits, or too few matching calls without a wait.
    TooFew,
    /// Less than half of the switches have matching calls without a switch.
    NotCovered,
    /// A check of the assumptions failed.
    CheckFailed,
    /// The program does less work after a wait than without one, so the comparison is not valid.
    LessWork,
}

/// Returns the comparison for each program. `program` returns the name of a thread's program, or
/// `None` if the thread was not observed.
pub(super) fn find<'a>(
    traced: &TracedCalls,
    program: impl Fn(&ThreadCalls) -> Option<&'a str>,
) -> Vec<MatchedIntervals> {
    let threads = traced.slices.iter().flat_map(|slice| &slice.threads);
    let programs: BTreeSet<&str> = threads.filter_map(&program).collect();
    let found = |name: &&str| {
        let calls = Calls::new(traced, |thread| program(thread) == Some(*name));
        MatchedIntervals::new((*name).to_owned(), &calls)
    };
    programs.iter().map(found).collect()
}

impl MatchedIntervals {
    fn new(program: String, calls: &Calls<'_>) -> MatchedIntervals {
        let waits = Anchors::waits(calls);
        let short = short_wait(calls, &waits);
        let dose = Anchors::dose(calls, short);
        let compared = |anchors: &Anchors| compare(calls, anchors, true);
        let mut found = MatchedIntervals {
            program,
            calls: calls.len(),
            waits: calls.waits(),
            preemptions: calls.preemptions(),
            short_wait_ns: short,
            all_waits: compared(&waits),
            dose: compared(&dose),
            long_preemptions: compared(&Anchors::long_preemptions(calls)),
            by_others: split_by_others(calls, &waits),
            by_call: split_by_call(calls, &waits),
            checks: Vec::new(),
            covered: 0.0,
            wait_ns: None,
            preemption_ns: None,
            unknown_because: None,
        };
        if let Some(sum) = found.sum().map(|sum| sum.ns) {
            let arms = if found.has_all_waits() { &waits } else { &dose };
            found.checks = checks::run_checks(calls, arms, sum);
            if found.has_all_waits() {
                let intercept = only(&waits, |at| calls.waited(at).is_some_and(|ns| ns <= short));
                let intercept = compared(&intercept).filter(|_| short <= SHORT_NS);
                found
                    .checks
                    .push(checks::intercept(intercept, sum.estimate));
            }
        }
        found.covered = found.compared() as f64 / (found.waits + found.preemptions).max(1) as f64;
        match found.judge() {
            Ok(wait) => {
                found.wait_ns = Some(wait);
                found.preemption_ns = found.preemption();
            }
            Err(why) => found.unknown_because = Some(why),
        }
        found
    }

    fn has_all_waits(&self) -> bool {
        is_enough(self.all_waits.as_ref())
    }

    /// Returns the comparison that gives the cost of a wait: of all waits, or else of long with
    /// short waits; `None` if neither has enough calls.
    fn sum(&self) -> Option<&Effect> {
        let all = self.all_waits.as_ref().filter(|_| self.has_all_waits());
        all.or(self.dose.as_ref().filter(|dose| is_enough(Some(dose))))
    }

    /// Returns the cost of cold caches per wait in nanoseconds, or the reason why it is unknown.
    fn judge(&self) -> Result<Range, UnknownBecause> {
        let sum = self.sum().ok_or(UnknownBecause::TooFew)?;
        if self.covered < LEAST_COVERED {
            return Err(UnknownBecause::NotCovered);
        }
        let passes =
            |check: &Check| check.outcome == Outcome::Passed || check.name == CheckName::Intercept;
        if !self.checks.iter().all(passes) {
            return Err(UnknownBecause::CheckFailed);
        }
        let intercept = self.check(CheckName::Intercept);
        let short = intercept.and_then(|check| check.found);
        let is_less = |ns: Interval| ns.high < 0.0 && -ns.estimate > PART * sum.ns.estimate.abs();
        if is_less(sum.ns) || short.is_some_and(is_less) {
            return Err(UnknownBecause::LessWork);
        }
        let at_least = self.dose.as_ref().map_or(0.0, |dose| {
            (dose.ns.low * dose.anchors as f64 / self.waits.max(1) as f64).max(0.0)
        });
        if !self.has_all_waits() {
            let range = Range {
                low: at_least,
                likely: None,
                high: f64::INFINITY,
            };
            // A lower bound of 0 shows nothing.
            let is_known = at_least > 0.0;
            return is_known.then_some(range).ok_or(UnknownBecause::TooFew);
        }
        let high = sum.ns.high.max(0.0);
        let is_narrow = sum.ns.low >= 0.0 && sum.ns.high <= 2.0 * sum.ns.estimate;
        let has_passed = intercept.is_some_and(|check| check.outcome == Outcome::Passed);
        Ok(match (has_passed, is_narrow) {
            (true, true) => Range {
                low: sum.ns.low,
                likely: Some(sum.ns.estimate),
                high,
            },
            (true, false) => Range {
                low: 0.0,
                likely: None,
                high,
            },
            (false, _) => Range {
                low: at_least.min(high),
                likely: None,
                high,
            },
        })
    }

    /// Returns the number of compared switches. If long waits (or preemptions) are compared with
    /// short ones, both sides count.
    fn compared(&self) -> usize {
        let both = |effect: &Effect| effect.treated + effect.controls;
        let waits = match self.sum() {
            Some(sum) if self.has_all_waits() => sum.treated,
            sum => sum.map_or(0, both),
        };
        waits + self.long_preemptions.as_ref().map_or(0, both)
    }

    fn check(&self, name: CheckName) -> Option<&Check> {
        self.checks.iter().find(|check| check.name == name)
    }

    /// Returns the mean cost of cold caches per preemption, in nanoseconds; `None` if too few long
    /// preemptions were compared. Short preemptions count as without cost.
    fn preemption(&self) -> Option<Range> {
        let long = self.long_preemptions.as_ref();
        let long = long.filter(|long| is_enough(Some(long)))?;
        let share = long.anchors as f64 / self.preemptions.max(1) as f64;
        Some(Range {
            low: share * long.ns.low.max(0.0),
            likely: Some(share * long.ns.estimate.max(0.0)),
            high: share * long.ns.high.max(0.0),
        })
    }
}

fn is_enough(effect: Option<&Effect>) -> bool {
    effect.is_some_and(|effect| effect.treated >= FEWEST)
}

/// Returns the longest time of a short wait in nanoseconds: the lowest limit below which there are
/// enough waits.
fn short_wait(calls: &Calls<'_>, waits: &Anchors) -> u32 {
    let others: Vec<u32> = waits.treated().filter_map(|at| calls.waited(at)).collect();
    let is_enough = |end: &u32| others.iter().filter(|others| *others <= end).count() >= FEWEST;
    let [ends @ .., last] = RANGES;
    ends.into_iter().find(is_enough).unwrap_or(last)
}

fn split_by_others(calls: &Calls<'_>, waits: &Anchors) -> Vec<EffectOfRange> {
    let mut found = Vec::new();
    let mut from = 0;
    for to in RANGES {
        let is_in = |at: usize| {
            let others = calls.waited(at).unwrap_or(0);
            others <= to && (others > from || from == 0)
        };
        if let Some(effect) = compare(calls, &only(waits, is_in), true) {
            found.push(EffectOfRange {
                from_ns: from,
                to_ns: (to < u32::MAX).then_some(to),
                effect,
            });
        }
        from = to;
    }
    found
}

fn split_by_call(calls: &Calls<'_>, waits: &Anchors) -> Vec<EffectOfCall> {
    let mut counts = std::collections::BTreeMap::<&str, usize>::new();
    for at in waits.treated() {
        *counts.entry(calls.name(at)).or_default() += 1;
    }
    let mut names: Vec<(&str, usize)> = counts.into_iter().collect();
    names.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    names.truncate(MOST_CALLS);
    let mut found = Vec::new();
    for (name, _) in names {
        let effect = compare(calls, &only(waits, |at| calls.name(at) == name), true);
        let call = name.to_owned();
        found.extend(effect.map(|effect| EffectOfCall { call, effect }));
    }
    found
}
