//! Decides the order of runs: passes through all ways of preemption in random order, until the time
//! is over.

use rand::seq::SliceRandom;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use switchcost_host::clock::monotonic;
use switchcost_host::pause::Pause;
use switchcost_record::injection::{Header, Line, Plan, Run, TwinRun, Way};
use switchcost_units::{Bytes, Nanos};

use crate::command::{Instruments, Subject, check_undisturbed, has_pipe};
use crate::fault::Fault;
use crate::protocol::{Answer, Order, Outcome, Place};

/// Least number of runs that gives an interval.
const LEAST_RUNS: u64 = 6;

/// Time, after twice the budget, for which a run in progress may continue.
const OVERTIME: Nanos = Nanos::seconds(5);

/// Runs two copies of a command until both have ended.
pub trait Executor {
    /// Carries out an order, and returns the answer; `None` if the run was stopped.
    fn run(&mut self, order: &Order, should_stop: &dyn Fn() -> bool) -> Option<Answer>;

    /// Returns the total time for which the runs were paused from outside so far.
    fn pause(&self) -> Pause {
        Pause::default()
    }
}

/// Progress of an injection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// Number of runs so far, or of groups of phases for a service.
    pub runs: usize,
    /// Time since the start.
    pub elapsed: Nanos,
}

/// The caller's side of [`inject`] and [`follow`](crate::service::follow): decides when an
/// injection ends, and receives its runs or groups of phases.
pub trait Stop<T = Run> {
    /// Whether to stop immediately.
    fn should_stop(&self) -> bool;

    /// Receives all runs or groups so far. Called after each run or group.
    fn progress(&mut self, progress: Progress, all: &[T]);
}

/// Result of the first run, in which neither copy is preempted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Undisturbed {
    /// Resources that each copy used.
    pub twins: [TwinRun; 2],
    /// Wall time of the run.
    pub wall: Nanos,
}

impl Undisturbed {
    /// Returns the number of runs that fit into the budget for each way of preemption.
    pub fn runs_within(&self, plan: &Plan) -> u64 {
        plan.budget_ns.0 / self.pass(plan).0.max(1)
    }

    /// Returns the least time of one run for each way of preemption together.
    fn pass(&self, plan: &Plan) -> Nanos {
        Nanos(self.wall.0 * plan.ways().len() as u64)
    }
}

/// Runs both copies once without preemption, to check that the command can be measured. Returns
/// `None` if the run was stopped.
///
/// # Errors
///
/// If the command cannot be measured.
pub fn undisturbed(
    subject: &Subject,
    instruments: &Instruments,
    plan: &Plan,
    executor: &mut dyn Executor,
    should_stop: &dyn Fn() -> bool,
) -> Result<Option<Undisturbed>, Fault> {
    let start = monotonic();
    let latest = start + plan.budget_ns;
    let places = subject.places(true).map_err(Fault::NoFolder)?;
    let order = subject.order(instruments, plan, places.clone(), latest);
    let Some(answer) = executor.run(&order, should_stop) else {
        return Ok(None);
    };
    let outcomes = outcomes(answer, plan.budget_ns)?;
    subject.check(&outcomes, &places)?;
    check_undisturbed(&outcomes, has_pipe())?;
    let found = Undisturbed {
        twins: outcomes.map(|outcome| outcome.run),
        wall: monotonic().saturating_sub(start),
    };
    if found.runs_within(plan) < LEAST_RUNS {
        return Err(too_little_time(&found, plan));
    }
    Ok(Some(found))
}

fn too_little_time(found: &Undisturbed, plan: &Plan) -> Fault {
    // Preempted runs take longer, and the time was measured in one run only.
    let needed = found.pass(plan).0 * LEAST_RUNS * 3 / 2;
    Fault::TooLittleTime {
        run: found.wall,
        ways: plan.ways().len(),
        budget: plan.budget_ns,
        least: LEAST_RUNS,
        fewest: Nanos(found.pass(plan).0 * LEAST_RUNS),
        needed_s: needed.div_ceil(1_000_000_000),
    }
}

fn outcomes(answer: Answer, limit: Nanos) -> Result<[Outcome; 2], Fault> {
    match answer {
        Answer::Ended(outcomes) => Ok(outcomes),
        Answer::TooLong => Err(Fault::TooLong(limit)),
        Answer::LeftBehind => Err(Fault::LeftBehind),
        Answer::LeavesGroup => Err(Fault::LeavesGroup),
        Answer::Refused(why) => Err(Fault::Refused(why)),
    }
}

/// Runs the plan of `header`, and passes every line of the record to `sink` immediately. Returns
/// whether the user stopped the runs.
///
/// # Errors
///
/// If `sink` fails, or the command does not behave in the same way in each run.
pub fn inject<E: From<Fault>>(
    subject: &Subject,
    instruments: &Instruments,
    header: &Header,
    executor: &mut dyn Executor,
    stop: &mut dyn Stop,
    sink: &mut dyn FnMut(Line) -> Result<(), E>,
) -> Result<bool, E> {
    let mut random = ChaCha8Rng::seed_from_u64(header.seed);
    let first = random.random_range(0..2);
    let mut passes = Passes {
        subject,
        instruments,
        plan: &header.plan,
        start: monotonic(),
        paused_before: executor.pause().stopped,
        runs: Vec::new(),
    };
    for block in 0.. {
        let mut ways = header.plan.ways();
        ways.shuffle(&mut random);
        for way in ways {
            if stop.should_stop() {
                return Ok(true);
            }
            if !passes.has_time_for(way, executor.pause()) {
                return Ok(false);
            }
            let preempted = (u64::from(block) + first) % 2;
            let Some(run) = passes.run(block, way, preempted as u8, executor, &|| {
                stop.should_stop()
            })?
            else {
                return Ok(true);
            };
            sink(Line::Run(run.clone()))?;
            passes.runs.push(run);
            stop.progress(
                Progress {
                    runs: passes.runs.len(),
                    elapsed: passes.elapsed(),
                },
                &passes.runs,
            );
        }
    }
    Ok(false)
}

struct Passes<'a> {
    subject: &'a Subject,
    instruments: &'a Instruments,
    plan: &'a Plan,
    start: Nanos,
    /// Total time for which the runs had been paused before the injection began.
    paused_before: Nanos,
    runs: Vec<Run>,
}

impl Passes<'_> {
    fn elapsed(&self) -> Nanos {
        monotonic().saturating_sub(self.start)
    }

    fn runs(&self, way: Way) -> impl Iterator<Item = &Run> {
        self.runs.iter().filter(move |run| run.way() == way)
    }

    /// Whether there is time for another run of a way, judged by its longest run so far.
    fn has_time_for(&self, way: Way, pause: Pause) -> bool {
        let longest = self
            .runs(way)
            .map(|run| run.wall_ns)
            .max()
            .unwrap_or(Nanos(0));
        let paused = pause.stopped.saturating_sub(self.paused_before);
        self.elapsed().saturating_sub(paused) + longest <= self.plan.budget_ns
    }

    /// Returns the estimated cost of one preemption of a way, from the runs so far.
    fn lost(&self, way: Way) -> Nanos {
        let lost = |run: &Run| {
            run.preempted()
                .cpu_ns
                .saturating_sub(run.undisturbed().cpu_ns)
                .0
        };
        let (lost, preemptions) = self.runs(way).fold((0, 0), |(all, count), run| {
            (all + lost(run), count + run.preempted().preemptions)
        });
        Nanos(lost.checked_div(preemptions).unwrap_or(0))
    }

    fn run(
        &self,
        block: u32,
        way: Way,
        preempted: u8,
        executor: &mut dyn Executor,
        should_stop: &dyn Fn() -> bool,
    ) -> Result<Option<Run>, Fault> {
        let began = monotonic();
        let places = self.subject.places(false).map_err(Fault::NoFolder)?;
        let order = self.order(way, preempted, &places);
        let paused = executor.pause().stopped;
        let Some(answer) = executor.run(&order, should_stop) else {
            return Ok(None);
        };
        let paused = executor.pause().stopped.saturating_sub(paused);
        let outcomes = outcomes(answer, order.latest.saturating_sub(began))?;
        self.subject.check(&outcomes, &places)?;
        Ok(Some(Run {
            block,
            footprint: way.footprint as u32,
            timing: way.timing as u32,
            is_moved: way.is_moved,
            preempted,
            since_start_ns: began.saturating_sub(self.start),
            wall_ns: monotonic().saturating_sub(began + paused),
            twins: outcomes.map(|outcome| outcome.run),
        }))
    }

    fn order(&self, way: Way, preempted: u8, places: &[Place; 2]) -> Order {
        let timing = self.plan.timings()[way.timing];
        let latest = self.start + Nanos(self.plan.budget_ns.0.saturating_mul(2)) + OVERTIME;
        Order {
            period: timing.period_ns,
            turn: timing.turn_ns,
            footprint: self
                .plan
                .footprints_bytes
                .get(way.footprint)
                .copied()
                .unwrap_or(Bytes(0)),
            moves_to: self.plan.moves_to.filter(|_| way.is_moved),
            preempted,
            preempts_nobody: self.plan.preempts_nobody,
            lost: self.lost(way),
            ..self
                .subject
                .order(self.instruments, self.plan, places.clone(), latest)
        }
    }
}

#[cfg(test)]
mod tests;
