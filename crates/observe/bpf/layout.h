// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// Layout of the data that the observer reads. src/layout.rs has the same definitions; its test
// compares every offset, length and enumerator with the type information of the object that is
// compiled from these files.

#pragma once

#include <linux/bpf.h>

#define TASKS 16384
#define CPUS 1024
// Each reason has one additional entry, for causes without an entry of their own.
#define CAUSES (19 + REASONS)
#define REASONS REASON_ENDED
#define NEIGHBOURS 5
#define BUCKETS 56
// Number of hardware counters per CPU, of which the first counts instructions.
#define COUNTERS 4
#define COUNTER_INSTRUCTIONS 0
// Sizes of tables, all powers of two. The process of each remembered run has a share, so the share
// that is reused is never one of theirs.
#define RUNS 16
#define SHARES 16
#define LONGEST 4

// Reason why a task left its CPU. The kernel's counters decide whether a switch is voluntary. Names
// and numbers are those of Why in crates/record/src/observation/cause.rs.
enum reason {
    // The task sleeps until it is woken.
    REASON_BLOCKED = 1, // it waits for something
    REASON_STOPPED,     // by a signal
    REASON_TRACED,      // for its debugger
    REASON_FROZEN,      // with its control group, or for a suspend of the machine
    // The task could have continued.
    REASON_YIELDED,            // it called sched_yield
    REASON_PREEMPTED_BY_WOKEN, // by a task that was woken while it ran
    REASON_PREEMPTED_BY_QUEUED, // by one that had been waiting since before, whose turn came though the slice was not over
    REASON_SLICE_ENDED,         // the same, and its time slice was over
    REASON_THROTTLED,           // its CPU time is used up: a quota, or that of SCHED_DEADLINE
    REASON_ENDED,               // its last switch
};

// Entry of a task into the kernel: the number of the system call, with a bit for the ABI, or one of
// these values.
enum entry {
    ENTRY_COMPAT = 0x0800,
    ENTRY_FAULT = 0x1000,
    ENTRY_INTERRUPT,
    ENTRY_KERNEL,
    ENTRY_OTHER,
    ENTRY_FUTEX_LOCK,  // in the system call futex, for a lock
    ENTRY_FUTEX_TIMED, // the same, for a time at most
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
    // Reasons for a wait other than a process.
    PROCESS_NOBODY = -2, // no task ran
    PROCESS_MOVED = -3,  // in the queue of another CPU, before it was moved
    PROCESS_OTHERS = -4, // behind others that are not known
};

// Meaning of a number among the targets; both bits may be set.
enum target {
    TARGET_PROCESS = 1, // with all its threads
    TARGET_THREAD = 2,
};

struct cause {
    union {
        struct {
            enum entry entry;
            enum reason reason; // 0 if this one is free
        };
        __u64 key; // both
    };
    __u64 switches, off_ns, wait_ns;
};

// Effects of another process on a task.
struct neighbour {
    enum process process;
    __u32 unused;
    __u64 ran_ns, runs, preempted, woke, kept_waiting_ns, kept_waiting;
    char name[16];
};

// Total time that a process has run on a CPU. Sums only grow, so the difference between two moments
// shows what ran in between.
struct share {
    enum process process; // one of the last that ran
    __u32 unused;
    __u64 ns, others_ns; // all, and of it what others did that had this share before
    __u64 last;          // when it ran last
    char name[16];
};

// All shares of a CPU at one moment.
struct sums {
    __u64 ns[SHARES];
};

struct mark {
    __u64 at;
    struct sums sums;
};

// Number of levels of a CPU's recorded moments. Each level has the latest ones: every fourth of the
// level before.
#define LEVELS 4
#define MARKS 32
struct marks {
    __u64 taken;
    struct mark marks[LEVELS * MARKS];
    __u64 unused[7]; // CPUs share no line
};

// A run of a process on a CPU, by one thread or by several without a gap.
struct run {
    __u64 end, ns;
    __u32 share, unused;
};

// A wait for a CPU that is among the longest waits.
struct wait {
    __u64 since, ns;
    __u64 behind_ns; // most of it behind one
    __u32 pid, tgid;
    enum process behind;
    __u32 unused;
    char name[16], behind_name[16];
};

struct task {
    __u32 pid, tgid;
    __u32 flags; // of the kernel
    enum task_state state;
    char name[16];
    char process_name[16];
    __u64 on_since, off_since, last_off;
    __u64 voluntary, involuntary, voluntary_seen, delay_seen;
    __u64 run_ns, off_ns, wait_ns, others_ns;
    __u64 slice_began; // what the kernel had counted of its run time then
    __u64 run_began;   // and when its slot was taken
    __u64 busy_then;   // of its CPU as it left
    __u64 moved[3];    // to another thread of the core, below the same cache, further
    __u64 fault_ip;
    __u32 cpu, cause;
    enum entry call; // the last system call in which it left its CPU
    __u32 unused;
    __u64 moved_ns; // waited on other CPUs since it left the last one
    __u64 wait_nobody_ns, wait_throttled_ns, wait_moved_ns, wait_others_ns; // of `wait_ns`, what was behind no process
    struct cause causes[CAUSES];
    struct neighbour neighbours[NEIGHBOURS]; // the first ones; the others are in `pairs`
    __u32 off[BUCKETS], wait[BUCKETS], others[BUCKETS], turns[BUCKETS];
    __u64 queued_since; // of one that was woken and waits for a CPU, as of the last look; older than `off_since` if not
    struct sums shares_then; // of its CPU as it left, if it could have run on
};

struct cpu {
    __u32 core, cache; // who share them have the same number, which the observer sets
    __u64 since, switches, busy_ns, idle_ns;
    __u32 last_pid, last_slot;       // the last observed task that ran here
    __u32 running_pid, running_slot; // the task that runs here; slot 0 if it is not observed
    __u32 newest;                    // of `runs`
    __u32 shortest;                  // of `longest`
    __u64 long_ns;                   // that of it
    struct run runs[RUNS];           // the last ones
    struct share shares[SHARES];
    struct wait longest[LONGEST];    // of tasks that got this CPU after it
    __u64 marked;                    // when the last mark was taken
    __u64 unused[2];                 // CPUs share no line
};

// State of a CPU inside the scheduler, and the times spent there when an observed task left or
// arrived.
struct in_scheduler {
    __u64 entered, own; // own: what this program took meanwhile; 0 where no observed task had to do with it
    __u64 ns, unused;
    __u32 times[BUCKETS];
};

// Counts of hardware counters over the time slices of a task.
struct counted {
    __u64 ran_ns, most_per_us, sums[COUNTERS]; // the most instructions in a thousandth of a millisecond, on average over a turn
    __u32 turns[BUCKETS];                      // by their instructions
};

// Counters of a CPU at the start of the present time slice, and at the end of the last one.
struct counting {
    __u64 began[COUNTERS], ended[COUNTERS];
    __u64 is_known, refused; // refused: readings of part of the time
    __u64 unused[6];         // CPUs share no line
};

struct control {
    __u64 generation; // counts the changes of `targets`
    __u64 all;        // every task is observed
    __u64 no_room, no_cause, no_pair, no_event;
    __u64 group, hierarchy; // whose tasks are observed, and those of groups below it; 0 if none is
};

struct pair {
    __u32 observed, other;
};

struct thread {
    __u32 pid, tgid;
    __s32 priority;
    __u32 state; // as the kernel's own event of a switch has it
    char name[16];
};

// A switch or wake-up, if events are streamed.
struct event {
    __u64 at;
    __u32 cpu, is_wakeup;
    struct thread from, to;
};

// No map has this structure as its value, and the object's type information contains only types of
// existing data.
const struct event layout_of_event = {};
