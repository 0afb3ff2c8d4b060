//! Queue of runnable tasks, and the choice of the next one.

use std::collections::{HashMap, VecDeque};

use super::schedule::Schedule;
use crate::ProcessId;

/// A runnable task. `task` is an index into the list of tasks.
#[derive(Clone, Copy, Debug)]
struct Ready {
    task: usize,
    process: ProcessId,
    passed_over: u32,
}

/// Runnable tasks, in the order in which they entered the queue.
#[derive(Debug)]
pub(super) struct Queue {
    schedule: Schedule,
    ready: VecDeque<Ready>,
    /// Tasks that may alternate at present, under a schedule that limits their number.
    batch: Vec<usize>,
    /// Number of the last time slice that each process had.
    ran: HashMap<ProcessId, u64>,
    turns: u64,
}

impl Queue {
    pub(super) fn new(schedule: Schedule) -> Queue {
        Queue {
            schedule,
            ready: VecDeque::new(),
            batch: Vec::new(),
            ran: HashMap::new(),
            turns: 0,
        }
    }

    /// Adds a runnable task.
    pub(super) fn push(&mut self, task: usize, process: ProcessId) {
        self.ready.push_back(Ready {
            task,
            process,
            passed_over: 0,
        });
    }

    /// Records that a task left the CPU voluntarily, or ended.
    pub(super) fn leave(&mut self, task: usize) {
        self.batch.retain(|&member| member != task);
    }

    /// Removes the next task from the queue and returns it. `expired` is the task whose time slice
    /// has just ended; it gets another one only if no other task is runnable.
    pub(super) fn pick(&mut self, expired: Option<usize>) -> Option<usize> {
        let eligible = self.eligible();
        let others: Vec<usize> = eligible
            .iter()
            .copied()
            .filter(|&place| Some(self.ready[place].task) != expired)
            .collect();
        let place = self.choose(if others.is_empty() {
            &eligible
        } else {
            &others
        })?;
        for other in others.into_iter().filter(|&other| other < place) {
            self.ready[other].passed_over += 1;
        }
        let Ready { task, process, .. } = self.ready.remove(place)?;
        self.turns += 1;
        self.ran.insert(process, self.turns);
        Some(task)
    }

    /// Returns the queue positions of the tasks that may run next.
    fn eligible(&mut self) -> Vec<usize> {
        let Schedule::Batch(most) = self.schedule else {
            return (0..self.ready.len()).collect();
        };
        for ready in &self.ready {
            if self.batch.len() < most as usize && !self.batch.contains(&ready.task) {
                self.batch.push(ready.task);
            }
        }
        (0..self.ready.len())
            .filter(|&place| self.batch.contains(&self.ready[place].task))
            .collect()
    }

    fn choose(&self, places: &[usize]) -> Option<usize> {
        let Schedule::Affinity(most) = self.schedule else {
            return places.first().copied();
        };
        let is_due = |place: &&usize| self.ready[**place].passed_over >= most;
        let last_ran = |place: &usize| {
            self.ran
                .get(&self.ready[*place].process)
                .copied()
                .unwrap_or(0)
        };
        let due = places.iter().find(is_due);
        // Of tasks whose processes have not run, the first in the queue is chosen.
        due.or_else(|| places.iter().rev().max_by_key(|place| last_ran(place)))
            .copied()
    }
}
