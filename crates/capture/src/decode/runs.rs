//! Decodes records of as-run and system captures: births of tasks, and starts and ends of runs.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use switchcost_trace::{Cause, Mark, TaskId};

use super::{DecodeError, Decoder, Left, Problem, Stopped, Take};
use crate::protocol::tag;

impl<T: Take> Decoder<'_, T> {
    /// Prepares for the stream of a whole guest: new tasks report their births, all tasks have the
    /// same shapes, and the CPU may be idle.
    pub(crate) fn expect_system(mut self) -> Self {
        self.slots.share_shapes();
        Decoder {
            is_system: true,
            ..self
        }
    }

    /// Prepares for the stream of an as-run capture: new tasks report their births, and time stamps
    /// order the runs.
    pub(crate) fn ordered_as_run(self) -> Self {
        Decoder {
            is_as_run: true,
            ..self
        }
    }

    /// Takes the reason why the last run ended; `None` if it has not ended.
    pub(crate) fn take_left(&mut self) -> Option<Left> {
        self.left.take()
    }

    /// Returns the slots of the tasks that have ended since the last call.
    pub(crate) fn take_ended(&mut self) -> Vec<u32> {
        std::mem::take(&mut self.ended)
    }

    /// Returns the system call that the running task is in; `None` outside system calls.
    pub(crate) fn syscall(&self) -> Option<u16> {
        self.slots.syscall()
    }

    /// Returns the task in a slot; [`TaskId::NONE`] if there was no task.
    pub(crate) fn task(&self, slot: u32) -> TaskId {
        self.slots.id(slot.into()).unwrap_or(TaskId::NONE)
    }

    /// Decodes the record of a task's birth at word `at` of a buffer. Returns the record's length
    /// in words; 0 if there is no such record.
    pub(crate) fn birth_at(
        &mut self,
        order: u64,
        words: &[AtomicU64],
        at: usize,
    ) -> Result<usize, Stopped<T::Error>> {
        if !is_birth(words, at) {
            return Ok(0);
        }
        let damaged = |problem| {
            Stopped::Damaged(DecodeError {
                buffer: order,
                word: at,
                problem,
            })
        };
        let (mark, length) = self.record(&words[at..]).map_err(damaged)?;
        if let Some(mark) = mark {
            self.take.mark(mark).map_err(Stopped::Refused)?;
        }
        Ok(length)
    }

    /// Makes the task in slot `to` the running one. If `switch` has the switch's kind and cause,
    /// passes on a mark.
    pub(crate) fn run_in(
        &mut self,
        from: TaskId,
        to: u32,
        switch: Option<(bool, Cause)>,
    ) -> Result<(), Stopped<T::Error>> {
        let damaged = |problem| {
            Stopped::Damaged(DecodeError {
                buffer: 0,
                word: 0,
                problem,
            })
        };
        let to = self.slots.run(to.into()).map_err(damaged)?;
        let Some((is_voluntary, cause)) = switch else {
            return Ok(());
        };
        let mark = Mark::Switch {
            from,
            to,
            is_voluntary,
            cause,
        };
        self.switches += u64::from(mark.is_switch());
        self.take.mark(mark).map_err(Stopped::Refused)
    }

    /// Records the end of the task in a slot, because the task was killed and has not reported it.
    pub(crate) fn task_exit(&mut self, slot: u32) -> Result<(), Stopped<T::Error>> {
        match self.slots.exit(slot.into()) {
            Ok(Some(task)) => self
                .take
                .mark(Mark::Exit { task })
                .map_err(Stopped::Refused),
            // The task was never born, or its end has been recorded.
            Ok(None) | Err(_) => Ok(()),
        }
    }

    /// Records the end of the task in a slot. Returns the task; `None` if its end has been recorded
    /// before, or if the task was never created.
    pub(super) fn exit(&mut self, slot: u64) -> Result<Option<TaskId>, Problem> {
        if self.is_as_run {
            self.ended.extend(u32::try_from(slot).ok());
        }
        self.slots.exit(slot)
    }
}

/// Returns whether the record at word `at` of a buffer is a task's birth.
pub(crate) fn is_birth(words: &[AtomicU64], at: usize) -> bool {
    words
        .get(at)
        .is_some_and(|word| word.load(Relaxed) >> 56 == tag::BIRTH)
}
