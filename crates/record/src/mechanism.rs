use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use strum::{Display, EnumIter, EnumString, IntoEnumIterator};

/// Mechanism that hands the token from one task to the next.
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
    /// A pipe, through which one byte is sent (Ousterhout 1990, lmbench, Li 2007).
    Pipe,
    /// A counter of one in an eventfd.
    Eventfd,
    /// A word in shared memory with FUTEX_WAKE and FUTEX_WAIT.
    Futex,
    /// A POSIX mutex and condition variable, a pair for each direction, notified while the lock is held.
    MutexCondvar,
    /// A POSIX mutex and condition variable, a pair for each direction, notified after the lock is released.
    MutexCondvarUnlocked,
    /// A POSIX mutex and a condition variable that both tasks share; a task holds the lock except
    /// while it waits (the blog post's program).
    MutexCondvarHeld,
    /// One byte through a pair of Unix stream sockets.
    Socketpair,
    /// TCP on loopback, over which one byte is sent, without Nagle's delay.
    Tcp,
    /// A POSIX semaphore, which is posted and waited for.
    PosixSem,
    /// A message of one byte through a POSIX message queue.
    PosixMq,
    /// A signal sent with tgkill and taken with sigwaitinfo.
    Signal,
    /// sched_yield: the token that a task hands over is the CPU itself.
    Yield,
    /// A stackful coroutine, resumed and suspended in user space (corosensei).
    Fiber,
    /// swapcontext, which also saves the signal mask with a system call.
    Ucontext,
    /// A user-level thread library with a run queue: a thread yields.
    Green,
    /// A user-level thread library whose timer signal takes the CPU from a thread.
    GreenPreempt,
    /// A task of a single-threaded tokio runtime that yields to the executor.
    Async,
    /// A timer that lets a task of high priority preempt one of low priority; the cost is charged
    /// to the victim.
    Preempt,
    /// No hand-off: two tasks walk concurrently, each on its own CPU, and each is compared with a
    /// walk alone. The comparison shows the cost of sharing caches without a switch.
    Concurrent,
    /// Tasks of a language runtime, in a program that the case names.
    Runtime,
    /// An artificial switch of known length, to prove the instrument.
    Synthetic,
}

/// Tasks between which the token is handed.
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
    /// Contexts in one OS thread, whose switches the kernel does not see.
    User,
}

/// Set-up that a mechanism needs for its tasks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Family {
    /// Tasks of the kernel in a ring, with a channel from each to the next.
    Ring,
    /// Contexts of one OS thread.
    UserLevel,
    /// A victim and its preemptor.
    Preemption,
    /// Tasks without a hand-off.
    Concurrent,
    /// Tasks of a language runtime.
    Runtime,
    /// No tasks at all.
    Synthetic,
}

/// Published range of a cost, wide on purpose. A number outside is suspect; a number inside proves
/// nothing. The upper end allows for machines of 2007 and slow virtual machines.
#[derive(Clone, Copy, Debug, PartialEq, JsonSchema, Serialize)]
pub struct Band {
    /// Lower end, in nanoseconds.
    pub low: f64,
    /// Upper end, in nanoseconds.
    pub high: f64,
    /// Publication in which the range appeared.
    pub source: &'static str,
}

const fn band(low: f64, high: f64, source: &'static str) -> Band {
    Band { low, high, source }
}

/// Properties of a mechanism: one row in the table of [`Mechanism::traits`].
#[derive(Clone, Copy, Debug)]
pub struct Traits {
    /// Set-up of the mechanism's tasks.
    pub family: Family,
    /// Kinds of tasks between which the mechanism can hand its token, the usual one first.
    pub betweens: &'static [Between],
    /// Whether a run without flags measures the mechanism.
    pub is_usual: bool,
    /// Whether the baseline makes the same system calls as the switching arm. If no task waits and
    /// user space suffices, the baseline makes none, and the calls are part of the direct cost.
    pub has_same_system_calls: bool,
    /// Whether a task gives up the CPU voluntarily; otherwise the task is preempted.
    pub is_blocking: bool,
    /// Whether tasks compute until they are preempted. A counter of the CPU counts this work, too.
    pub is_preemptive: bool,
    /// Reason why the mechanism works with two tasks only, if there is one.
    pub two_tasks: Option<&'static str>,
    /// Published ranges of the cost of one switch, and of one hand-off across CPUs.
    pub bands: Option<(Band, Band)>,
    /// Phrase that follows "A switch between two threads" in a sentence.
    pub means: &'static str,
    /// Word for the mechanism's contexts.
    pub contexts: &'static str,
    /// Text of the help after the mechanism's name.
    pub help: &'static str,
}

/// Published range of the cost of a kernel switch on one CPU.
pub const SAME_CPU: Band = band(
    300.0,
    10_000.0,
    "kernel switches on one CPU: 0.41 us (ghOSt, table 3), 0.62 (Michigan poster), 1.35 (blog), 3.8 (Li et al. 2007)",
);
const ACROSS_CPUS: Band = band(
    500.0,
    100_000.0,
    "hand-offs across CPUs: 5 to 45 us in virtual machines, down to 1 us between hardware threads",
);
const FIBER: Band = band(
    0.4,
    20.0,
    "register-only coroutines: corosensei 1.3, libfringe 2.9, Photon 12.6, libmill 20 ns; an indirect jump takes 2 cycles, 0.4 ns at 5 GHz",
);
const UCONTEXT: Band = band(
    100.0,
    500.0,
    "swapcontext with its system call: 164 to 190 ns on a 2024 server",
);
const GREEN: Band = band(
    20.0,
    1_400.0,
    "run queues in user space: Boost.Fiber 48, Arachne 56, Go 170 to 200 ns; gtthread 1.2 to 1.4 us (Michigan poster)",
);
const ASYNC: Band = band(
    20.0,
    600.0,
    "run queues in user space: Boost.Fiber 48, Arachne 56, Go 170 to 200 ns",
);
const PREEMPTION: Band = band(
    500.0,
    50_000.0,
    "preemptions with their timer interrupt: a kernel switch of 0.3 to 10 us and more",
);

const fn ring(means: &'static str) -> Traits {
    Traits {
        family: Family::Ring,
        betweens: &[Between::Process, Between::Thread],
        is_usual: true,
        has_same_system_calls: true,
        is_blocking: true,
        is_preemptive: false,
        two_tasks: None,
        bands: Some((SAME_CPU, ACROSS_CPUS)),
        means,
        contexts: "green threads",
        help: "",
    }
}

/// Returns the traits of a lock, whose baseline needs no system call.
const fn lock(means: &'static str) -> Traits {
    Traits {
        has_same_system_calls: false,
        ..ring(means)
    }
}

const fn user_level(means: &'static str, range: Band) -> Traits {
    Traits {
        family: Family::UserLevel,
        betweens: &[Between::User],
        bands: Some((range, range)),
        ..ring(means)
    }
}

impl Mechanism {
    /// Returns the properties of this mechanism.
    pub const fn traits(self) -> Traits {
        use Mechanism::*;
        match self {
            Pipe => ring("over a pipe"),
            Eventfd => ring("through an eventfd"),
            Futex => ring("through a futex"),
            MutexCondvar => lock("through a mutex and a condition variable"),
            MutexCondvarUnlocked => {
                lock("through a mutex and a condition variable, notified unlocked,")
            }
            MutexCondvarHeld => Traits {
                is_usual: false,
                two_tasks: Some("whoever is notified is the other one"),
                ..lock("through one mutex, held but in the wait, and a condition variable")
            },
            Socketpair => ring("over a socket pair"),
            Tcp => ring("over TCP"),
            PosixSem => lock("through a POSIX semaphore"),
            PosixMq => ring("through a POSIX message queue"),
            Signal => ring("by a signal"),
            Yield => Traits {
                is_blocking: false,
                ..ring("by sched_yield")
            },
            Fiber => Traits {
                contexts: "fibers",
                ..user_level("by resuming a fiber", FIBER)
            },
            Ucontext => Traits {
                contexts: "ucontexts",
                ..user_level("by swapcontext", UCONTEXT)
            },
            Green => user_level("of a user-level thread library", GREEN),
            GreenPreempt => Traits {
                is_preemptive: true,
                ..user_level("of a user-level thread library, preempted,", PREEMPTION)
            },
            Async => Traits {
                contexts: "tasks of an async runtime",
                ..user_level("of an async runtime", ASYNC)
            },
            Preempt => Traits {
                family: Family::Preemption,
                is_blocking: false,
                is_preemptive: true,
                two_tasks: Some("a victim and its preemptor"),
                bands: Some((PREEMPTION, PREEMPTION)),
                ..ring("by preemption")
            },
            Concurrent => Traits {
                family: Family::Concurrent,
                is_usual: false,
                is_blocking: false,
                bands: None,
                help: " (without hand-off; see --concurrent)",
                ..ring("of tasks that run at once")
            },
            Runtime => Traits {
                family: Family::Runtime,
                betweens: &[Between::User, Between::Thread],
                is_usual: false,
                bands: None,
                help: " (of a language; see --runtime)",
                ..ring("of a runtime")
            },
            Synthetic => Traits {
                family: Family::Synthetic,
                betweens: &[Between::User],
                is_usual: false,
                bands: None,
                ..ring("that is made up")
            },
        }
    }

    /// Returns the mechanisms that switch, without the synthetic one, those of runtimes, and the
    /// blog post's variant.
    pub fn real() -> impl Iterator<Item = Mechanism> {
        Mechanism::iter().filter(|mechanism| mechanism.traits().is_usual)
    }

    /// Returns the kinds of tasks between which this mechanism can hand its token, the usual one
    /// first.
    pub fn betweens(self) -> &'static [Between] {
        self.traits().betweens
    }

    /// Whether the mechanism hands over a token, so that a switch or a hand-off can be priced.
    pub fn hands_over(self) -> bool {
        self.traits().family != Family::Concurrent
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
        // Runtimes have tasks of both kinds.
        for mechanism in Mechanism::iter().filter(|mechanism| *mechanism != Mechanism::Runtime) {
            match mechanism.betweens() {
                [Between::User] | [Between::Process, Between::Thread] => {}
                other => panic!("{mechanism}: {other:?}"),
            }
        }
    }
}
