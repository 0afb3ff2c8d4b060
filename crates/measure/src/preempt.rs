//! Involuntary switches. A victim computes, a preemptor of higher priority takes the CPU from it on
//! a timer, and the cost is charged to the victim.
//!
//! The victim reads the clock continuously. When the preemptor's count has changed, the gap since
//! the last reading is the time of the preemption: timer interrupt, switch, the preemptor's own
//! work, and switch back. The victim then walks its working set, or does nothing. In the baseline
//! there is no switch: the victim sees a count that it changed itself, and walks; the preemptor
//! makes its system call, which finds nothing, and walks. A preemption has two hand-offs, there and
//! back.

use std::io;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use switchcost_host::clock::Clock;
use switchcost_host::evidence::TaskId;
use switchcost_record::{Arm, Case};
use switchcost_units::Nanos;
use switchcost_workload::{WorkingSet, walk};

use crate::controls::TaskControls;
use crate::experiment::{Batch, Experiment, Split, Timed};
use crate::peers::{Command, Peer, Shared, Worker, start_peer};

/// Shortest time between two preemptions. With walks the time is longer.
const PERIOD: Nanos = Nanos::micros(100);

/// Number of preemptions in a batch; half as many if walks lengthen the period, twice as many in
/// the middle batch of a round. A batch of four takes half a millisecond without walks, in which
/// the core's speed hardly changes.
const ROUNDS: u64 = 4;

/// A victim, which is the caller, and its preemptor.
pub(crate) struct Preemption {
    shared: Arc<Shared>,
    own: Worker,
    preemptor: Peer,
    set: WorkingSet,
    /// Time between two preemptions with walks: several times as long as the walks of both tasks.
    walking_period: Nanos,
}

impl Preemption {
    pub(crate) fn start(
        case: &Case,
        controls: &TaskControls,
        clock: Clock,
        seed: u64,
    ) -> Result<Self, String> {
        let shared = Arc::new(Shared::new(case, clock, seed)?);
        let above = TaskControls {
            steps_below_top: controls.steps_below_top - 1,
            ..controls.clone()
        };
        let preemptor = start_peer(1, case, &above, &shared, seed)?;
        let own = Worker::set_up(0, case, controls, &shared, seed)?;
        let walking_period = walking_period(&own, &shared, case);
        Ok(Preemption {
            shared,
            own,
            preemptor,
            set: case.working_set,
            walking_period,
        })
    }

    fn switching(&mut self, batch: Batch, gaps: &mut Vec<u32>) -> io::Result<Timed> {
        let walks = batch.arm.walks();
        let period = if walks { self.walking_period } else { PERIOD };
        let before = self.shared.wakes();
        self.shared.let_run();
        self.shared.command(1, Command::Preempt { walks, period })?;
        let memory = self.own.memory(&self.shared, walks);
        run_victim(
            &self.shared,
            memory,
            &self.set,
            batch.warm_up,
            &mut Vec::new(),
            || (),
        );
        let (handoffs, time) =
            run_victim(&self.shared, memory, &self.set, batch.rounds, gaps, || ());
        self.shared.tell_to_stop();
        // The victim computes until the preemptor has stopped. If it waited, the CPU would be idle
        // until the timer fires, which looks like time of another task.
        while !self.shared.has_stopped() {
            std::hint::spin_loop();
        }
        self.shared.wait(1)?;
        let switching_handoffs = 2 * (self.shared.wakes() - before);
        // Two switches are due to the command: the preemptor takes the CPU, and gives it back to
        // wait for its timer.
        Ok(Timed {
            handoffs,
            time,
            switching_handoffs,
            control_switches: 2,
            ..Timed::default()
        })
    }

    fn baseline(&mut self, batch: Batch) -> io::Result<Timed> {
        let walks = batch.arm.walks();
        let memory = self.own.memory(&self.shared, walks);
        let shared = &self.shared;
        let own = |rounds| {
            run_victim(shared, memory, &self.set, rounds, &mut Vec::new(), || {
                shared.count_wake()
            })
        };
        own(batch.warm_up);
        let (handoffs, mut time) = own(batch.rounds);
        shared.command(
            1,
            Command::Baseline {
                walks,
                warm_up: batch.warm_up,
                rounds: batch.rounds,
            },
        )?;
        shared.wait(1)?;
        time += shared.time(1);
        Ok(Timed {
            handoffs,
            time,
            control_switches: 2,
            ..Timed::default()
        })
    }
}

impl Experiment for Preemption {
    fn tasks(&self) -> Vec<TaskId> {
        vec![TaskId::own_thread(), self.preemptor.task_id()]
    }

    fn fixed_rounds(&self, arm: Arm) -> Option<u64> {
        // With a long period a batch has fewer preemptions.
        Some(if arm.walks() && self.walking_period > PERIOD {
            ROUNDS / 2
        } else {
            ROUNDS
        })
    }

    fn run(&mut self, batch: Batch) -> io::Result<Timed> {
        if batch.arm.switches() {
            self.switching(batch, &mut Vec::new())
        } else {
            self.baseline(batch)
        }
    }

    /// Times whole preemptions as the victim sees them: the switch to the preemptor, its run, and
    /// the switch back.
    fn single_handoffs(&mut self, count: u64) -> io::Result<Option<(Timed, Vec<u32>)>> {
        let mut gaps = Vec::with_capacity(count as usize);
        let batch = Batch {
            arm: Arm::SwitchDirect,
            rounds: count,
            warm_up: 1,
        };
        let timed = self.switching(batch, &mut gaps)?;
        Ok(Some((timed, gaps)))
    }
}

/// Times a walk of the victim with warm caches. Returns eight times its time, but at least
/// [`PERIOD`].
fn walking_period(own: &Worker, shared: &Shared, case: &Case) -> Nanos {
    let memory = own.memory(shared, true);
    walk(memory, &case.working_set);
    let start = switchcost_host::clock::monotonic();
    walk(memory, &case.working_set);
    let one = switchcost_host::clock::monotonic().saturating_sub(start);
    Nanos((one.0 * 8).max(PERIOD.0))
}

/// Runs the victim: waits for `rounds` changes of the preemptor's count, adds up the gaps, and
/// walks after each. Returns the number of hand-offs, two per preemption, and their time.
///
/// The clock is read before the count. If the count is unchanged, the reading was made before any
/// preemption that is found later, so no part of a gap is lost.
#[inline(never)]
fn run_victim(
    shared: &Shared,
    memory: &[AtomicU64],
    set: &WorkingSet,
    rounds: u64,
    gaps: &mut Vec<u32>,
    provoke: impl Fn(),
) -> (u64, Split) {
    let clock = shared.clock;
    let mut time = Split::default();
    let mut seen = shared.wakes();
    let first = seen;
    let mut preemptor_walks = shared.preemptor_walks();
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
        // The gap contains a walk of the preemptor, which is not time of a hand-off.
        let walked_before = std::mem::replace(&mut preemptor_walks, shared.preemptor_walks());
        time.add_walk(walked_before, preemptor_walks);
        time.add_walk(noticed, end);
        time.add_handoff(looked, noticed);
        time.add_handoff(preemptor_walks, walked_before);
        gaps.extend(
            noticed
                .since(looked)
                .map(|gap| u32::try_from(gap.0).unwrap_or(u32::MAX)),
        );
        seen = shared.wakes();
        looked = clock.now();
    }
    (2 * (seen - first), time)
}
