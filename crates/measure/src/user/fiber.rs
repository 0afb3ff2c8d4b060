//! Stackful coroutines (corosensei). Task 0 is the thread itself; the other tasks are coroutines
//! that it resumes one after the other.

use std::io;
use std::rc::Rc;

use corosensei::stack::DefaultStack;
use corosensei::{Coroutine, CoroutineResult};
use switchcost_host::evidence::TaskId;

use super::Bodies;
use crate::experiment::{Batch, Experiment, Timed};

type Fiber = Coroutine<(), (), ()>;

pub(super) struct Fibers {
    bodies: Rc<Bodies>,
    fibers: Vec<Fiber>,
}

impl Fibers {
    pub(super) fn new(bodies: Rc<Bodies>) -> io::Result<Fibers> {
        let fibers = (1..bodies.tasks)
            .map(|task| fiber(task, Rc::clone(&bodies)))
            .collect::<io::Result<_>>()?;
        Ok(Fibers { bodies, fibers })
    }

    /// Resumes every coroutine once per round. Returns the number of switches: one into a coroutine
    /// and one back for each.
    #[inline(never)]
    fn rounds(&mut self, rounds: u64) -> u64 {
        let mut switches = 0;
        // A loop over a single coroutine would cost as much as a switch.
        if let [fiber] = self.fibers.as_mut_slice() {
            for _ in 0..rounds {
                self.bodies.turn(0);
                switches += resume(fiber);
            }
            return switches;
        }
        for _ in 0..rounds {
            self.bodies.turn(0);
            switches += self.fibers.iter_mut().map(resume).sum::<u64>();
        }
        switches
    }
}

fn fiber(task: usize, bodies: Rc<Bodies>) -> io::Result<Fiber> {
    let stack = DefaultStack::new(64 << 10)?;
    Ok(Coroutine::with_stack(stack, move |yielder, ()| {
        loop {
            bodies.turn(task);
            yielder.suspend(());
        }
    }))
}

#[inline(always)]
fn resume(fiber: &mut Fiber) -> u64 {
    match fiber.resume(()) {
        CoroutineResult::Yield(()) => 2,
        CoroutineResult::Return(()) => 0,
    }
}

impl Experiment for Fibers {
    fn tasks(&self) -> Vec<TaskId> {
        vec![TaskId::own_thread()]
    }

    fn run(&mut self, batch: Batch) -> io::Result<Timed> {
        if !batch.arm.switches() {
            return self.bodies.baseline(batch);
        }
        let bodies = Rc::clone(&self.bodies);
        bodies.switching(batch, |rounds| self.rounds(rounds))
    }
}
