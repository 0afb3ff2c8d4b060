use ::observation::{Calibration, Cause, Cost, Reload, Tasks, Why};
use serde::Serialize;
use units::Bytes;

/// A cost between two ends, in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Range {
    /// Lower end.
    pub low: f64,
    /// What is likely; none where nothing tells.
    pub likely: Option<f64>,
    /// Upper end.
    pub high: f64,
}

impl Range {
    pub(super) const NOTHING: Range = Range { low: 0.0, likely: Some(0.0), high: 0.0 };

    pub(super) fn plus(self, other: Range) -> Range {
        Range {
            low: self.low + other.low,
            likely: self.likely.zip(other.likely).map(|(a, b)| a + b),
            high: self.high + other.high,
        }
    }

    /// The same, and no more than a time.
    pub(super) fn up_to(self, most: f64) -> Range {
        Range { low: self.low.min(most), likely: self.likely.map(|likely| likely.min(most)), high: self.high.min(most) }
    }

    /// The same as a share of a time, or for each of so many.
    pub(super) fn over(self, whole: f64) -> Range {
        Range { low: self.low / whole, likely: self.likely.map(|likely| likely / whole), high: self.high / whole }
    }
}

fn times(cost: &Cost, count: f64) -> Range {
    // An interval below 0 is of the measurement: a switch costs no less than nothing.
    Range {
        low: cost.low_ns.max(0.0) * count,
        likely: Some(cost.ns.max(0.0) * count),
        high: cost.high_ns.max(0.0) * count,
    }
}

/// What a switch costs directly that a trace of events tells no more of.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DirectCosts {
    /// One at which the task waits, in nanoseconds.
    pub voluntary_ns: f64,
    /// One at which it could have run on, in nanoseconds.
    pub involuntary_ns: f64,
}

impl DirectCosts {
    /// None where the machine's costs are not known.
    pub fn of(calibration: &Calibration) -> Option<DirectCosts> {
        let (blocked, between) = (calibration.blocked?, preempted(calibration)?);
        Some(DirectCosts { voluntary_ns: blocked.ns.max(0.0), involuntary_ns: between.ns.max(0.0) })
    }
}

/// What the switches of tasks cost directly; none where the machine's costs are not known.
pub(super) fn direct(tasks: &Tasks, calibration: &Calibration) -> Option<Range> {
    if tasks.causes.is_empty() {
        let (blocked, between) = (calibration.blocked.as_ref()?, preempted(calibration)?);
        return Some(times(blocked, tasks.voluntary as f64).plus(times(&between, tasks.involuntary as f64)));
    }
    let mut each = tasks.causes.iter().map(|cause| of_cause(cause, calibration));
    each.try_fold(Range::NOTHING, |sum, each| Some(sum.plus(each?)))
}

/// What the switches of one cause cost directly; none where the machine's costs are not known.
pub(super) fn of_cause(cause: &Cause, calibration: &Calibration) -> Option<Range> {
    let (blocked, between) = (calibration.blocked?, preempted(calibration)?);
    let each = match cause.why {
        Why::Blocked | Why::Stopped | Why::Traced | Why::Frozen | Why::Ended => blocked,
        Why::Yielded => calibration.yielded.unwrap_or(between),
        Why::PreemptedByWoken | Why::SliceEnded | Why::Throttled => between,
    };
    Some(times(&each, cause.switches as f64))
}

/// A preemption wakes nobody and takes nobody off the queue, and so costs what a yield does; up to what a switch that blocks takes.
fn preempted(calibration: &Calibration) -> Option<Cost> {
    let blocked = calibration.blocked?;
    let yielded = calibration.yielded.unwrap_or(Cost { low_ns: 0.0, ..blocked });
    Some(Cost {
        ns: yielded.ns.min(blocked.ns),
        low_ns: yielded.low_ns.min(blocked.low_ns),
        high_ns: blocked.high_ns.max(yielded.high_ns),
    })
}

/// What reloading costs the tasks after their switches; none where the machine's costs are not known, or how long others ran.
pub(super) fn indirect(tasks: &Tasks, calibration: &Calibration, last_level: Option<Bytes>) -> Option<Range> {
    let curve = Curve::of(calibration)?;
    let direct = direct(tasks, calibration)?;
    let switches = tasks.switches();
    if switches == 0 {
        return Some(Range::NOTHING);
    }
    if tasks.others.count() == 0 {
        return None;
    }
    let last_level = last_level.map_or(f64::INFINITY, |level| level.0 as f64);
    let resident = tasks.resident_bytes.map_or(f64::INFINITY, |bytes| bytes.0 as f64).min(last_level);
    let most = curve.at(resident, |reload| reload.cost.high_ns);
    // Pages that were touched, else all that it has, and no more than can be walked in the time of one turn.
    let turn = (tasks.run_ns.0 as f64 - direct.likely.unwrap_or(direct.low)).max(0.0) / switches as f64;
    let touched = tasks.referenced_bytes.or(tasks.resident_bytes);
    let touched = touched.map(|bytes| (bytes.0 as f64).min(last_level).min(curve.walked_in(turn)));
    let reload = |bytes: f64| curve.at(bytes, |reload| reload.cost.ns);
    let mut range = Range { low: 0.0, likely: touched.map(|_| 0.0), high: 0.0 };
    for (from, to, count) in tasks.others.buckets() {
        let longest = to.map_or(f64::INFINITY, |to| to.0 as f64);
        let usual = to.map_or(from.0 as f64, |to| (from.0 as f64 + to.0 as f64) / 2.0);
        range.high += count as f64 * most.min(longest);
        let each = touched.map(|bytes| reload(bytes.min(curve.walked_in(usual))).min(usual).min(most));
        range.likely = range.likely.zip(each).map(|(sum, each)| sum + count as f64 * each);
    }
    // A core that was left keeps what is in its own caches; its other thread shares them.
    let moves = tasks.moved[1] as f64 + tasks.moved[2] as f64;
    range.high += moves * most;
    range.likely = range.likely.zip(touched).map(|(sum, bytes)| sum + moves * reload(bytes).min(most));
    // What the tasks did not run for, they did not reload in.
    let room = (tasks.run_ns.0 as f64 - direct.low).max(0.0);
    Some(Range { low: 0.0, likely: range.likely.map(|likely| likely.min(room)), high: range.high.min(room) })
}

/// What walking an array takes, and what it takes longer behind a switch, over its size.
struct Curve<'a> {
    points: &'a [Reload],
}

impl Curve<'_> {
    fn of(calibration: &Calibration) -> Option<Curve<'_>> {
        let points = calibration.reloads.as_slice();
        (!points.is_empty()).then_some(Curve { points })
    }

    /// A time over a size in bytes: in a straight line between two sizes, and beyond the last as steeply as from nothing to it, by
    /// the byte. More memory does not cost less, and nothing costs less than nothing.
    fn at(&self, bytes: f64, of: impl Fn(&Reload) -> f64) -> f64 {
        let (mut before, mut value) = (0.0, 0.0);
        for point in self.points {
            let (end, next) = (point.size_bytes.0 as f64, of(point).max(value));
            if bytes <= end {
                return value + (next - value) * (bytes - before) / (end - before);
            }
            (before, value) = (end, next);
        }
        if value > 0.0 { value * (bytes / before) } else { 0.0 }
    }

    /// How many bytes are walked in a time.
    fn walked_in(&self, ns: f64) -> f64 {
        let (mut before, mut bytes) = (0.0, 0.0);
        for point in self.points {
            let end = point.walk_ns.max(before);
            let size = point.size_bytes.0 as f64;
            if ns <= end && end > before {
                return bytes + (size - bytes) * (ns - before) / (end - before);
            }
            (before, bytes) = (end, size);
        }
        if before > 0.0 { bytes * (ns / before) } else { f64::INFINITY }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reload(bytes: u64, walk_ns: f64, ns: f64) -> Reload {
        Reload { size_bytes: Bytes(bytes), walk_ns, cost: Cost { ns, low_ns: ns / 2.0, high_ns: ns * 2.0 } }
    }

    #[test]
    fn a_reload_grows_with_the_memory_touched() {
        let points = [reload(100, 5.0, 10.0), reload(200, 10.0, 8.0), reload(300, 30.0, 30.0)];
        let curve = Curve { points: &points };
        let at = |bytes| curve.at(bytes, |reload| reload.cost.ns);
        assert_eq!([0.0, 50.0, 100.0, 150.0, 200.0, 250.0, 600.0].map(at), [0.0, 5.0, 10.0, 10.0, 10.0, 20.0, 60.0]);
    }

    #[test]
    fn more_time_walks_more_memory() {
        let points = [reload(100, 5.0, 10.0), reload(200, 10.0, 8.0), reload(300, 30.0, 30.0)];
        let curve = Curve { points: &points };
        let walked = [0.0, 2.5, 5.0, 7.5, 20.0, 60.0].map(|ns| curve.walked_in(ns));
        assert_eq!(walked, [0.0, 50.0, 100.0, 150.0, 250.0, 600.0]);
    }
}
