//! The living tasks in order of birth, and the state of each, as its slot and the kernel report it.

use std::io;

use switchcost_host::supervisor::TaskFiles;
use switchcost_trace::Cause;

use crate::probe::{Kernel, Probe, may_be};
use crate::protocol::{NO_PROCESS, NO_SLOT, WHY_QUANTUM, WHY_SLEPT, WHY_SYSCALL, slot, state};
use crate::ring::{Ring, SLOTS};
use crate::scheduler::{Seen, Sighting};

const CLONE: u32 = 56;
const VFORK: u32 = 58;
const SCHED_YIELD: u32 = 24;

/// A task, from the time when it claims a slot until the slot is free again.
#[derive(Debug)]
pub(crate) struct Task {
    pub(crate) slot: u32,
    pub(crate) pid: u32,
    tid: u32,
    parent: u32,
    process_slot: u32,
    probe: Probe,
    /// Whether a record of the task's birth has been written.
    is_announced: bool,
    /// Whether a record of the task's end has been written.
    has_exited: bool,
    /// Whether the task was in an exec when last seen, and has reported no end.
    is_in_exec: bool,
    /// Whether the controller took the CPU from the task, because a signal stopped it during its
    /// time slice.
    is_stopped_in_turn: bool,
    /// State of the slot when the task was last seen asleep; `None` if it has not been. While the
    /// slot keeps this state and the task gets no time slice, the task sleeps there or has been
    /// woken, but does not sleep elsewhere.
    asleep_in: Option<u32>,
}

impl Task {
    fn new(ring: &Ring, index: u32) -> Task {
        let slot = ring.slot(index);
        let (pid, tid) = (slot.get(slot::PID), slot.get(slot::TID));
        Task {
            slot: index,
            pid,
            tid,
            parent: slot.get(slot::PARENT),
            process_slot: slot.get(slot::PROCESS_SLOT),
            probe: Probe::new(pid, tid),
            is_announced: false,
            has_exited: false,
            is_in_exec: false,
            is_stopped_in_turn: false,
            asleep_in: None,
        }
    }

    /// Records that a thread executes another program, and so gets its process's ID as its thread
    /// ID.
    fn follow(&mut self, tid: u32) {
        if self.tid != tid {
            self.tid = tid;
            self.probe = Probe::new(self.pid, tid);
        }
    }

    fn look(&mut self, ring: &Ring, files: &TaskFiles, is_running: bool) -> io::Result<Seen> {
        if self.has_exited {
            return Ok(Seen::Gone);
        }
        let slot = ring.slot(self.slot);
        let before = slot.state();
        let asleep_in = self.asleep_in.take().filter(|_| !is_running);
        if before == state::GRANTED {
            return Ok(Seen::Running);
        }
        self.follow(slot.get(slot::TID));
        self.is_in_exec = slot.is_in_exec();
        let is_running = is_running && !self.is_stopped_in_turn;
        self.is_stopped_in_turn &= before == state::QUEUED;
        if before == state::QUEUED && is_running {
            return Ok(match (slot.get(slot::WHY), slot.get(slot::SYSCALL)) {
                (WHY_QUANTUM, _) => Seen::Queued {
                    gave_up: Some(Cause::Quantum),
                },
                (WHY_SYSCALL, SCHED_YIELD) => Seen::Queued {
                    gave_up: Some(Cause::Syscall(SCHED_YIELD as u16)),
                },
                (WHY_SLEPT, syscall) => Seen::Slept {
                    syscall: syscall as u16,
                },
                _ => Seen::Queued { gave_up: None },
            });
        }
        let syscall = slot.get(slot::SYSCALL);
        let kernel = match asleep_in == Some(before) {
            true => self.probe.ask_again(files, syscall)?,
            false if self.is_in_exec => self.probe.ask_in_exec(files)?,
            false => self.probe.ask(files)?,
        };
        if slot.state() != before {
            return Ok(Seen::OnItsWay);
        }
        let seen = match (kernel, before) {
            (Kernel::Gone, _) => Seen::Gone,
            (
                Kernel::Asleep {
                    is_stopped: true, ..
                },
                state::QUEUED,
            ) => Seen::Stopped,
            (Kernel::Asleep { .. }, state::QUEUED) => Seen::Queued { gave_up: None },
            (
                Kernel::Asleep {
                    syscall: number, ..
                },
                state::IN_SYSCALL,
            ) if may_be(number, syscall) => Seen::Blocked {
                syscall: syscall as u16,
            },
            _ => Seen::OnItsWay,
        };
        // In an exec Valgrind starts anew, and may sleep anywhere.
        let is_asleep = matches!(
            seen,
            Seen::Queued { .. } | Seen::Stopped | Seen::Blocked { .. }
        ) && !self.is_in_exec;
        self.asleep_in = is_asleep.then_some(before);
        Ok(seen)
    }
}

/// All tasks that live, in order of birth.
#[derive(Debug)]
pub(crate) struct Tasks {
    files: TaskFiles,
    tasks: Vec<Task>,
    sightings: Vec<Sighting>,
}

/// A record that the controller is to write while no task runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TaskEvent {
    Created {
        slot: u32,
        parent: u32,
        process_slot: u32,
        pid: u32,
        tid: u32,
    },
    Exited {
        slot: u32,
    },
}

impl Tasks {
    /// Creates an empty list. `files` are the kernel's files about the tasks.
    pub(crate) fn new(files: TaskFiles) -> Tasks {
        Tasks {
            files,
            tasks: Vec::new(),
            sightings: Vec::new(),
        }
    }

    /// Adds the tasks that have filled in a slot since the last call.
    pub(crate) fn discover(&mut self, ring: &Ring) {
        let highest = self.tasks.iter().map(|task| task.slot).max();
        for index in 0..SLOTS as u32 {
            match ring.slot(index).state() {
                state::FREE if highest.is_none_or(|highest| index > highest) => break,
                state::FREE | state::CLAIMED => {}
                _ if self.tasks.iter().any(|task| task.slot == index) => {}
                _ => self.tasks.push(Task::new(ring, index)),
            }
        }
    }

    /// Whether exactly one task lives.
    pub(crate) fn is_one_alone(&self) -> bool {
        self.tasks.iter().filter(|task| !task.has_exited).count() == 1
    }

    /// Whether any task is creating another one that has not asked for the CPU yet.
    pub(crate) fn is_any_making(&self, ring: &Ring) -> bool {
        self.tasks
            .iter()
            .any(|task| ring.slot(task.slot).get(slot::IS_MAKING) != 0)
    }

    /// Whether a task has claimed a slot, but has not filled it in yet.
    pub(crate) fn is_any_claiming(&self, ring: &Ring) -> bool {
        self.claimed(ring).next().is_some()
    }

    fn claimed(&self, ring: &Ring) -> impl Iterator<Item = u32> {
        let limit = self
            .tasks
            .iter()
            .map(|task| task.slot + 1)
            .max()
            .unwrap_or(0)
            + 1;
        (0..limit.min(SLOTS as u32)).filter(|&index| ring.slot(index).state() == state::CLAIMED)
    }

    /// Stops waiting for tasks whose creators have ended, or that ended after claiming a slot.
    pub(crate) fn give_up_births(&mut self, ring: &Ring) -> io::Result<()> {
        for task in self
            .tasks
            .iter_mut()
            .filter(|task| ring.slot(task.slot).get(slot::IS_MAKING) != 0)
        {
            if task.probe.ask(&self.files)? == Kernel::Gone {
                ring.slot(task.slot).give_up_making();
            }
        }
        for claimed in self.claimed(ring) {
            let slot = ring.slot(claimed);
            let (pid, tid) = (slot.get(slot::PID), slot.get(slot::TID));
            if pid != NO_PROCESS && Probe::new(pid, tid).ask(&self.files)? == Kernel::Gone {
                slot.free();
            }
        }
        Ok(())
    }

    /// Returns the states of the tasks in order of birth, up to the first task that runs or is
    /// between two states. `running` is the slot of the task that had the CPU last.
    pub(crate) fn look(&mut self, ring: &Ring, running: Option<u32>) -> io::Result<&[Sighting]> {
        self.sightings.clear();
        let mut is_any_gone = false;
        for task in &mut self.tasks {
            let seen = task.look(ring, &self.files, running == Some(task.slot))?;
            self.sightings.push(Sighting {
                slot: task.slot,
                seen,
            });
            is_any_gone |= seen == Seen::Gone && !task.has_exited;
            if matches!(seen, Seen::OnItsWay | Seen::Running) {
                // This task is between two states, so no decision is possible, whatever the others
                // do.
                return Ok(&self.sightings);
            }
        }
        if is_any_gone && self.has_woken_parents(ring, running)? {
            self.sightings.last_mut().expect("one is gone").seen = Seen::OnItsWay;
        }
        self.hold_back_siblings(ring);
        Ok(&self.sightings)
    }

    /// Holds back all threads of a process in which one thread waits for its child to execute
    /// a program (vfork, posix_spawn). The waiting thread holds Valgrind's lock. The child may need
    /// the CPU first, and another thread of the process could neither use nor end a time slice.
    fn hold_back_siblings(&mut self, ring: &Ring) {
        let waits_for_child = |task: &&Task| {
            let slot = ring.slot(task.slot);
            slot.state() == state::IN_SYSCALL && [CLONE, VFORK].contains(&slot.get(slot::SYSCALL))
        };
        // An exec by a thread makes that thread the first of its process.
        let process = |task: &Task| ring.slot(task.slot).get(slot::PROCESS_SLOT);
        for waiting in self.tasks.iter().filter(waits_for_child) {
            let is_sibling =
                |task: &Task| process(task) == process(waiting) && task.slot != waiting.slot;
            for (_, sighting) in self
                .tasks
                .iter()
                .zip(&mut self.sightings)
                .filter(|(task, _)| is_sibling(task))
            {
                if matches!(sighting.seen, Seen::Queued { .. } | Seen::Slept { .. }) {
                    sighting.seen = Seen::HeldBack;
                }
            }
        }
    }

    /// Whether the ends that were just seen have woken a parent. If so, tasks that were examined
    /// before may have changed.
    fn has_woken_parents(&mut self, ring: &Ring, running: Option<u32>) -> io::Result<bool> {
        switchcost_host::supervisor::await_notified_parents();
        for (task, sighting) in self.tasks.iter_mut().zip(&self.sightings) {
            if task.look(ring, &self.files, running == Some(task.slot))? != sighting.seen {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Returns the process ID of the task in a slot, if the task has ended; otherwise `None`.
    pub(crate) fn gone_from(&mut self, slot: u32) -> io::Result<Option<u32>> {
        let Some(task) = self.tasks.iter_mut().find(|task| task.slot == slot) else {
            return Ok(None);
        };
        let is_gone = task.probe.ask(&self.files)? == Kernel::Gone;
        Ok(is_gone.then_some(task.pid))
    }

    /// Returns the thread ID (in this PID namespace) and the process ID of the task in a slot, if a
    /// signal has stopped the task; otherwise `None`. Instead of the thread ID there may be the
    /// reason why it is not known.
    pub(crate) fn stopped_in(&mut self, slot: u32) -> io::Result<Option<(io::Result<u32>, u32)>> {
        let Some(task) = self.tasks.iter_mut().find(|task| task.slot == slot) else {
            return Ok(None);
        };
        let is_stopped = matches!(
            task.probe.ask(&self.files)?,
            Kernel::Asleep {
                is_stopped: true,
                ..
            }
        );
        Ok(is_stopped.then(|| (self.files.number_here(task.pid, task.tid), task.pid)))
    }

    /// Records that the task in a slot is stopped, and no longer has the CPU.
    pub(crate) fn left_stopped(&mut self, slot: u32) {
        if let Some(task) = self.tasks.iter_mut().find(|task| task.slot == slot) {
            task.is_stopped_in_turn = true;
        }
    }

    /// Returns the births and ends that have not been written yet, births first, because a task
    /// that has ended was born before. Frees the slots of ended tasks to which nothing refers.
    pub(crate) fn events(&mut self, ring: &Ring) -> Vec<TaskEvent> {
        let mut events = Vec::new();
        for task in self.tasks.iter_mut().filter(|task| !task.is_announced) {
            task.is_announced = true;
            let Task {
                slot,
                parent,
                process_slot,
                pid,
                tid,
                ..
            } = *task;
            events.push(TaskEvent::Created {
                slot,
                parent,
                process_slot,
                pid,
                tid,
            });
        }
        for (task, sighting) in self.tasks.iter_mut().zip(&self.sightings) {
            if sighting.seen == Seen::Gone && !task.has_exited {
                task.has_exited = true;
                events.push(TaskEvent::Exited { slot: task.slot });
            }
        }
        self.release(ring);
        events
    }

    fn release(&mut self, ring: &Ring) {
        let needed: Vec<u32> = self
            .tasks
            .iter()
            .filter(|task| !task.has_exited)
            .map(|task| task.process_slot)
            .collect();
        self.tasks.retain(|task| {
            let is_kept = !task.has_exited || needed.contains(&task.slot);
            if !is_kept {
                ring.slot(task.slot).free();
            }
            is_kept
        });
    }

    /// Returns whether the task of process `pid` waits for its first time slice.
    pub(crate) fn is_ready(&self, ring: &Ring, pid: u32) -> bool {
        self.tasks.iter().any(|task| {
            task.pid == pid
                && task.parent == NO_SLOT
                && ring.slot(task.slot).state() == state::QUEUED
        })
    }

    /// Returns the IDs of processes that ended during an exec, because their new program could not
    /// be run.
    pub(crate) fn lost_in_exec(&self) -> impl Iterator<Item = u32> {
        self.tasks
            .iter()
            .zip(&self.sightings)
            .filter_map(|(task, sighting)| {
                (sighting.seen == Seen::Gone && !task.has_exited && task.is_in_exec)
                    .then_some(task.pid)
            })
    }
}
