//! Positions of the words that each task has in the memory that all tasks of an experiment share.

/// Number of words of each task: numbers, then room for the text of a failure.
pub(super) const WORDS: usize = 64;
pub(super) const KIND: usize = 0;
pub(super) const ROUNDS: usize = 1;
pub(super) const WARM_UP: usize = 2;
pub(super) const HANDOFF_TICKS: usize = 3;
pub(super) const WALK_TICKS: usize = 4;
pub(super) const PROCESS: usize = 5;
pub(super) const THREAD: usize = 6;
pub(super) const WAKES: usize = 7;
pub(super) const STOP: usize = 8;
pub(super) const TEXT_LENGTH: usize = 9;
/// Word of task 0 with the time at which the token was last handed on.
pub(super) const SENT_AT: usize = 10;
/// Word of task 0 that counts the tasks that have begun to walk concurrently. The word after it,
/// ENDED, counts the tasks that have walked enough.
pub(super) const BEGUN: usize = 11;
pub(super) const ENDED: usize = 12;
/// Word of each task with its own voluntary switches while the token went round. The words after it
/// have the other counts of these hand-offs.
pub(super) const VOLUNTARY: usize = 13;
pub(super) const INVOLUNTARY: usize = 14;
pub(super) const TEXT: usize = 15;

pub(super) fn word_index(task: usize, which: usize) -> usize {
    task * WORDS + which
}
