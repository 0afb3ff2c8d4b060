//! Determines why a task lost the CPU, from the task's own report and the kernel's counts of its
//! switches.

use switchcost_trace::Cause;

use crate::decode::{Counts, Left};

const EXECVE: u16 = 59;
const EXECVEAT: u16 = 322;

/// State of a task that entered the kernel, as far as known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fate {
    /// The task has returned. Contains the switches that the kernel counted during its absence.
    Back(Counts),
    /// The task sleeps in the system call.
    Asleep,
    /// The task has ended.
    Gone,
    /// The state can no longer be found out.
    Unknown,
}

/// Returns whether the task gave up the CPU voluntarily, and the cause.
///
/// `left` is the task's report on the end of its run; `None` if the task was killed before it could
/// report. `syscall` is the system call that the task was in, if any. `was_next_asleep` says
/// whether the next task had been asleep.
pub(crate) fn judge(
    left: Option<Left>,
    syscall: Option<u16>,
    fate: Fate,
    was_next_asleep: bool,
) -> (bool, Cause) {
    match (left, fate) {
        (Some(Left::Ended), _) | (None | Some(Left::Syscall), Fate::Gone) => (true, Cause::Exit),
        (Some(Left::Preempted(counts)), _) => match syscall {
            Some(number) => inside(counts, number),
            None => outside(counts, was_next_asleep),
        },
        (Some(Left::Syscall), Fate::Back(counts)) => inside(counts, syscall.unwrap_or_default()),
        (Some(Left::Syscall), Fate::Asleep) => (true, Cause::Syscall(syscall.unwrap_or_default())),
        (Some(Left::Lock), _) => (false, Cause::Quantum),
        (Some(Left::Waiting(_)) | None, _) | (Some(Left::Syscall), Fate::Unknown) => {
            (false, Cause::Unknown)
        }
    }
}

fn inside(counts: Counts, number: u16) -> (bool, Cause) {
    match counts {
        Counts {
            voluntary: 0,
            involuntary: 0,
        } => (false, Cause::Unknown),
        Counts { voluntary, .. } => (voluntary > 0, Cause::Syscall(number)),
    }
}

fn outside(counts: Counts, was_next_asleep: bool) -> (bool, Cause) {
    match counts {
        Counts {
            voluntary: 0,
            involuntary: 0,
        } => (false, Cause::Unknown),
        Counts { voluntary: 0, .. } if was_next_asleep => (false, Cause::WakeUp),
        Counts { voluntary: 0, .. } => (false, Cause::Quantum),
        _ => (true, Cause::PageFault),
    }
}

/// Whether a verdict of [`judge`] means that the task slept, although the same task runs next. If
/// so, all tasks slept, which counts as a switch.
pub(crate) fn is_sleep((is_voluntary, cause): (bool, Cause)) -> bool {
    match cause {
        // Between the old and the new program, Valgrind itself starts.
        Cause::Syscall(EXECVE | EXECVEAT) => false,
        Cause::Syscall(_) | Cause::PageFault => is_voluntary,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn counts(voluntary: u64, involuntary: u64) -> Counts {
        Counts {
            voluntary,
            involuntary,
        }
    }

    #[test]
    fn a_system_call_that_slept_is_voluntary_and_one_that_was_cut_off_is_not() {
        let left = Some(Left::Syscall);
        for (fate, is_voluntary, cause) in [
            (Fate::Back(counts(1, 0)), true, Cause::Syscall(7)),
            (Fate::Back(counts(1, 2)), true, Cause::Syscall(7)),
            (Fate::Back(counts(0, 1)), false, Cause::Syscall(7)),
            (Fate::Back(counts(0, 0)), false, Cause::Unknown),
            (Fate::Asleep, true, Cause::Syscall(7)),
            (Fate::Gone, true, Cause::Exit),
            (Fate::Unknown, false, Cause::Unknown),
        ] {
            assert_eq!(judge(left, Some(7), fate, true), (is_voluntary, cause));
        }
    }

    #[test]
    fn outside_of_calls_it_is_a_fault_a_wake_up_or_the_end_of_a_turn() {
        for (counts, call, next, is_voluntary, cause) in [
            (counts(0, 1), None, false, false, Cause::Quantum),
            (counts(0, 1), None, true, false, Cause::WakeUp),
            (counts(1, 0), None, true, true, Cause::PageFault),
            (counts(0, 0), None, true, false, Cause::Unknown),
            (counts(0, 1), Some(9), true, false, Cause::Syscall(9)),
        ] {
            let left = Some(Left::Preempted(counts));
            let judged = judge(left, call, Fate::Unknown, next);
            assert_eq!(judged, (is_voluntary, cause));
        }
    }

    #[test]
    fn the_capture_s_own_doing_is_no_sleep() {
        for left in [Left::Waiting(counts(1, 0)), Left::Lock] {
            let verdict = judge(Some(left), None, Fate::Unknown, false);
            assert!(!verdict.0);
            assert!(!is_sleep(verdict));
        }
        assert_eq!(
            judge(Some(Left::Ended), Some(231), Fate::Gone, false),
            (true, Cause::Exit)
        );
        assert_eq!(
            judge(None, None, Fate::Gone, false),
            (true, Cause::Exit),
            "killed in a run"
        );
        assert_eq!(
            judge(None, None, Fate::Unknown, false),
            (false, Cause::Unknown),
            "stopped in a run"
        );
    }
}
