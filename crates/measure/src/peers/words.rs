//! Layout of the words that tasks share: for each task, commands, reports and counts.

/// Number of 64-bit words for each task: numbers, then space for the text of a failure.
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
/// Index of the word of task 0 that has the time of the last hand-off.
pub(super) const SENT_AT: usize = 10;
/// Index of the word of task 0 that counts the concurrent tasks which are ready to walk. The next
/// word, ENDED, counts the concurrent tasks that have made all their walks.
pub(super) const BEGUN: usize = 11;
pub(super) const ENDED: usize = 12;
/// Index of the word with a task's voluntary switches in counted hand-offs. The next words have the
/// other counts of the counted hand-offs.
pub(super) const VOLUNTARY: usize = 13;
pub(super) const INVOLUNTARY: usize = 14;
pub(super) const TEXT: usize = 15;

pub(super) fn word_index(task: usize, which: usize) -> usize {
    task * WORDS + which
}
