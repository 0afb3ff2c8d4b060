//! Tasks of a single-threaded tokio runtime that yield to the executor. The baseline calls the bodies one after the
//! other: no executor, no trip through its run queue. Starting the tasks is inside the timed part, once a batch.

use std::cell::Cell;
use std::io;
use std::rc::Rc;

use host::evidence::TaskId;
use tokio::runtime::{Builder, Runtime};
use tokio::task::{LocalSet, yield_now};

use super::Bodies;
use crate::experiment::{Batch, Experiment, Timed, Watch};

pub(super) struct Tasks {
    bodies: Rc<Bodies>,
    runtime: Runtime,
}

impl Tasks {
    pub(super) fn new(bodies: Rc<Bodies>) -> io::Result<Tasks> {
        Ok(Tasks { bodies, runtime: Builder::new_current_thread().build()? })
    }

    /// All tasks in turn; returns how often one gave the thread to the executor and got it back.
    fn together(&self, rounds: u64) -> u64 {
        let set = LocalSet::new();
        let switches = Rc::new(Cell::new(0));
        for task in 0..self.bodies.tasks {
            let (bodies, switches) = (Rc::clone(&self.bodies), Rc::clone(&switches));
            set.spawn_local(async move {
                for _ in 0..rounds {
                    bodies.turn(task);
                    yield_now().await;
                    switches.set(switches.get() + 1);
                }
            });
        }
        self.runtime.block_on(set);
        switches.get()
    }
}

impl Experiment for Tasks {
    fn tasks(&self) -> Vec<TaskId> {
        vec![TaskId::own_thread()]
    }

    fn run(&mut self, batch: Batch, watch: &mut Watch) -> io::Result<Timed> {
        if !batch.arm.switches() {
            return self.bodies.baseline(batch, watch);
        }
        self.bodies.switching(batch, watch, |rounds| self.together(rounds))
    }
}
