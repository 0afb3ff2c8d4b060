use ::observation::{Calibration, Cause, Cost, Entry, Reload, Tasks, Why};
use record::{CacheKind, HostManifest};
use schemars::JsonSchema;
use serde::Serialize;
use units::{Bytes, Nanos};

use super::bound::Bound;

/// A cost between two ends, in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, JsonSchema, Serialize)]
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

    /// The same, or nothing.
    fn perhaps(self) -> Range {
        Range { low: 0.0, likely: Some(0.0), ..self }
    }

    /// The same as a share of a time, or for each of so many.
    pub fn over(self, whole: f64) -> Range {
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
        let involuntary = tasks.involuntary as f64;
        let interrupt = Interrupt::of(calibration)?.times(involuntary).perhaps();
        return Some(times(blocked, tasks.voluntary as f64).plus(times(&between, involuntary)).plus(interrupt));
    }
    sum(tasks, |cause| of_cause(cause, calibration))
}

/// Of the direct cost, that of the interrupts out of which the tasks were preempted; none where causes are not told.
pub(super) fn interrupts(tasks: &Tasks, calibration: &Calibration) -> Option<Range> {
    if tasks.causes.is_empty() && tasks.involuntary > 0 {
        return None;
    }
    sum(tasks, |cause| of_interrupt(cause, calibration))
}

fn sum(tasks: &Tasks, of: impl Fn(&Cause) -> Option<Range>) -> Option<Range> {
    tasks.causes.iter().try_fold(Range::NOTHING, |sum, cause| Some(sum.plus(of(cause)?)))
}

/// What the switches of one cause cost directly; none where the machine's costs are not known.
pub(super) fn of_cause(cause: &Cause, calibration: &Calibration) -> Option<Range> {
    let (blocked, between) = (calibration.blocked?, preempted(calibration)?);
    let each = match cause.why {
        Why::Yielded => calibration.yielded.unwrap_or(between),
        why if why.is_involuntary() => between,
        _ => blocked,
    };
    Some(times(&each, cause.switches as f64).plus(of_interrupt(cause, calibration)?))
}

/// The interrupts of the switches of one cause. A time slice ends at a tick, which comes without a switch as well: it costs something
/// only where the kernel sets a timer for it. A task that is woken by a system call needs none.
fn of_interrupt(cause: &Cause, calibration: &Calibration) -> Option<Range> {
    let interrupts = Interrupt::of(calibration)?.times(cause.switches as f64);
    Some(match (cause.why, &cause.entry) {
        (Why::SliceEnded, _) => interrupts.perhaps(),
        (why, Entry::Interrupt) if why.is_involuntary() && why != Why::Yielded => interrupts,
        _ => Range::NOTHING,
    })
}

/// What a timer interrupt costs the task that it preempts, beside the switch.
struct Interrupt(Range);

impl Interrupt {
    /// `measure` tells both switches of a preemption together with the interrupt, halved. Likely the one away has its half; at most it
    /// has all but the least that the other takes, which waits. Without an upper end where preemption was not measured.
    fn of(calibration: &Calibration) -> Option<Interrupt> {
        let (blocked, between) = (calibration.blocked?, preempted(calibration)?);
        Some(Interrupt(match calibration.preempted {
            Some(half) => Range {
                low: 0.0,
                likely: Some((half.ns - between.ns).max(0.0)),
                high: (2.0 * half.high_ns - blocked.low_ns.max(0.0) - between.high_ns).max(0.0),
            },
            None => Range { low: 0.0, likely: Some(0.0), high: f64::INFINITY },
        }))
    }

    fn times(&self, count: f64) -> Range {
        if count > 0.0 { self.0.over(1.0 / count) } else { Range::NOTHING }
    }
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

/// What is known of reloading on this machine.
pub(super) struct Reloading<'a> {
    calibration: &'a Calibration,
    curve: Curve<'a>,
    bound: Option<Bound<'a>>,
    /// The largest cache, in bytes.
    last_level: f64,
}

impl Reloading<'_> {
    /// None where the machine's costs are not known.
    pub(super) fn of<'a>(calibration: &'a Calibration, host: &HostManifest) -> Option<Reloading<'a>> {
        let caches = host.caches.iter().filter(|cache| cache.kind != CacheKind::Instruction);
        Some(Reloading {
            calibration,
            curve: Curve::of(calibration)?,
            bound: Bound::of(calibration, host),
            last_level: caches.map(|cache| cache.size_bytes.0).max().map_or(f64::INFINITY, |size| size as f64),
        })
    }

    /// What reloading costs the tasks after their switches. A task that did not come back in the window has not reloaded anything in it.
    /// `loses_translations`: whether others made the TLBs forget its pages time and again.
    pub(super) fn cost(&self, tasks: &Tasks, loses_translations: bool) -> Option<Range> {
        let direct = direct(tasks, self.calibration)?;
        let likely = self.likely(tasks, direct);
        let footprint = self.footprint(tasks, loses_translations);
        // A core that was left keeps what is in its own caches; its other thread shares them.
        let moves = tasks.moved[1] as f64 + tasks.moved[2] as f64;
        let mut most = if moves > 0.0 { moves * self.at_most(footprint, f64::INFINITY) } else { 0.0 };
        for (_, to, count) in tasks.others.buckets() {
            most += count as f64 * self.at_most(footprint, to.map_or(f64::INFINITY, |to| to.0 as f64));
        }
        // What the tasks did not run for, they did not reload in.
        let room = (tasks.run_ns.0 as f64 - direct.low).max(0.0);
        Some(Range { low: 0.0, likely: Some(likely), high: most.max(likely) }.up_to(room))
    }

    fn at_most(&self, footprint: f64, others_ns: f64) -> f64 {
        self.bound.as_ref().map_or(f64::INFINITY, |bound| bound.at_most(footprint, others_ns))
    }

    /// Of a walk in order over the pages that were touched, else over all that it has, and no more than can be walked in the time of one
    /// turn, nor in that of the others.
    fn likely(&self, tasks: &Tasks, direct: Range) -> f64 {
        let run = (tasks.run_ns.0 as f64 - direct.likely.unwrap_or(direct.low)).max(0.0);
        let turn = self.curve.walked_in(run / tasks.switches().max(1) as f64);
        let touched = tasks.referenced_bytes.or(tasks.resident_bytes).map_or(f64::INFINITY, |bytes| bytes.0 as f64);
        let touched = touched.min(self.last_level).min(turn);
        let reload = |bytes: f64| self.curve.at(bytes, |reload| reload.cost.ns);
        let behind = |(from, to, count): (Nanos, Option<Nanos>, u64)| {
            let usual = to.map_or(from.0 as f64, |to| (from.0 as f64 + to.0 as f64) / 2.0);
            count as f64 * reload(touched.min(self.curve.walked_in(usual))).min(usual)
        };
        let moves = tasks.moved[1] as f64 + tasks.moved[2] as f64;
        tasks.others.buckets().map(behind).sum::<f64>() + moves * reload(touched)
    }

    /// The most that tasks may touch in a turn: what their process has; or what it touched while its pages were looked at, if turns are
    /// shorter. A page whose translation was there all the time is not seen to be touched.
    fn footprint(&self, tasks: &Tasks, loses_translations: bool) -> f64 {
        let bytes = |bytes: Option<Bytes>| bytes.map_or(f64::INFINITY, |bytes| bytes.0 as f64);
        let is_longer = tasks.run_ns.0 as f64 / tasks.switches().max(1) as f64 > MARKED_NS;
        let unmarked = match &self.bound {
            Some(bound) if !loses_translations => bound.unmarked(),
            _ => 0.0,
        };
        let marked = if is_longer { f64::INFINITY } else { bytes(tasks.referenced_bytes) + unmarked };
        bytes(tasks.resident_bytes).min(marked)
    }
}

/// For so long is looked at which pages are touched, in nanoseconds.
const MARKED_NS: f64 = 1e8;

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
