//! Where each task has its words in the memory that all share.

/// Words of each task: numbers, then room for the text of a failure.
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
/// The word of task 0 that holds when the token was last handed on.
pub(super) const SENT_AT: usize = 10;
/// The words of task 0 that count how many tasks have begun to walk at once, and how many have walked enough.
pub(super) const BEGUN: usize = 11;
pub(super) const ENDED: usize = 12;
/// Switches of the task itself while the token went round.
pub(super) const VOLUNTARY: usize = 13;
pub(super) const INVOLUNTARY: usize = 14;
pub(super) const TEXT: usize = 15;

pub(super) fn word_index(task: usize, which: usize) -> usize {
    task * WORDS + which
}
