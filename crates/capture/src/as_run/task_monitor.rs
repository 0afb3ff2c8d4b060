//! State of the tasks in an as-run capture: which tasks have ended, and when their slots are free
//! again.

use std::io;
use std::time::Instant;

use switchcost_host::supervisor::TaskFiles;

use crate::control::LONGEST_BIRTH;
use crate::probe::{Kernel, Probe};
use crate::protocol::{NO_SLOT, slot, state};
use crate::ring::{Ring, SLOTS};

#[derive(Debug, Default)]
struct Watch {
    probe: Option<Probe>,
    has_exited: bool,
    lost_since: Option<Instant>,
}

pub(crate) struct TaskMonitor<'a> {
    ring: &'a Ring,
    files: TaskFiles,
    watches: Vec<Watch>,
    /// Process IDs of commands that have started and ended.
    exited: Vec<u32>,
}

impl<'a> TaskMonitor<'a> {
    pub(crate) fn new(ring: &'a Ring, files: TaskFiles) -> TaskMonitor<'a> {
        TaskMonitor {
            ring,
            files,
            watches: (0..SLOTS).map(|_| Watch::default()).collect(),
            exited: Vec::new(),
        }
    }

    fn used(&self) -> impl Iterator<Item = u32> + use<> {
        0..self.ring.slots_used()
    }

    /// Returns the slots whose tasks live or are being created.
    pub(crate) fn living(&self) -> impl Iterator<Item = u32> + '_ {
        self.used()
            .filter(|&slot| self.ring.slot(slot).state() != state::FREE && !self.has_exited(slot))
    }

    pub(crate) fn has_exited(&self, slot: u32) -> bool {
        self.watches
            .get(slot as usize)
            .is_some_and(|watch| watch.has_exited)
    }

    /// Returns the process ID of the task in a slot. A task that executes a program keeps this ID,
    /// also if it was a thread.
    pub(crate) fn process(&self, slot: u32) -> Option<u32> {
        (slot < SLOTS as u32).then(|| self.ring.slot(slot).get(slot::PID))
    }

    /// Returns whether process `pid`, which runs a command, has used a slot.
    pub(crate) fn has_started(&self, pid: u32) -> bool {
        let is_it = |slot: u32| {
            let slot = self.ring.slot(slot);
            let is_there = !matches!(slot.state(), state::FREE | state::CLAIMED);
            is_there && slot.get(slot::PID) == pid && slot.get(slot::PARENT) == NO_SLOT
        };
        self.exited.contains(&pid) || self.used().any(is_it)
    }

    /// Records that the end of the task in a slot is in the trace.
    pub(crate) fn task_exit(&mut self, slot: u32) {
        if let Some(watch) = self.watches.get_mut(slot as usize) {
            watch.has_exited = true;
            self.release();
        }
    }

    /// Frees the slots of ended tasks to which nothing refers any more.
    pub(crate) fn release(&mut self) {
        let first = |slot| self.ring.slot(slot).get(slot::PROCESS_SLOT);
        let needed: Vec<u32> = self.living().map(first).collect();
        for slot in self.used() {
            let place = self.ring.slot(slot);
            if self.has_exited(slot) && place.state() == state::ENDED && !needed.contains(&slot) {
                if place.get(slot::PARENT) == NO_SLOT {
                    self.exited.push(place.get(slot::PID));
                }
                self.watches[slot as usize] = Watch::default();
                place.free();
            }
        }
    }

    /// Returns the state of the task in a slot, as the kernel reports it.
    pub(crate) fn kernel(&mut self, slot: u32) -> io::Result<Kernel> {
        let Some(watch) = self.watches.get_mut(slot as usize) else {
            return Ok(Kernel::Gone);
        };
        let place = self.ring.slot(slot);
        let is_in_exec = place.is_in_exec();
        let (pid, tid) = (place.get(slot::PID), place.get(slot::TID));
        let probe = match watch.probe.take() {
            Some(probe) if (probe.pid, probe.tid) == (pid, tid) => watch.probe.insert(probe),
            _ => watch.probe.insert(Probe::new(pid, tid)),
        };
        let seen = if is_in_exec {
            probe.ask_in_exec(&self.files)?
        } else {
            probe.ask(&self.files)?
        };
        // The task's thread ID may have changed since, by an exec.
        Ok(if seen == Kernel::Gone && place.get(slot::TID) != tid {
            Kernel::Busy
        } else {
            seen
        })
    }

    /// Returns the slots of tasks that were killed. A task is left out while another thread of its
    /// process lives, because that thread may still report the end of the task.
    pub(crate) fn dead(&mut self) -> io::Result<Vec<u32>> {
        let living: Vec<u32> = self.living().collect();
        let mut dead = Vec::new();
        let mut kept = Vec::new();
        for slot in living {
            if self.is_dead(slot)? {
                dead.push(slot)
            } else {
                kept.push(self.process(slot))
            }
        }
        dead.retain(|&slot| !kept.contains(&self.process(slot)));
        Ok(dead)
    }

    fn is_dead(&mut self, slot: u32) -> io::Result<bool> {
        if self.kernel(slot)? != Kernel::Gone {
            self.watches[slot as usize].lost_since = None;
            return Ok(false);
        }
        if self.ring.slot(slot).state() != state::CLAIMED {
            return Ok(true);
        }
        // The task that creates this one has ended, but this one may still appear.
        let since = *self.watches[slot as usize]
            .lost_since
            .get_or_insert_with(Instant::now);
        Ok(since.elapsed() > LONGEST_BIRTH)
    }
}
