use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use strum::{Display, EnumIter, EnumString, IntoEnumIterator};

/// Mechanism by which one task hands the token to the next.
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
    /// One byte is sent through a pipe (Ousterhout 1990, lmbench, Li 2007).
    Pipe,
    /// The counter of an eventfd is set to one and read.
    Eventfd,
    /// A word in shared memory is changed, with FUTEX_WAKE and FUTEX_WAIT.
    Futex,
    /// A condition variable is notified while its POSIX mutex is locked. There is a pair of both
    /// for each direction.
    MutexCondvar,
    /// A condition variable is notified after its POSIX mutex is unlocked. There is a pair of both
    /// for each direction.
    MutexCondvarUnlocked,
    /// A single condition variable and POSIX mutex that both tasks use. A task holds the mutex
    /// except while it waits, as in the blog post's program.
    MutexCondvarHeld,
    /// One byte is sent through a pair of Unix stream sockets.
    Socketpair,
    /// One byte is sent through TCP on the loopback device, with TCP_NODELAY.
    Tcp,
    /// A POSIX semaphore is posted and waited for.
    PosixSem,
    /// A message of one byte is sent through a POSIX message queue.
    PosixMq,
    /// A signal is sent with tgkill and received with sigwaitinfo.
    Signal,
    /// A task calls sched_yield. The token is the CPU itself.
    Yield,
    /// A stackful coroutine is resumed and suspended in user space (corosensei).
    Fiber,
    /// A context is switched with swapcontext, which also calls the kernel to change the signal
    /// mask.
    Ucontext,
    /// A thread of a user-level library with a run queue yields.
    Green,
    /// A timer signal preempts a thread of a user-level library.
    GreenPreempt,
    /// A task of a single-threaded tokio runtime yields to the executor.
    Async,
    /// A task of high priority that waits for a timer preempts one of low priority. The cost is
    /// attributed to the preempted task.
    Preempt,
    /// No hand-off: two tasks access their working sets concurrently, each on its own CPU, and each
    /// is compared with the same accesses alone. The difference is the cost of sharing caches
    /// without a switch.
    Concurrent,
    /// Tasks of a language runtime hand over the token, in a program that the case names.
    Runtime,
    /// An artificial switch of known length, which tests the instrument.
    Synthetic,
}

/// Kind of tasks between which the token is handed over.
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
    /// Processes, each with its own address space.
    Process,
    /// Threads of one process.
    Thread,
    /// User-level contexts in one OS thread. The kernel does not see their switches.
    User,
}

/// Kind of set-up that a mechanism needs for its tasks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Family {
    /// Kernel tasks in a ring, with a channel from each task to the next.
    Ring,
    /// User-level contexts in one OS thread.
    UserLevel,
    /// A task, and another task that preempts it.
    Preemption,
    /// Tasks that run concurrently, without a hand-off.
    Concurrent,
    /// Tasks of a language runtime, in a program of that language.
    Runtime,
    /// No tasks; the switch is artificial.
    Synthetic,
}

/// Range of a cost in publications, wide on purpose. A result outside the range is suspect. A
/// result inside proves nothing. The upper end allows for machines of 2007 and slow virtual
/// machines.
#[derive(Clone, Copy, Debug, PartialEq, JsonSchema, Serialize)]
pub struct Band {
    /// Lower end of the range in nanoseconds.
    pub low: f64,
    /// Upper end of the range in nanoseconds.
    pub high: f64,
    /// Publications from which the range was taken, with their values.
    pub source: &'static str,
}

const fn band(low: f64, high: f64, source: &'static str) -> Band {
    Band { low, high, source }
}

/// Properties of a mechanism, which [`Mechanism::traits`] returns.
#[derive(Clone, Copy, Debug)]
pub struct Traits {
    /// Kind of set-up that the mechanism's tasks need.
    pub family: Family,
    /// Kinds of tasks for which the mechanism is available, the default first.
    pub betweens: &'static [Between],
    /// Whether a measurement includes the mechanism by default.
    pub is_usual: bool,
    /// Whether the baseline makes the same system calls as the switching arm. Otherwise the
    /// baseline makes none, because no task has to wait and user space suffices. Then the system
    /// calls are part of the direct cost.
    pub has_same_system_calls: bool,
    /// Whether a kernel task blocks until it gets the token; false for `yield`, `preempt` and
    /// `concurrent`. Without meaning for user-level contexts.
    pub is_blocking: bool,
    /// Whether tasks compute until they are preempted. A hardware counter then includes this
    /// computation.
    pub is_preemptive: bool,
    /// Reason why the mechanism allows only two tasks; `None` if it allows more.
    pub two_tasks: Option<&'static str>,
    /// Published ranges of the cost of one switch on one CPU, and of one hand-off across CPUs;
    /// `None` if there are no publications.
    pub bands: Option<(Band, Band)>,
    /// Words that follow "A switch between two threads" in the report's sentence.
    pub means: &'static str,
    /// Word in reports for the user-level contexts of the mechanism.
    pub contexts: &'static str,
    /// Remark in parentheses after the mechanism's name in the help text; empty for most
    /// mechanisms.
    pub help: &'static str,
}

/// Published range of the cost of a kernel switch between tasks on one CPU.
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

/// Returns the properties of a mechanism with a lock or semaphore, whose baseline makes no system
/// calls.
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

    /// Returns the mechanisms that a measurement includes by default.
    /// [`Mechanism::MutexCondvarHeld`], concurrent accesses, language runtimes and the synthetic
    /// switch are left out.
    pub fn real() -> impl Iterator<Item = Mechanism> {
        Mechanism::iter().filter(|mechanism| mechanism.traits().is_usual)
    }

    /// Returns the kinds of tasks for which the mechanism is available, the default first.
    pub fn betweens(self) -> &'static [Between] {
        self.traits().betweens
    }

    /// Whether the mechanism hands over a token. Only then does a case have a cost of a switch or
    /// hand-off.
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
