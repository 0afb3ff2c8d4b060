use std::io;

use switchcost_record::printable;
use switchcost_units::Nanos;

/// Time for which the thread is observed before it is preempted.
pub(crate) const LOOK: Nanos = Nanos::seconds(1);

/// Least share of a CPU that the thread must use. A thread with a smaller share would hardly ever
/// be preempted.
pub(crate) const LEAST_SHARE: f64 = 0.02;

/// Why a service cannot be measured.
#[derive(Debug, thiserror::Error)]
pub enum ServiceFault {
    /// No process or thread has the given ID.
    #[error("no process with PID {0}; list processes with ps -e")]
    NoProcess(u32),
    /// The process is a kernel thread.
    #[error("process {0} is a kernel thread; name a process that runs a program")]
    Kernel(u32),
    /// The kernel keeps no accounts of the CPU time of tasks.
    #[error(
        "/proc/PID/schedstat has no CPU time of threads; use a kernel with CONFIG_SCHED_INFO, as distributions build it"
    )]
    NoAccount,
    /// The process belongs to another user.
    #[error(
        "process {process} ({}) belongs to another user; run it as root", printable(.name)
    )]
    NotOurs {
        /// ID of the process.
        process: u32,
        /// Name of the process.
        name: String,
    },
    /// The thread is not allowed to run on the requested CPU.
    #[error(
        "cannot pin a thread to a CPU: {0}; name another process (per-CPU kernel threads cannot be moved)"
    )]
    NotPlaced(io::Error),
    /// No task of this program can preempt the thread.
    #[error(
        "thread {0} has the highest real-time priority, or deadlines, so it cannot be preempted; give it a priority \
         below 98: chrt -r -p 50 {0}"
    )]
    Unyielding(u32),
    /// The process uses so little CPU time that it can hardly be preempted.
    #[error(
        "process {process} ({}) used the CPU for {share:.1} % of {LOOK}, but needs {least:.0} % or more, because only running \
         code can be preempted; put it under load, continue it if it is stopped, or name the process that does the work", printable(.name), least = LEAST_SHARE * 100.0
    )]
    AtRest {
        /// ID of the process.
        process: u32,
        /// Name of the process.
        name: String,
        /// Share of a CPU that the process uses, in percent.
        share: f64,
    },
    /// The event that should count work does not occur in the thread.
    #[error(
        "no {} in {LOOK} of thread {thread} ({}), so its work cannot be counted; choose another with --work: strace -c -p \
         {thread} shows its system calls", printable(.work), printable(.name)
    )]
    NoWork {
        /// Name of the event.
        work: String,
        /// ID of the thread.
        thread: u32,
        /// Name of the thread.
        name: String,
    },
    /// The kernel cannot count the work.
    #[error("{0}")]
    NotCounted(#[from] switchcost_host::perf::Unavailable),
    /// The command prints something else than a number.
    #[error(
        "the command '{}' of --work does not print a number ({}); let it print how much work was done so far, or use \
         syscall:NAME or uprobe:LIBRARY:FUNCTION", printable(.command), printable(.found)
    )]
    Command {
        /// Command that should print the amount of work.
        command: String,
        /// Output of the command, or its failure, in words.
        found: String,
    },
    /// The service ended during the measurement.
    #[error(
        "process {0} ended after {1}, before the measurement was complete; name a process that keeps running"
    )]
    Ended(u32, Nanos),
    /// No preemptor could be started.
    #[error("{0}")]
    Refused(String),
}
