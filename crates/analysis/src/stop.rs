//! When a case has been repeated often enough.

use switchcost_record::{Cycles, Header, Plan};

use crate::estimate::estimate;
use crate::judged::Judged;
use crate::paired::{self, Choice};
use crate::speed::Speed;

/// No case is done before: an interval that rests on the two extreme values alone is not to be stopped by.
pub const MIN_REPETITIONS: usize = 8;

/// Whether the interval of a case is as narrow as the plan wants it. The interval is that of the total cost where
/// there is a working set, else of the direct cost, else (across CPUs) of the hand-off.
///
/// `cycles` are those of this case so far. Meant to be asked after each repetition: takes a millisecond or so. Cycles are
/// taken as they come, on a core of one's own or a shared one: which were which is known at the end of the run.
///
/// Stopping at the first narrow interval favours intervals that are narrow by luck (Anscombe 1953, "Sequential
/// estimation"): simulated, intervals of 90 % then cover the truth in 87 to 91 of 100 runs.
pub fn is_case_done(header: &Header, case_index: usize, cycles: &[Cycles]) -> bool {
    let (plan, rate) = (&header.plan, header.clock.ticks_per_second);
    let Some(case) = plan.cases.get(case_index) else { return false };
    let own: Vec<_> = cycles.iter().filter(|window| window.case as usize == case_index).collect();
    let judged = Judged::new(case, rate, Vec::new(), own);
    let speed = Speed::of_cycles(&header.core_clock, rate, cycles);
    let (Some(speed), false) = (speed, judged.is_too_disturbed()) else { return false };
    let values = paired::quantities(case, &judged.windows, &speed, 1.0, Choice::Every);
    is_precise(values.decisive(case), confidence(plan), precision(plan))
}

fn is_precise(values: &[f64], confidence: f64, precision: f64) -> bool {
    values.len() >= MIN_REPETITIONS
        && estimate(values, confidence).is_ok_and(|found| found.relative_half_width_within_run() <= precision)
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
        let record = fake_record(vec![FakeCase::pipe().noise(0.002)], 8);
        assert!(is_case_done(&record.header, 0, &record.cycles));
        let seven: Vec<_> = record.cycles.iter().filter(|window| window.repetition < 7).cloned().collect();
        assert!(!is_case_done(&record.header, 0, &seven), "seven repetitions are too few, however precise");
        assert!(!is_case_done(&record.header, 1, &record.cycles), "no such case");
    }

    #[test]
    fn a_noisy_case_is_not_done() {
        let record = fake_record(vec![FakeCase::pipe().noise(0.3)], 8);
        assert!(!is_case_done(&record.header, 0, &record.cycles));
    }

    #[test]
    fn a_disturbed_case_is_not_done() {
        let mut record = fake_record(vec![FakeCase::pipe()], 8);
        for window in record.cycles.iter_mut().step_by(2) {
            window.evidence.task_cpu_ns = switchcost_units::Nanos::millis(10);
        }
        assert!(!is_case_done(&record.header, 0, &record.cycles));
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
