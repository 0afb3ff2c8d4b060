//! Decides which task runs next. The input is the state of each task as last seen, in order of
//! birth. The output is the task to run, and the switch to it. The module uses no clock, no
//! process, and no shared memory: equal inputs give equal decisions.
//!
//! Round robin: a task keeps the CPU through its system calls until it blocks in one, yields, uses
//! up its quantum, or ends. A yield is involuntary, as the kernel counts it. No task runs before
//! every other task is asleep in the kernel or queued. A task woken by a system call therefore gets
//! its place in the queue at that call. Tasks that queue up between two such moments do so in order
//! of birth.

use std::collections::VecDeque;

use switchcost_trace::Cause;

/// State of a task as the controller last saw it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Seen {
    /// The task has the CPU.
    Running,
    /// The task waits for the CPU.
    Queued {
        /// Why the task gave up the CPU, if it ran until now: its quantum ended, or it yielded.
        /// `None` if the task did not run.
        gave_up: Option<Cause>,
    },
    /// The task had the CPU, slept in a system call so briefly that it was not seen asleep, and
    /// waits for the CPU again.
    Slept {
        /// Number of the system call.
        syscall: u16,
    },
    /// A signal has stopped the task.
    Stopped,
    /// The task waits for the CPU, but cannot use it at present. It keeps its place in the queue.
    HeldBack,
    /// The task sleeps in a system call.
    Blocked {
        /// Number of the system call.
        syscall: u16,
    },
    /// The task is between two states, and must be examined again.
    OnItsWay,
    /// The task has ended, as the kernel reports it.
    Gone,
}

/// A task and its state as last seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Sighting {
    pub(crate) slot: u32,
    pub(crate) seen: Seen,
}

/// A switch to another task, or to the same task after all tasks slept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Switch {
    /// Slot of the task that had the CPU; `None` before the first time slice.
    pub(crate) from: Option<u32>,
    pub(crate) to: u32,
    pub(crate) is_voluntary: bool,
    pub(crate) cause: Cause,
}

/// Decision of the scheduler.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Decision {
    /// There is no decision yet; the tasks must be examined again.
    Wait {
        /// Whether all tasks sleep, so that nothing changes soon.
        is_idle: bool,
    },
    /// The running task, given by its slot, continues with the rest of its quantum.
    GoOn(u32),
    /// The running task, given by its slot, gets another quantum, because no other task wants the
    /// CPU.
    Renew(u32),
    /// The time slice of another task begins, or another time slice of the same task after all
    /// tasks slept.
    Switch(Switch),
    /// All tasks have ended.
    Finished,
}

/// Queue of the tasks that wait for the CPU, and the task that has it.
#[derive(Debug, Default)]
pub(crate) struct Scheduler {
    queue: VecDeque<u32>,
    running: Option<u32>,
    left: Option<Left>,
}

/// The task that had the CPU last, and why it left.
#[derive(Clone, Copy, Debug)]
struct Left {
    slot: u32,
    is_voluntary: bool,
    cause: Cause,
}

impl Scheduler {
    /// Returns the slot of the running task; `None` if no task runs.
    pub(crate) fn running(&self) -> Option<u32> {
        self.running
    }

    /// Decides which task runs, from the states of all tasks in order of birth. `is_expecting` says
    /// whether a task is being created that has not appeared yet.
    pub(crate) fn decide(&mut self, tasks: &[Sighting], is_expecting: bool) -> Decision {
        let is_settled = |task: &Sighting| !matches!(task.seen, Seen::OnItsWay | Seen::Running);
        if is_expecting || !tasks.iter().all(is_settled) {
            return Decision::Wait { is_idle: false };
        }
        self.enqueue_newcomers(tasks);
        if let Some(slot) = self.running.take() {
            let seen = tasks
                .iter()
                .find(|task| task.slot == slot)
                .map_or(Seen::Gone, |task| task.seen);
            let is_wanted = self.first_ready(tasks).is_some();
            if let Some(decision) = self.keep_or_leave(slot, seen, is_wanted) {
                self.running = Some(slot);
                return decision;
            }
        }
        self.next(tasks)
    }

    fn enqueue_newcomers(&mut self, tasks: &[Sighting]) {
        let wants = |task: &Sighting| matches!(task.seen, Seen::Queued { .. } | Seen::HeldBack);
        self.queue
            .retain(|&slot| tasks.iter().any(|task| task.slot == slot && wants(task)));
        for task in tasks {
            if wants(task) && self.running != Some(task.slot) && !self.queue.contains(&task.slot) {
                self.queue.push_back(task.slot);
            }
        }
    }

    /// Returns the position in the queue of the first task that can use the CPU; `None` if there is
    /// none.
    fn first_ready(&self, tasks: &[Sighting]) -> Option<usize> {
        let is_held_back = |slot| {
            tasks
                .iter()
                .any(|task| task.slot == slot && task.seen == Seen::HeldBack)
        };
        self.queue.iter().position(|&slot| !is_held_back(slot))
    }

    /// Decides whether the running task keeps the CPU. `is_wanted` says whether another task can use
    /// it. If the task leaves the CPU, records the cause and returns `None`.
    fn keep_or_leave(&mut self, slot: u32, seen: Seen, is_wanted: bool) -> Option<Decision> {
        let (is_voluntary, cause) = match seen {
            Seen::Queued { gave_up: None } => return Some(Decision::GoOn(slot)),
            Seen::Queued {
                gave_up: Some(cause),
            } if !is_wanted => {
                return Some(if cause == Cause::Quantum {
                    Decision::Renew(slot)
                } else {
                    Decision::GoOn(slot)
                });
            }
            Seen::Queued {
                gave_up: Some(cause),
            } => {
                self.queue.push_back(slot);
                (false, cause)
            }
            Seen::Slept { syscall } => {
                self.queue.push_back(slot);
                (true, Cause::Syscall(syscall))
            }
            Seen::Blocked { syscall } => (true, Cause::Syscall(syscall)),
            Seen::Stopped => (true, Cause::Unknown),
            Seen::HeldBack => {
                self.queue.push_back(slot);
                (true, Cause::Unknown)
            }
            Seen::Gone | Seen::OnItsWay | Seen::Running => (true, Cause::Exit),
        };
        self.left = Some(Left {
            slot,
            is_voluntary,
            cause,
        });
        None
    }

    fn next(&mut self, tasks: &[Sighting]) -> Decision {
        let first = self.first_ready(tasks);
        let Some(to) = first.and_then(|position| self.queue.remove(position)) else {
            let is_finished = tasks.iter().all(|task| task.seen == Seen::Gone);
            return if is_finished {
                Decision::Finished
            } else {
                Decision::Wait { is_idle: true }
            };
        };
        self.running = Some(to);
        Decision::Switch(match self.left {
            Some(Left {
                slot,
                is_voluntary,
                cause,
            }) => Switch {
                from: Some(slot),
                to,
                is_voluntary,
                cause,
            },
            None => Switch {
                from: None,
                to,
                is_voluntary: true,
                cause: Cause::Unknown,
            },
        })
    }
}

#[cfg(test)]
mod tests;
