//! User-level threads that lose the CPU to a timer signal.
//!
//! Every thread reads the clock continuously. When the count of signals has changed, the gap since
//! the last reading by any thread is the time of the signal: its delivery, the switch if there was
//! one, and the return from the handler. The thread that notices the change walks its working set,
//! or does nothing. In the baseline the same signals come to a single thread, whose run queue is
//! empty. The delivery of the signals is in both arms, the switch only in one.

use std::io;
use std::rc::Rc;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};

use switchcost_host::clock::{Clock, monotonic};
use switchcost_host::context::{Green, Scheduler};
use switchcost_host::evidence::TaskId;
use switchcost_record::Arm;
use switchcost_units::{Nanos, Ticks};

use super::Bodies;
use crate::experiment::{Batch, Experiment, Split, Timed};

/// Shortest time between two signals. With walks the time is longer.
const PERIOD: Nanos = Nanos::micros(100);

/// Number of signals in a batch. Without walks a batch takes half a millisecond, which is short
/// compared with changes of the core's speed.
const SIGNALS: u64 = 4;

pub(super) struct PreemptedGreens {
    bodies: Rc<Bodies>,
    gaps: Rc<Gaps>,
    green: Green,
    walking_period: Nanos,
}

/// Last reading of the clock, and gaps so far. All threads share these values, and each thread may
/// lose the CPU at any instruction.
struct Gaps {
    clock: Clock,
    /// Latest reading of any thread, in ticks. The reading only increases: a thread that was
    /// preempted between its reading and its store must not decrease it.
    looked: AtomicU64,
    seen: AtomicU64,
    left: AtomicU64,
    gaps: AtomicU64,
    walks: AtomicU64,
}

impl Gaps {
    fn new(clock: Clock) -> Gaps {
        let zero = || AtomicU64::new(0);
        Gaps {
            clock,
            looked: zero(),
            seen: zero(),
            left: zero(),
            gaps: zero(),
            walks: zero(),
        }
    }

    fn begin(&self, scheduler: &Scheduler, signals: u64) {
        self.left.store(signals, SeqCst);
        self.gaps.store(0, SeqCst);
        self.walks.store(0, SeqCst);
        self.seen.store(scheduler.signals(), SeqCst);
        self.looked.store(self.clock.now().0, SeqCst);
    }

    fn is_over(&self) -> bool {
        self.left.load(SeqCst) == 0
    }

    /// Returns the time of the gaps as the time of hand-offs, and the time of the walks after the
    /// gaps.
    fn time(&self) -> Split {
        Split {
            handoffs: Ticks(self.gaps.load(SeqCst)),
            walks: Ticks(self.walks.load(SeqCst)),
        }
    }

    /// Decrements the number of signals to wait for. Two threads may call this for the last signal,
    /// if the next signal takes the CPU from the first one before it has counted; at 0 nothing
    /// changes.
    fn count_one(&self) {
        let _ = self
            .left
            .fetch_update(SeqCst, SeqCst, |left| left.checked_sub(1));
    }

    /// Reads the clock until this and other threads have noticed enough signals. Calls `walk` after
    /// each signal that this thread notices.
    #[inline(never)]
    fn look(&self, scheduler: &Scheduler, walk: impl Fn()) {
        while !self.is_over() {
            let now = self.clock.now();
            if scheduler.signals() == self.seen.load(SeqCst) {
                self.looked.fetch_max(now.0, SeqCst);
                continue;
            }
            self.seen.store(scheduler.signals(), SeqCst);
            // The clock is read again: this thread may have lost the CPU since the first reading,
            // and others may have read it.
            let noticed = self.clock.now();
            walk();
            let end = self.clock.now();
            self.gaps
                .fetch_add(noticed.0.wrapping_sub(self.looked.load(SeqCst)), SeqCst);
            self.walks.fetch_add(end.0.wrapping_sub(noticed.0), SeqCst);
            self.count_one();
            self.looked.fetch_max(self.clock.now().0, SeqCst);
        }
    }
}

impl PreemptedGreens {
    pub(super) fn new(bodies: Rc<Bodies>) -> io::Result<PreemptedGreens> {
        let gaps = Rc::new(Gaps::new(bodies.clock));
        let (own_bodies, own_gaps) = (Rc::clone(&bodies), Rc::clone(&gaps));
        let turn = move |scheduler: &Scheduler, task| {
            own_gaps.look(scheduler, || own_bodies.walk_if_asked(task));
            // All signals have come, so the caller continues.
            scheduler.yield_now();
        };
        let green = Green::new(bodies.tasks, Box::new(turn))?;
        let walking_period = walking_period(&bodies);
        Ok(PreemptedGreens {
            bodies,
            gaps,
            green,
            walking_period,
        })
    }

    fn period(&self, arm: Arm) -> Nanos {
        if arm.walks() {
            self.walking_period
        } else {
            PERIOD
        }
    }

    /// Runs until `signals` signals have come. The caller's thread uses the array of `task`.
    fn signals(&self, scheduler: &Scheduler, task: usize, signals: u64) -> Split {
        self.gaps.begin(scheduler, signals);
        self.gaps
            .look(scheduler, || self.bodies.walk_if_asked(task));
        self.gaps.time()
    }

    fn switching(&self, batch: Batch) -> io::Result<Timed> {
        self.green.preempting(self.period(batch.arm), |scheduler| {
            self.signals(scheduler, 0, batch.warm_up);
            let before = scheduler.preemptions();
            let time = self.signals(scheduler, 0, batch.rounds);
            let user_switches = (scheduler.preemptions() - before).min(batch.rounds);
            let switching_handoffs = batch.rounds;
            Timed {
                handoffs: batch.rounds,
                time,
                switching_handoffs,
                user_switches,
                ..Timed::default()
            }
        })
    }

    fn baseline(&self, batch: Batch) -> io::Result<Timed> {
        let mut time = Split::default();
        self.green.preempting(self.period(batch.arm), |scheduler| {
            for task in 0..self.bodies.tasks {
                self.signals(scheduler, task, batch.warm_up);
                time += self.signals(scheduler, task, batch.rounds);
            }
        })?;
        Ok(Timed {
            handoffs: self.bodies.handoffs(batch),
            time,
            ..Timed::default()
        })
    }
}

/// Returns eight times the time of a walk with warm caches, but at least [`PERIOD`].
fn walking_period(bodies: &Bodies) -> Nanos {
    bodies.walk(0);
    let start = monotonic();
    bodies.walk(0);
    let one = monotonic().saturating_sub(start);
    Nanos((one.0 * 8).max(PERIOD.0))
}

impl Experiment for PreemptedGreens {
    fn tasks(&self) -> Vec<TaskId> {
        vec![TaskId::own_thread()]
    }

    fn fixed_rounds(&self, arm: Arm) -> Option<u64> {
        // With a long period a batch has fewer signals.
        Some(if self.period(arm) > PERIOD {
            SIGNALS / 2
        } else {
            SIGNALS
        })
    }

    fn run(&mut self, batch: Batch) -> io::Result<Timed> {
        self.bodies.choose_arm(batch);
        if batch.arm.switches() {
            self.switching(batch)
        } else {
            self.green.alone(|_| self.baseline(batch))
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
        assert!(
            gaps.is_over(),
            "{} signals to wait for",
            gaps.left.load(SeqCst)
        );
    }
}
