//! When a case has been repeated often enough.

use record::{Plan, Sample};
use units::TickRate;

use crate::estimate::estimate;
use crate::judged::Judged;
use crate::repetition::Quantities;
use crate::verdict::LEFT_OUT_LIMIT;

/// No case is done before: an interval that rests on the two extreme values alone is not to be stopped by.
pub const MIN_REPETITIONS: usize = 6;

/// Whether the interval of a case is as narrow as the plan wants it. The interval is that of the total cost where
/// there is a working set, else of the direct cost, else (across CPUs) of the hand-off.
///
/// `samples` are those of this case so far. Meant to be asked after each repetition: takes well below a millisecond.
pub fn is_case_done(plan: &Plan, case_index: usize, samples: &[Sample], rate: TickRate) -> bool {
    let Some(case) = plan.cases.get(case_index) else { return false };
    let own: Vec<_> = samples.iter().filter(|sample| sample.case as usize == case_index).collect();
    let judged = Judged::new(case, rate, &own, None);
    if judged.excluded_share() > LEFT_OUT_LIMIT {
        return false;
    }
    let quantities = Quantities::of(&judged);
    let values = quantities.decisive(case);
    values.len() >= MIN_REPETITIONS
        && estimate(values, confidence(plan)).is_ok_and(|found| found.relative_half_width() <= precision(plan))
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
    use crate::testing::{FakeCase, fake_record};

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
}
