//! Tasks of a single-threaded tokio runtime that yield to the executor. The baseline calls the
//! bodies one after the other, without an executor and its run queue. Tasks are started before the
//! timed part, which begins with one run of the first task and ends with a later one. The executor
//! need not run the tasks in the same order each time (tokio wakes those that yielded last first),
//! so the runs of all tasks in the timed part are counted.

use std::cell::Cell;
use std::io;
use std::rc::Rc;

use switchcost_host::evidence::TaskId;
use switchcost_units::Ticks;
use tokio::runtime::{Builder, Runtime};
use tokio::task::{LocalSet, yield_now};

use super::Bodies;
use crate::experiment::{Batch, Experiment, Split, Timed};

pub(super) struct Tasks {
    bodies: Rc<Bodies>,
    runtime: Runtime,
}

impl Tasks {
    pub(super) fn new(bodies: Rc<Bodies>) -> io::Result<Tasks> {
        Ok(Tasks {
            bodies,
            runtime: Builder::new_current_thread().build()?,
        })
    }

    /// Runs all tasks alternately. Returns the number of times that a task gave the thread to the
    /// executor and got it back, and the timed part.
    fn together(&self, batch: Batch) -> (u64, Part) {
        let set = LocalSet::new();
        let switches = Rc::new(Cell::new(0));
        let turns = Rc::new(Cell::new(0));
        let marks = Rc::new(Cell::new([Mark::default(); 2]));
        for task in 0..self.bodies.tasks {
            let (bodies, switches, marks) = (
                Rc::clone(&self.bodies),
                Rc::clone(&switches),
                Rc::clone(&marks),
            );
            let turns = Rc::clone(&turns);
            set.spawn_local(async move {
                let pass = async |rounds| {
                    for _ in 0..rounds {
                        bodies.turn(task);
                        turns.set(turns.get() + 1);
                        yield_now().await;
                        switches.set(switches.get() + 1);
                    }
                };
                pass(batch.warm_up).await;
                let start = Mark::new(&bodies, turns.get());
                pass(batch.rounds).await;
                if task == 0 {
                    marks.set([start, Mark::new(&bodies, turns.get())]);
                }
            });
        }
        self.runtime.block_on(set);
        let [start, end] = marks.get();
        (switches.get(), end.since(start))
    }
}

/// The timed part of a batch: its time, and the runs of all tasks during that time, each with one
/// trip through the executor.
struct Part {
    turns: u64,
    time: Split,
}

/// A reading of the clock, with the time of walks and the number of task runs up to it.
#[derive(Clone, Copy, Debug, Default)]
struct Mark {
    at: Ticks,
    walked: Ticks,
    turns: u64,
}

impl Mark {
    fn new(bodies: &Bodies, turns: u64) -> Mark {
        Mark {
            at: bodies.clock.now(),
            walked: bodies.walked.get(),
            turns,
        }
    }

    fn since(self, start: Mark) -> Part {
        let mut time = Split::default();
        time.add_walk(start.walked, self.walked);
        time.add_handoff(Ticks(start.at.0.wrapping_add(time.walks.0)), self.at);
        Part {
            turns: self.turns - start.turns,
            time,
        }
    }
}

impl Experiment for Tasks {
    fn tasks(&self) -> Vec<TaskId> {
        vec![TaskId::own_thread()]
    }

    fn run(&mut self, batch: Batch) -> io::Result<Timed> {
        if !batch.arm.switches() {
            return self.bodies.baseline(batch);
        }
        self.bodies.choose_arm(batch);
        let (user_switches, Part { turns, time }) = self.together(batch);
        let switching_handoffs = batch.total_rounds() * self.bodies.tasks as u64;
        Ok(Timed {
            handoffs: turns,
            time,
            switching_handoffs,
            user_switches,
            ..Timed::default()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use switchcost_record::Arm;

    /// Shows that the count of task runs in the timed part is wrong by at most one, although the
    /// executor does not run the tasks in the same order in each round.
    #[test]
    fn the_turns_that_were_timed_are_counted() {
        let tasks = Tasks::new(Rc::new(Bodies::bare(2))).expect("a runtime");
        for rounds in 1..6 {
            let (switches, part) = tasks.together(Batch {
                arm: Arm::SwitchDirect,
                rounds,
                warm_up: 1,
            });
            assert_eq!(switches, 2 * (rounds + 1));
            assert!(
                part.turns.abs_diff(2 * rounds) <= 1,
                "{} of {rounds} rounds",
                part.turns
            );
        }
    }
}
