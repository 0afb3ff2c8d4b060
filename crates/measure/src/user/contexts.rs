//! Contexts over ucontext: a bare ring of swapcontext, and user-level threads that yield.

use std::io;
use std::rc::Rc;

use host::context::{Green, UcontextRing};
use host::evidence::TaskId;
use units::Ticks;

use super::Bodies;
use crate::experiment::{Batch, Experiment, Measured, Timed, Watch, time};

/// swapcontext from each context to the next.
pub(super) struct Ucontexts {
    bodies: Rc<Bodies>,
    ring: UcontextRing,
}

impl Ucontexts {
    pub(super) fn new(bodies: Rc<Bodies>) -> io::Result<Ucontexts> {
        let own = Rc::clone(&bodies);
        let ring = UcontextRing::new(bodies.tasks, Box::new(move |task| own.turn(task)))?;
        Ok(Ucontexts { bodies, ring })
    }
}

impl Experiment for Ucontexts {
    fn tasks(&self) -> Vec<TaskId> {
        vec![TaskId::own_thread()]
    }

    fn run(&mut self, batch: Batch, watch: &mut Watch) -> io::Result<Timed> {
        if !batch.arm.switches() {
            return self.bodies.baseline(batch, watch);
        }
        self.bodies.switching(batch, watch, |rounds| {
            let before = self.ring.switches();
            self.ring.rounds(rounds);
            self.ring.switches() - before
        })
    }
}

/// User-level threads that yield. The baseline makes the same call, and finds the run queue empty.
pub(super) struct Greens {
    bodies: Rc<Bodies>,
    green: Green,
}

impl Greens {
    pub(super) fn new(bodies: Rc<Bodies>) -> io::Result<Greens> {
        let own = Rc::clone(&bodies);
        let turn = move |scheduler: &host::context::Scheduler, task| {
            own.turn(task);
            scheduler.yield_now();
        };
        let green = Green::new(bodies.tasks, Box::new(turn))?;
        Ok(Greens { bodies, green })
    }

    /// The caller's turns as thread 0, with the array of `task`; the other threads have theirs in between.
    #[inline(never)]
    fn rounds(&self, task: usize, rounds: u64) {
        let scheduler = self.green.scheduler();
        for _ in 0..rounds {
            self.bodies.turn(task);
            scheduler.yield_now();
        }
    }

    fn baseline(&self, batch: Batch, watch: &mut Watch) -> io::Result<Timed> {
        let handoffs = watch.baseline_handoffs(batch, self.bodies.tasks as u64);
        watch.around(|clock| {
            let mut sum = Some(Ticks(0));
            for task in 0..self.bodies.tasks {
                self.rounds(task, batch.warm_up);
                let ticks = time(clock, || {
                    self.rounds(task, batch.rounds);
                    Ok(())
                })?;
                sum = sum.zip(ticks).map(|(sum, ticks)| Ticks(sum.0 + ticks.0));
            }
            Ok(Measured { handoffs, ticks: sum, user_switches: 0 })
        })
    }
}

impl Experiment for Greens {
    fn tasks(&self) -> Vec<TaskId> {
        vec![TaskId::own_thread()]
    }

    fn run(&mut self, batch: Batch, watch: &mut Watch) -> io::Result<Timed> {
        if !batch.arm.switches() {
            self.bodies.choose_arm(batch);
            return self.green.alone(|_| self.baseline(batch, watch));
        }
        self.bodies.switching(batch, watch, |rounds| {
            let before = self.green.scheduler().yields();
            self.rounds(0, rounds);
            self.green.scheduler().yields() - before
        })
    }
}
