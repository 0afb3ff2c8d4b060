// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// Layout of the data that the observer reads. src/layout.rs has the same definitions; its test
// compares every offset, length and enumerator with the type information of the object that is
// compiled from these files.

#pragma once

#include <linux/bpf.h>

#define TASKS 16384
#define CPUS 1024
// Each reason has one additional entry, for causes that find no entry of their own.
#define CAUSES (19 + REASONS)
#define REASONS REASON_ENDED
#define NEIGHBOURS 5
#define BUCKETS 56
// Number of hardware counters per CPU. The first one counts instructions.
#define COUNTERS 4
#define COUNTER_INSTRUCTIONS 0
// Sizes of tables, all powers of two. The process of each recorded run has a share, so a share that
// is reused is never that of a recorded run.
#define RUNS 16
#define SHARES 16
#define LONGEST 4

// Reason why a task left its CPU. The kernel's counters decide whether a switch is voluntary. Names
// and numbers are those of Why in crates/record/src/observation/cause.rs.
enum reason {
    // The task sleeps until it is woken.
    REASON_BLOCKED = 1, // the task waits for something
    REASON_STOPPED,     // a signal has stopped the task
    REASON_TRACED,      // the task stops for its debugger
    REASON_FROZEN,      // the task's control group is frozen, or the machine is suspended
    // The task was still runnable.
    REASON_YIELDED,             // the task called sched_yield
    REASON_PREEMPTED_BY_WOKEN,  // by a task that was woken while this one ran
    REASON_PREEMPTED_BY_QUEUED, // by a task that had been waiting, before this one's time slice was over
    REASON_SLICE_ENDED,         // by a task that had been waiting, after this one's time slice was over
    REASON_THROTTLED,           // the task has used up its quota of CPU time, or its budget under SCHED_DEADLINE
    REASON_ENDED,               // the task has ended
};

// Entry of a task into the kernel: the number of the system call, with a bit for the ABI, or one of
// these values.
enum entry {
    ENTRY_COMPAT = 0x0800,
    ENTRY_FAULT = 0x1000,
    ENTRY_INTERRUPT,
    ENTRY_KERNEL,
    ENTRY_OTHER,
    ENTRY_FUTEX_LOCK,  // in the system call futex, waiting for a lock
    ENTRY_FUTEX_TIMED, // in the system call futex, waiting with a timeout
    ENTRY_X32 = 0x2000,
};

enum task_state {
    TASK_FREE,
    TASK_IN_USE,
    TASK_ENDED,
};

// Process numbers that stand for no process.
enum process {
    PROCESS_NONE = 0,
    PROCESS_KERNEL = -1, // all threads of the kernel
    // Numbers for parts of a wait for which no process is known.
    PROCESS_NOBODY = -2, // no task ran
    PROCESS_MOVED = -3,  // the task was in the queue of another CPU
    PROCESS_OTHERS = -4, // unknown tasks ran
};

// What a number in `targets` stands for. Both bits may be set.
enum target {
    TARGET_PROCESS = 1, // a process, with all its threads
    TARGET_THREAD = 2,
};

struct cause {
    union {
        struct {
            enum entry entry;
            enum reason reason; // 0 if the entry is free
        };
        __u64 key; // entry and reason as one number
    };
    __u64 switches, off_ns, wait_ns;
};

// Effects of another process on a task, or on a process.
struct neighbour {
    enum process process;
    __u32 unused;
    __u64 ran_ns, runs, preempted, woke, kept_waiting_ns, kept_waiting;
    char name[16];
};

// Total time that a process has run on a CPU. Sums only grow, so the difference between two moments
// shows what ran in between.
struct share {
    enum process process; // a process that has run here recently
    __u32 unused;
    __u64 ns, others_ns; // time of this process, and time of processes that had the entry before
    __u64 last;          // when the process last ran here
    char name[16];
};

// Shares of all processes on a CPU at one moment.
struct sums {
    __u64 ns[SHARES];
};

struct mark {
    __u64 at;
    struct sums sums;
};

// Number of levels in which a CPU's moments are recorded. Level 0 has the latest moments. Each
// further level has every fourth moment of the level before.
#define LEVELS 4
#define MARKS 32
struct marks {
    __u64 taken;
    struct mark marks[LEVELS * MARKS];
    __u64 unused[7]; // padding: no two CPUs share a cache line
};

// A run of a process on a CPU, by one thread or by several without a gap.
struct run {
    __u64 end, ns;
    __u32 share, unused;
};

// A wait for a CPU that is among the CPU's longest.
struct wait {
    __u64 since, ns;
    __u64 behind_ns; // part of the wait in which process `behind` ran, the longest of all parts
    __u32 pid, tgid;
    enum process behind;
    __u32 unused;
    char name[16], behind_name[16];
};

struct task {
    __u32 pid, tgid;
    __u32 flags; // flags in the kernel's task_struct
    enum task_state state;
    char name[16];
    char process_name[16];
    __u64 on_since, off_since, last_off;
    __u64 voluntary, involuntary, voluntary_seen, delay_seen;
    __u64 run_ns, off_ns, wait_ns, others_ns;
    __u64 slice_began; // run time by the kernel's count when the time slice began
    __u64 run_began;   // run time by the kernel's count when the slot was taken
    __u64 busy_then;   // `busy_ns` of the CPU when the task left it
    __u64 moved[3];    // moves to another thread of the core, to a core with the same cache, farther
    __u64 fault_ip;
    __u32 cpu, cause;
    enum entry call; // last system call in which the task left its CPU
    __u32 unused;
    __u64 moved_ns; // time waited on other CPUs since the task left its last CPU
    // parts of `wait_ns` for which no process is known
    __u64 wait_nobody_ns, wait_throttled_ns, wait_moved_ns, wait_others_ns;
    struct cause causes[CAUSES];
    struct neighbour neighbours[NEIGHBOURS]; // the first other processes; all further ones are in `pairs`
    __u32 off[BUCKETS], wait[BUCKETS], others[BUCKETS], turns[BUCKETS];
    // when the task was woken, if it waits for a CPU, as of the last look; else older than
    // `off_since`
    __u64 queued_since;
    struct sums shares_then; // shares on the CPU when the task left it, if the task was still runnable
};

struct cpu {
    __u32 core, cache; // numbers that the observer sets: CPUs with the same number share the core or the cache
    __u64 since, switches, busy_ns, idle_ns;
    __u32 last_pid, last_slot;       // the last observed task that ran here
    __u32 running_pid, running_slot; // the task that runs here; slot 0 if it is not observed
    __u32 newest;                    // index in `runs` of the newest run
    __u32 shortest;                  // index in `longest` of the shortest wait
    __u64 long_ns;                   // length of the shortest wait in `longest`
    struct run runs[RUNS];           // recent runs
    struct share shares[SHARES];
    struct wait longest[LONGEST]; // longest waits that ended on this CPU
    __u64 marked;                 // when the last moment was recorded
    __u64 unused[2];              // padding: no two CPUs share a cache line
};

// State of a CPU inside the scheduler, and the times spent there when an observed task left or
// arrived.
struct in_scheduler {
    __u64 entered, own; // own: time of this program in the scheduler; 0 if no observed task was involved
    __u64 ns, unused;
    __u32 times[BUCKETS];
};

// Sums of hardware counters over the time slices of a task.
struct counted {
    // most_per_us: largest number of instructions per microsecond in any time slice
    __u64 ran_ns, most_per_us, sums[COUNTERS];
    __u32 turns[BUCKETS]; // time slices by their number of instructions
};

// Hardware counters of a CPU at the start of the present time slice, and at the end of the last
// one.
struct counting {
    __u64 began[COUNTERS], ended[COUNTERS];
    __u64 is_known, refused; // refused: readings that cover only part of the time
    __u64 unused[6];         // padding: no two CPUs share a cache line
};

struct control {
    __u64 generation; // number of changes of `targets`
    __u64 all;        // nonzero if every task is observed
    __u64 no_room, no_cause, no_pair, no_event;
    __u64 group, hierarchy; // control group whose tasks, and those of its descendants, are observed; 0 for none
};

struct pair {
    __u32 observed, other;
};

struct thread {
    __u32 pid, tgid;
    __s32 priority;
    __u32 state; // state in the form of the kernel's own switch event
    char name[16];
};

// A switch or wake-up. Written only if events are requested.
struct event {
    __u64 at;
    __u32 cpu, is_wakeup;
    struct thread from, to;
};

// Without this definition the object's type information would not contain the structure, because no
// map has it as its value.
const struct event layout_of_event = {};
