//! What nobody rings for: who was killed, or stopped.

use std::time::Instant;

use super::{AsRun, EXECVE, Halt, LONGEST_SLEEP, Left};
use crate::decode::Take;
use crate::probe::Kernel;
use crate::protocol::{slot, state};

impl<T: Take<Error: std::error::Error + 'static>> AsRun<'_, '_, T> {
    /// What nobody rings for.
    pub(super) fn look_around(&mut self, stuck_since: Instant) -> Result<(), Halt<T::Error>> {
        self.looked_around = Instant::now();
        if self.launch.is_none() {
            self.read_reports()?;
        }
        for dead in self.tenants.dead()? {
            self.bury(dead)?;
        }
        self.tenants.release();
        if stuck_since.elapsed() > LONGEST_SLEEP {
            self.suspend_stopped()?;
        }
        Ok(())
    }

    /// Notes the end of a task that the kernel has ended. What it had not submitted is lost.
    fn bury(&mut self, dead: u32) -> Result<(), Halt<T::Error>> {
        let process = self.tenants.process(dead);
        if self.ring.full().any(|full| self.tenants.process(full.slot) == process) {
            return Ok(());
        }
        let place = self.ring.slot(dead);
        if place.state() == state::IN_SYSCALL && place.get(slot::SYSCALL) == EXECVE {
            self.warnings.push(crate::control::lost_in_exec(place.get(slot::PID)));
        }
        if place.open_stamp() != 0 {
            self.warnings.push(crate::control::killed_in_its_turn(place.get(slot::PID)));
        }
        self.ring.reclaim(dead)?;
        place.clear_open_stamp();
        place.set_ended();
        self.decoder.bury(dead)?;
        // Its slot may soon be somebody else's, whose fate is not the one that was asked for.
        if let Some(run) = self.run.as_mut().filter(|run| run.slot == dead && is_open(run.left)) {
            run.left = Some(Left::Ended);
        }
        self.tenants.bury(dead);
        Ok(())
    }

    /// Tasks that sleep in the middle of a run were stopped by a signal, and whoever continues them may be waiting for an
    /// empty buffer.
    fn suspend_stopped(&mut self) -> Result<(), Halt<T::Error>> {
        let open: Vec<(u32, u64)> =
            self.tenants.living().map(|slot| (slot, self.ring.slot(slot).open_stamp())).collect();
        self.suspended.retain(|stamp| open.iter().any(|(_, open)| open == stamp));
        for (slot, stamp) in open.into_iter().filter(|&(_, stamp)| stamp != 0) {
            let is_asleep = matches!(self.tenants.kernel(slot)?, Kernel::Asleep { .. });
            if is_asleep && self.ring.slot(slot).open_stamp() == stamp && !self.suspended.contains(&stamp) {
                self.suspended.push(stamp);
            }
        }
        Ok(())
    }
}

/// Whether it was not known yet how the run would end.
fn is_open(left: Option<Left>) -> bool {
    matches!(left, None | Some(Left::Syscall))
}
