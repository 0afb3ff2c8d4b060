use schemars::JsonSchema;
use serde::Serialize;
use switchcost_record::observation::{Calibration, Cause, Cost, Entry, Tasks, Why};

/// A range of values, usually a cost in nanoseconds or a share: a likely value between a lower and
/// an upper end.
#[derive(Clone, Copy, Debug, PartialEq, JsonSchema, Serialize)]
pub struct Range {
    /// Lower end of the range.
    pub low: f64,
    /// Likely value; `None` if unknown.
    pub likely: Option<f64>,
    /// Upper end of the range; infinite, and null in JSON, if there is none.
    #[schemars(with = "Option<f64>")]
    pub high: f64,
}

impl Range {
    pub(super) const NOTHING: Range = Range {
        low: 0.0,
        likely: Some(0.0),
        high: 0.0,
    };

    pub(super) fn plus(self, other: Range) -> Range {
        Range {
            low: self.low + other.low,
            likely: self.likely.zip(other.likely).map(|(a, b)| a + b),
            high: self.high + other.high,
        }
    }

    /// Returns the range multiplied by `count`.
    pub(super) fn times(self, count: f64) -> Range {
        if count > 0.0 {
            self.over(1.0 / count)
        } else {
            Range::NOTHING
        }
    }

    /// Returns the range with all its values limited to `most`.
    pub(super) fn up_to(self, most: f64) -> Range {
        Range {
            low: self.low.min(most),
            likely: self.likely.map(|likely| likely.min(most)),
            high: self.high.min(most),
        }
    }

    /// Returns the part of the range within the ends of another; `None` if there is none.
    pub(super) fn within(self, ends: Range) -> Option<Range> {
        let (low, high) = (self.low.max(ends.low), self.high.min(ends.high));
        (low <= high).then(|| Range {
            low,
            likely: self.likely.map(|likely| likely.clamp(low, high)),
            high,
        })
    }

    /// Returns the range with 0 as lower end and as likely value.
    fn perhaps(self) -> Range {
        Range {
            low: 0.0,
            likely: Some(0.0),
            ..self
        }
    }

    /// Returns the range divided by `whole`, such as a time or a count.
    pub fn over(self, whole: f64) -> Range {
        Range {
            low: self.low / whole,
            likely: self.likely.map(|likely| likely / whole),
            high: self.high / whole,
        }
    }
}

fn times(cost: &Cost, count: f64) -> Range {
    // No switch has a negative cost, so a negative end is an error of measurement.
    Range {
        low: cost.low_ns.max(0.0) * count,
        likely: Some(cost.ns.max(0.0) * count),
        high: cost.high_ns.max(0.0) * count,
    }
}

/// Direct costs of a switch for a trace of events, which has no causes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DirectCosts {
    /// Cost of a voluntary switch in nanoseconds.
    pub voluntary_ns: f64,
    /// Cost of an involuntary switch in nanoseconds, without an interrupt.
    pub involuntary_ns: f64,
}

impl DirectCosts {
    /// Returns the direct costs from a calibration; `None` if the calibration has no cost of a
    /// switch that blocks.
    pub fn new(calibration: &Calibration) -> Option<DirectCosts> {
        let (blocked, between) = (calibration.blocked?, preempted(calibration)?);
        Some(DirectCosts {
            voluntary_ns: blocked.ns.max(0.0),
            involuntary_ns: between.ns.max(0.0),
        })
    }
}

/// Costs of a switch on a machine, and of a preemption of a certain program.
#[derive(Clone, Copy, Debug)]
pub(super) struct Costs<'a> {
    pub(super) calibration: &'a Calibration,
    /// Cost of a preemption including its interrupt, as measured with this program by `inject`;
    /// `None` if not measured.
    pub(super) preemption: Option<Cost>,
}

/// Returns the direct cost of the switches of `tasks` in nanoseconds; `None` if the cost of a
/// switch on the machine is unknown.
pub(super) fn direct(tasks: &Tasks, costs: Costs<'_>) -> Option<Range> {
    if tasks.causes.is_empty() {
        let calibration = costs.calibration;
        let (blocked, between) = (calibration.blocked.as_ref()?, preempted(calibration)?);
        let involuntary = tasks.involuntary as f64;
        let interrupt = Interrupt::new(costs)?.times(involuntary).perhaps();
        return Some(
            times(blocked, tasks.voluntary as f64)
                .plus(times(&between, involuntary))
                .plus(interrupt),
        );
    }
    sum(tasks, |cause| cost_of_cause(cause, costs))
}

/// Returns the part of the direct cost that is due to interrupts that preempted the tasks, in
/// nanoseconds; `None` if the causes or the cost of a switch are unknown.
pub(super) fn interrupts(tasks: &Tasks, costs: Costs<'_>) -> Option<Range> {
    if tasks.causes.is_empty() && tasks.involuntary > 0 {
        return None;
    }
    sum(tasks, |cause| cost_of_interrupt(cause, costs))
}

fn sum(tasks: &Tasks, of: impl Fn(&Cause) -> Option<Range>) -> Option<Range> {
    tasks
        .causes
        .iter()
        .try_fold(Range::NOTHING, |sum, cause| Some(sum.plus(of(cause)?)))
}

/// Returns the direct cost of the switches of one cause in nanoseconds, including interrupts;
/// `None` if the cost of a switch on the machine is unknown.
pub(super) fn cost_of_cause(cause: &Cause, costs: Costs<'_>) -> Option<Range> {
    let calibration = costs.calibration;
    let (blocked, between) = (calibration.blocked?, preempted(calibration)?);
    let each = match cause.why {
        Why::Yielded => calibration.yielded.unwrap_or(between),
        why if why.is_involuntary() => between,
        _ => blocked,
    };
    Some(times(&each, cause.switches as f64).plus(cost_of_interrupt(cause, costs)?))
}

/// Returns the cost of the interrupts of one cause's switches. A time slice ends at a tick, which
/// also occurs without a switch; so the tick may cost nothing. A task that is woken by a system
/// call needs no interrupt.
fn cost_of_interrupt(cause: &Cause, costs: Costs<'_>) -> Option<Range> {
    let interrupts = Interrupt::new(costs)?.times(cause.switches as f64);
    Some(match (cause.why, &cause.entry) {
        (Why::SliceEnded, _) => interrupts.perhaps(),
        (why, Entry::Interrupt) if why.is_involuntary() && why != Why::Yielded => interrupts,
        _ => Range::NOTHING,
    })
}

/// Cost of the timer interrupt of a preemption in nanoseconds, in addition to the switch.
struct Interrupt(Range);

impl Interrupt {
    /// Computes the cost of the interrupt. `measure` reports half of a whole preemption, which is
    /// two switches and the interrupt. The likely cost assumes that each of the two switches, one
    /// of them with the interrupt, takes half. The upper end assumes the least cost for the switch
    /// without the interrupt. If `inject` has measured the program, its cost is that of one switch
    /// with the interrupt: the CPU time charged to a program is about half of a whole preemption.
    /// Without a measured preemption there is no upper end.
    fn new(costs: Costs<'_>) -> Option<Interrupt> {
        let calibration = costs.calibration;
        let (blocked, between) = (calibration.blocked?, preempted(calibration)?);
        Some(Interrupt(match (costs.preemption, calibration.preempted) {
            (Some(own), _) => Range {
                low: (own.low_ns - between.high_ns).max(0.0),
                likely: Some((own.ns - between.ns).max(0.0)),
                high: (own.high_ns - between.low_ns).max(0.0),
            },
            (None, Some(half)) => Range {
                low: 0.0,
                likely: Some((half.ns - between.ns).max(0.0)),
                high: (2.0 * half.high_ns - blocked.low_ns.max(0.0) - between.high_ns).max(0.0),
            },
            (None, None) => Range {
                low: 0.0,
                likely: Some(0.0),
                high: f64::INFINITY,
            },
        }))
    }

    fn times(&self, count: f64) -> Range {
        self.0.times(count)
    }
}

/// Returns the direct cost of a preemption without its interrupt. A preemption wakes no task and
/// removes none from the run queue. So its cost is that of a yield, and at most that of a switch
/// that blocks.
fn preempted(calibration: &Calibration) -> Option<Cost> {
    let blocked = calibration.blocked?;
    let yielded = calibration.yielded.unwrap_or(Cost {
        low_ns: 0.0,
        ..blocked
    });
    Some(Cost {
        ns: yielded.ns.min(blocked.ns),
        low_ns: yielded.low_ns.min(blocked.low_ns),
        high_ns: blocked.high_ns.max(yielded.high_ns),
    })
}
