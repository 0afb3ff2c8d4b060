use std::io;
use std::process::ExitStatus;

use switchcost_record::bind_semicolons;

use crate::decode::{DecodeError, Stopped};

/// Why programs could not be captured.
#[derive(Debug, thiserror::Error)]
pub enum CaptureError {
    /// No command was given.
    #[error("no command is given; put it after `--`")]
    NoCommand,
    /// The frontend cannot run the program of a command.
    #[error("the command '{command}' cannot be traced: {reason}; {need}")]
    Unfit {
        /// Command as the user gave it.
        command: String,
        /// Property of the program that prevents tracing.
        reason: String,
        /// Kind of program that can be traced.
        need: String,
    },
    /// The frontend ended before it ran the program.
    #[error(
        "the command '{command}' ended before tracing began ({status}); see its message, and try `valgrind \
         --tool=none {}`",
        bind_semicolons(.command)
    )]
    NotStarted {
        /// Command as the user gave it.
        command: String,
        /// Exit status of the frontend.
        status: ExitStatus,
    },
    /// The frontend neither ran the program within a minute nor ended.
    #[error(
        "the command '{command}' did not start within a minute; try `valgrind --tool=none {}`",
        bind_semicolons(.command)
    )]
    SlowStart {
        /// Command as the user gave it.
        command: String,
    },
    /// More tasks run at the same time than the shared memory has slots.
    #[error(
        "more than {} tasks run concurrently, too many to trace; trace fewer processes and threads",
        crate::ring::SLOTS
    )]
    TooManyTasks,
    /// The output of the capture tool is invalid.
    #[error("the stream of events is damaged: {0}; this is a bug of switchcost, please report it")]
    Decode(#[from] DecodeError),
    /// The kernel does not tell tasks that they were preempted (rseq).
    #[error(
        "the order as-run needs rseq to detect preemptions, but rseq is not available ({0}); use --order scheduled, or a kernel with \
         CONFIG_RSEQ (4.18 or newer) that lets this user call rseq"
    )]
    NoPreemption(io::Error),
    /// A task left the CPU on which all traced tasks must stay.
    #[error(
        "a task runs on CPU {other}, but with the order as-run all must stay on CPU {cpu}; use --order scheduled, or leave out \
         what moves it (such as taskset)"
    )]
    OtherCpu {
        /// CPU on which all tasks must stay.
        cpu: u32,
        /// CPU on which the task was found.
        other: u64,
    },
    /// This process is allowed to run on no CPU.
    #[error("there is no CPU that this process may run on; name one with --cpu")]
    NoCpu,
    /// The guest of a system capture failed.
    #[error(transparent)]
    Guest(#[from] crate::guest_error::GuestError),
    /// The kernel refused an operation.
    #[error(
        "tracing failed: {error}; {remedy}",
        error = .0,
        remedy = switchcost_remedies::start_remedy(.0, "memory files, pipes and /proc must work here")
    )]
    System(#[from] io::Error),
}

/// Why a capture failed: by itself, or by the receiver of its chunks.
#[derive(Debug, thiserror::Error)]
pub enum Failure<E: std::error::Error + 'static> {
    /// An error of the capture itself.
    #[error(transparent)]
    Capture(#[from] CaptureError),
    /// The receiver of the chunks failed.
    #[error(transparent)]
    Sink(E),
}

impl<E: std::error::Error + 'static> From<io::Error> for Failure<E> {
    fn from(error: io::Error) -> Self {
        Failure::Capture(error.into())
    }
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
                "the command 'prog -x' ended before tracing began (exit status: 1); see its message, and try `valgrind \
                 --tool=none prog -x`",
            ),
            (
                CaptureError::SlowStart { command: command() },
                "the command 'prog -x' did not start within a minute; try `valgrind --tool=none prog -x`",
            ),
            (
                CaptureError::TooManyTasks,
                "more than 2048 tasks run concurrently, too many to trace; trace fewer processes and threads",
            ),
            (
                DecodeError {
                    buffer: 3,
                    word: 17,
                    problem: Problem::Short,
                }
                .into(),
                "the stream of events is damaged: buffer 3, word 17: found a record cut short; this is a bug of switchcost, \
                 please report it",
            ),
            (
                CaptureError::NoPreemption(io::Error::from_raw_os_error(38)),
                "the order as-run needs rseq to detect preemptions, but rseq is not available (Function not implemented (os \
                 error 38)); \
                 use --order scheduled, or a kernel with CONFIG_RSEQ (4.18 or newer) that lets this user call rseq",
            ),
            (
                CaptureError::OtherCpu { cpu: 1, other: 0 },
                "a task runs on CPU 0, but with the order as-run all must stay on CPU 1; use --order scheduled, or leave out \
                 what moves it (such as taskset)",
            ),
            (
                CaptureError::NoCpu,
                "there is no CPU that this process may run on; name one with --cpu",
            ),
            (
                io::Error::from_raw_os_error(24).into(),
                "tracing failed: Too many open files (os error 24); raise the limit on this process's open files: ulimit -n \
                 4096 (permanently: nofile in /etc/security/limits.d)",
            ),
            (
                io::Error::from_raw_os_error(27).into(),
                "tracing failed: File too large (os error 27); raise the limit on the length of files, which also applies to \
                 shared memory: ulimit -f unlimited (permanently: fsize in /etc/security/limits.d)",
            ),
            (
                io::Error::from_raw_os_error(38).into(),
                "tracing failed: Function not implemented (os error 38); memory files, pipes and /proc must work here",
            ),
        ];
        for (error, text) in expected {
            assert_eq!(error.to_string(), text);
        }
    }
}
