//! Known-answer tests: an event is admitted only after it has counted a workload whose count is known.

use std::io;
use std::ops::RangeInclusive;

use strum::IntoEnumIterator;
use switchcost_record::{SelfTest, SelfTestOutcome};

use super::workloads::{self as run, Workbench};
use super::{CounterGroup, CounterSource, Event};
use crate::core_clock;
use crate::unavailable::needs_level;
use crate::windows::judge;

/// A workload, and between what its count must lie.
struct KnownAnswer {
    text: &'static str,
    low: u64,
    high: u64,
    run: fn(&mut Workbench),
    /// As much work of the same kind without the event: a counter of all loads also counts loads that miss.
    quiet: Option<fn(&mut Workbench)>,
}

/// Tests every event on the calling thread. Gives those that may be used, and the outcome of each test.
///
/// Takes a few milliseconds, and up to half a second where the CPU's counters of far caches are there to be tested.
pub fn admit(source: &dyn CounterSource) -> (Vec<Event>, Vec<SelfTest>) {
    let mut bench = Workbench::default();
    let tests: Vec<_> = Event::iter()
        .map(|event| (event, test(source, event, &mut bench)))
        .collect();
    let admitted = tests
        .iter()
        .filter(|(_, test)| test.outcome == SelfTestOutcome::Admitted)
        .map(|(event, _)| *event);
    (
        admitted.collect(),
        tests.into_iter().map(|(_, test)| test).collect(),
    )
}

/// The same of the counter of cycles alone, in a few milliseconds.
pub fn test_cycles(source: &dyn CounterSource) -> SelfTest {
    test(source, Event::Cycles, &mut Workbench::default())
}

fn test(source: &dyn CounterSource, event: Event, bench: &mut Workbench) -> SelfTest {
    let answer = known_answer(event);
    let outcome = ask(source, event, &answer, bench)
        .unwrap_or_else(|why| SelfTestOutcome::Unavailable { why });
    SelfTest {
        instrument: event.to_string(),
        known_answer: answer.text.to_owned(),
        outcome,
    }
}

fn ask(
    source: &dyn CounterSource,
    event: Event,
    answer: &KnownAnswer,
    bench: &mut Workbench,
) -> Result<SelfTestOutcome, String> {
    let mut group = source
        .open(&[event], crate::task::current_tid())
        .map_err(|error| error.to_string())?;
    if event.happens_in_kernel() && !group.counts_kernel() {
        return Err(format!(
            "it happens in the kernel's half, which is not counted: {}",
            needs_level(1)
        ));
    }
    if event == Event::CpuMigrations && run::allowed_cpus().len() < 2 {
        return Err("found one CPU to run on, need two to be moved between".to_owned());
    }
    let outcome = check(&mut *group, answer.run, answer.low..=answer.high, bench)?;
    match answer.quiet {
        Some(quiet) if outcome == SelfTestOutcome::Admitted => {
            check(&mut *group, quiet, 0..=answer.low / 4, bench)
        }
        _ => Ok(outcome),
    }
}

/// Runs the workload once to warm it up, and then as often as its count has to be looked at.
fn check(
    group: &mut dyn CounterGroup,
    run: fn(&mut Workbench),
    expected: RangeInclusive<u64>,
    bench: &mut Workbench,
) -> Result<SelfTestOutcome, String> {
    run(bench);
    judge(expected, || count(group, run, bench))
}

/// Counts the workload alone.
fn count(
    group: &mut dyn CounterGroup,
    run: fn(&mut Workbench),
    bench: &mut Workbench,
) -> Result<u64, String> {
    let broken = |error: io::Error| format!("the counter broke: {error}");
    group.start().map_err(broken)?;
    run(bench);
    group.stop().map_err(broken)?;
    let reading = group.read().map_err(broken)?;
    if reading.is_multiplexed() {
        return Err("the CPU's counters are taken: it counted only part of the time".to_owned());
    }
    reading
        .values
        .first()
        .copied()
        .ok_or_else(|| "the reading is empty".to_owned())
}

/// What a chain of them takes, and no less: 3 cycles each on all x86-64 of the last ten years, 4 on some before.
#[cfg(not(target_arch = "aarch64"))]
const MULTIPLICATIONS: (&str, u64) = (
    "a chain of 1,000,000 dependent multiplications of 3 to 5 cycles",
    2_900_000,
);
/// On Arm 2 on the cores of the last years, up to 5 on others (Arm's Software Optimization Guides). A counter of instructions, as
/// emulators have for cycles, comes to 1.2 million.
#[cfg(target_arch = "aarch64")]
const MULTIPLICATIONS: (&str, u64) = (
    "a chain of 1,000,000 dependent multiplications of 2 to 5 cycles",
    1_900_000,
);

/// Bounds are the workload's own count, and above it room for the kernel's half: interrupts and the two calls that
/// start and stop the counter.
fn known_answer(event: Event) -> KnownAnswer {
    let answer = |text, low, high, run| KnownAnswer {
        text,
        low,
        high,
        run,
        quiet: None,
    };
    match event {
        Event::Instructions => answer(
            "a loop of 1,000,000 rounds of 2 instructions",
            2_000_000,
            2_100_000,
            |_| run::counted_loop(1_000_000),
        ),
        Event::Cycles => answer(MULTIPLICATIONS.0, MULTIPLICATIONS.1, 6_000_000, |_| {
            core_clock::chain(1_000_000)
        }),
        Event::PageFaults => answer("64 base pages touched for the first time", 64, 70, |_| {
            run::touch_pages(64)
        }),
        Event::ContextSwitches => answer("16 sleeps", 16, 24, |_| run::sleep(16)),
        // Room for a move to the first of the two CPUs, and for one after the pins are taken away.
        Event::CpuMigrations => answer("8 moves between two CPUs", 8, 10, |_| run::migrate(8)),
        // The counter's time goes on while a hypervisor runs another guest, the scheduler's does not: the window is short, so that most
        // have none of that.
        Event::TaskClock => answer("1 ms of this thread's CPU time", 980_000, 1_080_000, |_| {
            run::burn_cpu_time()
        }),
        misses => known_misses(misses),
    }
}

/// Guesses and places that are wrong or far, and as many that are not.
fn known_misses(event: Event) -> KnownAnswer {
    let answer = |text, low, high, run, quiet| KnownAnswer {
        text,
        low,
        high,
        run,
        quiet: Some(quiet),
    };
    match event {
        Event::BranchMisses => answer(
            "100,000 branches on random bits, of which half are guessed wrong, and few of as many by turns",
            30_000,
            70_000,
            |_| run::random_branches(100_000),
            |_| run::regular_branches(100_000),
        ),
        Event::L1iLoadMisses => answer(
            "8,192 jumps, each to another line of 512 KiB of code, and few of as many in 4 KiB",
            2_000,
            20_000,
            |bench| bench.run_code(512 << 10, 1),
            |bench| bench.run_code(4 << 10, 128),
        ),
        Event::DtlbLoadMisses => answer(
            "16,384 loads, each from another base page of 64 MiB, and few of as many in 4 KiB",
            8_192,
            33_000,
            |bench| bench.chase_pages(64 << 20),
            |bench| bench.chase_one_page(16_384),
        ),
        Event::LlcLoadMisses => answer(
            "1,048,576 loads, each from another line of 64 MiB in random order, and few of as many in 4 KiB",
            200_000,
            2_200_000,
            |bench| bench.chase_lines(64 << 20),
            |bench| bench.chase_one_page(1_048_576),
        ),
        _ => answer(
            "16,384 loads, each from another line of 1 MiB, after which the nearest cache has forgotten it, and few of \
             as many in 4 KiB",
            8_192,
            33_000,
            |bench| bench.chase_lines(1 << 20),
            |bench| bench.chase_one_page(16_384),
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::super::System;
    use super::super::fake::{Script, Scripted};
    use super::*;

    fn outcome(source: &dyn CounterSource, event: Event) -> SelfTestOutcome {
        test(source, event, &mut Workbench::default()).outcome
    }

    #[test]
    fn the_right_answer_is_admitted_and_a_wrong_one_refused() {
        let right = Scripted::new([(Event::Instructions, Script::Counts(2_000_300))]);
        assert_eq!(
            outcome(&right, Event::Instructions),
            SelfTestOutcome::Admitted
        );
        let zero = Scripted::new([(Event::Instructions, Script::Counts(0))]);
        assert_eq!(
            outcome(&zero, Event::Instructions),
            SelfTestOutcome::Wrong {
                expected_low: 2_000_000,
                expected_high: 2_100_000,
                found: 0
            }
        );
    }

    #[test]
    fn a_right_counter_that_was_disturbed_once_is_admitted_and_one_that_counts_too_much_is_not() {
        let disturbed = Scripted::new([(
            Event::TaskClock,
            Script::CountsInTurn(15_000_000, 1_000_700),
        )]);
        assert_eq!(
            outcome(&disturbed, Event::TaskClock),
            SelfTestOutcome::Admitted
        );
        let wrong = Scripted::new([(
            Event::TaskClock,
            Script::CountsInTurn(15_000_000, 1_500_000),
        )]);
        assert_eq!(
            outcome(&wrong, Event::TaskClock),
            SelfTestOutcome::Wrong {
                expected_low: 980_000,
                expected_high: 1_080_000,
                found: 1_500_000
            }
        );
    }

    #[test]
    fn a_counter_of_something_else_that_grows_along_is_refused() {
        for (quiet, outcome) in [
            (300, SelfTestOutcome::Admitted),
            (
                16_400,
                SelfTestOutcome::Wrong {
                    expected_low: 0,
                    expected_high: 2_048,
                    found: 16_400,
                },
            ),
        ] {
            let source =
                Scripted::new([(Event::L1dLoadMisses, Script::CountsInTurn(16_500, quiet))]);
            assert_eq!(self::outcome(&source, Event::L1dLoadMisses), outcome);
        }
    }

    #[test]
    fn a_dead_counter_is_refused_whatever_it_should_have_counted() {
        let dead = Scripted::new(Event::iter().map(|event| (event, Script::Counts(0))));
        let (admitted, _) = admit(&dead);
        assert_eq!(admitted, []);
    }

    #[test]
    fn what_happens_in_the_kernel_cannot_be_counted_in_the_users_half() {
        for event in [Event::ContextSwitches, Event::CpuMigrations] {
            let source = Scripted::new([(event, Script::CountsUserOnly(0))]);
            match outcome(&source, event) {
                SelfTestOutcome::Unavailable { why } => {
                    assert!(why.contains("need 1 or less"), "{why}")
                }
                other => panic!("{event} gave {other:?}"),
            }
        }
        let source = Scripted::new([(Event::PageFaults, Script::CountsUserOnly(64))]);
        assert_eq!(
            outcome(&source, Event::PageFaults),
            SelfTestOutcome::Admitted
        );
    }

    /// As emulators have one: of the chain, a tenth of whose multiplications end in two instructions of its loop.
    #[test]
    fn a_counter_of_instructions_is_none_of_cycles() {
        let instructions = Scripted::new([(Event::Cycles, Script::Counts(1_200_300))]);
        assert!(matches!(
            outcome(&instructions, Event::Cycles),
            SelfTestOutcome::Wrong {
                found: 1_200_300,
                ..
            }
        ));
    }

    #[test]
    fn what_is_absent_multiplexed_or_broken_is_unavailable_and_says_why() {
        for (script, why) in [
            (Script::Absent, "the script has no cycles"),
            (Script::Multiplexed(3_000_000), "only part of the time"),
            (Script::FailsToRead, "the script fails to read"),
        ] {
            let source = Scripted::new([(Event::Cycles, script)]);
            match outcome(&source, Event::Cycles) {
                SelfTestOutcome::Unavailable { why: found } => {
                    assert!(found.contains(why), "{found}")
                }
                other => panic!("{script:?} gave {other:?}"),
            }
        }
    }

    #[test]
    fn only_admitted_events_are_given_out() {
        let source = Scripted::new([
            (Event::Cycles, Script::Counts(3_000_000)),
            (Event::TaskClock, Script::Counts(1)),
        ]);
        let (admitted, tests) = admit(&source);
        assert_eq!(admitted, [Event::Cycles]);
        assert_eq!(tests.len(), Event::iter().count());
    }

    #[test]
    fn the_kernels_own_events_give_the_known_answers_here() {
        for event in Event::iter().filter(|event| !event.is_hardware()) {
            match outcome(&System, event) {
                SelfTestOutcome::Admitted => {}
                SelfTestOutcome::Unavailable { why } => eprintln!("skipped: {event}: {why}"),
                wrong => panic!("{event}: {wrong:?}"),
            }
        }
    }

    #[test]
    fn the_cpus_events_are_right_or_not_admitted() {
        let (admitted, tests) = admit(&System);
        assert_eq!(tests.len(), Event::iter().count(), "every event is tested");
        for (event, test) in Event::iter().zip(tests) {
            let is_right = test.outcome == SelfTestOutcome::Admitted;
            assert_eq!(
                admitted.contains(&event),
                is_right,
                "{event}: {:?}",
                test.outcome
            );
            if let SelfTestOutcome::Unavailable { why } = test.outcome {
                assert!(!why.is_empty(), "{event} is not to be had without a reason");
            }
        }
    }
}
