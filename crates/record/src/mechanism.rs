use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use strum::{Display, EnumIter, EnumString, IntoEnumIterator};

/// How the token is handed from one task to the next.
#[derive(
    Clone,
    Copy,
    Debug,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    JsonSchema,
    Serialize,
    Deserialize,
    Display,
    EnumString,
    EnumIter,
)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum Mechanism {
    /// One byte through a pipe (Ousterhout 1990, lmbench, Li 2007).
    Pipe,
    /// A counter of one in an eventfd.
    Eventfd,
    /// A word in shared memory with FUTEX_WAKE and FUTEX_WAIT.
    Futex,
    /// A POSIX mutex and condition variable, a pair for each direction, notified while the lock is held.
    MutexCondvar,
    /// The same, notified after the lock is released.
    MutexCondvarUnlocked,
    /// One mutex and one condition variable for both tasks, the lock held but while one waits (the blog's program).
    MutexCondvarHeld,
    /// One byte through a pair of Unix stream sockets.
    Socketpair,
    /// One byte through a TCP connection on the loopback interface, without Nagle's delay.
    Tcp,
    /// A POSIX semaphore.
    PosixSem,
    /// A message of one byte through a POSIX message queue.
    PosixMq,
    /// A signal sent with tgkill and taken with sigwaitinfo.
    Signal,
    /// sched_yield: the token is the CPU itself.
    Yield,
    /// A stackful coroutine, resumed and suspended in user space (corosensei).
    Fiber,
    /// swapcontext, which also saves the signal mask with a system call.
    Ucontext,
    /// A user-level thread library with a run queue: a thread yields.
    Green,
    /// The same library: a timer signal takes the CPU from a thread.
    GreenPreempt,
    /// A task of a single-threaded tokio runtime that yields to the executor.
    Async,
    /// A task of low priority preempted by one of high priority on a timer; the cost is charged to the victim.
    Preempt,
    /// No hand-off at all: two tasks walk at once, each on a CPU of its own, beside each of them alone. What the caches that both
    /// share cost without a switch.
    Concurrent,
    /// Tasks of a language's runtime, in a program of that language: which, the case says.
    Runtime,
    /// A made-up switch of known length, to prove the instrument.
    Synthetic,
}

/// What the token is handed between.
#[derive(
    Clone,
    Copy,
    Debug,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    JsonSchema,
    Serialize,
    Deserialize,
    Display,
    EnumString,
    EnumIter,
)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum Between {
    /// Processes, each with an address space of its own.
    Process,
    /// Threads of one process.
    Thread,
    /// Contexts in one kernel thread: the kernel sees no switch.
    User,
}

impl Mechanism {
    /// The mechanisms that a run without flags measures: all that switch, but for the made-up one, those of runtimes, and the blog's
    /// variant of another.
    pub fn real() -> impl Iterator<Item = Mechanism> {
        use Mechanism::*;
        Mechanism::iter()
            .filter(|m| !matches!(m, MutexCondvarHeld | Concurrent | Runtime | Synthetic))
    }

    /// What this mechanism can hand its token between, the usual one first.
    pub fn betweens(self) -> &'static [Between] {
        use Mechanism::*;
        match self {
            Runtime => &[Between::User, Between::Thread],
            Fiber | Ucontext | Green | GreenPreempt | Async | Synthetic => &[Between::User],
            Pipe | Eventfd | Futex | MutexCondvar | MutexCondvarUnlocked | MutexCondvarHeld
            | Socketpair | Tcp | PosixSem | PosixMq | Signal | Yield | Preempt | Concurrent => {
                &[Between::Process, Between::Thread]
            }
        }
    }

    /// Whether the baseline makes the same system calls as the switching arm. Where it does not, because no task waits and user space alone
    /// suffices, the calls themselves are part of the direct cost.
    pub fn has_same_system_calls(self) -> bool {
        use Mechanism::*;
        !matches!(
            self,
            MutexCondvar | MutexCondvarUnlocked | MutexCondvarHeld | PosixSem
        )
    }

    /// Whether anything is handed over, so that there is a switch or a hand-off to be priced.
    pub fn hands_over(self) -> bool {
        self != Mechanism::Concurrent
    }

    /// Whether a task gives up the CPU by itself (voluntary switches), as against being preempted.
    pub fn is_blocking(self) -> bool {
        !matches!(
            self,
            Mechanism::Yield | Mechanism::Preempt | Mechanism::Concurrent
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_the_same_in_the_record_and_on_the_command_line() {
        for mechanism in Mechanism::iter() {
            assert_eq!(
                serde_json::to_string(&mechanism).expect("JSON"),
                format!("\"{mechanism}\"")
            );
            assert_eq!(mechanism.to_string().parse(), Ok(mechanism));
        }
        for between in Between::iter() {
            assert_eq!(
                serde_json::to_string(&between).expect("JSON"),
                format!("\"{between}\"")
            );
            assert_eq!(between.to_string().parse(), Ok(between));
        }
    }

    #[test]
    fn all_that_switch_are_real_but_the_made_up_mechanism() {
        use Mechanism::*;
        assert_eq!(Mechanism::real().count(), Mechanism::iter().count() - 4);
        let is_one = |mechanism| {
            matches!(
                mechanism,
                MutexCondvarHeld | Concurrent | Runtime | Synthetic
            )
        };
        assert!(!Mechanism::real().any(is_one));
    }

    #[test]
    fn a_mechanism_is_in_user_space_or_in_the_kernel_and_not_in_both() {
        // Runtimes have tasks of either kind.
        for mechanism in Mechanism::iter().filter(|mechanism| *mechanism != Mechanism::Runtime) {
            match mechanism.betweens() {
                [Between::User] | [Between::Process, Between::Thread] => {}
                other => panic!("{mechanism}: {other:?}"),
            }
        }
    }
}
