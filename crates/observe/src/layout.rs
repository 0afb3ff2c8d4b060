//! Layout of the data that the program in the kernel writes, as in `bpf/layout.h`. A test compares all of it with the type information of
//! the program.

#[cfg(test)]
mod btf;
#[cfg(test)]
mod tests;

use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

/// Structures of the program, and what the test needs to compare them with it.
macro_rules! structures {
    ($($(#[$meta:meta])* struct $name:ident { $($(#[$of_field:meta])* $vis:vis $field:ident: $type:ty,)* })*) => { $(
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable, KnownLayout)]
        #[repr(C)]
        pub(crate) struct $name { $($(#[$of_field])* $vis $field: $type,)* }

        #[cfg(test)]
        impl $name {
            /// Name, offset and size of each field.
            const FIELDS: &'static [(&'static str, usize, usize)] =
                &[$((stringify!($field), std::mem::offset_of!($name, $field), size_of::<$type>()),)*];
        }
    )* };
}

/// Enumerators of the program, the same way.
macro_rules! enumerators {
    ($(#[$meta:meta])* mod $name:ident { $($(#[$of:meta])* $each:ident = $value:expr,)* }) => {
        $(#[$meta])*
        pub(crate) mod $name {
            $($(#[$of])* pub(crate) const $each: u32 = $value;)*

            #[cfg(test)]
            pub(crate) const ALL: &[(&str, u32)] = &[$((stringify!($each), $each),)*];
        }
    };
}

/// Causes that a task's table holds, the last for the rest of each reason.
pub(crate) const CAUSES: usize = 29;
/// Neighbours that a task's table holds.
pub(crate) const NEIGHBOURS: usize = 5;
/// Hardware counters of a CPU, instructions first.
pub(crate) const COUNTERS: usize = 4;
/// Buckets of a histogram.
pub(crate) const BUCKETS: usize = 56;
/// CPUs that are counted each by itself.
pub(crate) const CPUS: usize = 1024;
/// The last runs that are remembered of each CPU.
pub(crate) const RUNS: usize = 16;
/// Processes of which it is known how long they have run on a CPU.
pub(crate) const SHARES: usize = 16;
/// Moments of each CPU of which its shares are remembered.
pub(crate) const MARKS: usize = 128;
/// The longest waits that are kept of each CPU.
pub(crate) const LONGEST: usize = 4;
/// Tasks observed at a time, and one slot that is not used.
pub(crate) const TASKS: usize = 16384;

enumerators! {
    /// Entries to the kernel other than system calls, and the bit that marks a system call's ABI.
    mod entry {
        COMPAT = 0x0800,
        FAULT = 0x1000,
        INTERRUPT = 0x1001,
        KERNEL = 0x1002,
        OTHER = 0x1003,
        FUTEX_LOCK = 0x1004,
        FUTEX_TIMED = 0x1005,
        X32 = 0x2000,
    }
}

enumerators! {
    /// States of a slot in the table of tasks.
    mod task_state {
        FREE = 0,
        IN_USE = 1,
        ENDED = 2,
    }
}

enumerators! {
    /// Numbers of processes that are none.
    mod process {
        NONE = 0,
        /// All threads of the kernel.
        KERNEL = u32::MAX,
        /// Waited for while no task ran.
        NOBODY = u32::MAX - 1,
        /// Waited for in the queue of another CPU.
        MOVED = u32::MAX - 2,
        /// Waited for behind others that are not known.
        OTHERS = u32::MAX - 3,
    }
}

enumerators! {
    /// Meaning of a number among the targets; both bits may be set.
    mod target {
        /// A process, all of whose threads are observed.
        PROCESS = 1,
        THREAD = 2,
    }
}

/// Flag of a task that marks a kernel thread.
pub(crate) const KERNEL_THREAD: u32 = 0x0020_0000;

structures! {
    #[derive(Default)]
    struct Cause {
        pub(crate) entry: u32,
        /// Why the task left its CPU; 0 if the entry is free.
        pub(crate) reason: u32,
        pub(crate) switches: u64,
        pub(crate) off_ns: u64,
        pub(crate) wait_ns: u64,
    }

    /// Effect of another process on a task, or on a process.
    #[derive(Default)]
    struct Neighbour {
        pub(crate) process: u32,
        pub(crate) unused: u32,
        pub(crate) ran_ns: u64,
        pub(crate) runs: u64,
        pub(crate) preempted: u64,
        pub(crate) woke: u64,
        pub(crate) kept_waiting_ns: u64,
        pub(crate) kept_waiting: u64,
        pub(crate) name: [u8; 16],
    }

    /// Time that a process has run on a CPU, after other processes that had its place before.
    #[derive(Default)]
    struct Share {
        pub(crate) process: u32,
        pub(crate) unused: u32,
        pub(crate) ns: u64,
        pub(crate) others_ns: u64,
        last: u64,
        pub(crate) name: [u8; 16],
    }

    /// All shares of a CPU at a moment.
    #[derive(Default)]
    struct Sums {
        pub(crate) ns: [u64; SHARES],
    }

    #[derive(Default)]
    struct Mark {
        pub(crate) at: u64,
        pub(crate) sums: Sums,
    }

    /// Moments of a CPU.
    struct Marks {
        taken: u64,
        pub(crate) marks: [Mark; MARKS],
        unused: [u64; 7],
    }

    /// A run of a process on a CPU.
    #[derive(Default)]
    struct Run {
        pub(crate) end: u64,
        pub(crate) ns: u64,
        pub(crate) share: u32,
        unused: u32,
    }

    /// A wait for a CPU that is among the longest.
    #[derive(Default)]
    struct Wait {
        pub(crate) since: u64,
        pub(crate) ns: u64,
        pub(crate) behind_ns: u64,
        pub(crate) pid: u32,
        pub(crate) tgid: u32,
        pub(crate) behind: u32,
        pub(crate) unused: u32,
        pub(crate) name: [u8; 16],
        pub(crate) behind_name: [u8; 16],
    }

    struct Task {
        pub(crate) pid: u32,
        pub(crate) tgid: u32,
        pub(crate) flags: u32,
        pub(crate) state: u32,
        pub(crate) name: [u8; 16],
        pub(crate) process_name: [u8; 16],
        pub(crate) on_since: u64,
        pub(crate) off_since: u64,
        last_off: u64,
        pub(crate) voluntary: u64,
        pub(crate) involuntary: u64,
        voluntary_seen: u64,
        delay_seen: u64,
        pub(crate) run_ns: u64,
        pub(crate) off_ns: u64,
        pub(crate) wait_ns: u64,
        pub(crate) others_ns: u64,
        slice_began: u64,
        pub(crate) run_began: u64,
        busy_then: u64,
        pub(crate) moved: [u64; 3],
        fault_ip: u64,
        pub(crate) cpu: u32,
        pub(crate) cause: u32,
        call: u32,
        unused: u32,
        moved_ns: u64,
        pub(crate) wait_nobody_ns: u64,
        pub(crate) wait_throttled_ns: u64,
        pub(crate) wait_moved_ns: u64,
        pub(crate) wait_others_ns: u64,
        pub(crate) causes: [Cause; CAUSES],
        pub(crate) neighbours: [Neighbour; NEIGHBOURS],
        pub(crate) off: [u32; BUCKETS],
        pub(crate) wait: [u32; BUCKETS],
        pub(crate) others: [u32; BUCKETS],
        pub(crate) turns: [u32; BUCKETS],
        pub(crate) queued_since: u64,
        pub(crate) shares_then: Sums,
    }

    #[derive(Default)]
    struct Cpu {
        pub(crate) core: u32,
        pub(crate) cache: u32,
        pub(crate) since: u64,
        pub(crate) switches: u64,
        pub(crate) busy_ns: u64,
        pub(crate) idle_ns: u64,
        last_pid: u32,
        last_slot: u32,
        pub(crate) running_pid: u32,
        pub(crate) running_slot: u32,
        pub(crate) newest: u32,
        shortest: u32,
        long_ns: u64,
        pub(crate) runs: [Run; RUNS],
        pub(crate) shares: [Share; SHARES],
        pub(crate) longest: [Wait; LONGEST],
        marked: u64,
        unused: [u64; 2],
    }

    /// Counts of hardware counters in the turns of a task.
    struct Counted {
        pub(crate) ran_ns: u64,
        /// The most instructions a microsecond of any turn.
        pub(crate) most_per_us: u64,
        pub(crate) sums: [u64; COUNTERS],
        pub(crate) turns: [u32; BUCKETS],
    }

    /// The counters of a CPU.
    struct Counting {
        began: [u64; COUNTERS],
        ended: [u64; COUNTERS],
        is_known: u64,
        /// Readings that cover part of the time.
        pub(crate) refused: u64,
        unused: [u64; 6],
    }

    /// A CPU inside the scheduler.
    struct InScheduler {
        entered: u64,
        own: u64,
        pub(crate) ns: u64,
        unused: u64,
        pub(crate) times: [u32; BUCKETS],
    }

    /// One side of an event.
    struct Thread {
        pub(crate) pid: u32,
        pub(crate) tgid: u32,
        pub(crate) priority: i32,
        pub(crate) state: u32,
        pub(crate) name: [u8; 16],
    }

    /// A switch or a wake-up.
    struct Event {
        pub(crate) at: u64,
        pub(crate) cpu: u32,
        pub(crate) is_wakeup: u32,
        pub(crate) from: Thread,
        pub(crate) to: Thread,
    }
}

/// Words of 64 bits that control the program, by what they are for.
#[derive(Clone, Copy, Debug)]
#[repr(usize)]
pub(crate) enum Control {
    Generation,
    All,
    NoRoom,
    NoCause,
    NoPair,
    NoEvent,
    Group,
    Hierarchy,
    Count,
}

/// Words of 64 bits in a task's slot.
pub(crate) const TASK_WORDS: usize = size_of::<Task>() / 8;
/// Words of 64 bits for a CPU.
pub(crate) const CPU_WORDS: usize = size_of::<Cpu>() / 8;
/// Words of 64 bits for the marks of a CPU.
pub(crate) const MARKS_WORDS: usize = size_of::<Marks>() / 8;
/// Words of 64 bits for a CPU inside the scheduler.
pub(crate) const IN_SCHEDULER_WORDS: usize = size_of::<InScheduler>() / 8;
/// Words of 64 bits of what was counted in the turns of a task.
pub(crate) const COUNTED_WORDS: usize = size_of::<Counted>() / 8;
/// Words of 64 bits of the counters of a CPU.
pub(crate) const COUNTING_WORDS: usize = size_of::<Counting>() / 8;
/// Words of [`Neighbour`], as the kernel writes them.
pub(crate) type NeighbourWords = [u64; size_of::<Neighbour>() / 8];
