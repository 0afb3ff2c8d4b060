//! When a case has been repeated often enough.

use record::{Plan, Sample};
use units::TickRate;

use crate::estimate::estimate;
use crate::judged::Judged;
use crate::repetition::Quantities;

/// No case is done before: an interval that rests on the two extreme values alone is not to be stopped by.
pub const MIN_REPETITIONS: usize = 6;

/// Whether the interval of a case is as narrow as the plan wants it. The interval is that of the total cost where
/// there is a working set, else of the direct cost, else (across CPUs) of the hand-off.
///
/// `samples` are those of this case so far. Meant to be asked after each repetition: takes well below a millisecond.
///
/// Stopping at the first narrow interval favours intervals that are narrow by luck (Anscombe 1953, "Sequential
/// estimation"): simulated, intervals of 90 % then cover the truth in 87 to 91 of 100 runs.
pub fn is_case_done(plan: &Plan, case_index: usize, samples: &[Sample], rate: TickRate) -> bool {
    let Some(case) = plan.cases.get(case_index) else { return false };
    let own: Vec<_> = samples.iter().filter(|sample| sample.case as usize == case_index).collect();
    let judged = Judged::new(case, rate, &own, None);
    !judged.is_too_disturbed() && is_precise(Quantities::of(&judged).decisive(case), confidence(plan), precision(plan))
}

fn is_precise(values: &[f64], confidence: f64, precision: f64) -> bool {
    values.len() >= MIN_REPETITIONS
        && estimate(values, confidence).is_ok_and(|found| found.relative_half_width() <= precision)
}

/// The confidence level of a plan, kept below 1, which no number of repetitions gives.
pub(crate) fn confidence(plan: &Plan) -> f64 {
    f64::from(plan.confidence_per_mille.min(999)) / 1000.0
}

/// The half-width over the estimate that a plan wants.
pub(crate) fn precision(plan: &Plan) -> f64 {
    f64::from(plan.precision_per_mille) / 1000.0
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{FakeCase, fake_record, normal};
    use rand::SeedableRng;
    use rand_chacha::ChaCha8Rng;

    #[test]
    fn a_case_is_done_when_it_is_precise() {
        let record = fake_record(vec![FakeCase::pipe().noise(0.002)], 6);
        let plan = &record.header.plan;
        let rate = record.header.clock.ticks_per_second;
        assert!(is_case_done(plan, 0, &record.samples, rate));
        let five: Vec<_> = record.samples.iter().filter(|sample| sample.repetition < 5).cloned().collect();
        assert!(!is_case_done(plan, 0, &five, rate), "five repetitions are too few, however precise");
        assert!(!is_case_done(plan, 1, &record.samples, rate), "no such case");
    }

    #[test]
    fn a_noisy_case_is_not_done() {
        let record = fake_record(vec![FakeCase::pipe().noise(0.3)], 8);
        let rate = record.header.clock.ticks_per_second;
        assert!(!is_case_done(&record.header.plan, 0, &record.samples, rate));
    }

    #[test]
    fn a_disturbed_case_is_not_done() {
        let mut record = fake_record(vec![FakeCase::pipe()], 6);
        for sample in record.samples.iter_mut().filter(|sample| sample.position % 2 == 0) {
            sample.evidence.steal_ns = Some(units::Nanos::millis(10));
        }
        assert!(!is_case_done(&record.header.plan, 0, &record.samples, record.header.clock.ticks_per_second));
    }

    #[test]
    fn stopping_by_width_costs_little_coverage() {
        let (trials, level, precision) = (1_000, 0.9, 0.02);
        let misses = |spread: f64| {
            let miss = |seed: &u64| {
                let mut random = ChaCha8Rng::seed_from_u64(*seed);
                let values: Vec<f64> = (0..60).map(|_| 1.0 + spread * normal(&mut random)).collect();
                let stop = (1..60).find(|n| is_precise(&values[..*n], level, precision)).unwrap_or(60);
                let found = estimate(&values[..stop], level).expect("six or more");
                !(found.low..=found.high).contains(&1.0)
            };
            (0..trials).filter(miss).count()
        };
        for spread in [0.01, 0.03, 0.05] {
            let misses = misses(spread);
            assert!(misses <= 150, "spread {spread}: {misses} of {trials} intervals of 90 % miss the truth");
        }
    }
}
