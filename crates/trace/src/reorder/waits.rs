//! Computes when a task that left the CPU voluntarily may run again. The documentation of `reorder`
//! has the rule.

use super::pieces::Streams;

/// Number of calls that stands for all calls of a task and its end.
pub(super) const TO_ITS_END: u64 = u64::MAX;

/// Condition that must hold before a task may run again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Wait {
    /// Each task of the list must have made a number of calls. An element has the task's index and
    /// the number.
    Calls(Vec<(usize, u64)>),
    /// The other tasks together must have executed a number of instructions; field 0 is the number.
    Instructions(u64),
}

impl Streams {
    /// Returns the condition under which task number `task` may continue after piece number `piece`
    /// of its instructions; `None` after the task's last piece.
    pub(super) fn wait_behind(&self, task: usize, piece: usize) -> Option<Wait> {
        let pieces = &self.tasks[task].pieces;
        let (here, next) = (&pieces[piece], pieces.get(piece + 1)?);
        let calls: Vec<(usize, u64)> = (0..self.tasks.len())
            .filter(|&other| other != task)
            .filter_map(|other| Some((other, self.last_call(other, here.turn, next.turn)?)))
            .collect();
        let away = next.instructions.start - here.instructions.end;
        Some(if calls.is_empty() {
            Wait::Instructions(away)
        } else {
            Wait::Calls(calls)
        })
    }

    /// Returns the number of calls that a task had made after its last call between two time
    /// slices. [`TO_ITS_END`] if the task ended between the two; `None` if the task made no call
    /// there.
    fn last_call(&self, task: usize, after: u64, before: u64) -> Option<u64> {
        let stream = &self.tasks[task];
        if stream
            .ended
            .is_some_and(|turn| after < turn && turn < before)
        {
            return Some(TO_ITS_END);
        }
        let calls_by = |end: usize| {
            end.checked_sub(1)
                .map_or(0, |last| stream.pieces[last].calls)
        };
        let first = calls_by(stream.pieces.partition_point(|piece| piece.turn <= after));
        let last = calls_by(stream.pieces.partition_point(|piece| piece.turn < before));
        (last > first).then_some(last)
    }
}
