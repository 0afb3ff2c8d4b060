//! Detects events that no task reports: tasks that were killed or stopped.

use std::time::Instant;

use super::{AsRun, Halt, LONGEST_SLEEP, Left};
use crate::decode::Take;
use crate::probe::Kernel;
use crate::protocol::slot;

impl<T: Take<Error: std::error::Error + 'static>> AsRun<'_, '_, T> {
    /// Handles tasks that were killed or stopped. `stuck_since` is the time since which no buffer
    /// could be decoded.
    pub(super) fn poll_tasks(&mut self, stuck_since: Instant) -> Result<(), Halt<T::Error>> {
        self.last_poll = Instant::now();
        if self.launch.is_none() {
            self.read_reports()?;
        }
        for dead in self.monitor.dead()? {
            self.task_exit(dead)?;
        }
        self.monitor.release();
        if stuck_since.elapsed() > LONGEST_SLEEP {
            self.suspend_stopped()?;
        }
        Ok(())
    }

    /// Records the end of a task that was killed. Buffers that the task had not submitted are lost.
    fn task_exit(&mut self, dead: u32) -> Result<(), Halt<T::Error>> {
        let process = self.monitor.process(dead);
        if self
            .ring
            .full()
            .any(|full| self.monitor.process(full.slot) == process)
        {
            return Ok(());
        }
        let place = self.ring.slot(dead);
        if place.is_in_exec() {
            self.warnings
                .push(crate::control::lost_in_exec(place.get(slot::PID)));
        }
        if place.open_stamp() != 0 {
            self.warnings
                .push(crate::control::killed_in_its_turn(place.get(slot::PID)));
        }
        self.ring.reclaim(dead)?;
        place.clear_open_stamp();
        place.set_ended();
        self.decoder.task_exit(dead)?;
        // The slot may soon have another task, which has its own end.
        if let Some(run) = self
            .run
            .as_mut()
            .filter(|run| run.slot == dead && is_open(run.left))
        {
            run.left = Some(Left::Ended);
        }
        self.monitor.task_exit(dead);
        Ok(())
    }

    /// Suspends each run whose task sleeps in the middle of the run. A signal has stopped such a
    /// task, and the task that would continue it may be waiting for an empty buffer.
    fn suspend_stopped(&mut self) -> Result<(), Halt<T::Error>> {
        let open: Vec<(u32, u64)> = self
            .monitor
            .living()
            .map(|slot| (slot, self.ring.slot(slot).open_stamp()))
            .collect();
        self.suspended
            .retain(|stamp| open.iter().any(|(_, open)| open == stamp));
        for (slot, stamp) in open.into_iter().filter(|&(_, stamp)| stamp != 0) {
            let is_asleep = matches!(self.monitor.kernel(slot)?, Kernel::Asleep { .. });
            if is_asleep
                && self.ring.slot(slot).open_stamp() == stamp
                && !self.suspended.contains(&stamp)
            {
                self.suspended.push(stamp);
            }
        }
        Ok(())
    }
}

/// Whether the cause for which a task left its CPU cannot be known yet: the task has reported
/// nothing, or only a system call.
fn is_open(left: Option<Left>) -> bool {
    matches!(left, None | Some(Left::Syscall))
}
