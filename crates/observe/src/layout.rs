//! Layout of the data that the BPF program writes, as in `bpf/layout.h`. A test compares all
//! definitions with the BPF program's type information.

#[cfg(test)]
mod btf;
#[cfg(test)]
mod tests;

use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

/// Definition of structures of the BPF program, together with the data by which a test compares
/// them.
macro_rules! structures {
    ($($(#[$meta:meta])* struct $name:ident { $($(#[$of_field:meta])* $vis:vis $field:ident: $type:ty,)* })*) => { $(
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable, KnownLayout)]
        #[repr(C)]
        pub(crate) struct $name { $($(#[$of_field])* $vis $field: $type,)* }

        #[cfg(test)]
        impl $name {
            /// Name, offset and size of each field of the structure.
            const FIELDS: &'static [(&'static str, usize, usize)] =
                &[$((stringify!($field), std::mem::offset_of!($name, $field), size_of::<$type>()),)*];
        }
    )* };
}

/// Definition of enumerators of the BPF program, together with the data by which a test compares
/// them.
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

/// Number of entries for causes in a task's table. The last entries take all causes that found no
/// room, one entry for each reason.
pub(crate) const CAUSES: usize = 29;
/// Number of entries for other processes in a task's table.
pub(crate) const NEIGHBOURS: usize = 5;
/// Number of hardware counters of a CPU. The first one counts instructions.
pub(crate) const COUNTERS: usize = 4;
/// Number of buckets in a histogram of times.
pub(crate) const BUCKETS: usize = 56;
/// Maximum number of CPUs that have separate entries.
pub(crate) const CPUS: usize = 1024;
/// Number of recent runs that are stored for each CPU.
pub(crate) const RUNS: usize = 16;
/// Number of processes whose run time is stored for each CPU.
pub(crate) const SHARES: usize = 16;
/// Number of moments at which the run times of a CPU are stored.
pub(crate) const MARKS: usize = 128;
/// Number of longest waits that are stored for each CPU.
pub(crate) const LONGEST: usize = 4;
/// Number of slots for observed tasks, of which slot 0 is not used.
pub(crate) const TASKS: usize = 16384;

enumerators! {
    /// Numbers of kernel entries other than system calls, and the bit for a system call's ABI.
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
    /// States of a task's slot.
    mod task_state {
        FREE = 0,
        IN_USE = 1,
        ENDED = 2,
    }
}

enumerators! {
    /// Process numbers that stand for something other than a process.
    mod process {
        NONE = 0,
        /// Number that stands for all threads of the kernel.
        KERNEL = u32::MAX,
        /// Number that stands for the part of a wait in which no task ran.
        NOBODY = u32::MAX - 1,
        /// Number that stands for the part of a wait spent in the queue of another CPU.
        MOVED = u32::MAX - 2,
        /// Number that stands for the part of a wait in which unknown tasks ran.
        OTHERS = u32::MAX - 3,
    }
}

enumerators! {
    /// Meaning of a number in the table of targets. Both bits may be set.
    mod target {
        /// The number is a process ID, and all threads of the process are observed.
        PROCESS = 1,
        THREAD = 2,
    }
}

/// Flag of kernel threads (PF_KTHREAD) in `task_struct`.
pub(crate) const KERNEL_THREAD: u32 = 0x0020_0000;

structures! {
    #[derive(Default)]
    struct Cause {
        pub(crate) entry: u32,
        /// Number of the reason why the task left its CPU; 0 if the entry is free.
        pub(crate) reason: u32,
        pub(crate) switches: u64,
        pub(crate) off_ns: u64,
        pub(crate) wait_ns: u64,
    }

    /// Another process, with its effects on a task or on a process.
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

    /// Run time of a process on a CPU. Also has the run time of processes that had the entry
    /// before.
    #[derive(Default)]
    struct Share {
        pub(crate) process: u32,
        pub(crate) unused: u32,
        pub(crate) ns: u64,
        pub(crate) others_ns: u64,
        last: u64,
        pub(crate) name: [u8; 16],
    }

    /// Run times of the processes on a CPU at one moment.
    #[derive(Default)]
    struct Sums {
        pub(crate) ns: [u64; SHARES],
    }

    #[derive(Default)]
    struct Mark {
        pub(crate) at: u64,
        pub(crate) sums: Sums,
    }

    /// Recorded moments of a CPU, each with the run times at that moment.
    struct Marks {
        taken: u64,
        pub(crate) marks: [Mark; MARKS],
        unused: [u64; 7],
    }

    /// One run of a process on a CPU.
    #[derive(Default)]
    struct Run {
        pub(crate) end: u64,
        pub(crate) ns: u64,
        pub(crate) share: u32,
        unused: u32,
    }

    /// A wait for a CPU that is among the longest waits.
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

    /// Sums of hardware counters over a task's time slices.
    struct Counted {
        pub(crate) ran_ns: u64,
        /// Largest number of instructions per microsecond in any time slice.
        pub(crate) most_per_us: u64,
        pub(crate) sums: [u64; COUNTERS],
        pub(crate) turns: [u32; BUCKETS],
    }

    /// State of the hardware counters of a CPU.
    struct Counting {
        began: [u64; COUNTERS],
        ended: [u64; COUNTERS],
        is_known: u64,
        /// Number of readings that were discarded because the counters had not counted all the
        /// time.
        pub(crate) refused: u64,
        unused: [u64; 6],
    }

    /// Times that a CPU has spent inside the scheduler.
    struct InScheduler {
        entered: u64,
        own: u64,
        pub(crate) ns: u64,
        unused: u64,
        pub(crate) times: [u32; BUCKETS],
    }

    /// A thread in an event.
    struct Thread {
        pub(crate) pid: u32,
        pub(crate) tgid: u32,
        pub(crate) priority: i32,
        pub(crate) state: u32,
        pub(crate) name: [u8; 16],
    }

    /// An event: a switch or a wake-up.
    struct Event {
        pub(crate) at: u64,
        pub(crate) cpu: u32,
        pub(crate) is_wakeup: u32,
        pub(crate) from: Thread,
        pub(crate) to: Thread,
    }
}

/// Indices of the 64-bit words that control the BPF program.
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

/// Number of 64-bit words of a [`Task`].
pub(crate) const TASK_WORDS: usize = size_of::<Task>() / 8;
/// Number of 64-bit words of a [`Cpu`].
pub(crate) const CPU_WORDS: usize = size_of::<Cpu>() / 8;
/// Number of 64-bit words of [`Marks`].
pub(crate) const MARKS_WORDS: usize = size_of::<Marks>() / 8;
/// Number of 64-bit words of an [`InScheduler`].
pub(crate) const IN_SCHEDULER_WORDS: usize = size_of::<InScheduler>() / 8;
/// Number of 64-bit words of a [`Counted`].
pub(crate) const COUNTED_WORDS: usize = size_of::<Counted>() / 8;
/// Number of 64-bit words of a [`Counting`].
pub(crate) const COUNTING_WORDS: usize = size_of::<Counting>() / 8;
/// A [`Neighbour`] as 64-bit words.
pub(crate) type NeighbourWords = [u64; size_of::<Neighbour>() / 8];
