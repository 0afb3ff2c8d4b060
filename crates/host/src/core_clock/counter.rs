//! The core's cycles as counted by the CPU itself, if accessible: by a performance counter, or by
//! APERF. A counter that gives the known number of cycles for the probe's chain becomes the core's
//! clock. If that number is not known for a core, the counter determines it.

use std::fmt;
use std::io;

use perf_event::events::{Dynamic, Hardware};
use perf_event::{Builder, Counter};
use serde::{Deserialize, Serialize};
use switchcost_record::{CoreClock, SelfTest, SelfTestOutcome};
use switchcost_units::{CpuId, Ticks};

use super::{CHAIN_STEP, multiply};
use crate::clock::Clock;
use crate::control::pin;
use crate::unavailable::{Unavailable, WHOLE_CPU, unavailable};
use crate::windows::judge;

/// Number of multiplications whose cycles are counted. The multiplications take half a millisecond,
/// so the time of reading the counter is negligible.
const PROOF: u32 = 600_000;

/// Range of plausible latencies of a multiplication, in cycles, on any core.
const PLAUSIBLE: std::ops::RangeInclusive<u32> = 2..=10;

/// Event that counts the cycles of a core.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CycleEvent {
    /// The CPU's performance counter of core cycles.
    Cycles,
    /// Model-specific register that counts at the actual clock rate while the core is not halted.
    Aperf,
}

/// Formats the event's name as perf writes it.
impl fmt::Display for CycleEvent {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            CycleEvent::Cycles => "cycles",
            CycleEvent::Aperf => "msr/aperf/",
        })
    }
}

/// Source of counters of core cycles: the kernel, or a script in tests.
pub trait CycleSource {
    /// Opens a counter of everything that runs on a CPU, already counting.
    fn open(&self, event: CycleEvent, cpu: CpuId) -> Result<Box<dyn RunningCounter>, Unavailable>;
}

/// A counter that continues to count while it is read.
pub trait RunningCounter {
    /// Returns the count so far; `None` if the counter did not count all the time.
    fn count(&mut self) -> Option<u64>;
}

/// The kernel's counters by perf_event_open.
#[derive(Clone, Copy, Debug, Default)]
pub struct System;

impl CycleSource for System {
    fn open(&self, event: CycleEvent, cpu: CpuId) -> Result<Box<dyn RunningCounter>, Unavailable> {
        let builder = match event {
            CycleEvent::Cycles => Ok(Builder::new(Hardware::CPU_CYCLES)),
            CycleEvent::Aperf => register("aperf").map(Builder::new),
        };
        let is_hardware = event == CycleEvent::Cycles;
        match builder.and_then(|builder| running(builder, is_hardware, cpu)) {
            Ok(counter) => Ok(Box::new(counter)),
            Err(error) => Err(unavailable(&error, 1, WHOLE_CPU)),
        }
    }
}

/// Returns the event `name` of the kernel's `msr` PMU.
fn register(name: &str) -> io::Result<Dynamic> {
    let missing = |_| io::Error::from_raw_os_error(libc::ENOENT);
    let mut builder = Dynamic::builder("msr")?;
    builder.event(name)?;
    builder.build().map_err(missing)
}

/// Opens and starts a counter of everything that runs on a CPU. Only hardware counters can exclude
/// a mode; the kernel refuses a counter of the `msr` PMU that is to exclude one.
fn running(mut builder: Builder<'static>, is_hardware: bool, cpu: CpuId) -> io::Result<Counter> {
    builder
        .any_pid()
        .one_cpu(cpu.0 as usize)
        .exclude_kernel(false)
        .exclude_hv(is_hardware);
    let mut counter = builder.build()?;
    counter.enable()?;
    Ok(counter)
}

impl RunningCounter for Counter {
    fn count(&mut self) -> Option<u64> {
        let reading = self.read_full().ok()?;
        (reading.time_running()? >= reading.time_enabled()?).then(|| reading.count())
    }
}

/// A reading of the core's cycles, with the time of the reading.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Count {
    /// Cycles since an arbitrary beginning.
    pub cycles: u64,
    /// Time of the reading.
    pub at: Ticks,
}

impl Count {
    /// Reads the counter and the clock together; `None` if the counter did not count all the time.
    pub fn read(counter: &mut dyn RunningCounter, clock: Clock) -> Option<Count> {
        Some(Count {
            cycles: counter.count()?,
            at: clock.now(),
        })
    }
}

/// Tests counters on the cycles of the probe's chain. Stores the first one that gives the known
/// answer in `clock`, and returns its event and the outcome. On an unknown core any whole number of
/// cycles from 2 to 10 per multiplication is accepted.
pub fn prove(
    source: &dyn CycleSource,
    cpu: CpuId,
    clock: &mut CoreClock,
) -> (Option<CycleEvent>, SelfTest) {
    let known_answer = match clock.multiplication_cycles {
        Some(each) => format!("{PROOF} dependent multiplications of {each} cycles"),
        None => format!("{PROOF} dependent multiplications of a whole number of cycles"),
    };
    let test = |outcome| SelfTest {
        instrument: "core-clock".to_owned(),
        known_answer,
        outcome,
    };
    let mut outcome = None;
    for event in [CycleEvent::Cycles, CycleEvent::Aperf] {
        match ask(source, event, cpu, clock.multiplication_cycles) {
            Ok((SelfTestOutcome::Admitted, each)) => {
                clock.multiplication_cycles = Some(each);
                clock.counter = Some(event.to_string());
                return (Some(event), test(SelfTestOutcome::Admitted));
            }
            Ok((wrong, _)) => outcome = Some(wrong),
            Err(why) => {
                outcome.get_or_insert(SelfTestOutcome::Unavailable { why });
            }
        }
    }
    (None, test(outcome.expect("an event was asked for")))
}

/// Returns the outcome of testing a counter, and the latency of a multiplication, in cycles, that
/// the test assumes.
fn ask(
    source: &dyn CycleSource,
    event: CycleEvent,
    cpu: CpuId,
    known: Option<u32>,
) -> Result<(SelfTestOutcome, u32), String> {
    let _pin = pin(&[cpu]).map_err(|error| format!("CPU {cpu} is not ours to run on: {error}"))?;
    let mut counter = source.open(event, cpu).map_err(|error| error.to_string())?;
    judge_chain(known, || {
        let before = counter.count();
        run_chain();
        let both = before.zip(counter.count());
        let (before, after) =
            both.ok_or("the CPU's counters are taken: it counted only part of the time")?;
        Ok(after.saturating_sub(before))
    })
}

/// Runs a chain of [`PROOF`] multiplications, whose cycles [`judge_chain`] knows.
pub(crate) fn run_chain() {
    multiply(PROOF / CHAIN_STEP);
}

/// Judges a counter of cycles by windows in which it counted the cycles of [`run_chain`]. Also
/// returns the latency of a multiplication in cycles; `known` is the known latency, if any.
pub(crate) fn judge_chain<E>(
    known: Option<u32>,
    mut window: impl FnMut() -> Result<u64, E>,
) -> Result<(SelfTestOutcome, u32), E> {
    let each = match known {
        Some(each) => each,
        // The least of three windows counts: an interrupt in a window would give another whole
        // number.
        None => nearest(window()?.min(window()?).min(window()?)),
    };
    let cycles = u64::from(each) * u64::from(PROOF);
    // A lower count is wrong. A count up to a fiftieth higher may include the kernel.
    let outcome = judge(cycles - cycles / 200..=cycles + cycles / 50, window)?;
    Ok((outcome, each))
}

fn nearest(cycles: u64) -> u32 {
    let each = (cycles as f64 / f64::from(PROOF)).round() as u32;
    each.clamp(*PLAUSIBLE.start(), *PLAUSIBLE.end())
}

/// Counters that follow a script.
#[cfg(test)]
pub(crate) mod fake {
    use super::*;

    /// A source of scripted counters that advance by these steps with each reading. An event
    /// without a step is absent.
    #[derive(Clone, Copy, Debug, Default)]
    pub(crate) struct Steps {
        pub(crate) cycles: Option<u64>,
        pub(crate) aperf: Option<u64>,
    }

    struct Stepping {
        step: u64,
        sum: u64,
    }

    impl CycleSource for Steps {
        fn open(
            &self,
            event: CycleEvent,
            _: CpuId,
        ) -> Result<Box<dyn RunningCounter>, Unavailable> {
            let step = match event {
                CycleEvent::Cycles => self.cycles,
                CycleEvent::Aperf => self.aperf,
            };
            let step = step.ok_or_else(|| Unavailable(format!("the script has no {event}")))?;
            Ok(Box::new(Stepping { step, sum: 0 }))
        }
    }

    impl RunningCounter for Stepping {
        fn count(&mut self) -> Option<u64> {
            self.sum += self.step;
            (self.step > 0).then_some(self.sum)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::fake::Steps;
    use super::*;

    fn clock(multiplication_cycles: Option<u32>) -> CoreClock {
        CoreClock {
            chain_length: super::super::CHAIN_LENGTH,
            multiplication_cycles,
            additions: super::super::ADDITIONS,
            overhead_ticks: Ticks(0),
            unshared_per_mille: None,
            counter: None,
            shared_costs: Vec::new(),
        }
    }

    fn prove_on(source: &dyn CycleSource, known: Option<u32>) -> (CoreClock, SelfTestOutcome) {
        let mut clock = clock(known);
        let cpu = crate::perf::workloads::allowed_cpus()[0];
        let (_, test) = prove(source, cpu, &mut clock);
        (clock, test.outcome)
    }

    #[test]
    fn a_counter_that_agrees_with_the_chain_is_the_cores_clock() {
        let admitted = || SelfTestOutcome::Admitted;
        let wrong = SelfTestOutcome::Wrong {
            expected_low: 1_791_000,
            expected_high: 1_836_000,
            found: 1_500_000,
        };
        for (cycles, aperf, known, name, multiplication_cycles, expected) in [
            (
                Some(1_803_000),
                None,
                Some(3),
                Some("cycles"),
                Some(3),
                admitted(),
            ),
            // The cycles of a multiplication are not known before.
            (
                None,
                Some(2_405_000),
                None,
                Some("msr/aperf/"),
                Some(4),
                admitted(),
            ),
            // A counter that contradicts the chain is refused, and the next is asked.
            (Some(1_500_000), None, Some(3), None, Some(3), wrong),
            (
                Some(1_500_000),
                Some(1_800_100),
                Some(3),
                Some("msr/aperf/"),
                Some(3),
                admitted(),
            ),
        ] {
            let source = Steps { cycles, aperf };
            let (clock, outcome) = prove_on(&source, known);
            assert_eq!(clock.counter.as_deref(), name, "{source:?}");
            assert_eq!(
                clock.multiplication_cycles, multiplication_cycles,
                "{source:?}"
            );
            assert_eq!(outcome, expected, "{source:?}");
        }
    }

    /// Shows that a fraction such as two and a half cycles per multiplication is no known answer:
    /// the counter counts something else, or only part of the time.
    #[test]
    fn a_broken_number_of_cycles_is_no_known_answer() {
        let source = Steps {
            cycles: Some(1_500_000),
            aperf: None,
        };
        let (clock, outcome) = prove_on(&source, None);
        assert_eq!((clock.counter, clock.multiplication_cycles), (None, None));
        let is_wrong = matches!(
            outcome,
            SelfTestOutcome::Wrong {
                found: 1_500_000,
                ..
            }
        );
        assert!(is_wrong, "{outcome:?}");
    }

    #[test]
    fn what_is_absent_or_counts_for_part_of_the_time_says_why() {
        for (cycles, expected) in [
            (None, "the script has no cycles"),
            (Some(0), "only part of the time"),
        ] {
            let source = Steps {
                cycles,
                aperf: None,
            };
            let (_, outcome) = prove_on(&source, Some(3));
            let is_expected =
                matches!(&outcome, SelfTestOutcome::Unavailable { why } if why.contains(expected));
            assert!(is_expected, "{outcome:?}");
        }
    }

    #[test]
    fn here_a_counter_is_proven_or_says_why_not() {
        let known = super::super::multiplication_cycles();
        let (clock, outcome) = prove_on(&System, known);
        assert_eq!(
            clock.counter.is_some(),
            outcome == SelfTestOutcome::Admitted,
            "{outcome:?}"
        );
        assert!(clock.counter.is_some() || clock.multiplication_cycles == known);
    }

    /// Tests the way in which APERF is read with another register of the `msr` PMU, the time-stamp
    /// counter, because guests rarely have APERF.
    #[test]
    fn a_register_is_counted_while_it_is_read() {
        let cpu = crate::perf::workloads::allowed_cpus()[0];
        let _pin = pin(&[cpu]).expect("it is allowed");
        let counter = register("tsc").and_then(|event| running(Builder::new(event), false, cpu));
        let Ok(mut counter) = counter else {
            return eprintln!("skipped: no msr/tsc/ here: {:?}", counter.err());
        };
        let clock = Clock::choose(true);
        let of_both =
            |counter: &mut Counter| Count::read(counter, clock).expect("it counts all the time");
        let before = of_both(&mut counter);
        multiply(PROOF / CHAIN_STEP);
        let after = of_both(&mut counter);
        let (counted, passed) = (after.cycles - before.cycles, after.at.0 - before.at.0);
        assert!(
            (counted as f64 / passed as f64 - 1.0).abs() < 0.05,
            "{counted} {passed}"
        );
    }
}
