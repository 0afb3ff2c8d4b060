//! Decides which repetition comes next. All cases are interleaved until each has the requested
//! precision, or the time is over.

use std::collections::BTreeMap;

use rand::seq::SliceRandom;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use switchcost_host::clock::{Clock, monotonic};
use switchcost_host::core_clock::CycleEvent;
use switchcost_host::pause::Pause;
use switchcost_record::{Case, Cycles, EndReason, Header, Line, Refusal};
use switchcost_units::{Nanos, TickRate};

use crate::plan::fewest_repetitions;
use crate::protocol::{BatchRounds, Launch, Message, Order};

/// Number of repetitions that every case gets before any case gets more. With fewer, an interval is
/// useless.
const FIRST_REPETITIONS: u32 = 8;

/// Number of repetitions up to which a case without an interval is continued after the budget.
const MOST_REPETITIONS: u32 = 2 * FIRST_REPETITIONS;

/// Least ratio of a repetition's time to its rounds' time for which the repetition counts as mostly
/// set-up.
const MOSTLY_SET_UP: u64 = 3;

/// Divisor of a runtime's warm-up time that gives the least time of its rounds. A process that is
/// expensive to start is thus measured for longer.
const OF_WARM_UP: u64 = 4;

/// Time by which a running repetition may exceed the budget, in addition to a quarter of the
/// budget. The repetition's results up to then are kept.
const OVERTIME: Nanos = Nanos::seconds(2);

/// Part of the budget, as a divisor, after which the time of repetitions is estimated.
const TO_ESTIMATE: u64 = 8;

/// Reason why a case has no result, if the budget ended before the case's first rounds.
const TOO_LATE: &str = "the budget ended before the first rounds; raise --budget, or use a smaller --size, fewer --tasks or a \
                        shorter --pause";

/// Number of consecutive refusals after which a case is given up.
const REFUSALS: u32 = 2;

/// Intended length of a batch of a runtime. The length is long compared with a request over a pipe,
/// and with reading the runtime's clock.
const RUNTIME_BATCH: Nanos = Nanos::micros(100);

/// Outcome of one repetition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RepetitionOutcome {
    /// The repetition ran to its end. Contains the number of round trips per batch of each arm.
    Done(BatchRounds),
    /// The repetition could not be run, or broke off. The text has the reason and the remedy.
    Refused(String),
    /// The repetition ended because the run was asked to stop.
    Stopped,
    /// The repetition had not ended by its deadline.
    TooLate,
}

/// Executor of repetitions, one at a time.
pub trait Executor {
    /// Runs `order`, and passes each message to `take` as it comes. Calls `should_stop` several
    /// times per second. Ends a repetition that still runs at `latest` (CLOCK_MONOTONIC).
    fn repetition(
        &mut self,
        order: &Order,
        latest: Nanos,
        should_stop: &dyn Fn() -> bool,
        take: &mut dyn FnMut(Message),
    ) -> RepetitionOutcome;
}

/// Progress of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// Index of the case whose repetition comes next.
    pub case: usize,
    /// Number of cases that are finished.
    pub finished: usize,
    /// Time since the start of the run.
    pub elapsed: Nanos,
}

/// The caller's side of [`measure`]: decides when a run ends, and is informed of its progress.
pub trait Stop {
    /// Returns whether the estimate from the windows `cycles` of a case is precise enough.
    fn is_precise(&mut self, case: usize, cycles: &[Cycles]) -> bool;

    /// Returns whether the run should stop immediately.
    fn should_stop(&self) -> bool;

    /// Returns whether the windows `cycles` of a case are enough for an interval, however wide.
    fn has_interval(&mut self, case: usize, cycles: &[Cycles]) -> bool;

    /// Returns the time (CLOCK_MONOTONIC) until which a run continues after its budget, for cases
    /// without an interval; `None` if it does not continue.
    fn latest_end(&self) -> Option<Nanos> {
        None
    }

    /// Reports the progress. Called before each repetition.
    fn progress(&mut self, progress: Progress);

    /// Reports that something outside paused the run. The pause does not count for the budget.
    fn resume(&mut self, _pause: Pause) {}
}

/// Clocks, counters and programs that every repetition uses.
#[derive(Clone, Debug)]
pub struct Instruments {
    /// The clock to read.
    pub clock: Clock,
    /// Rate of the clock in ticks per second.
    pub rate: TickRate,
    /// Whether repetitions lock their memory.
    pub locks_memory: bool,
    /// Counter of the core's cycles, if one has passed its test; otherwise `None`.
    pub core_counter: Option<CycleEvent>,
    /// Command that starts each runtime of the plan, by the runtime's name; or the reason why it
    /// cannot be started.
    pub runtimes: BTreeMap<String, Result<Launch, String>>,
    /// Names of the admitted events, in groups that fit on the CPU's counters together. Without
    /// groups, no batches for counters are run.
    pub counters: Vec<Vec<String>>,
}

struct CaseState {
    cycles: Vec<Cycles>,
    repetitions: u32,
    refusals: u32,
    rounds: BatchRounds,
    spent: Nanos,
    /// Intended total time of the rounds (called cycles in the record) of one repetition.
    cycles_ns: Nanos,
    is_finished: bool,
}

/// Runs the plan of `header`, and passes every line of the record to `sink` immediately. Errors are
/// those of `sink`.
pub fn measure<E>(
    header: &Header,
    instruments: Instruments,
    executor: &mut dyn Executor,
    stop: &mut dyn Stop,
    sink: &mut dyn FnMut(Line) -> Result<(), E>,
) -> Result<EndReason, E> {
    let fresh = |case: &Case| CaseState {
        cycles: Vec::new(),
        repetitions: 0,
        refusals: 0,
        rounds: BatchRounds::default(),
        spent: Nanos(0),
        cycles_ns: first_cycles_time(
            header.plan.repetition_ns,
            launch(case, &instruments.runtimes),
        ),
        is_finished: false,
    };
    let cases = header.plan.cases.iter().map(fresh).collect();
    let random = ChaCha8Rng::seed_from_u64(header.seed);
    let mut run = Run {
        header,
        instruments,
        start: monotonic(),
        paused: Nanos(0),
        random,
        cases,
    };
    run.refuse_missing_runtimes(sink)?;
    run.run_to_the_end(executor, stop, sink)
}

/// Returns the command that starts a case's runtime; `None` if the case has no runtime, or the
/// runtime cannot be started.
fn launch<'a>(
    case: &Case,
    runtimes: &'a BTreeMap<String, Result<Launch, String>>,
) -> Option<&'a Launch> {
    runtimes.get(&case.runtime.as_ref()?.runtime)?.as_ref().ok()
}

/// Returns the intended time of the rounds in the first repetitions of a case.
fn first_cycles_time(planned: Nanos, launch: Option<&Launch>) -> Nanos {
    planned.max(launch.map_or(planned, |launch| Nanos(launch.warm_up_ns.0 / OF_WARM_UP)))
}

/// Returns the intended time of the rounds in later repetitions. `first` is the total time of the
/// first [`FIRST_REPETITIONS`] repetitions. Large arrays take long to set up, and at least half of
/// the time should go to measured rounds.
fn cycles_time(planned: Nanos, first: Nanos) -> Nanos {
    let each = Nanos(first.0 / u64::from(FIRST_REPETITIONS));
    if each.0 > MOSTLY_SET_UP * planned.0 {
        each
    } else {
        planned
    }
}

struct Run<'a> {
    header: &'a Header,
    instruments: Instruments,
    start: Nanos,
    /// Total time for which something outside has paused the run.
    paused: Nanos,
    random: ChaCha8Rng,
    cases: Vec<CaseState>,
}

impl Run<'_> {
    /// Writes a refusal to the record for each case whose runtime cannot be started.
    fn refuse_missing_runtimes<E>(
        &mut self,
        sink: &mut dyn FnMut(Line) -> Result<(), E>,
    ) -> Result<(), E> {
        for (place, case) in self.header.plan.cases.iter().enumerate() {
            let Some(of) = &case.runtime else { continue };
            if let Some(Err(why)) = self.instruments.runtimes.get(&of.runtime) {
                self.cases[place].is_finished = true;
                sink(Line::Refusal(Refusal {
                    case: place as u32,
                    repetition: 0,
                    why: why.clone(),
                }))?;
            }
        }
        Ok(())
    }

    fn run_to_the_end<E>(
        &mut self,
        executor: &mut dyn Executor,
        stop: &mut dyn Stop,
        sink: &mut dyn FnMut(Line) -> Result<(), E>,
    ) -> Result<EndReason, E> {
        loop {
            let pass = self.next_pass(stop);
            if pass.is_empty() {
                return Ok(EndReason::Complete);
            }
            for case in pass {
                if !self.open_cases(stop).contains(&case) {
                    continue;
                }
                if self.elapsed() >= self.header.plan.budget_ns {
                    if stop.latest_end().is_none_or(|latest| monotonic() >= latest) {
                        return Ok(EndReason::Complete);
                    }
                    let state = &mut self.cases[case];
                    if state.repetitions >= MOST_REPETITIONS
                        || stop.has_interval(case, &state.cycles)
                    {
                        state.is_finished = true;
                        continue;
                    }
                }
                let finished = self.cases.iter().filter(|case| case.is_finished).count();
                stop.progress(Progress {
                    case,
                    finished,
                    elapsed: self.elapsed(),
                });
                if stop.should_stop() || !self.repetition(case, executor, stop, sink)? {
                    return Ok(EndReason::Interrupted);
                }
            }
        }
    }

    /// Returns the cases that are not finished. If the remaining time is not enough for an interval
    /// of each, the last cases of the plan are left out: some results are better than none.
    fn open_cases(&self, stop: &dyn Stop) -> Vec<usize> {
        let open = (0..self.cases.len()).filter(|case| !self.cases[*case].is_finished);
        let budget = self.header.plan.budget_ns;
        let elapsed = self.elapsed();
        let (spent, repetitions) = self.cases.iter().fold((0, 0), |(spent, all), case| {
            (spent + case.spent.0, all + u64::from(case.repetitions))
        });
        if elapsed.0 < budget.0 / TO_ESTIMATE || repetitions == 0 {
            return open.collect();
        }
        let until_latest = stop
            .latest_end()
            .map_or(Nanos(0), |latest| latest.saturating_sub(monotonic()));
        let mut left = budget.saturating_sub(elapsed).max(until_latest).0;
        let fewest = fewest_repetitions(self.header.plan.confidence_per_mille);
        let mut fitting = Vec::new();
        for place in open {
            let case = &self.cases[place];
            let missing = u64::from(fewest.saturating_sub(case.repetitions));
            let each = case.spent.0.checked_div(u64::from(case.repetitions));
            let needed = missing.saturating_mul(each.unwrap_or(spent / repetitions));
            // One case is always tried.
            if needed <= left || fitting.is_empty() {
                fitting.push(place);
                left = left.saturating_sub(needed);
            }
        }
        fitting
    }

    /// Returns the time at which the last repetition must end.
    fn latest_end(&self, stop: &dyn Stop) -> Nanos {
        let budget = self.header.plan.budget_ns.0;
        let most = budget.saturating_add(budget / 4);
        let latest = self
            .start
            .0
            .saturating_add(most)
            .saturating_add(OVERTIME.0)
            .saturating_add(self.paused.0);
        Nanos(latest).max(stop.latest_end().unwrap_or(Nanos(0)))
    }

    fn elapsed(&self) -> Nanos {
        monotonic().saturating_sub(self.start + self.paused)
    }

    /// Returns the cases to run next in random order. If cases lack their first repetitions, only
    /// such cases are returned; otherwise all cases that are not finished and have had at most
    /// their share of the time. A slow case then does not use up the budget of fast ones.
    fn next_pass(&mut self, stop: &dyn Stop) -> Vec<usize> {
        let open = self.open_cases(stop);
        let is_young = |case: &usize| self.cases[*case].repetitions < FIRST_REPETITIONS;
        let mut pass: Vec<usize> = open.iter().copied().filter(is_young).collect();
        if pass.is_empty() {
            let total: u64 = open.iter().map(|case| self.cases[*case].spent.0).sum();
            let share = total / open.len().max(1) as u64;
            pass = open
                .into_iter()
                .filter(|case| self.cases[*case].spent.0 <= share)
                .collect();
        }
        pass.shuffle(&mut self.random);
        pass
    }

    /// Runs one repetition of a case. Returns false if the run was asked to stop.
    fn repetition<E>(
        &mut self,
        case: usize,
        executor: &mut dyn Executor,
        stop: &mut dyn Stop,
        sink: &mut dyn FnMut(Line) -> Result<(), E>,
    ) -> Result<bool, E> {
        let (order, latest) = (self.order(case), self.latest_end(stop));
        let start = monotonic();
        let mut broken = Ok(());
        let mut pause = Pause::default();
        let cycles = &mut self.cases[case].cycles;
        let outcome = executor.repetition(&order, latest, &|| stop.should_stop(), &mut |message| {
            let line = match message {
                Message::Cycles(window) => {
                    cycles.push((*window).clone());
                    Line::Cycles(window)
                }
                Message::Sample(sample) => Line::Sample(sample),
                Message::Runtime(run) => Line::Runtime(run),
                Message::Paused(more) => {
                    pause += more;
                    return;
                }
                Message::Refused(_) | Message::Done(_) => return,
            };
            if broken.is_ok() {
                broken = sink(line);
            }
        });
        broken?;
        if !pause.is_none() {
            self.paused = self.paused + pause.stopped;
            stop.resume(pause);
        }
        let state = &mut self.cases[case];
        state.repetitions += 1;
        state.spent = state.spent + monotonic().saturating_sub(start + pause.stopped);
        // Further cycles of one process give less information about a runtime than another process.
        if state.repetitions == FIRST_REPETITIONS && order.runtime.is_none() {
            state.cycles_ns = cycles_time(state.cycles_ns, state.spent);
        }
        match outcome {
            RepetitionOutcome::Stopped => return Ok(false),
            RepetitionOutcome::TooLate if !state.cycles.is_empty() => {}
            RepetitionOutcome::TooLate => sink(Line::Refusal(Refusal {
                case: case as u32,
                repetition: order.repetition,
                why: TOO_LATE.to_owned(),
            }))?,
            RepetitionOutcome::Done(rounds) => {
                state.rounds = rounds;
                state.refusals = 0;
            }
            RepetitionOutcome::Refused(why) => {
                state.refusals += 1;
                sink(Line::Refusal(Refusal {
                    case: case as u32,
                    repetition: order.repetition,
                    why,
                }))?;
            }
        }
        let has_enough = state.repetitions >= self.header.plan.max_repetitions;
        let is_hopeless = state.refusals >= REFUSALS;
        state.is_finished = has_enough || is_hopeless || stop.is_precise(case, &state.cycles);
        Ok(true)
    }

    fn order(&mut self, case: usize) -> Order {
        let plan = &self.header.plan;
        let state = &self.cases[case];
        let runtime = launch(&plan.cases[case], &self.instruments.runtimes).cloned();
        let batch_ns = if plan.cases[case].runtime.is_some() {
            RUNTIME_BATCH
        } else {
            plan.batch_ns
        };
        Order {
            case: plan.cases[case].clone(),
            case_index: case as u32,
            repetition: state.repetitions,
            seed: self.random.random(),
            clock: self.instruments.clock,
            rate: self.instruments.rate,
            run_start: self.start,
            batch_ns,
            repetition_ns: state.cycles_ns,
            rounds: state.rounds,
            has_real_time: plan.cases.iter().any(|case| case.policy.is_real_time()),
            locks_memory: self.instruments.locks_memory,
            core_counter: self.instruments.core_counter,
            counters: if runtime.is_some() {
                Vec::new()
            } else {
                self.instruments.counters.clone()
            },
            runtime,
            synthetic_switch_ns: plan.synthetic_switch_ns,
            synthetic_reload_ns: plan.synthetic_reload_ns,
            batches: plan.rounds,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use switchcost_units::Bytes;

    #[test]
    fn no_more_time_goes_into_setting_up_than_into_cycles() {
        let planned = Nanos::millis(25);
        assert_eq!(
            cycles_time(planned, Nanos::millis(8 * 40)),
            planned,
            "what a small array takes"
        );
        assert_eq!(
            cycles_time(planned, Nanos::millis(8 * 140)),
            Nanos::millis(140)
        );
    }

    #[test]
    fn a_runtime_that_warms_up_for_long_is_measured_for_longer() {
        let launch = |ms| Launch {
            command: Vec::new(),
            version: String::new(),
            is_in_own_environment: false,
            environment: Vec::new(),
            warm_up_ns: Nanos::millis(ms),
            most_memory: Bytes(0),
        };
        let planned = Nanos::millis(25);
        assert_eq!(
            first_cycles_time(planned, Some(&launch(600))),
            Nanos::millis(150)
        );
        assert_eq!(first_cycles_time(planned, Some(&launch(30))), planned);
        assert_eq!(first_cycles_time(planned, None), planned);
    }
}
