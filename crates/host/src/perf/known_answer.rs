//! Known-answer tests of events. An event is admitted only if it counts a workload of known count
//! right.

use std::io;
use std::ops::RangeInclusive;

use strum::IntoEnumIterator;
use switchcost_record::{SelfTest, SelfTestOutcome};
use switchcost_units::CpuId;

use super::workloads::{self as run, Workbench};
use super::{CounterSet, CounterSource, Event, Scope};
use crate::control::pin;
use crate::core_clock;
use crate::unavailable::needs_level;
use crate::windows::judge;

/// A workload, and the count that an event must give for the workload.
struct KnownAnswer {
    text: &'static str,
    expected: Expected,
    run: fn(&mut Workbench),
    /// The same work without the event, for counters that also count something else (such as all
    /// loads, not only those that miss).
    quiet: Option<fn(&mut Workbench)>,
}

enum Expected {
    Within(RangeInclusive<u64>),
    /// The count must be the number of cycles of [`core_clock::run_chain`].
    Chain,
}

/// Tests every event as [`prove`] does. Returns the events that passed, and the outcome of each
/// test.
///
/// Takes a few milliseconds, and up to half a second if events of far caches are tested.
pub fn admit(source: &dyn CounterSource, cpu: Option<CpuId>) -> (Vec<Event>, Vec<SelfTest>) {
    let events: Vec<Event> = Event::iter().collect();
    let tests = prove(source, &events, cpu);
    let is_admitted = |(_, test): &(Event, &SelfTest)| test.outcome == SelfTestOutcome::Admitted;
    let admitted = events.into_iter().zip(&tests).filter(is_admitted);
    (admitted.map(|(event, _)| event).collect(), tests)
}

/// Tests `events` on the calling thread. Hardware events are counted on `cpu`, if given.
pub fn prove(source: &dyn CounterSource, events: &[Event], cpu: Option<CpuId>) -> Vec<SelfTest> {
    let mut bench = Workbench::default();
    events
        .iter()
        .map(|event| test(source, *event, cpu, &mut bench))
        .collect()
}

fn test(
    source: &dyn CounterSource,
    event: Event,
    cpu: Option<CpuId>,
    bench: &mut Workbench,
) -> SelfTest {
    let answer = known_answer(event);
    let outcome = ask(source, event, cpu, &answer, bench)
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
    cpu: Option<CpuId>,
    answer: &KnownAnswer,
    bench: &mut Workbench,
) -> Result<SelfTestOutcome, String> {
    // The workload for migrations must be free to move the thread.
    let cpu = cpu.filter(|_| event.is_hardware());
    let not_ours = |error| format!("this process may not run on the measured CPU: {error}");
    let _pin = cpu.map(|cpu| pin(&[cpu])).transpose().map_err(not_ours)?;
    let mut counters =
        CounterSet::open(source, &[event], &Scope::own(cpu)).map_err(|error| error.to_string())?;
    if event.happens_in_kernel() && !counters.counts_kernel() {
        return Err(format!(
            "it happens in the kernel's half, which is not counted: {}",
            needs_level(1)
        ));
    }
    if event == Event::CpuMigrations && run::allowed_cpus().len() < 2 {
        return Err(
            "there is one CPU to run on, and two are needed to be moved between".to_owned(),
        );
    }
    // The first run warms up. Each further run is counted in one window.
    (answer.run)(bench);
    let expected = match &answer.expected {
        Expected::Within(expected) => expected.clone(),
        Expected::Chain => {
            let window = || count(&mut counters, answer.run, bench);
            return Ok(core_clock::judge_chain(core_clock::multiplication_cycles(), window)?.0);
        }
    };
    let low = *expected.start();
    let outcome = judge(expected, || count(&mut counters, answer.run, bench))?;
    match answer.quiet {
        Some(quiet) if outcome == SelfTestOutcome::Admitted => {
            quiet(bench);
            judge(0..=low / 4, || count(&mut counters, quiet, bench))
        }
        _ => Ok(outcome),
    }
}

/// Runs the workload once, and returns its count.
fn count(
    counters: &mut CounterSet,
    run: fn(&mut Workbench),
    bench: &mut Workbench,
) -> Result<u64, String> {
    let broken = |error: io::Error| format!("the counter broke: {error}");
    counters.start().map_err(broken)?;
    run(bench);
    counters.stop().map_err(broken)?;
    let counts = counters.read().map_err(broken)?;
    counts
        .into_values()
        .next()
        .ok_or_else(|| "the CPU's counters are taken: it counted only part of the time".to_owned())
}

/// Returns the test of an event. The upper bound leaves room for kernel mode: interrupts, and the
/// two system calls that start and stop the counter.
fn known_answer(event: Event) -> KnownAnswer {
    let answer = |text, low, high, run| KnownAnswer {
        text,
        expected: Expected::Within(low..=high),
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
        // Emulators count instructions instead of cycles: 1.2 for each multiplication, or a
        // multiple.
        Event::Cycles => KnownAnswer {
            text: "600,000 dependent multiplications of a whole number of cycles",
            expected: Expected::Chain,
            run: |_| core_clock::run_chain(),
            quiet: None,
        },
        Event::PageFaults => answer("64 base pages touched for the first time", 64, 70, |_| {
            run::touch_pages(64)
        }),
        Event::ContextSwitches => answer("16 sleeps", 16, 24, |_| run::sleep(16)),
        // Two more moves are possible: to the first CPU, and after the pins are removed.
        Event::CpuMigrations => answer("8 moves between two CPUs", 8, 10, |_| run::migrate(8)),
        // The counter's time continues while a hypervisor runs another guest, the scheduler's does
        // not. The window is so short that most windows have no such time.
        Event::TaskClock => answer("1 ms of this thread's CPU time", 980_000, 1_080_000, |_| {
            run::burn_cpu_time()
        }),
        misses => known_misses(misses),
    }
}

/// Returns the test of an event that counts misses or stalls. The quiet workload does similar work
/// with few misses.
fn known_misses(event: Event) -> KnownAnswer {
    let answer = |text, low, high, run, quiet| KnownAnswer {
        text,
        expected: Expected::Within(low..=high),
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
        // A miss stalls for at least ten cycles.
        Event::StalledCyclesFrontend => answer(
            "8,192 jumps, each to another line of 512 KiB of code, and few stalls in a loop of as many rounds",
            20_000,
            8_000_000,
            |bench| bench.run_code(512 << 10, 1),
            |_| run::counted_loop(8_192),
        ),
        Event::StalledCyclesBackend => answer(
            "1,048,576 loads, each from another line of 64 MiB in random order, and few stalls in a loop of as many rounds",
            10_000_000,
            3_000_000_000,
            |bench| bench.chase_lines(64 << 20),
            |_| run::counted_loop(1_048_576),
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
        test(source, event, None, &mut Workbench::default()).outcome
    }

    fn outcome_of(event: Event, script: Script) -> SelfTestOutcome {
        outcome(&Scripted::new([(event, script)]), event)
    }

    #[test]
    fn the_right_answer_is_admitted_and_a_wrong_one_refused() {
        use Event::{Instructions, L1dLoadMisses, TaskClock};
        use Script::{Counts, CountsInTurn};
        let wrong = |expected_low, expected_high, found| SelfTestOutcome::Wrong {
            expected_low,
            expected_high,
            found,
        };
        for (event, script, expected) in [
            (Instructions, Counts(2_000_300), SelfTestOutcome::Admitted),
            (Instructions, Counts(0), wrong(2_000_000, 2_100_000, 0)),
            // A right counter may be disturbed once, but not count too much each time.
            (
                TaskClock,
                CountsInTurn(15_000_000, 1_000_700),
                SelfTestOutcome::Admitted,
            ),
            (
                TaskClock,
                CountsInTurn(15_000_000, 1_500_000),
                wrong(980_000, 1_080_000, 1_500_000),
            ),
            // A counter of something else grows along, also where there are no misses.
            (
                L1dLoadMisses,
                CountsInTurn(16_500, 300),
                SelfTestOutcome::Admitted,
            ),
            (
                L1dLoadMisses,
                CountsInTurn(16_500, 16_400),
                wrong(0, 2_048, 16_400),
            ),
        ] {
            assert_eq!(outcome_of(event, script), expected, "{event}: {script:?}");
        }
    }

    #[test]
    fn a_dead_counter_is_refused_whatever_it_should_have_counted() {
        let dead = Scripted::new(Event::iter().map(|event| (event, Script::Counts(0))));
        let (admitted, _) = admit(&dead, None);
        assert_eq!(admitted, []);
    }

    /// Emulators count instructions instead of cycles: 1.2 for each multiplication of the chain, or
    /// a multiple of that.
    #[test]
    fn a_counter_of_instructions_is_none_of_cycles() {
        for each in [1, 2, 4, 8] {
            let outcome = outcome_of(Event::Cycles, Script::Counts(each * 720_300));
            assert!(
                matches!(outcome, SelfTestOutcome::Wrong { found, .. } if found == each * 720_300),
                "{outcome:?}"
            );
        }
    }

    #[test]
    fn what_cannot_be_counted_is_unavailable_and_says_why() {
        for (event, script, why) in [
            (Event::Cycles, Script::Absent, "the script has no cycles"),
            (
                Event::Cycles,
                Script::Multiplexed(3_000_000),
                "only part of the time",
            ),
            (
                Event::Cycles,
                Script::FailsToRead,
                "the script fails to read",
            ),
            // What happens in the kernel cannot be counted in the user's half.
            (
                Event::ContextSwitches,
                Script::CountsUserOnly(0),
                "must be 1 or less",
            ),
            (
                Event::CpuMigrations,
                Script::CountsUserOnly(0),
                "must be 1 or less",
            ),
        ] {
            match outcome_of(event, script) {
                SelfTestOutcome::Unavailable { why: found } => {
                    assert!(found.contains(why), "{found}")
                }
                other => panic!("{script:?} gave {other:?}"),
            }
        }
        assert_eq!(
            outcome_of(Event::PageFaults, Script::CountsUserOnly(64)),
            SelfTestOutcome::Admitted
        );
    }

    #[test]
    fn only_admitted_events_are_given_out() {
        let source = Scripted::new([
            (Event::Cycles, Script::Counts(1_800_000)),
            (Event::TaskClock, Script::Counts(1)),
        ]);
        let (admitted, tests) = admit(&source, None);
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
        let (admitted, tests) = admit(&System, Some(run::allowed_cpus()[0]));
        assert_eq!(tests.len(), Event::iter().count(), "every event is tested");
        for (event, SelfTest { outcome, .. }) in Event::iter().zip(tests) {
            let is_right = outcome == SelfTestOutcome::Admitted;
            assert_eq!(admitted.contains(&event), is_right, "{event}: {outcome:?}");
            if let SelfTestOutcome::Unavailable { why } = outcome {
                assert!(!why.is_empty(), "{event} is not to be had without a reason");
            }
        }
    }
}
