//! Decides when a case has enough repetitions.

use switchcost_record::{Case, Cycles, Header, Plan};

use crate::measurement::deciding::deciding;
use crate::measurement::judged::Judged;
use crate::measurement::paired::{self, Choice};
use crate::measurement::run_spread::RunsDiffer;
use crate::measurement::speed::Speed;
use crate::statistics::Estimate;
use crate::statistics::estimate::estimate;

/// Least number of repetitions of a case. With fewer, an interval would depend on a few extreme
/// values.
pub const MIN_REPETITIONS: usize = 8;

/// Whether the interval of a case's deciding cost is as narrow as the plan requires. The spread
/// between runs is included if enough earlier runs of the machine are known and the required width
/// can still be reached. Otherwise only the interval within the run is judged.
///
/// `cycles` are the windows of rounds so far. The function is called after each repetition and
/// takes about a millisecond. Rounds on shared and unshared cores are treated alike, because they
/// can be distinguished only at the end of the run.
///
/// A run that stops at the first narrow interval prefers intervals that are narrow by chance
/// (Anscombe 1953, "Sequential estimation"). In simulations, intervals of 90 % then contain the
/// true value in 87 to 91 of 100 runs.
pub fn is_case_done(header: &Header, case_index: usize, cycles: &[Cycles]) -> bool {
    let plan = &header.plan;
    decisive(header, case_index, cycles).is_some_and(|(case, values)| {
        let runs_differ = RunsDiffer::known(header, case_index, deciding(case));
        is_precise(&values, confidence(plan), precision(plan), &runs_differ)
    })
}

/// Whether the windows of rounds so far give an interval for the case, however wide.
pub fn has_interval(header: &Header, case_index: usize, cycles: &[Cycles]) -> bool {
    decisive(header, case_index, cycles)
        .is_some_and(|(_, values)| estimate(&values, confidence(&header.plan)).is_ok())
}

/// Returns the case and the values of its deciding cost, one per repetition; `None` if there is no
/// such case, or if it was disturbed too much.
fn decisive<'a>(
    header: &'a Header,
    case_index: usize,
    cycles: &[Cycles],
) -> Option<(&'a Case, Vec<f64>)> {
    let (plan, rate) = (&header.plan, header.clock.ticks_per_second);
    let case = plan.cases.get(case_index)?;
    let own: Vec<_> = cycles
        .iter()
        .filter(|window| window.case as usize == case_index)
        .collect();
    let judged = Judged::new(case, rate, Vec::new(), own);
    let speed = Speed::speed_of_cycles(&header.core_clock, rate, cycles);
    let speed = speed.filter(|_| !judged.is_too_disturbed())?;
    let values = paired::quantities(case, &judged.windows, &speed, 1.0, Choice::Every);
    Some((case, values.decisive(case).to_vec()))
}

fn is_precise(values: &[f64], confidence: f64, precision: f64, runs_differ: &RunsDiffer) -> bool {
    let is_narrow = |found: Estimate| {
        // Intervals from few values have more than the requested confidence, which falls as values
        // are added. So the requested confidence is used here.
        let can_be_reached =
            runs_differ.is_own() && runs_differ.least_half_width(confidence) < precision;
        let found = if can_be_reached {
            found.across(runs_differ)
        } else {
            found
        };
        found.relative_half_width() <= precision
    };
    values.len() >= MIN_REPETITIONS && estimate(values, confidence).is_ok_and(is_narrow)
}

/// Returns the confidence that the plan requires, at most 0.999, because no number of repetitions
/// gives 1.
pub(crate) fn confidence(plan: &Plan) -> f64 {
    f64::from(plan.confidence_per_mille.min(999)) / 1000.0
}

/// Returns the half-width of an interval that the plan requires, as a share of the cost.
pub(crate) fn precision(plan: &Plan) -> f64 {
    f64::from(plan.precision_per_mille) / 1000.0
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::FlagName;
    use crate::measurement::run_spread::ASSUMED_RUN_SPREAD;
    use crate::testing::{fake_record, normal, only, pipe, seeded};
    use switchcost_record::{CostName, EarlierCase, EarlierRuns, Spread};

    #[test]
    fn a_case_is_done_when_it_is_precise() {
        let record = fake_record(vec![pipe().noise(0.002)], 8);
        assert!(is_case_done(&record.header, 0, &record.cycles));
        let seven: Vec<_> = record
            .cycles
            .iter()
            .filter(|window| window.repetition < 7)
            .cloned()
            .collect();
        assert!(
            !is_case_done(&record.header, 0, &seven) && has_interval(&record.header, 0, &seven),
            "seven repetitions are too few, however precise"
        );
        assert!(!has_interval(&record.header, 0, &seven[..4]));
        assert!(
            !is_case_done(&record.header, 1, &record.cycles),
            "no such case"
        );
    }

    #[test]
    fn a_noisy_or_disturbed_case_is_not_done() {
        let noisy = fake_record(vec![pipe().noise(0.3)], 8);
        let mut disturbed = fake_record(vec![pipe()], 8);
        for window in disturbed.cycles.iter_mut().step_by(2) {
            window.evidence.task_cpu_ns = switchcost_units::Nanos::millis(10);
        }
        for record in [noisy, disturbed] {
            assert!(!is_case_done(&record.header, 0, &record.cycles));
        }
    }

    /// Returns earlier runs that differ by `between_ppm` millionths of the direct cost.
    fn earlier(between_ppm: u64, runs: u32) -> Option<EarlierRuns> {
        let spread = Spread {
            cost: CostName::Direct,
            between_ppm,
            within_ppm: 0,
        };
        let case = EarlierCase {
            case: 0,
            runs,
            since: "2026-01-01T00:00:00Z".to_owned(),
            until: "2026-01-09T00:00:00Z".to_owned(),
            repetitions: 8,
            spreads: vec![spread],
        };
        Some(EarlierRuns {
            cases: vec![case],
            ..EarlierRuns::default()
        })
    }

    /// If 20 earlier runs differ by 0.5 %, the printed interval can reach 1 %, and the case
    /// continues until it does. If they differ by 0.6 %, the interval cannot. Six earlier runs are
    /// too few to count.
    #[test]
    fn a_case_is_done_when_the_interval_is_narrow_that_is_printed_if_that_can_be() {
        let mut record = fake_record(vec![pipe().noise(0.005)], 60);
        record.header.plan.precision_per_mille = 10;
        let done_after = |between_ppm: u64, runs: u32| {
            let mut header = record.header.clone();
            header.earlier = earlier(between_ppm, runs);
            let of_first = |n: u32| -> Vec<_> {
                let cycles = record.cycles.iter().cloned();
                cycles.filter(|window| window.repetition < n).collect()
            };
            (1..=60)
                .find(|n| is_case_done(&header, 0, &of_first(*n)))
                .expect("60 are enough")
        };
        let without = done_after(0, 0);
        assert_eq!(
            (done_after(2_000, 6), done_after(6_000, 20)),
            (without, without)
        );
        let with = done_after(5_000, 20);
        assert!(with > without, "{with} and {without}");
        let found = |between_ppm| {
            let mut found = record.clone();
            found.cycles.retain(|window| window.repetition < with);
            found.header.earlier = earlier(between_ppm, 20);
            let result = only(&found);
            let mut flags = result.flags.into_iter();
            let wide = flags.find(|flag| flag.name == FlagName::WideInterval);
            let reached = result.direct_ns.expect("a cost").relative_half_width();
            (reached, wide.map(|flag| flag.detail))
        };
        let (reached, wide) = found(5_000);
        assert!(reached <= 0.01 && wide.is_none(), "{reached}");
        let said = found(6_000).1.expect("it is wide");
        let least = "20 earlier runs of this machine differ so much that at best +-1.0";
        assert!(
            said.contains(least) && said.ends_with("% can be reached"),
            "{said}"
        );
    }

    #[test]
    fn stopping_by_width_costs_little_coverage() {
        let (trials, level, precision) = (1_000, 0.9, 0.02);
        let misses = |spread: f64| {
            let miss = |seed: &u64| {
                let mut random = seeded(*seed);
                let values: Vec<f64> = (0..60)
                    .map(|_| 1.0 + spread * normal(&mut random))
                    .collect();
                let differ = RunsDiffer::new(ASSUMED_RUN_SPREAD);
                let stop = (1..60)
                    .find(|n| is_precise(&values[..*n], level, precision, &differ))
                    .unwrap_or(60);
                let found = estimate(&values[..stop], level).expect("six or more");
                !(found.low..=found.high).contains(&1.0)
            };
            (0..trials).filter(miss).count()
        };
        for spread in [0.01, 0.03, 0.05] {
            let misses = misses(spread);
            assert!(
                misses <= 150,
                "spread {spread}: {misses} of {trials} intervals of 90 % miss the truth"
            );
        }
    }
}
