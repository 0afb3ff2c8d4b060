//! What the program in the kernel writes, as `bpf/switches.bpf.c` lays it out.

use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

/// Causes that a task's table holds, the last for all the rest.
pub(crate) const CAUSES: usize = 20;
/// Neighbours that a task's table holds.
pub(crate) const NEIGHBOURS: usize = 5;
/// Buckets of a histogram.
pub(crate) const BUCKETS: usize = 56;
/// CPUs told apart.
pub(crate) const CPUS: usize = 1024;
/// Tasks observed at a time, and one place that is not used.
pub(crate) const TASKS: usize = 16384;
/// The process that stands for all threads of the kernel.
pub(crate) const KERNEL: u32 = u32::MAX;

/// Where a task was that was in no system call.
pub(crate) mod place {
    pub(crate) const COMPAT: u32 = 0x0800;
    pub(crate) const FAULT: u32 = 0x1000;
    pub(crate) const INTERRUPT: u32 = 0x1001;
    pub(crate) const KERNEL: u32 = 0x1002;
    pub(crate) const OTHER: u32 = 0x1003;
}

/// What a number among the targets stands for: a process, all of whose threads are observed ...
pub(crate) const TARGET_PROCESS: u32 = 1;
/// ... or a thread.
pub(crate) const TARGET_THREAD: u32 = 2;

/// How the kernel marks its own threads among the flags of a task.
pub(crate) const KERNEL_THREAD: u32 = 0x0020_0000;

/// A place in the table of tasks that nobody has.
pub(crate) const FREE: u32 = 0;
/// One of a task that is alive.
pub(crate) const IN_USE: u32 = 1;
/// One of a task that has had its last switch.
pub(crate) const ENDED: u32 = 2;

#[derive(Clone, Copy, Debug, Default, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub(crate) struct Cause {
    /// 1 + where, and how in the upper half; 0 if this one is free.
    pub(crate) key: u32,
    unused: u32,
    pub(crate) switches: u64,
    pub(crate) off_ns: u64,
    pub(crate) wait_ns: u64,
}

#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub(crate) struct Task {
    pub(crate) pid: u32,
    pub(crate) tgid: u32,
    pub(crate) flags: u32,
    pub(crate) state: u32,
    pub(crate) name: [u8; 16],
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
    busy_then: u64,
    pub(crate) moved: [u64; 3],
    fault_ip: u64,
    pub(crate) cpu: u32,
    cause: u32,
    pub(crate) causes: [Cause; CAUSES],
    pub(crate) neighbours: [Neighbour; NEIGHBOURS],
    pub(crate) off: [u32; BUCKETS],
    pub(crate) wait: [u32; BUCKETS],
    pub(crate) others: [u32; BUCKETS],
}

/// Words of 64 bits in a task's place.
pub(crate) const TASK_WORDS: usize = size_of::<Task>() / 8;

#[derive(Clone, Copy, Debug, Default, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub(crate) struct Cpu {
    pub(crate) core: u32,
    pub(crate) cache: u32,
    pub(crate) since: u64,
    pub(crate) switches: u64,
    pub(crate) busy_ns: u64,
    pub(crate) idle_ns: u64,
    last_pid: u32,
    last_place: u32,
    running_pid: u32,
    running_place: u32,
    unused: [u64; 9],
}

/// Words of 64 bits for a CPU.
pub(crate) const CPU_WORDS: usize = size_of::<Cpu>() / 8;

/// A CPU inside the scheduler.
#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub(crate) struct InScheduler {
    entered: u64,
    own: u64,
    pub(crate) ns: u64,
    unused: u64,
    pub(crate) times: [u32; BUCKETS],
}

/// Words of 64 bits for a CPU inside the scheduler.
pub(crate) const IN_SCHEDULER_WORDS: usize = size_of::<InScheduler>() / 8;

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
    Count,
}

/// What another process did to a task, or to a process.
#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub(crate) struct Neighbour {
    /// [`KERNEL`] for the threads of the kernel; 0 if this one is free.
    pub(crate) process: u32,
    unused: u32,
    pub(crate) ran_ns: u64,
    pub(crate) runs: u64,
    pub(crate) preempted: u64,
    pub(crate) woke: u64,
    pub(crate) name: [u8; 16],
}

/// One side of an event.
#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub(crate) struct Thread {
    pub(crate) pid: u32,
    pub(crate) tgid: u32,
    pub(crate) priority: i32,
    pub(crate) state: u32,
    pub(crate) name: [u8; 16],
}

/// A switch or a wake-up.
#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub(crate) struct Event {
    pub(crate) at: u64,
    pub(crate) cpu: u32,
    pub(crate) is_wakeup: u32,
    pub(crate) from: Thread,
    pub(crate) to: Thread,
}

/// The same as the words that the kernel hands out.
pub(crate) type NeighbourWords = [u64; size_of::<Neighbour>() / 8];

// The same in bpf/switches.bpf.c: who changes one sees the other.
const _: () = assert!(size_of::<Task>() == 1760 && size_of::<Cpu>() == 128);
const _: () = assert!(size_of::<Neighbour>() == 56 && size_of::<Event>() == 80);
const _: () = assert!(size_of::<InScheduler>() == 256);
