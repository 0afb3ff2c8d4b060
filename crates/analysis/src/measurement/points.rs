//! Mean times of all windows of a record for plots, each with its time in the run and the reasons
//! to leave it out.

use std::collections::BTreeMap;

use switchcost_record::{Arm, Cycles, MeasureRecord};
use switchcost_units::TickRate;

use crate::measurement::cleanliness::reasons_of_window;

/// Mean time of one arm in one window.
#[derive(Clone, Debug, PartialEq)]
pub struct Point {
    /// Index of the case in the plan.
    pub case: u32,
    /// Arm over whose batches in the window the mean is taken.
    pub arm: Arm,
    /// Start of the window in seconds since the start of the run.
    pub at_seconds: f64,
    /// Mean time of a hand-off in seconds, with the walk over the working set in arms that walk.
    pub handoff_seconds: f64,
    /// Names of the reasons why the window is left out of the estimates; empty for a clean window.
    pub left_out: Vec<&'static str>,
}

/// Returns the points of a record, in the order of the record.
pub fn points(record: &MeasureRecord) -> Vec<Point> {
    let rate = record.header.clock.ticks_per_second;
    record
        .cycles
        .iter()
        .flat_map(|window| window_points(record, window, rate))
        .collect()
}

fn window_points(record: &MeasureRecord, window: &Cycles, rate: TickRate) -> Vec<Point> {
    let mut sums: BTreeMap<Arm, (f64, f64)> = BTreeMap::new();
    for batch in window.batches.iter() {
        let sum = sums.entry(batch.arm).or_default();
        sum.0 += batch.handoff_ticks.0 as i64 as f64 + batch.walk_ticks.0 as i64 as f64;
        sum.1 += f64::from(batch.handoffs);
    }
    let case = record.header.plan.cases.get(window.case as usize);
    let left_out = case
        .map(|case| reasons_of_window(window, case))
        .unwrap_or_default();
    let point = |(arm, (ticks, handoffs)): (Arm, (f64, f64))| {
        let handoff_seconds = ticks / rate.0 as f64 / handoffs;
        let is_timed = handoff_seconds.is_finite() && handoff_seconds > 0.0;
        let (case, at_seconds) = (window.case, window.at_ns.0 as f64 / 1e9);
        is_timed.then(|| Point {
            case,
            arm,
            at_seconds,
            handoff_seconds,
            left_out: left_out.clone(),
        })
    };
    sums.into_iter().filter_map(point).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analyse;
    use crate::testing::{assert_is_near, fake_record, fiber, pipe};

    /// Shows that each window that is left out of the findings has two points with reasons, one per
    /// arm.
    #[test]
    fn single_windows_add_up_to_what_is_excluded() {
        let mut record = fake_record(vec![pipe(), fiber()], 6);
        record.cycles[3].evidence.major_faults = 1;
        record.cycles[3].evidence.is_clock_backwards = true;
        let of_other = record
            .cycles
            .iter()
            .position(|window| window.case == 1)
            .expect("two cases");
        record.cycles[of_other].evidence.major_faults = 1_000_000;
        let points = points(&record);
        assert_eq!(points.len(), 2 * record.cycles.len());
        assert_eq!(points[2 * 3].left_out, ["clock-backwards", "faults"]);
        assert_eq!(points[2 * of_other + 1].left_out, ["faults"]);
        assert!(points[0].left_out.is_empty());
        assert_eq!(points[0].arm, Arm::BaselineDirect);
        let baseline = points[0].handoff_seconds;
        assert_is_near(baseline, 900e-9, 0.01);
        let findings = analyse(&record);
        for (number, finding) in findings.results.iter().enumerate() {
            let of_case = points.iter().filter(|point| point.case as usize == number);
            let dirty = of_case.filter(|point| !point.left_out.is_empty()).count();
            assert_eq!(
                (dirty, finding.excluded.total),
                (2, 1),
                "{number}: one of each arm"
            );
        }
    }
}
