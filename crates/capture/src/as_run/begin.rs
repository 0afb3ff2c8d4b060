//! Determines how a run begins: why the run before it ended, and whether there is a switch between
//! the two.

use switchcost_trace::{Cause, TaskId};

use super::causes::{Fate, is_sleep, judge};
use super::{AsRun, Ending, Halt, Left, Run, order};
use crate::decode::{Counts, Stamp, Take};
use crate::probe::{Kernel, may_be};
use crate::protocol::{slot, state};
use crate::ring::Full;

/// Marks of the trace at the start of a run.
#[derive(Clone, Copy, Debug)]
pub(super) struct Begin {
    /// Whether the preceding task left voluntarily, and the cause; `None` if there is no switch.
    switch: Option<(bool, Cause)>,
}

impl<T: Take<Error: std::error::Error + 'static>> AsRun<'_, '_, T> {
    /// Returns the marks at the start of the run to which the buffer `full` belongs; `None` if they
    /// cannot be determined yet. `is_birth` says whether the run begins with the birth of its task.
    pub(super) fn beginning(
        &mut self,
        full: &Full,
        is_birth: bool,
        stamp: Stamp,
    ) -> Result<Option<Begin>, Halt<T::Error>> {
        let was_asleep = self.sleepers.get(&full.slot).copied().unwrap_or(false);
        let switch = match self.run {
            None => Some((true, Cause::Unknown)),
            Some(run) if run.slot == full.slot && !is_birth => {
                let verdict = judge(
                    run.left,
                    self.decoder.syscall(),
                    Fate::Back(stamp.away),
                    false,
                );
                Some(verdict).filter(|&verdict| is_sleep(verdict))
            }
            Some(run) => {
                let Some(fate) = self.fate(&run, full.slot != run.slot)? else {
                    return Ok(None);
                };
                let verdict = judge(run.left, self.decoder.syscall(), fate, was_asleep);
                self.sleepers
                    .insert(run.slot, verdict.0 && !matches!(verdict.1, Cause::Exit));
                Some(verdict)
            }
        };
        if !is_birth {
            self.account.counted += stamp.away.total() + stamp.waiting.total();
        }
        Ok(Some(Begin { switch }))
    }

    /// Returns what happened to the task of the last run; `None` if that cannot be determined yet.
    fn fate(&mut self, run: &Run, is_still_in_slot: bool) -> Result<Option<Fate>, Halt<T::Error>> {
        if !is_still_in_slot || self.monitor.has_exited(run.slot) {
            return Ok(Some(Fate::Gone));
        }
        if run.left != Some(Left::Syscall) {
            return Ok(Some(Fate::Unknown));
        }
        if let Some(counts) = self.counts_since(run) {
            return Ok(Some(Fate::Back(counts)));
        }
        let place = self.ring.slot(run.slot);
        let (before, number) = (place.state(), place.get(slot::SYSCALL));
        let kernel = self.monitor.kernel(run.slot)?;
        // The task may have returned and left again since the first check.
        if let Some(counts) = self.counts_since(run) {
            return Ok(Some(Fate::Back(counts)));
        }
        Ok(match kernel {
            Kernel::Gone => Some(Fate::Gone),
            Kernel::Asleep { syscall, .. }
                if before == state::IN_SYSCALL && may_be(syscall, number) =>
            {
                Some(Fate::Asleep)
            }
            _ if self.is_over => Some(Fate::Unknown),
            _ => None,
        })
    }

    /// Returns the switches of a task that the kernel counted between a run and the task's next
    /// run; `None` if it has not run again.
    fn counts_since(&self, run: &Run) -> Option<Counts> {
        let back = self.ring.slot(run.slot).back();
        let later = self
            .ring
            .full()
            .filter(|full| full.slot == run.slot && full.stamp > run.stamp);
        match order::oldest(later) {
            Some(full) => Stamp::read(self.ring.words(&full)).map(|stamp| stamp.away),
            None => (back & 1 != 0).then(|| Counts::read(back)),
        }
    }

    pub(super) fn begin(
        &mut self,
        full: &Full,
        Begin { switch }: Begin,
    ) -> Result<(), Halt<T::Error>> {
        let before = self.run.map_or(TaskId::NONE, |run| run.task);
        let is_first = self.run.is_none();
        if switch.is_some()
            && !is_first
            && self
                .stop_after_switches
                .is_some_and(|limit| self.decoder.switches() >= limit)
        {
            return Err(Halt::Ending(Ending::SwitchLimit));
        }
        self.account.late += u64::from(full.stamp < self.newest);
        self.newest = self.newest.max(full.stamp);
        let is_counted = switch.is_some_and(|(_, cause)| cause != Cause::Exit) && !is_first;
        self.account.marked += u64::from(is_counted);
        self.decoder.run_in(before, full.slot, switch)?;
        let task = self.decoder.task(full.slot);
        self.run = Some(Run {
            slot: full.slot,
            stamp: full.stamp,
            task,
            left: None,
        });
        Ok(())
    }
}
