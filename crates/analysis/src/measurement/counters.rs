//! Computes the counter readings per hand-off, from batches that were run with hardware and kernel
//! counters.

use std::collections::{BTreeMap, BTreeSet};

use switchcost_record::{Arm, Case, Sample, SelfTest, SelfTestOutcome};

use crate::measurement::cleanliness::time_of_others;
use crate::measurement::findings::CounterFinding;
use crate::measurement::judged::Judged;
use crate::statistics::estimate::mean_and_sd;

/// Divisor of a batch's length for the largest time that may go to other tasks. Interrupts take
/// about a hundredth of the time, and an equal competitor takes half.
const OTHERS_SHARE: u64 = 10;

/// Returns the mean number of events per hand-off for each counter, in the switching loop and in
/// the baseline. If the case has a working set, both loops include the walks.
///
/// A counter that has not passed its known-answer test is left out. A batch during which other
/// tasks ran is also left out, because the counter of a CPU includes their events.
pub(crate) fn counters(judged: &Judged<'_>, self_tests: &[SelfTest]) -> Vec<CounterFinding> {
    let (baseline, switching) = match judged.case.working_set.is_empty() {
        true => (Arm::BaselineDirect, Arm::SwitchDirect),
        false => (Arm::BaselineTotal, Arm::SwitchTotal),
    };
    let (baseline, switching) = (rates(judged, baseline), rates(judged, switching));
    let names: BTreeSet<&str> = baseline
        .keys()
        .copied()
        .filter(|name| is_admitted(self_tests, name))
        .collect();
    names
        .into_iter()
        .filter_map(|name| {
            let (baseline, switching) = (baseline.get(name)?, switching.get(name)?);
            Some(CounterFinding {
                name: name.to_owned(),
                baseline: baseline.per_handoff(),
                switching: switching.per_handoff(),
                n: baseline.each.len() + switching.each.len(),
                difference_error: baseline
                    .error()
                    .zip(switching.error())
                    .map(|(a, b)| a.hypot(b)),
            })
        })
        .collect()
}

#[derive(Clone, Debug, Default)]
struct Rate {
    events: f64,
    handoffs: f64,
    /// Number of events per hand-off, for each batch.
    each: Vec<f64>,
}

impl Rate {
    fn per_handoff(&self) -> f64 {
        self.events / self.handoffs
    }

    /// Returns the standard error of the mean over batches; `None` with fewer than two batches.
    fn error(&self) -> Option<f64> {
        let (_, sd) = mean_and_sd(&self.each);
        (self.each.len() > 1).then(|| sd / (self.each.len() as f64).sqrt())
    }
}

fn rates<'a>(judged: &Judged<'a>, arm: Arm) -> BTreeMap<&'a str, Rate> {
    let mut rates: BTreeMap<&str, Rate> = BTreeMap::new();
    let of_arm = judged
        .instrumented
        .iter()
        .filter(|sample| sample.arm == arm && sample.handoffs > 0)
        .filter(|sample| !is_shared_with_others(sample, judged.case));
    for (sample, name, events) in of_arm.flat_map(|sample| readings(sample)) {
        let rate = rates.entry(name).or_default();
        rate.events += events;
        rate.handoffs += sample.handoffs as f64;
        rate.each.push(events / sample.handoffs as f64);
    }
    rates
}

/// Whether other tasks ran during a notable part of a batch. Stolen time counts as well, because
/// the two cannot be distinguished in a short batch.
fn is_shared_with_others(sample: &Sample, case: &Case) -> bool {
    let others = time_of_others(case, &sample.evidence).unwrap_or_default();
    others.0 > sample.evidence.wall_ns.0 / OTHERS_SHARE
}

fn readings(sample: &Sample) -> impl Iterator<Item = (&Sample, &str, f64)> {
    sample
        .counters
        .iter()
        .flatten()
        .map(move |(name, events)| (sample, name.as_str(), *events as f64))
}

/// Whether the counter `name` passed its known-answer test. A counter of user mode alone (`:u`)
/// passes if the counter of both modes does.
fn is_admitted(self_tests: &[SelfTest], name: &str) -> bool {
    let event = name.strip_suffix(":u").unwrap_or(name);
    self_tests
        .iter()
        .any(|test| test.instrument == event && test.outcome == SelfTestOutcome::Admitted)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{FakeCase, pipe};
    use switchcost_record::Evidence;
    use switchcost_units::{Nanos, TickRate};

    fn counted(arm: Arm, events: u64) -> Sample {
        let counters = Some(BTreeMap::from([
            ("cycles".to_owned(), events),
            ("instructions:u".to_owned(), 7),
        ]));
        Sample {
            counters,
            ..pipe().sample(arm)
        }
    }

    /// Returns the counters of a case in these samples.
    fn counted_in(
        case: &FakeCase,
        samples: &[Sample],
        self_tests: &[SelfTest],
    ) -> Vec<CounterFinding> {
        let case = case.case();
        let samples = samples.iter().collect();
        let judged = Judged::new(&case, TickRate::NANOSECONDS, samples, Vec::new());
        counters(&judged, self_tests)
    }

    fn found(case: FakeCase, self_tests: &[SelfTest]) -> Vec<CounterFinding> {
        let samples = [
            (Arm::BaselineDirect, 100),
            (Arm::SwitchDirect, 200),
            (Arm::BaselineTotal, 300),
            (Arm::SwitchTotal, 700),
        ]
        .map(|(arm, events)| counted(arm, events));
        counted_in(&case, &samples, self_tests)
    }

    #[test]
    fn events_are_counted_a_hand_off_in_the_arms_that_walk() {
        let cycles = |case| {
            let cycles = found(case, &[admitted()])
                .into_iter()
                .find(|counter| counter.name == "cycles")
                .expect("counted");
            (cycles.baseline, cycles.switching, cycles.n)
        };
        assert_eq!(cycles(pipe()), (1.0, 2.0, 2));
        assert_eq!(cycles(pipe().sized_kib(64)), (3.0, 7.0, 2));
    }

    #[test]
    fn a_batch_that_others_shared_is_left_out() {
        let sample = |arm, events, task_cpu_ns| Sample {
            evidence: Evidence {
                wall_ns: Nanos(1000),
                task_cpu_ns: Nanos(task_cpu_ns),
                ..Evidence::default()
            },
            ..counted(arm, events)
        };
        let samples = [
            sample(Arm::BaselineDirect, 100, 990),
            sample(Arm::SwitchDirect, 200, 950),
            sample(Arm::SwitchDirect, 9_000, 500),
        ];
        let found = counted_in(&pipe(), &samples, &[admitted()]);
        assert_eq!((found[0].switching, found[0].n), (2.0, 2));
    }

    /// The batches have 1 and 3 events per hand-off in the baseline, and 2 and 8 with switches:
    /// standard errors of 1 and 3.
    #[test]
    fn what_the_arms_differ_by_is_as_sure_as_their_batches_agree() {
        let samples = [
            (Arm::BaselineDirect, 100),
            (Arm::BaselineDirect, 300),
            (Arm::SwitchDirect, 200),
            (Arm::SwitchDirect, 800),
        ];
        let samples = samples.map(|(arm, events)| counted(arm, events));
        let found = counted_in(&pipe(), &samples, &[admitted()]);
        assert!(
            found[0]
                .difference_error
                .is_some_and(|error| (error - 10.0_f64.sqrt()).abs() < 1e-12),
            "{found:?}"
        );
        let one_each = self::found(pipe(), &[admitted()]);
        assert_eq!(one_each[0].difference_error, None);
    }

    fn admitted() -> SelfTest {
        test("cycles", SelfTestOutcome::Admitted)
    }

    fn test(event: &str, outcome: SelfTestOutcome) -> SelfTest {
        SelfTest {
            instrument: event.to_owned(),
            known_answer: "a chain of a known length".to_owned(),
            outcome,
        }
    }

    fn names(self_tests: &[SelfTest]) -> Vec<String> {
        found(pipe(), self_tests)
            .into_iter()
            .map(|counter| counter.name)
            .collect()
    }

    #[test]
    fn a_counter_that_lied_or_was_not_tested_is_left_out() {
        let wrong = SelfTestOutcome::Wrong {
            expected_low: 10,
            expected_high: 20,
            found: 0,
        };
        let tests = [
            test("cycles", wrong),
            test("instructions", SelfTestOutcome::Admitted),
        ];
        assert_eq!(
            names(&tests),
            ["instructions:u"],
            "the user-level half goes by the event's own test"
        );
        assert!(names(&[]).is_empty());
    }
}
