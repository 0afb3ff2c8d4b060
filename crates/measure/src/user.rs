//! Switches that the kernel does not see: contexts in one thread that hand the CPU to each other.
//!
//! Every context runs the same body, a walk over its own array or over nothing; the baseline calls the bodies one
//! after the other without a switch.

mod contexts;
mod executor;
mod fiber;
mod green_preempt;
mod synthetic;

use std::cell::Cell;
use std::io;
use std::rc::Rc;

use host::memory::{Memory, Reach};
use record::Mechanism;
use units::Ticks;
use workload::{Sharing, WorkingSet, prepare, walk};

use crate::controls::{Discipline, Imposed, private_array};
use crate::experiment::{Batch, Experiment, Measured, Timed, Watch, time};
use crate::protocol::Order;

/// Sets up the experiment of a user-level mechanism in the calling thread.
pub(crate) fn start(order: &Order, discipline: &Discipline) -> Result<Box<dyn Experiment>, String> {
    let broken = |error: io::Error| format!("found {} not to be had here ({error})", order.case.mechanism);
    let bodies = Rc::new(Bodies::new(order, discipline)?);
    Ok(match order.case.mechanism {
        Mechanism::Fiber => Box::new(fiber::Fibers::new(bodies).map_err(broken)?),
        Mechanism::Ucontext => Box::new(contexts::Ucontexts::new(bodies).map_err(broken)?),
        Mechanism::Green => Box::new(contexts::Greens::new(bodies).map_err(broken)?),
        Mechanism::GreenPreempt => Box::new(green_preempt::PreemptedGreens::new(bodies, order.clock).map_err(broken)?),
        Mechanism::Async => Box::new(executor::Tasks::new(bodies).map_err(broken)?),
        Mechanism::Synthetic => Box::new(synthetic::Synthetic::new(bodies, order)),
        other => return Err(format!("found {other}, need a user-level mechanism")),
    })
}

/// What the contexts run, and the discipline of the one thread that they share.
pub(crate) struct Bodies {
    arrays: Vec<Memory>,
    set: WorkingSet,
    tasks: usize,
    walks: Cell<bool>,
    _imposed: Imposed,
}

impl Bodies {
    fn new(order: &Order, discipline: &Discipline) -> Result<Bodies, String> {
        let mut imposed = discipline.pin(0)?;
        let set = order.case.working_set;
        let arrays = arrays(order)?;
        discipline.tighten(&mut imposed)?;
        Ok(Bodies { arrays, set, tasks: order.case.tasks as usize, walks: Cell::new(false), _imposed: imposed })
    }

    /// One turn of one context.
    #[inline(always)]
    fn turn(&self, task: usize) {
        if self.walks.get() {
            walk(&self.arrays[task % self.arrays.len()], &self.set);
        } else {
            walk(&[], &self.set);
        }
    }

    fn choose_arm(&self, batch: Batch) {
        self.walks.set(batch.arm.walks() && !self.arrays.is_empty());
    }

    fn handoffs(&self, batch: Batch) -> u64 {
        batch.rounds * self.tasks as u64
    }

    /// The switching arm: `pass` makes so many rounds and returns the switches that it counted.
    fn switching(&self, batch: Batch, watch: &mut Watch, mut pass: impl FnMut(u64) -> u64) -> io::Result<Timed> {
        self.choose_arm(batch);
        pass(batch.warm_up);
        watch.around(|clock| {
            let mut user_switches = 0;
            let ticks = time(clock, || {
                user_switches = pass(batch.rounds);
                Ok(())
            })?;
            Ok(Measured { handoffs: self.handoffs(batch), ticks, user_switches })
        })
    }

    /// The baseline: each context's turns one after the other, called and not switched to.
    fn baseline(&self, batch: Batch, watch: &mut Watch) -> io::Result<Timed> {
        self.choose_arm(batch);
        let handoffs = watch.baseline_handoffs(batch, self.tasks as u64);
        watch.around(|clock| {
            let mut sum = Some(Ticks(0));
            for task in 0..self.tasks {
                self.repeat(task, batch.warm_up);
                let ticks = time(clock, || {
                    self.repeat(task, batch.rounds);
                    Ok(())
                })?;
                sum = sum.zip(ticks).map(|(sum, ticks)| Ticks(sum.0 + ticks.0));
            }
            Ok(Measured { handoffs, ticks: sum, user_switches: 0 })
        })
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
        let memory = Memory::map(set.size_bytes, Reach::Private, set.pages).map_err(|error| error.to_string())?;
        prepare(&memory, &set, order.seed);
        return Ok(vec![memory]);
    }
    let own = (0..u64::from(order.case.tasks)).map(|task| private_array(&set, order.seed.wrapping_add(task)));
    Ok(own.collect::<Result<Vec<_>, _>>()?.into_iter().flatten().collect())
}
