//! Counters of the batches that were run for them.

use std::collections::{BTreeMap, BTreeSet};

use record::{Arm, Sample, SelfTest, SelfTestOutcome};

use crate::findings::CounterFinding;
use crate::judged::Judged;

/// Events a hand-off in both arms, by counter; of the arms that walk where the case has a working set.
///
/// A counter that failed its known-answer test is left out even where samples carry it.
pub(crate) fn counters(judged: &Judged<'_>, self_tests: &[SelfTest]) -> Vec<CounterFinding> {
    let (baseline, switching) = match judged.case.working_set.is_empty() {
        true => (Arm::BaselineDirect, Arm::SwitchDirect),
        false => (Arm::BaselineTotal, Arm::SwitchTotal),
    };
    let (baseline, switching) = (rates(judged, baseline), rates(judged, switching));
    let names: BTreeSet<&str> = baseline.keys().copied().filter(|name| is_admitted(self_tests, name)).collect();
    names
        .into_iter()
        .filter_map(|name| {
            let (baseline, switching) = (baseline.get(name)?, switching.get(name)?);
            Some(CounterFinding {
                name: name.to_owned(),
                baseline: baseline.per_handoff(),
                switching: switching.per_handoff(),
                n: baseline.batches + switching.batches,
            })
        })
        .collect()
}

#[derive(Clone, Copy, Debug, Default)]
struct Rate {
    events: f64,
    handoffs: f64,
    batches: usize,
}

impl Rate {
    fn per_handoff(&self) -> f64 {
        self.events / self.handoffs
    }
}

fn rates<'a>(judged: &Judged<'a>, arm: Arm) -> BTreeMap<&'a str, Rate> {
    let mut rates: BTreeMap<&str, Rate> = BTreeMap::new();
    let of_arm = judged.instrumented.iter().filter(|sample| sample.arm == arm && sample.handoffs > 0);
    for (sample, name, events) in of_arm.flat_map(|sample| readings(sample)) {
        let rate = rates.entry(name).or_default();
        rate.events += events;
        rate.handoffs += sample.handoffs as f64;
        rate.batches += 1;
    }
    rates
}

fn readings(sample: &Sample) -> impl Iterator<Item = (&Sample, &str, f64)> {
    sample.counters.iter().flatten().map(move |(name, events)| (sample, name.as_str(), *events as f64))
}

fn is_admitted(self_tests: &[SelfTest], name: &str) -> bool {
    self_tests.iter().filter(|test| test.instrument == name).all(|test| test.outcome == SelfTestOutcome::Admitted)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{FakeCase, fake_record};
    use units::{Bytes, TickRate};

    fn counted(arm: Arm, events: u64) -> Sample {
        let record = fake_record(vec![FakeCase::pipe()], 1);
        let counters = Some(BTreeMap::from([("cycles".to_owned(), events), ("l1d-misses".to_owned(), 7)]));
        Sample { arm, counters, handoffs: 100, ..record.samples[0].clone() }
    }

    fn found(case: FakeCase, self_tests: &[SelfTest]) -> Vec<CounterFinding> {
        let samples =
            [(Arm::BaselineDirect, 100), (Arm::SwitchDirect, 200), (Arm::BaselineTotal, 300), (Arm::SwitchTotal, 700)]
                .map(|(arm, events)| counted(arm, events));
        let case = case.case();
        let judged = Judged::new(&case, TickRate::NANOSECONDS, &samples.iter().collect::<Vec<_>>(), None);
        counters(&judged, self_tests)
    }

    #[test]
    fn events_are_counted_a_hand_off_in_the_arms_that_walk() {
        let cycles = |case| {
            let cycles = found(case, &[]).into_iter().find(|counter| counter.name == "cycles").expect("counted");
            (cycles.baseline, cycles.switching, cycles.n)
        };
        assert_eq!(cycles(FakeCase::pipe()), (1.0, 2.0, 2));
        assert_eq!(cycles(FakeCase::pipe().with_set(Bytes::kib(64))), (3.0, 7.0, 2));
    }

    #[test]
    fn a_counter_that_lied_is_left_out() {
        let wrong = SelfTest {
            instrument: "cycles".to_owned(),
            known_answer: "a chain of a known length".to_owned(),
            outcome: SelfTestOutcome::Wrong { expected_low: 10, expected_high: 20, found: 0 },
        };
        let names: Vec<_> = found(FakeCase::pipe(), &[wrong]).into_iter().map(|counter| counter.name).collect();
        assert_eq!(names, ["l1d-misses"]);
    }
}
