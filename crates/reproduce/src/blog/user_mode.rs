//! Computes the share of user mode in the time of hand-offs.
//!
//! The kernel attributes CPU time to user mode or to the kernel by its timer ticks. In the recorded
//! windows, the first task also probes the core's clock before each batch, in user mode, so the
//! recorded time of the probes is subtracted. The error of the result is that of counting ticks:
//! the square root of their number.

use switchcost_record::MeasureRecord;

use crate::Outcome;
use crate::claims::Term;
use crate::interval::Interval;

/// Timer frequency of Debian's kernels in Hz, which is assumed if the kernel does not report its
/// own.
const USUAL_HZ: u32 = 250;
/// Quantile of Student's t for a 90 % interval with many degrees of freedom.
const T90: f64 = 1.645;
/// Least number of timer ticks in the kernel that gives a result.
const FEWEST_TICKS: f64 = 20.0;

/// Returns the ratio of the time in user mode to the time in the kernel, for one case of a record.
pub(super) fn over_kernel(record: &MeasureRecord, case: usize) -> Outcome<Term> {
    let lacks = || "the record does not separate user mode from the kernel".to_owned();
    let (mut user, mut system, mut probes) = (0.0, 0.0, 0.0);
    for window in record
        .cycles
        .iter()
        .filter(|window| window.case == case as u32)
    {
        user += window.evidence.task_user_ns.ok_or_else(lacks)?.0 as f64;
        system += window.evidence.task_system_ns.ok_or_else(lacks)?.0 as f64;
        let ticks = window
            .batches
            .chain_ticks
            .iter()
            .chain(&window.batches.addition_ticks);
        let rate = record.header.clock.ticks_per_second;
        probes += ticks.map(|ticks| rate.nanos(*ticks).0 as f64).sum::<f64>();
    }
    let tick_ns = 1e9 / f64::from(*record.header.host.timer_hz.known().unwrap_or(&USUAL_HZ));
    if system < FEWEST_TICKS * tick_ns {
        return Err(format!(
            "less than {FEWEST_TICKS} ticks of the timer fell into the kernel"
        ));
    }
    let error = T90 * (user.max(tick_ns) * tick_ns).sqrt();
    let share = |user: f64| (user - probes).max(0.0) / system;
    Ok(Term::new(
        "user mode over the kernel",
        Interval::symmetric(user, error).map(share),
    ))
}
