//! An attempt to count cycles.

use std::hint::black_box;
use std::io;

use perf_event::Builder;
use perf_event::events::Hardware;
use switchcost_record::SelfTestOutcome;

use switchcost_host::perf::{System, test_cycles};

/// What an attempt to count one's own cycles came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum CycleCounter {
    /// It counts.
    Counts,
    /// It opens and stays at zero, as under some hypervisors.
    StaysZero,
    /// It counts something else: what, for how many cycles.
    Wrong(String),
    /// The kernel has none: nothing answers for cycles.
    Absent(String),
    /// The kernel has one and refuses it.
    Refused(String),
    /// The files of another machine cannot be asked.
    NotTried,
}

/// Opens a counter of this thread's own user-level cycles, spends some, and reads it; what counts is held to the known answer that a
/// measurement asks for.
pub(super) fn attempt() -> CycleCounter {
    match count() {
        Ok(0) => CycleCounter::StaysZero,
        Ok(_) => judged(test_cycles(&System).outcome),
        Err(error) => failure(&error),
    }
}

fn judged(outcome: SelfTestOutcome) -> CycleCounter {
    match outcome {
        SelfTestOutcome::Admitted => CycleCounter::Counts,
        SelfTestOutcome::Unavailable { why } => CycleCounter::Absent(why),
        SelfTestOutcome::Wrong {
            expected_low,
            expected_high,
            found,
        } => CycleCounter::Wrong(format!(
            "it counted {found} where there were {expected_low} to {expected_high} cycles"
        )),
    }
}

fn failure(error: &io::Error) -> CycleCounter {
    let text = error.to_string();
    match error.raw_os_error() {
        Some(libc::EACCES | libc::EPERM) => CycleCounter::Refused(text),
        _ => CycleCounter::Absent(text),
    }
}

fn count() -> io::Result<u64> {
    let mut counter = Builder::new(Hardware::CPU_CYCLES).build()?;
    counter.enable()?;
    (0..10_000_u64).for_each(|n| {
        black_box(n);
    });
    counter.read()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_is_distinguished_from_an_absence() {
        let error = |number| failure(&io::Error::from_raw_os_error(number));
        assert!(matches!(error(libc::EACCES), CycleCounter::Refused(_)));
        assert!(matches!(error(libc::ENOENT), CycleCounter::Absent(_)));
    }

    /// As in an emulator, which counts instructions for cycles.
    #[test]
    fn a_counter_of_something_else_is_none_of_cycles() {
        let wrong = SelfTestOutcome::Wrong {
            expected_low: 2_900_000,
            expected_high: 6_000_000,
            found: 1_200_700,
        };
        let said = "it counted 1200700 where there were 2900000 to 6000000 cycles";
        assert_eq!(judged(wrong), CycleCounter::Wrong(said.to_owned()));
        assert_eq!(judged(SelfTestOutcome::Admitted), CycleCounter::Counts);
        assert_eq!(
            judged(SelfTestOutcome::Unavailable {
                why: "taken".into()
            }),
            CycleCounter::Absent("taken".into())
        );
    }
}
