//! Mechanisms over ucontext: a ring of contexts that call swapcontext, and user-level threads that
//! yield.

use std::io;
use std::rc::Rc;

use switchcost_host::context::{Green, UcontextRing};
use switchcost_host::evidence::TaskId;

use super::Bodies;
use crate::experiment::{Batch, Experiment, Timed};

/// A ring of contexts. Each one calls swapcontext to switch to the next.
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

    fn run(&mut self, batch: Batch) -> io::Result<Timed> {
        if !batch.arm.switches() {
            return self.bodies.baseline(batch);
        }
        self.bodies.switching(batch, |rounds| {
            let before = self.ring.switches();
            self.ring.rounds(rounds);
            self.ring.switches() - before
        })
    }
}

/// User-level threads that yield. The baseline makes the same call, which finds the run queue
/// empty.
pub(super) struct Greens {
    bodies: Rc<Bodies>,
    green: Green,
}

impl Greens {
    pub(super) fn new(bodies: Rc<Bodies>) -> io::Result<Greens> {
        let own = Rc::clone(&bodies);
        let turn = move |scheduler: &switchcost_host::context::Scheduler, task| {
            own.turn(task);
            scheduler.yield_now();
        };
        let green = Green::new(bodies.tasks, Box::new(turn))?;
        Ok(Greens { bodies, green })
    }

    /// Runs thread 0 for `rounds` rounds, with the array of `task`. The other threads run in
    /// between.
    #[inline(never)]
    fn rounds(&self, task: usize, rounds: u64) {
        let scheduler = self.green.scheduler();
        for _ in 0..rounds {
            self.bodies.turn(task);
            scheduler.yield_now();
        }
    }
}

impl Experiment for Greens {
    fn tasks(&self) -> Vec<TaskId> {
        vec![TaskId::own_thread()]
    }

    fn run(&mut self, batch: Batch) -> io::Result<Timed> {
        if !batch.arm.switches() {
            self.bodies.choose_arm(batch);
            return Ok(self.green.alone(|_| {
                self.bodies
                    .one_after_the_other(batch, |task, rounds| self.rounds(task, rounds))
            }));
        }
        self.bodies.switching(batch, |rounds| {
            let before = self.green.scheduler().yields();
            self.rounds(0, rounds);
            self.green.scheduler().yields() - before
        })
    }
}
