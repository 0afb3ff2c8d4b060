//! Those who may run, and whose turn it is.

use std::collections::{HashMap, VecDeque};

use super::schedule::Schedule;
use crate::ProcessId;

/// A task that may run, as an index of the list of tasks.
#[derive(Clone, Copy, Debug)]
struct Ready {
    task: usize,
    process: ProcessId,
    passed_over: u32,
}

/// The tasks that may run, in the order in which they came to the queue.
#[derive(Debug)]
pub(super) struct Queue {
    schedule: Schedule,
    ready: VecDeque<Ready>,
    /// The tasks that take turns, if their number is limited.
    batch: Vec<usize>,
    /// By process: the turn in which it last had the CPU.
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

    /// A task may run.
    pub(super) fn push(&mut self, task: usize, process: ProcessId) {
        self.ready.push_back(Ready {
            task,
            process,
            passed_over: 0,
        });
    }

    /// A task left the CPU by itself, or ended.
    pub(super) fn leave(&mut self, task: usize) {
        self.batch.retain(|&member| member != task);
    }

    /// Takes the next task to run out of the queue. `expired` has just had a turn, and gets another only if no other task may run.
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

    /// The positions in the queue of the tasks that may be chosen.
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
        // Of several that ran last, since none has run, the first in the queue.
        due.or_else(|| places.iter().rev().max_by_key(|place| last_ran(place)))
            .copied()
    }
}
