use std::io;
use std::process::ExitStatus;

use crate::decode::{DecodeError, Stopped};

/// Why programs could not be captured. Follows "failed to capture: " in a message.
#[derive(Debug, thiserror::Error)]
pub enum CaptureError {
    /// No command was given.
    #[error("found no command, need at least one; put it behind `--`")]
    NoCommand,
    /// The frontend cannot run this program.
    #[error("found {reason} in the command '{command}', need {need}")]
    Unfit {
        /// The command as it was given.
        command: String,
        /// What it is.
        reason: String,
        /// What it should be.
        need: String,
    },
    /// The frontend gave up before the program ran.
    #[error(
        "found no traced program behind the command '{command}' ({status}), need one that Valgrind can run; \
         see its message, and try `valgrind --tool=none {command}`"
    )]
    NotStarted {
        /// The command as it was given.
        command: String,
        /// How the frontend ended.
        status: ExitStatus,
    },
    /// The frontend neither ran the program nor gave up.
    #[error(
        "found the command '{command}' not yet running after a minute, need it sooner; \
         try `valgrind --tool=none {command}`"
    )]
    SlowStart {
        /// The command as it was given.
        command: String,
    },
    /// More tasks at once than slots.
    #[error(
        "found more than {} tasks at once, need no more; trace fewer processes and threads",
        crate::ring::SLOTS
    )]
    TooManyTasks,
    /// The output of the tool is invalid.
    #[error(
        "found a damaged stream of events: {0}; this is an error of switchcost, please report it"
    )]
    Decode(#[from] DecodeError),
    /// The kernel does not notify tasks of preemptions.
    #[error(
        "found no way to see preemptions (rseq: {0}), need the kernel's restartable sequences for the order as-run; \
         trace with --order scheduled, or on a kernel with CONFIG_RSEQ (4.18 or newer) that lets this user call rseq"
    )]
    NoPreemption(io::Error),
    /// A task got away from the CPU that all share.
    #[error(
        "found a task on CPU {other}, need all on CPU {cpu} for the order as-run; trace with --order scheduled, or without \
         what moves it (such as taskset)"
    )]
    OtherCpu {
        /// Where all should be.
        cpu: u32,
        /// Where one is.
        other: u64,
    },
    /// No CPU to run on.
    #[error("found no CPU that this process may run on, need one; name it with --cpu")]
    NoCpu,
    /// An error of the guest of a whole system.
    #[error(transparent)]
    Guest(#[from] crate::guest_error::GuestError),
    /// The kernel refused an operation.
    #[error(
        "found no way to go on ({error}), {remedy}",
        error = .0,
        remedy = switchcost_remedies::start_remedy(.0, "need working memory files, pipes and /proc")
    )]
    System(#[from] io::Error),
}

/// Why a capture failed.
#[derive(Debug, thiserror::Error)]
pub enum Failure<E: std::error::Error + 'static> {
    /// An error of the capture itself.
    #[error(transparent)]
    Capture(#[from] CaptureError),
    /// An error of the consumer of the chunks.
    #[error(transparent)]
    Sink(E),
}

impl<E: std::error::Error + 'static> From<Stopped<E>> for Failure<E> {
    fn from(stopped: Stopped<E>) -> Self {
        match stopped {
            Stopped::Damaged(error) => Failure::Capture(error.into()),
            Stopped::Refused(error) => Failure::Sink(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decode::Problem;
    use std::os::unix::process::ExitStatusExt;

    #[test]
    fn each_error_says_what_was_found_what_is_needed_and_what_to_do() {
        let command = || "prog -x".to_owned();
        let expected = [
            (
                CaptureError::NotStarted {
                    command: command(),
                    status: ExitStatus::from_raw(1 << 8),
                },
                "found no traced program behind the command 'prog -x' (exit status: 1), need one that Valgrind can run; \
                 see its message, and try `valgrind --tool=none prog -x`",
            ),
            (
                CaptureError::SlowStart { command: command() },
                "found the command 'prog -x' not yet running after a minute, need it sooner; \
                 try `valgrind --tool=none prog -x`",
            ),
            (
                CaptureError::TooManyTasks,
                "found more than 2048 tasks at once, need no more; trace fewer processes and threads",
            ),
            (
                DecodeError {
                    buffer: 3,
                    word: 17,
                    problem: Problem::Short,
                }
                .into(),
                "found a damaged stream of events: buffer 3, word 17: found a record cut short; this is an error of \
                 switchcost, please report it",
            ),
            (
                CaptureError::NoPreemption(io::Error::from_raw_os_error(38)),
                "found no way to see preemptions (rseq: Function not implemented (os error 38)), need the kernel's \
                 restartable sequences for the order as-run; trace with --order scheduled, or on a kernel with \
                 CONFIG_RSEQ (4.18 or newer) that lets this user call rseq",
            ),
            (
                CaptureError::OtherCpu { cpu: 1, other: 0 },
                "found a task on CPU 0, need all on CPU 1 for the order as-run; trace with --order scheduled, or without \
                 what moves it (such as taskset)",
            ),
            (
                CaptureError::NoCpu,
                "found no CPU that this process may run on, need one; name it with --cpu",
            ),
            (
                io::Error::from_raw_os_error(24).into(),
                "found no way to go on (Too many open files (os error 24)), need one more open file than this process may have; \
                 raise the limit: ulimit -n 4096, and to make it last nofile in /etc/security/limits.d",
            ),
            (
                io::Error::from_raw_os_error(27).into(),
                "found no way to go on (File too large (os error 27)), need memory that processes share, which counts as a file, \
                 to be longer than files may be; raise the limit: ulimit -f unlimited, and to make it last fsize in \
                 /etc/security/limits.d",
            ),
            (
                io::Error::from_raw_os_error(38).into(),
                "found no way to go on (Function not implemented (os error 38)), need working memory files, pipes and /proc",
            ),
        ];
        for (error, text) in expected {
            assert_eq!(error.to_string(), text);
        }
    }
}
