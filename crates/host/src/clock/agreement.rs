//! Tests whether a clock shows the same time on two CPUs, so that time stamps can be compared.

use std::io;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::SeqCst;
use std::thread::Builder;

use switchcost_units::{CpuId, Nanos, Ticks};

use super::{Clock, monotonic};
use crate::control::pin;

/// Number of requests in a test. All requests of a test take a millisecond if both CPUs are free.
const QUESTIONS: u64 = 2_000;

/// Longest wait for an answer, after which the other CPU counts as too busy.
const TIMEOUT: Nanos = Nanos::millis(200);

/// Number of the request that ends the exchange.
const END: u64 = u64::MAX;

/// Whether the clocks of two CPUs disagree. One CPU repeatedly asks the other to read its clock,
/// and notes the time of the request and of the answer by its own clock. The clocks disagree if a
/// reading is outside these times. Clocks that differ by more than the time of an exchange are
/// always found; clocks that agree never are.
///
/// # Errors
///
/// If a CPU may not be used or is too busy, or no thread can be started.
pub(super) fn disagree(clock: Clock, [one, other]: [CpuId; 2]) -> io::Result<bool> {
    let (asked, answered, answer) = (AtomicU64::new(0), AtomicU64::new(0), AtomicU64::new(0));
    std::thread::scope(|scope| {
        let answering = || {
            let pinned = pin(&[other]);
            let mut last = 0;
            while last != END {
                let question = asked.load(SeqCst);
                if question != last {
                    answer.store(clock.now().0, SeqCst);
                    answered.store(question, SeqCst);
                    last = question;
                }
                std::hint::spin_loop();
            }
            pinned.map(drop)
        };
        let thread = Builder::new().spawn_scoped(scope, answering)?;
        let ask = || {
            let _pin = pin(&[one])?;
            let latest = monotonic() + TIMEOUT;
            for question in 1..=QUESTIONS {
                let before = clock.now();
                asked.store(question, SeqCst);
                while answered.load(SeqCst) != question {
                    if monotonic() > latest {
                        return Err(io::ErrorKind::TimedOut.into());
                    }
                    std::hint::spin_loop();
                }
                if is_outside(before, Ticks(answer.load(SeqCst)), clock.now()) {
                    return Ok(true);
                }
            }
            Ok(false)
        };
        let seen = ask();
        asked.store(END, SeqCst);
        let pinned = thread
            .join()
            .unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        pinned.and(seen)
    })
}

fn is_outside(before: Ticks, answer: Ticks, after: Ticks) -> bool {
    answer < before || answer > after
}

#[cfg(test)]
mod tests {
    use super::*;
    use switchcost_facts::{Root, allowed_cpus};

    #[test]
    fn the_kernels_clock_is_the_same_everywhere() {
        let cpus = allowed_cpus(&Root::system());
        let pair = [cpus[0], cpus[cpus.len() - 1]];
        // Another task may take a CPU for longer than the time limit, in which case the clocks were
        // not compared.
        match disagree(Clock::MonotonicRaw, pair) {
            Ok(found) => assert!(!found),
            Err(error) => assert_eq!(error.kind(), io::ErrorKind::TimedOut),
        }
        assert!(disagree(Clock::MonotonicRaw, [cpus[0], CpuId(1023)]).is_err());
    }

    #[test]
    fn an_answer_from_another_time_is_seen() {
        let [early, middle, late] = [Ticks(10), Ticks(20), Ticks(30)];
        assert!(!is_outside(early, middle, late) && !is_outside(early, early, early));
        assert!(is_outside(middle, early, late) && is_outside(early, late, middle));
    }
}
