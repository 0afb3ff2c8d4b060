//! Tries to count core cycles with a hardware counter.

use std::hint::black_box;
use std::io;

use perf_event::Builder;
use perf_event::events::Hardware;
use switchcost_record::SelfTestOutcome;
use switchcost_units::CpuId;

use switchcost_host::perf::{Event, System, prove};

/// Outcome of an attempt to count the core cycles of this thread.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum CycleCounter {
    /// The counter counts cycles.
    Counts,
    /// The counter can be opened but stays at zero, as under some hypervisors.
    StaysZero,
    /// The counter counts something else. The text says what was counted, and whether the
    /// instruction counter is correct.
    Wrong(String),
    /// The kernel has no counter of cycles; the text has the error.
    Absent(String),
    /// The kernel refuses access to the counter; the text has the error.
    Refused(String),
    /// No attempt was made, because the examined files are not those of this machine.
    NotTried,
}

/// Opens a counter of this thread's user-level cycles, executes some cycles, and reads the counter.
/// The counter must also pass the known-answer test that a measurement uses.
pub(super) fn attempt(cpu: Option<CpuId>) -> CycleCounter {
    match count() {
        Ok(0) => CycleCounter::StaysZero,
        Ok(_) => {
            let outcomes = prove(&System, &[Event::Cycles, Event::Instructions], cpu);
            let mut outcomes = outcomes.into_iter().map(|test| test.outcome);
            let cycles = outcomes.next().expect("a test of each event");
            let instructions = outcomes.next().expect("a test of each event");
            judged(cycles, &instructions)
        }
        Err(error) => failure(&error),
    }
}

fn judged(outcome: SelfTestOutcome, instructions: &SelfTestOutcome) -> CycleCounter {
    match outcome {
        SelfTestOutcome::Admitted => CycleCounter::Counts,
        SelfTestOutcome::Unavailable { why } => CycleCounter::Absent(why),
        SelfTestOutcome::Wrong {
            expected_low,
            expected_high,
            found,
        } => CycleCounter::Wrong(format!(
            "it counted {found} in {expected_low} to {expected_high} cycles; {}",
            instructions_judged(instructions)
        )),
    }
}

fn instructions_judged(outcome: &SelfTestOutcome) -> String {
    match outcome {
        SelfTestOutcome::Admitted => "instructions are counted right".to_owned(),
        SelfTestOutcome::Unavailable { why } => format!("instructions are not counted: {why}"),
        SelfTestOutcome::Wrong {
            expected_low,
            expected_high,
            found,
        } => format!("it counted {found} in {expected_low} to {expected_high} instructions"),
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

    /// Tests a counter that counts instructions as cycles, as an emulator does.
    #[test]
    fn a_counter_of_something_else_is_none_of_cycles() {
        let wrong = SelfTestOutcome::Wrong {
            expected_low: 1_194_000,
            expected_high: 1_224_000,
            found: 720_700,
        };
        let taken = SelfTestOutcome::Unavailable {
            why: "taken".into(),
        };
        for (instructions, rest) in [
            (SelfTestOutcome::Admitted, "instructions are counted right"),
            (taken.clone(), "instructions are not counted: taken"),
            (
                wrong.clone(),
                "it counted 720700 in 1194000 to 1224000 instructions",
            ),
        ] {
            let said = format!("it counted 720700 in 1194000 to 1224000 cycles; {rest}");
            let judged = judged(wrong.clone(), &instructions);
            assert_eq!(judged, CycleCounter::Wrong(said));
        }
        let right = SelfTestOutcome::Admitted;
        assert_eq!(judged(right.clone(), &right), CycleCounter::Counts);
        assert_eq!(judged(taken, &right), CycleCounter::Absent("taken".into()));
    }
}
