use std::io;

use switchcost_record::printable;
use switchcost_units::Nanos;

/// So long it is looked what that one does.
pub(crate) const LOOK: Nanos = Nanos::seconds(1);

/// Who has less of a CPU is hardly ever preempted.
pub(crate) const LEAST_SHARE: f64 = 0.02;

/// Why a service cannot be measured. Follows "failed to inject: " in a message.
#[derive(Debug, thiserror::Error)]
pub enum ServiceFault {
    /// There is no process or thread with this ID.
    #[error("found no process {0}, need one that runs; see ps -e")]
    NoProcess(u32),
    /// The kernel does not count CPU time of tasks.
    #[error(
        "found no CPU time of threads in /proc/PID/schedstat, need it; it is there with CONFIG_SCHED_INFO, as distributions build it"
    )]
    NoAccount,
    /// It belongs to another user.
    #[error(
        "found that process {process} ({}) belongs to another user, need one of your own, or the right to place it; run it as root", printable(.name)
    )]
    NotOurs {
        /// Its number.
        process: u32,
        /// Its name.
        name: String,
    },
    /// The thread may not run on the wanted CPU.
    #[error(
        "found a thread that cannot be placed on a CPU ({0}), need one that can; kernel threads of a CPU stay where they are"
    )]
    NotPlaced(io::Error),
    /// No task of ours can take the CPU from the thread.
    #[error(
        "found thread {0} with the highest real-time priority, or with deadlines, need one whose CPU can be taken; give it a priority below \
         98: chrt -r -p 50 {0}"
    )]
    Unyielding(u32),
    /// It does nothing.
    #[error(
        "found process {process} ({}) with the CPU for {share:.1} % of {LOOK}, need {least:.0} % or more, since who waits is not \
         preempted; put it under load, or name the process that does the work", printable(.name), least = LEAST_SHARE * 100.0
    )]
    AtRest {
        /// Its number.
        process: u32,
        /// Its name.
        name: String,
        /// Of a CPU, in percent.
        share: f64,
    },
    /// What is counted does not happen.
    #[error(
        "found no {} in {LOOK} of thread {thread} ({}), need what the service does for each piece of its work; choose another with \
         --work: strace -c -p {thread} shows its system calls", printable(.work), printable(.name)
    )]
    NoWork {
        /// What.
        work: String,
        /// The thread.
        thread: u32,
        /// Its name.
        name: String,
    },
    /// The kernel does not count the work.
    #[error("{0}")]
    NotCounted(#[from] switchcost_host::perf::Unavailable),
    /// A command that prints something else.
    #[error(
        "found {} from the command '{}' of --work, need a number alone: how much work was done so far; or syscall:NAME, or \
         uprobe:LIBRARY:FUNCTION", printable(.found), printable(.command)
    )]
    Command {
        /// The command.
        command: String,
        /// What it has printed.
        found: String,
    },
    /// The service ended.
    #[error("found that process {0} has ended after {1}, need one that goes on")]
    Ended(u32, Nanos),
    /// No preemptor could be started.
    #[error("{0}")]
    Refused(String),
}
