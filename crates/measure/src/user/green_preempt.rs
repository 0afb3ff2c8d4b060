//! User-level threads that a timer signal takes the CPU from.
//!
//! Every thread looks at the clock without pause. When the count of signals has changed, the gap since the last look,
//! by whichever thread, is what the signal took: its delivery, the switch if there was one, and the return from the
//! handler. The thread that notices walks its working set, or nothing. In the baseline the same signals come to one
//! thread that has the run queue to itself: their delivery is in both arms, the switch in one.

use std::io;
use std::rc::Rc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::SeqCst};

use host::clock::{Clock, monotonic};
use host::context::{Green, Scheduler};
use host::evidence::TaskId;
use record::Arm;
use units::{Nanos, Ticks};

use super::Bodies;
use crate::experiment::{Batch, Experiment, Measured, Timed, Watch};

/// The shortest time between two signals; a walk makes it longer.
const PERIOD: Nanos = Nanos::micros(100);

/// Signals of a batch: 6 ms where nothing is walked. A longer batch is more often caught by a change of the core's speed,
/// and left out.
const SIGNALS: u64 = 60;

pub(super) struct PreemptedGreens {
    bodies: Rc<Bodies>,
    gaps: Rc<Gaps>,
    green: Green,
    walking_period: Nanos,
}

/// The last look and what was found so far; shared by all threads, any of which may lose the CPU at any instruction.
struct Gaps {
    clock: Clock,
    /// The latest look of any thread: only ever moved forward, so that a thread that was preempted between its reading
    /// and its store does not move it back.
    looked: AtomicU64,
    seen: AtomicU64,
    left: AtomicU64,
    sum: AtomicU64,
    is_backwards: AtomicBool,
}

impl Gaps {
    fn new(clock: Clock) -> Gaps {
        let zero = || AtomicU64::new(0);
        Gaps { clock, looked: zero(), seen: zero(), left: zero(), sum: zero(), is_backwards: AtomicBool::new(false) }
    }

    fn begin(&self, scheduler: &Scheduler, signals: u64) {
        self.left.store(signals, SeqCst);
        self.sum.store(0, SeqCst);
        self.is_backwards.store(false, SeqCst);
        self.seen.store(scheduler.signals(), SeqCst);
        self.looked.store(self.clock.now().0, SeqCst);
    }

    fn is_over(&self) -> bool {
        self.left.load(SeqCst) == 0
    }

    /// Sum of the gaps; `None` where the clock ran backwards.
    fn sum(&self) -> Option<Ticks> {
        (!self.is_backwards.load(SeqCst)).then(|| Ticks(self.sum.load(SeqCst)))
    }

    /// One signal less to wait for. Two threads may come here for the last one, where the next signal takes the CPU from
    /// the first before it has counted: below zero there is nothing to count.
    fn count_one(&self) {
        let _ = self.left.fetch_update(SeqCst, SeqCst, |left| left.checked_sub(1));
    }

    /// Looks until enough signals were seen, by this thread or another.
    #[inline(never)]
    fn look(&self, scheduler: &Scheduler, walk: impl Fn()) {
        while !self.is_over() {
            let now = self.clock.now();
            if scheduler.signals() == self.seen.load(SeqCst) {
                self.looked.fetch_max(now.0, SeqCst);
                continue;
            }
            self.seen.store(scheduler.signals(), SeqCst);
            walk();
            let end = self.clock.now();
            match end.since(Ticks(self.looked.load(SeqCst))) {
                Some(gap) => self.sum.fetch_add(gap.0, SeqCst),
                None => u64::from(self.is_backwards.swap(true, SeqCst)),
            };
            self.count_one();
            self.looked.fetch_max(self.clock.now().0, SeqCst);
        }
    }
}

impl PreemptedGreens {
    pub(super) fn new(bodies: Rc<Bodies>, clock: Clock) -> io::Result<PreemptedGreens> {
        let gaps = Rc::new(Gaps::new(clock));
        let (own_bodies, own_gaps) = (Rc::clone(&bodies), Rc::clone(&gaps));
        let turn = move |scheduler: &Scheduler, task| {
            own_gaps.look(scheduler, || own_bodies.turn(task));
            // Over: back to the caller.
            scheduler.yield_now();
        };
        let green = Green::new(bodies.tasks, Box::new(turn))?;
        let walking_period = walking_period(&bodies);
        Ok(PreemptedGreens { bodies, gaps, green, walking_period })
    }

    fn period(&self, arm: Arm) -> Nanos {
        if arm.walks() { self.walking_period } else { PERIOD }
    }

    /// So many signals, with the caller as the thread that has `task`'s array.
    fn signals(&self, scheduler: &Scheduler, task: usize, signals: u64) -> Option<Ticks> {
        self.gaps.begin(scheduler, signals);
        self.gaps.look(scheduler, || self.bodies.turn(task));
        self.gaps.sum()
    }

    fn switching(&self, batch: Batch, watch: &mut Watch) -> io::Result<Timed> {
        self.green.preempting(self.period(batch.arm), |scheduler| {
            self.signals(scheduler, 0, batch.warm_up);
            watch.around(|_| {
                let before = scheduler.preemptions();
                let ticks = self.signals(scheduler, 0, batch.rounds);
                let user_switches = (scheduler.preemptions() - before).min(batch.rounds);
                Ok(Measured { handoffs: batch.rounds, ticks, user_switches })
            })
        })?
    }

    fn baseline(&self, batch: Batch, watch: &mut Watch) -> io::Result<Timed> {
        let tasks = self.bodies.tasks;
        let handoffs = watch.baseline_handoffs(batch, tasks as u64);
        self.green.preempting(self.period(batch.arm), |scheduler| {
            watch.around(|_| {
                let mut sum = Some(Ticks(0));
                for task in 0..tasks {
                    self.signals(scheduler, task, batch.warm_up);
                    let ticks = self.signals(scheduler, task, batch.rounds);
                    sum = sum.zip(ticks).map(|(sum, ticks)| Ticks(sum.0 + ticks.0));
                }
                Ok(Measured { handoffs, ticks: sum, user_switches: 0 })
            })
        })?
    }
}

/// Eight times as long as a warm walk.
fn walking_period(bodies: &Bodies) -> Nanos {
    bodies.walks.set(!bodies.arrays.is_empty());
    bodies.turn(0);
    let start = monotonic();
    bodies.turn(0);
    let one = monotonic().saturating_sub(start);
    Nanos((one.0 * 8).max(PERIOD.0))
}

impl Experiment for PreemptedGreens {
    fn tasks(&self) -> Vec<TaskId> {
        vec![TaskId::own_thread()]
    }

    fn fixed_rounds(&self, arm: Arm) -> Option<u64> {
        // Long periods mean fewer signals, so that a batch stays below half a second.
        Some((SIGNALS * PERIOD.0 * 10 / self.period(arm).0).clamp(4, SIGNALS))
    }

    fn run(&mut self, batch: Batch, watch: &mut Watch) -> io::Result<Timed> {
        self.bodies.choose_arm(batch);
        if batch.arm.switches() {
            self.switching(batch, watch)
        } else {
            self.green.alone(|_| self.baseline(batch, watch))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_signal_may_be_counted_twice() {
        let gaps = Gaps::new(Clock::MonotonicRaw);
        gaps.left.store(1, SeqCst);
        gaps.count_one();
        gaps.count_one();
        assert!(gaps.is_over(), "{} signals to wait for", gaps.left.load(SeqCst));
    }
}
