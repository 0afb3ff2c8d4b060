//! What cold caches cost the observed by itself: what follows calls that switched, compared with what follows the same calls when they did
//! not (docs/method/matched-intervals.md, whose rules these are).

mod arms;
mod calls;
mod checks;
mod effect;
#[cfg(test)]
mod tests;

use schemars::JsonSchema;
use serde::Serialize;
use switchcost_record::observation::TracedCalls;

pub use checks::{Check, CheckName, Outcome};
pub use effect::Effect;

use arms::{Anchors, compare, only};
use calls::Calls;

/// A wait in which others ran for at most so long is short.
const SHORT_NS: u32 = 30_000;
/// Fewer treated than this are no estimate.
const FEWEST: usize = 100;
/// Less than this of the switches is not all of them.
const LEAST_COVERED: f64 = 0.5;
/// Ends of the ranges of how long others ran, in nanoseconds.
const RANGES: [u32; 5] = [3_000, 30_000, 150_000, 1_000_000, u32::MAX];
/// Calls by which waits are shown.
const MOST_CALLS: usize = 5;

/// What traced calls say about cold caches.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct MatchedIntervals {
    /// Calls that were compared.
    pub calls: usize,
    /// Waits among them.
    pub waits: usize,
    /// Calls and times in user code in which the thread was preempted.
    pub preemptions: usize,
    /// Time in which calls were traced, in seconds.
    pub seconds: f64,
    /// Calls that found no room.
    pub lost: u64,
    /// Calls that blocked, compared with those that did not; none if there are too few of either.
    pub all_waits: Option<Effect>,
    /// Long waits (others ran for more than 30 us), compared with short ones of the same call: a lower end.
    pub dose: Option<Effect>,
    /// Long preemptions in user code, compared with short ones: a lower end.
    pub long_preemptions: Option<Effect>,
    /// All waits, by how long others ran.
    pub by_others: Vec<EffectOfRange>,
    /// All waits, by the call in which the thread waited, the most frequent first.
    pub by_call: Vec<EffectOfCall>,
    /// The checks.
    pub checks: Vec<Check>,
    /// Share of the switches that were compared.
    pub covered: f64,
    /// What a switch costs in cold caches on average, in nanoseconds; none if that is not known.
    pub cold_ns: Option<Interval>,
    /// Why it is not known; null where it is.
    pub unknown_because: Option<UnknownBecause>,
}

/// A number and its interval at 90 %.
#[derive(Clone, Copy, Debug, PartialEq, JsonSchema, Serialize)]
pub struct Interval {
    /// The number.
    pub estimate: f64,
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
}

impl Interval {
    fn holds(self, value: f64) -> bool {
        (self.low..=self.high).contains(&value)
    }
}

/// What waits cost in which others ran for some time.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct EffectOfRange {
    /// They ran for longer than this.
    pub from_ns: u32,
    /// They ran for at most this; null if for any longer time.
    pub to_ns: Option<u32>,
    /// The cost.
    pub effect: Effect,
}

/// What waits in a system call cost.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct EffectOfCall {
    /// The system call.
    pub call: String,
    /// The cost.
    pub effect: Effect,
}

/// Why it is not known what cold caches cost.
#[derive(Clone, Copy, Debug, PartialEq, Eq, JsonSchema, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum UnknownBecause {
    /// There were too few waits, or too few calls without one.
    TooFew,
    /// Fewer than half of the switches have a match.
    NotCovered,
    /// A check failed.
    CheckFailed,
    /// The interval is wider than the number to each side.
    TooWide,
}

/// Compares what was traced.
pub(super) fn find(traced: &TracedCalls) -> MatchedIntervals {
    let calls = Calls::of(traced);
    let waits = Anchors::waits(&calls);
    let compared = |anchors: &Anchors| compare(&calls, anchors, true);
    let all_waits = compared(&waits);
    let long_preemptions = compared(&Anchors::long_preemptions(&calls));
    let checks = checks::all(&calls, &waits, all_waits.as_ref());
    let (waits_count, preemptions) = (calls.waits(), calls.preemptions());
    let known = |effect: &Option<Effect>| effect.as_ref().map_or(0, |effect| effect.treated);
    let compared_switches = known(&all_waits) + known(&long_preemptions);
    let covered = compared_switches as f64 / (waits_count + preemptions).max(1) as f64;
    let mut found = MatchedIntervals {
        calls: calls.len(),
        waits: waits_count,
        preemptions,
        seconds: traced
            .slices
            .iter()
            .map(|slice| slice.length_ns.0 as f64 / 1e9)
            .sum(),
        lost: traced.lost,
        dose: compared(&Anchors::dose(&calls)),
        by_others: by_others(&calls, &waits),
        by_call: by_call(&calls, &waits),
        all_waits,
        long_preemptions,
        checks,
        covered,
        cold_ns: None,
        unknown_because: None,
    };
    match found.judge() {
        Ok(cold) => found.cold_ns = Some(cold),
        Err(why) => found.unknown_because = Some(why),
    }
    found
}

impl MatchedIntervals {
    /// What a switch costs on average: waits and preemptions by their numbers, whose errors are independent.
    fn judge(&self) -> Result<Interval, UnknownBecause> {
        let waits = self.all_waits.as_ref().filter(|it| it.treated >= FEWEST);
        let waits = waits.ok_or(UnknownBecause::TooFew)?;
        if self.covered < LEAST_COVERED {
            return Err(UnknownBecause::NotCovered);
        }
        if self
            .checks
            .iter()
            .any(|check| check.outcome != Outcome::Passed)
        {
            return Err(UnknownBecause::CheckFailed);
        }
        let parts = [
            (Some(waits), self.waits),
            (
                self.long_preemptions.as_ref(),
                self.long_preemptions_count(),
            ),
        ];
        let all = (self.waits + self.preemptions).max(1) as f64;
        let (mut estimate, mut low, mut high) = (0.0, 0.0, 0.0);
        for (effect, count) in parts {
            let Some(effect) = effect.filter(|effect| effect.treated >= FEWEST) else {
                continue;
            };
            let (share, ns) = (count as f64 / all, effect.ns);
            estimate += share * ns.estimate;
            low += (share * (ns.estimate - ns.low)).powi(2);
            high += (share * (ns.high - ns.estimate)).powi(2);
        }
        let (low, high) = (low.sqrt(), high.sqrt());
        let is_zero = estimate - low <= 0.0;
        if !is_zero && low.max(high) > estimate {
            return Err(UnknownBecause::TooWide);
        }
        Ok(Interval {
            estimate,
            low: estimate - low,
            high: estimate + high,
        })
    }

    fn long_preemptions_count(&self) -> usize {
        self.long_preemptions
            .as_ref()
            .map_or(0, |effect| effect.anchors)
    }
}

fn by_others(calls: &Calls<'_>, waits: &Anchors) -> Vec<EffectOfRange> {
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

fn by_call(calls: &Calls<'_>, waits: &Anchors) -> Vec<EffectOfCall> {
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
