//! Starts and ends of runs in as-run captures, as the tasks report them.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use crate::protocol::{left, tag};

/// Number of times that a task lost the CPU, voluntarily and involuntarily, as the kernel counts
/// them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Counts {
    pub(crate) voluntary: u64,
    pub(crate) involuntary: u64,
}

impl Counts {
    pub(crate) fn read(word: u64) -> Counts {
        Counts {
            voluntary: word >> 8 & 0xff_ffff,
            involuntary: word >> 32,
        }
    }

    pub(crate) fn total(self) -> u64 {
        self.voluntary + self.involuntary
    }
}

/// Counts of switches that a task writes with a time stamp when it begins to execute.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Stamp {
    /// Switches that the kernel counted since the task left for a system call.
    pub(crate) away: Counts,
    /// Switches that the kernel counted while the task waited for an empty buffer.
    pub(crate) waiting: Counts,
}

impl Stamp {
    /// Length of a time stamp record in words.
    pub(crate) const WORDS: usize = 4;

    /// Returns the counts of the time stamp record at the start of a buffer; `None` if the buffer
    /// begins with another record.
    pub(crate) fn read(words: &[AtomicU64]) -> Option<Stamp> {
        let [head, _, away, waiting, ..] = words else {
            return None;
        };
        (head.load(Relaxed) >> 48 == tag::STAMP << 8 | 3).then(|| Stamp {
            away: Counts::read(away.load(Relaxed)),
            waiting: Counts::read(waiting.load(Relaxed)),
        })
    }
}

/// Why a task stopped executing traced code, as the task itself reported it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Left {
    /// The task entered the kernel. Only the task's return shows whether it lost the CPU.
    Syscall,
    /// The kernel preempted the task. Contains the switches counted since the run began.
    Preempted(Counts),
    /// The task had no empty buffer. Contains the switches counted since the run began.
    Waiting(Counts),
    /// Another thread of the process took Valgrind's lock.
    Lock,
    /// The task ended.
    Ended,
}

impl Left {
    pub(crate) fn read(why: u64, counts: u64) -> Option<Left> {
        let counts = Counts::read(counts);
        Some(match why {
            left::SYSCALL => Left::Syscall,
            left::PREEMPTED => Left::Preempted(counts),
            left::WAITING => Left::Waiting(counts),
            left::LOCK => Left::Lock,
            left::ENDED => Left::Ended,
            _ => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_the_tool_are_read() {
        let words = [head(3), 99, 5 << 8 | 6 << 32 | 1, 7 << 8].map(AtomicU64::new);
        let stamp = Stamp {
            away: Counts {
                voluntary: 5,
                involuntary: 6,
            },
            waiting: Counts {
                voluntary: 7,
                involuntary: 0,
            },
        };
        assert_eq!(Stamp::read(&words), Some(stamp));
        assert_eq!(Stamp::read(&words[..3]), None);
        assert_eq!(Stamp::read(&[head(2), 0, 0, 0].map(AtomicU64::new)), None);
        assert_eq!(
            Left::read(1, 1 << 32),
            Some(Left::Preempted(Counts {
                voluntary: 0,
                involuntary: 1
            }))
        );
        assert_eq!(Left::read(9, 0), None);
    }

    fn head(words: u64) -> u64 {
        crate::protocol::head(tag::STAMP, words, 0)
    }
}
