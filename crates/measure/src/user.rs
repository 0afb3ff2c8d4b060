//! Switches that the kernel does not see: contexts in one thread that hand the CPU to each other.
//!
//! Every context runs the same body: a walk over its own array, or nothing. The baseline calls the
//! bodies one after the other, without a switch.

mod contexts;
mod executor;
mod fiber;
mod green_preempt;
mod synthetic;

use std::cell::Cell;
use std::io;
use std::rc::Rc;

use switchcost_host::clock::Clock;
use switchcost_host::memory::{MapType, Memory};
use switchcost_record::Mechanism;
use switchcost_units::Ticks;
use switchcost_workload::{Sharing, WorkingSet, walk};

use crate::controls::{ControlGuards, TaskControls, array};
use crate::experiment::{Batch, Experiment, Split, Timed};
use crate::protocol::Order;

/// Sets up the experiment of a user-level mechanism in the calling thread.
pub(crate) fn start(order: &Order, controls: &TaskControls) -> Result<Box<dyn Experiment>, String> {
    let broken =
        |error: io::Error| format!("{} is not available here ({error})", order.case.mechanism);
    let bodies = Rc::new(Bodies::new(order, controls)?);
    Ok(match order.case.mechanism {
        Mechanism::Fiber => Box::new(fiber::Fibers::new(bodies).map_err(broken)?),
        Mechanism::Ucontext => Box::new(contexts::Ucontexts::new(bodies).map_err(broken)?),
        Mechanism::Green => Box::new(contexts::Greens::new(bodies).map_err(broken)?),
        Mechanism::GreenPreempt => {
            Box::new(green_preempt::PreemptedGreens::new(bodies).map_err(broken)?)
        }
        Mechanism::Async => Box::new(executor::Tasks::new(bodies).map_err(broken)?),
        Mechanism::Synthetic => Box::new(synthetic::Synthetic::new(bodies, order)),
        other => return Err(format!("{other} is no user-level mechanism")),
    })
}

/// Bodies of the contexts, and controls of the thread that runs them all.
pub(crate) struct Bodies {
    clock: Clock,
    arrays: Vec<Memory>,
    set: WorkingSet,
    tasks: usize,
    walks: Cell<bool>,
    /// Time of all walks so far, in ticks.
    walked: Cell<Ticks>,
    _guards: ControlGuards,
}

impl Bodies {
    fn new(order: &Order, controls: &TaskControls) -> Result<Bodies, String> {
        let mut guards = controls.pin(0)?;
        let set = order.case.working_set;
        let arrays = arrays(order)?;
        controls.apply(&mut guards)?;
        Ok(Bodies {
            clock: order.clock,
            arrays,
            set,
            tasks: order.case.tasks as usize,
            walks: Cell::new(false),
            walked: Cell::new(Ticks(0)),
            _guards: guards,
        })
    }

    /// Creates `tasks` bodies that do nothing, without controls.
    #[cfg(test)]
    fn bare(tasks: usize) -> Bodies {
        Bodies {
            clock: Clock::MonotonicRaw,
            arrays: Vec::new(),
            set: WorkingSet::NONE,
            tasks,
            walks: Cell::new(false),
            walked: Cell::new(Ticks(0)),
            _guards: ControlGuards::default(),
        }
    }

    /// Runs the body of one context once: a timed walk over its working set, or nothing without a
    /// walk.
    #[inline(always)]
    fn turn(&self, task: usize) {
        if self.walks.get() {
            self.walk_timed(task, || ());
        } else {
            walk(&[], &self.set);
        }
    }

    /// Makes one timed walk, and calls `more` as a part of it.
    #[inline(always)]
    fn walk_timed(&self, task: usize, more: impl FnOnce()) {
        let start = self.clock.now();
        self.walk(task);
        more();
        let end = self.clock.now();
        self.walked.set(Ticks(
            self.walked
                .get()
                .0
                .wrapping_add(end.0.wrapping_sub(start.0)),
        ));
    }

    /// Walks the array of a task once, untimed.
    #[inline(always)]
    fn walk(&self, task: usize) {
        walk(
            self.arrays
                .get(task % self.arrays.len().max(1))
                .map_or(&[], |array| array),
            &self.set,
        );
    }

    /// Walks the task's array once, untimed, if the arm has walks.
    fn walk_if_asked(&self, task: usize) {
        if self.walks.get() {
            self.walk(task);
        }
    }

    fn choose_arm(&self, batch: Batch) {
        self.walks.set(batch.arm.walks() && !self.arrays.is_empty());
    }

    fn handoffs(&self, batch: Batch) -> u64 {
        batch.rounds * self.tasks as u64
    }

    /// Times one call, and separates the walks in it from the rest.
    #[inline(always)]
    fn time<T>(&self, body: impl FnOnce() -> T) -> (T, Split) {
        let walked = self.walked.get();
        let start = self.clock.now();
        let done = body();
        let end = self.clock.now();
        let mut time = Split::default();
        time.add_walk(walked, self.walked.get());
        // All time outside the walks is time of hand-offs.
        time.add_handoff(Ticks(start.0.wrapping_add(time.walks.0)), end);
        (done, time)
    }

    /// Runs the switching arm. `pass` runs a number of rounds, and returns the number of switches
    /// that it counted.
    fn switching(&self, batch: Batch, mut pass: impl FnMut(u64) -> u64) -> io::Result<Timed> {
        self.choose_arm(batch);
        let warm_up = pass(batch.warm_up);
        let (counted, time) = self.time(|| pass(batch.rounds));
        Ok(Timed {
            handoffs: self.handoffs(batch),
            time,
            switching_handoffs: batch.total_rounds() * self.tasks as u64,
            user_switches: warm_up + counted,
            ..Timed::default()
        })
    }

    /// Runs the baseline: calls the bodies one after the other, without a switch.
    fn baseline(&self, batch: Batch) -> io::Result<Timed> {
        self.choose_arm(batch);
        Ok(self.one_after_the_other(batch, |task, rounds| self.repeat(task, rounds)))
    }

    /// Times the calls of each context, one context after the other. `turns` calls a context's body
    /// a number of times.
    fn one_after_the_other(&self, batch: Batch, turns: impl Fn(usize, u64)) -> Timed {
        let mut sum = Split::default();
        for task in 0..self.tasks {
            turns(task, batch.warm_up);
            sum += self.time(|| turns(task, batch.rounds)).1;
        }
        Timed {
            handoffs: self.handoffs(batch),
            time: sum,
            ..Timed::default()
        }
    }

    #[inline(never)]
    fn repeat(&self, task: usize, turns: u64) {
        for _ in 0..turns {
            self.turn(task);
        }
    }
}

fn arrays(order: &Order) -> Result<Vec<Memory>, String> {
    let set = order.case.working_set;
    if set.is_empty() {
        return Ok(Vec::new());
    }
    if set.sharing == Sharing::Shared {
        return Ok(vec![array(&set, MapType::Private, order.seed)?]);
    }
    (0..u64::from(order.case.tasks))
        .map(|task| array(&set, MapType::Private, order.seed.wrapping_add(task)))
        .collect()
}
