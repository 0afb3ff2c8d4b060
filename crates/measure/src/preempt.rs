//! Involuntary switches: a victim computes, an antagonist of higher priority takes the CPU from it on a timer, and the
//! cost is charged to the victim.
//!
//! The victim looks at the clock without pause. When the antagonist's count has changed, the gap since the last look is
//! what the preemption took from it: timer interrupt, switch, the antagonist's own turn, switch back. The victim then
//! walks its working set, or nothing. The baseline is what both do without a switch: the victim sees a count that it
//! changed itself, and walks; the antagonist makes its system call, which finds nothing, and walks. Two hand-offs a
//! preemption: there and back.

use std::io;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use host::clock::Clock;
use host::evidence::TaskId;
use host::timer::PeriodicTimer;
use record::{Arm, Case};
use units::{Nanos, Ticks};
use workload::{WorkingSet, walk};

use crate::controls::Discipline;
use crate::experiment::{Batch, Experiment, Measured, Timed, Watch, time};
use crate::ring::{Command, Peer, Seat, Shared, start_peer};

/// The shortest time between two preemptions; a walk makes it longer.
const PERIOD: Nanos = Nanos::micros(100);

/// Preemptions of a batch: 6 ms where nothing is walked. A longer batch is more often caught by a change of the core's
/// speed, and left out.
const ROUNDS: u64 = 60;

/// A victim, the caller, and its antagonist.
pub(crate) struct Preemption {
    shared: Arc<Shared>,
    own: Seat,
    antagonist: Peer,
    set: WorkingSet,
    /// Time between two preemptions that walk: several times as long as both walks take.
    walking_period: Nanos,
}

impl Preemption {
    pub(crate) fn start(case: &Case, discipline: &Discipline, clock: Clock, seed: u64) -> Result<Self, String> {
        let shared = Arc::new(Shared::new(case, clock, seed)?);
        let above = Discipline { steps_below_top: discipline.steps_below_top - 1, ..discipline.clone() };
        let antagonist = start_peer(1, case, &above, &shared, seed)?;
        let own = Seat::take(0, case, discipline, &shared, seed)?;
        let walking_period = walking_period(&own, &shared, case);
        Ok(Preemption { shared, own, antagonist, set: case.working_set, walking_period })
    }

    fn switching(&mut self, batch: Batch, watch: &mut Watch, gaps: &mut Vec<u32>) -> io::Result<Timed> {
        let walks = batch.arm.walks();
        let period = if walks { self.walking_period } else { PERIOD };
        self.shared.set_stop(false);
        self.shared.command(1, Command::Preempt { walks, period })?;
        let memory = self.own.memory(&self.shared, walks);
        endure(&self.shared, memory, &self.set, batch.warm_up.min(3), &mut Vec::new(), || ());
        let timed = watch.around(|_| Ok(endure(&self.shared, memory, &self.set, batch.rounds, gaps, || ())))?;
        self.shared.set_stop(true);
        self.shared.wait(1)?;
        Ok(timed)
    }

    fn baseline(&mut self, batch: Batch, watch: &mut Watch) -> io::Result<Timed> {
        let walks = batch.arm.walks();
        let memory = self.own.memory(&self.shared, walks);
        let shared = &self.shared;
        let warm_up = batch.warm_up.min(3);
        let handoffs = watch.baseline_handoffs(Batch { warm_up, ..batch }, 2);
        let own = |rounds| endure(shared, memory, &self.set, rounds, &mut Vec::new(), || shared.count_wake());
        watch.around(|_| {
            own(warm_up);
            let victim = own(batch.rounds);
            shared.command(1, Command::Baseline { walks, warm_up, rounds: batch.rounds })?;
            shared.wait(1)?;
            let ticks = victim.ticks.zip(shared.ticks(1)).map(|(victim, other)| Ticks(victim.0 + other.0));
            Ok(Measured { handoffs, ticks, user_switches: 0 })
        })
    }
}

impl Experiment for Preemption {
    fn tasks(&self) -> Vec<TaskId> {
        vec![TaskId::own_thread(), self.antagonist.task_id()]
    }

    fn fixed_rounds(&self, arm: Arm) -> Option<u64> {
        match (arm.switches(), arm.walks()) {
            // Nobody waits for the timer in the baseline.
            (false, false) => Some(ROUNDS * 20),
            (_, false) => Some(ROUNDS),
            // Long periods mean fewer preemptions, so that a batch stays below half a second.
            (_, true) => Some((ROUNDS * PERIOD.0 * 10 / self.walking_period.0).clamp(4, ROUNDS)),
        }
    }

    fn run(&mut self, batch: Batch, watch: &mut Watch) -> io::Result<Timed> {
        if batch.arm.switches() { self.switching(batch, watch, &mut Vec::new()) } else { self.baseline(batch, watch) }
    }

    /// Whole preemptions, as the victim sees them: there, the antagonist's turn, and back.
    fn single_handoffs(&mut self, count: u64, watch: &mut Watch) -> io::Result<Option<(Timed, Vec<u32>)>> {
        let mut gaps = Vec::with_capacity(count as usize);
        let batch = Batch { arm: Arm::SwitchDirect, rounds: count, warm_up: 1 };
        let timed = self.switching(batch, watch, &mut gaps)?;
        Ok(Some((timed, gaps)))
    }
}

/// Walks once warm, and takes eight times as long as the period of both tasks' walks.
fn walking_period(own: &Seat, shared: &Shared, case: &Case) -> Nanos {
    let memory = own.memory(shared, true);
    walk(memory, &case.working_set);
    let start = host::clock::monotonic();
    walk(memory, &case.working_set);
    let one = host::clock::monotonic().saturating_sub(start);
    Nanos((one.0 * 8).max(PERIOD.0))
}

/// The victim's loop: waits for `rounds` changes of the count, adds up the gaps, walks after each.
///
/// The clock is read before the count: a look that finds the count unchanged was before any preemption that a later
/// look finds, so no part of a gap is lost.
#[inline(never)]
fn endure(
    shared: &Shared,
    memory: &[AtomicU64],
    set: &WorkingSet,
    rounds: u64,
    gaps: &mut Vec<u32>,
    provoke: impl Fn(),
) -> Measured {
    let clock = shared.clock;
    let mut sum = Some(Ticks(0));
    let mut seen = shared.wakes();
    let first = seen;
    let mut looked = clock.now();
    for _ in 0..rounds {
        provoke();
        loop {
            let now = clock.now();
            if shared.wakes() != seen {
                break;
            }
            looked = now;
        }
        let noticed = clock.now();
        walk(memory, set);
        let end = clock.now();
        sum = sum.zip(end.since(looked)).map(|(sum, more)| Ticks(sum.0 + more.0));
        gaps.extend(noticed.since(looked).map(|gap| u32::try_from(gap.0).unwrap_or(u32::MAX)));
        seen = shared.wakes();
        looked = clock.now();
    }
    Measured { handoffs: 2 * (seen - first), ticks: sum, user_switches: 0 }
}

/// The antagonist's turns: it takes the CPU whenever its timer fires, until it is told to stop.
pub(crate) fn antagonise(shared: &Shared, memory: &[AtomicU64], set: &WorkingSet, period: Nanos) -> io::Result<()> {
    let timer = PeriodicTimer::start(period)?;
    while !shared.should_stop() {
        timer.wait()?;
        shared.count_wake();
        walk(memory, set);
    }
    Ok(())
}

/// The antagonist's share of the baseline: the same call, which finds that the timer has not fired, and the walk.
pub(crate) fn antagonise_nobody(
    clock: Clock,
    memory: &[AtomicU64],
    set: &WorkingSet,
    warm_up: u64,
    rounds: u64,
) -> io::Result<Option<Ticks>> {
    let timer = PeriodicTimer::idle()?;
    let turns = |count| {
        for _ in 0..count {
            timer.poll()?;
            walk(memory, set);
        }
        Ok(())
    };
    turns(warm_up)?;
    time(clock, || turns(rounds))
}
