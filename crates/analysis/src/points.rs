//! Every time that was taken, over the time of the run, with what became of it: to be drawn, not to be estimated from.

use std::collections::BTreeMap;

use switchcost_record::{Arm, Cycles, MeasureRecord, Sample};
use switchcost_units::TickRate;

use crate::cleanliness::{Context, reasons_of_window};
use crate::run::{by_case, usual_probes};

/// The mean of one arm over one window of cycles, or over one batch in records of version 1.
#[derive(Clone, Debug, PartialEq)]
pub struct Point {
    /// Index into the plan's cases.
    pub case: u32,
    /// Which arm.
    pub arm: Arm,
    /// When it was taken, in seconds since the start of the run.
    pub at_seconds: f64,
    /// Time a hand-off, with its walk.
    pub handoff_seconds: f64,
    /// Names of the reasons why it does not enter an estimate; none for a clean one.
    pub left_out: Vec<&'static str>,
}

/// All points of a record, in its order.
pub fn points(record: &MeasureRecord) -> Vec<Point> {
    let rate = record.header.clock.ticks_per_second;
    let of_windows = record.cycles.iter().flat_map(|window| of_window(record, window, rate));
    of_batches(record, rate).into_iter().chain(of_windows).collect()
}

fn of_window(record: &MeasureRecord, window: &Cycles, rate: TickRate) -> Vec<Point> {
    let mut sums: BTreeMap<Arm, (f64, f64)> = BTreeMap::new();
    for batch in window.batches.iter() {
        let sum = sums.entry(batch.arm).or_default();
        sum.0 += batch.handoff_ticks.0 as i64 as f64 + batch.walk_ticks.0 as i64 as f64;
        sum.1 += f64::from(batch.handoffs);
    }
    let case = record.header.plan.cases.get(window.case as usize);
    let left_out = case.map(|case| reasons_of_window(window, case)).unwrap_or_default();
    let point = |(arm, (ticks, handoffs)): (Arm, (f64, f64))| {
        point(window.case, arm, window.at_ns.0, ticks, handoffs, rate, left_out.clone())
    };
    sums.into_iter().filter_map(point).collect()
}

/// Batches of version 1, each judged by itself. Those that carried an instrument are not drawn.
fn of_batches(record: &MeasureRecord, rate: TickRate) -> Vec<Point> {
    let probes = usual_probes(record);
    let by_case = by_case(record, &record.samples, |sample| sample.case);
    let contexts = record.header.plan.cases.iter().zip(&by_case).map(|(case, samples)| {
        let plain: Vec<_> = samples.iter().copied().filter(|sample| sample.is_plain()).collect();
        Context::new(case, &plain, probes.get(&case.placement.cpus.first().copied()).copied())
    });
    let contexts: Vec<Context<'_>> = contexts.collect();
    let of_sample = |sample: &Sample| {
        let left_out = contexts.get(sample.case as usize).map_or_else(Vec::new, |context| context.reasons(sample));
        let (ticks, handoffs) = (sample.ticks.0 as f64, sample.handoffs as f64);
        point(sample.case, sample.arm, sample.at_ns.0, ticks, handoffs, rate, left_out)
    };
    // Since version 2 batches by themselves are run for counters and single hand-offs only.
    record.samples.iter().filter(|sample| sample.is_plain()).filter_map(of_sample).collect()
}

fn point(
    case: u32,
    arm: Arm,
    at_ns: u64,
    ticks: f64,
    handoffs: f64,
    rate: TickRate,
    left_out: Vec<&'static str>,
) -> Option<Point> {
    let handoff_seconds = ticks / rate.0 as f64 / handoffs;
    let is_timed = handoff_seconds.is_finite() && handoff_seconds > 0.0;
    is_timed.then_some(Point { case, arm, at_seconds: at_ns as f64 / 1e9, handoff_seconds, left_out })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analyse;
    use crate::testing::{FakeCase, fake_record, fake_record_of_cycles};
    use switchcost_units::Nanos;

    /// The counts that the findings give by reason are those of the single samples.
    #[test]
    fn single_samples_add_up_to_what_is_excluded() {
        let mut record = fake_record(vec![FakeCase::pipe(), FakeCase::fiber()], 6);
        record.samples[3].evidence.steal_ns = Some(Nanos::millis(10));
        record.samples[3].evidence.is_clock_backwards = true;
        let of_other =
            record.samples.iter().position(|sample| sample.case != record.samples[3].case).expect("two cases");
        record.samples[of_other].evidence.major_faults = 1_000_000;
        let points = points(&record);
        assert_eq!(points.len(), record.samples.len());
        assert_eq!(points[3].left_out, ["clock-backwards", "steal"]);
        assert_eq!(points[of_other].left_out, ["faults"]);
        assert!(points[0].left_out.is_empty());
        let findings = analyse(&record);
        for (number, finding) in findings.results.iter().enumerate() {
            let of_case = points.iter().filter(|point| point.case as usize == number);
            let dirty = of_case.filter(|point| !point.left_out.is_empty()).count();
            assert_eq!((dirty, finding.excluded.total), (1, 1), "{number}");
        }
    }

    #[test]
    fn a_window_has_one_point_for_each_arm() {
        let mut record = fake_record_of_cycles(vec![FakeCase::pipe()], 8);
        record.cycles[1].evidence.major_faults = 1;
        let points = points(&record);
        assert_eq!(points.len(), 2 * record.cycles.len());
        assert_eq!(points[0].arm, Arm::BaselineDirect);
        assert!((points[0].handoff_seconds / 900e-9 - 1.0).abs() < 0.01, "{:?}", points[0]);
        assert_eq!(points[2].left_out, ["faults"]);
    }
}
