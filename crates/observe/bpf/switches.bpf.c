// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// Counts the context switches of some tasks, or of all, inside the kernel: what each was for, how long the task was off its CPU
// and waited for one, who ran meanwhile, who preempted it and who woke it. Nothing is streamed unless that is asked for: the observer
// maps `tasks` and `cpus` into its memory and reads sums.
//
// Only BTF tracepoints are used: they cost least, and are there where probes on functions are not allowed. The structures of the
// kernel below have no more than the fields that are read; where those lie in the running kernel is found out when it is loaded
// (CO-RE). What the observer reads has a fixed layout: see src/layout.rs.

#include <linux/bpf.h>
#include <stdbool.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_tracing.h>

char LICENSE[] SEC("license") = "Dual MIT/GPL";

#define OF_THE_KERNEL __attribute__((preserve_access_index))
#define PF_IO_WORKER 0x00000010
#define PF_USER_WORKER 0x00004000
#define PF_KTHREAD 0x00200000
// Of tasks of programs before Linux 6.1, which has a state for it.
#define PF_FROZEN 0x00010000
#define TASK_INTERRUPTIBLE 0x00000001
#define TASK_UNINTERRUPTIBLE 0x00000002
#define TASK_STOPPED_BIT 0x00000004
#define TASK_TRACED_BIT 0x00000008
#define TASK_DEAD 0x00000080
#define TASK_IDLE 0x00000402
#define TASK_RTLOCK_WAIT 0x00001000
#define TASK_FROZEN 0x00008000
// A control group of version 2 is to be frozen, and this task with it.
#define JOBCTL_TRAP_FREEZE 0x00800000
#define MAX_RT_PRIO 100

struct pt_regs {
#if defined(__TARGET_ARCH_x86)
	unsigned long dx, si, orig_ax, ip, r10;
#elif defined(__TARGET_ARCH_arm64)
	__u64 regs[31];
	__s32 syscallno;
	__u64 pc;
#endif
} OF_THE_KERNEL;

// Calls of the two ABIs of 32 bits, of which that of x32 has a bit in its numbers.
#if defined(__TARGET_ARCH_x86)
#define TS_COMPAT 0x2
#define X32_BIT 0x40000000
#define NR_SCHED_YIELD 24
#define NR_RESTART 219
struct thread_info {
	__u32 status;
} OF_THE_KERNEL;
#elif defined(__TARGET_ARCH_arm64)
#define TIF_32BIT (1 << 22)
#define NR_SCHED_YIELD 124
#define NR_RESTART 128
struct thread_info {
	unsigned long flags;
} OF_THE_KERNEL;
#endif
// The same number on i386 and arm.
#define NR_COMPAT_SCHED_YIELD 158
#define NR_COMPAT_RESTART 0

struct rt_rq {
	int rt_throttled;
} OF_THE_KERNEL;

struct cfs_rq {
	int throttle_count;
} OF_THE_KERNEL;

struct sched_entity {
	__u64 sum_exec_runtime;
	struct cfs_rq *cfs_rq;
} OF_THE_KERNEL;

struct sched_rt_entity {
	struct rt_rq *rt_rq;
} OF_THE_KERNEL;

struct sched_dl_entity {
	unsigned int dl_throttled : 1;
} OF_THE_KERNEL;

struct sched_info {
	unsigned long long run_delay, last_arrival, last_queued;
} OF_THE_KERNEL;

struct task_struct {
	struct thread_info thread_info;
	int pid, tgid;
	unsigned int flags;
	unsigned int __state;
	int prio;
	unsigned long nvcsw, jobctl;
	bool throttled;
	struct task_struct *group_leader;
	struct sched_entity se;
	struct sched_rt_entity rt;
	struct sched_dl_entity dl;
	struct sched_info sched_info;
	char comm[16];
} OF_THE_KERNEL;

// Before Linux 5.14.
struct task_struct___before_5_14 {
	long state;
} OF_THE_KERNEL;

// --- What the observer reads ---
//
// src/layout.rs has the same once more; its test compares every offset, length and enumerator with the type information of the object
// that is made of this file.

#define TASKS 16384
#define CPUS 1024
#define CAUSES 20
#define NEIGHBOURS 5
#define BUCKETS 56
// Both powers of two.
#define RUNS 16
#define LONGEST 4

// Why a task left its CPU. The kernel's own counters decide between voluntary and not.
enum reason {
	// It sleeps until somebody wakes it.
	REASON_BLOCKED = 1,	   // it waits for something
	REASON_STOPPED,		   // by a signal
	REASON_TRACED,		   // for its debugger
	REASON_FROZEN,		   // with its control group, or for a suspend of the machine
	// It could have run on.
	REASON_YIELDED,		   // it called sched_yield
	REASON_PREEMPTED_BY_WOKEN, // by a task that was woken while it ran
	REASON_PREEMPTED_BY_QUEUED,// by one that had been waiting since before: the end of its time slice
	REASON_THROTTLED,	   // its CPU time is used up: a quota, or that of SCHED_DEADLINE
	REASON_ENDED,		   // its last switch
};

// Where in the kernel it was: the number of the system call, with a bit for the ABI, or one of these.
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

// Numbers of processes that are none.
enum process {
	PROCESS_NONE = 0,
	PROCESS_KERNEL = -1, // all threads of the kernel
	// What a task waited for that was behind no process.
	PROCESS_NOBODY = -2,	// no task ran
	PROCESS_MOVED = -3,	// in the queue of another CPU, before it was moved
	PROCESS_OTHERS = -4,	// behind others that are not remembered
};

// What a number among the targets stands for; both bits may be set.
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

// What another process did to a task.
struct neighbour {
	enum process process;
	__u32 unused;
	__u64 ran_ns, runs, preempted, woke, kept_waiting_ns, kept_waiting;
	char name[16];
};

// A run of a task on a CPU.
struct run {
	__u64 end, ns;
	enum process process;
	__u32 unused;
	char name[16]; // of the process
};

// A wait for a CPU that is among the longest.
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
	__u64 on_since, off_since, last_off;
	__u64 voluntary, involuntary, voluntary_seen, delay_seen;
	__u64 run_ns, off_ns, wait_ns, others_ns;
	__u64 busy_then; // of its CPU as it left; where counts are enough, the kernel's own count of its run time
	__u64 moved[3]; // to another thread of the core, below the same cache, further
	__u64 fault_ip;
	__u32 cpu, cause;
	enum entry call; // the last system call in which it left its CPU
	__u32 unused;
	__u64 moved_ns; // waited on other CPUs since it left the last one
	__u64 wait_nobody_ns, wait_throttled_ns, wait_moved_ns, wait_others_ns; // of `wait_ns`, what was behind no process
	struct cause causes[CAUSES];
	struct neighbour neighbours[NEIGHBOURS]; // the first ones; the others are in `pairs`
	__u32 off[BUCKETS], wait[BUCKETS], others[BUCKETS];
};

struct cpu {
	__u32 core, cache; // who share them have the same number, which the observer sets
	__u64 since, switches, busy_ns, idle_ns;
	__u32 last_pid, last_place; // the last observed task that ran here
	__u32 running_pid, running_place; // the task that runs here; place 0 if it is not observed
	__u32 newest; // of `runs`
	__u32 shortest; // of `longest`
	__u64 long_ns; // that of it
	struct run runs[RUNS]; // the last ones
	struct wait longest[LONGEST]; // of tasks that got this CPU after it
	__u64 unused[3]; // CPUs share no line
};

// A CPU inside the scheduler, and how long it was there each time that an observed task left it or came to it.
struct in_scheduler {
	__u64 entered, own; // own: what this program took meanwhile; 0 where no observed task had to do with it
	__u64 ns, unused;
	__u32 times[BUCKETS];
};

struct control {
	__u64 generation; // counts the changes of `targets`
	__u64 all;	  // every task is observed
	__u64 no_room, no_cause, no_pair, no_event;
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

// A switch or a wake-up, where they are streamed.
struct event {
	__u64 at;
	__u32 cpu, is_wakeup;
	struct thread from, to;
};

// No map has it as its value, and the type information of the object only what something has.
const struct event layout_of_event = {};

// --- Maps ---

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, TASKS);
	__type(key, __u32);
	__type(value, struct task);
} tasks SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, CPUS);
	__type(key, __u32);
	__type(value, struct cpu);
} cpus SEC(".maps");

// One entry where it is not wanted.
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, CPUS);
	__type(key, __u32);
	__type(value, struct in_scheduler);
} in_scheduler SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct control);
} control SEC(".maps");

// Places in `tasks` that are free.
struct {
	__uint(type, BPF_MAP_TYPE_QUEUE);
	__uint(max_entries, TASKS);
	__type(value, __u32);
} places SEC(".maps");

// Places in `tasks` whose task is gone.
struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 1 << 18);
} ended SEC(".maps");

// Switches and wake-ups, one by one; as small as can be where they are not wanted.
struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 1 << 24);
} events SEC(".maps");

// Set before the program is loaded, so that what is not wanted is not in it.
const volatile __u8 wants_events = 0;

const volatile __u8 wants_scheduler_time = 0;

// The same of all times that take a clock, and of neighbours: a third of what all else does is to read it.
const volatile __u8 counts_only = 0;

// Processes and threads to be observed, by their numbers, besides what those start that are.
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 16384);
	__type(key, __u32);
	__type(value, enum target);
} targets SEC(".maps");

// What other processes did to an observed one, beyond what its tasks remember themselves.
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 8192);
	__type(key, struct pair);
	__type(value, struct neighbour);
} pairs SEC(".maps");

// Kept with each task by the kernel, and freed with it.
struct ref {
	__u32 place, generation;
};

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct ref);
} refs SEC(".maps");

static const __u32 FIRST = 0;

// --- Which tasks are observed ---

static __always_inline struct control *controls(void)
{
	return bpf_map_lookup_elem(&control, &FIRST);
}

static __always_inline struct task *place_of(struct ref *ref)
{
	__u32 place = ref ? ref->place : 0;
	return place ? bpf_map_lookup_elem(&tasks, &place) : NULL;
}

// How long it has waited for CPUs so far, as the kernel counts it when a task has got one.
static __always_inline __u64 run_delay(struct task_struct *task)
{
	return bpf_core_field_exists(task->sched_info.run_delay) ? task->sched_info.run_delay : 0;
}

static __always_inline void take_place(struct ref *ref, struct task_struct *task, struct control *c)
{
	__u32 place = 0;
	if (bpf_map_pop_elem(&places, &place)) {
		__sync_fetch_and_add(&c->no_room, 1);
		return;
	}
	struct task *t = bpf_map_lookup_elem(&tasks, &place);
	if (!t)
		return;
	t->pid = task->pid;
	t->tgid = task->tgid;
	t->flags = task->flags;
	t->voluntary_seen = task->nvcsw;
	t->delay_seen = run_delay(task);
	if (counts_only)
		t->busy_then = task->se.sum_exec_runtime;
	t->cpu = CPUS;
	t->cause = CAUSES;
	bpf_probe_read_kernel_str(t->name, sizeof(t->name), task->comm);
	t->state = TASK_IN_USE;
	ref->place = place;
}

static __always_inline bool is_target(__u32 number, __u32 kind)
{
	enum target *kinds = bpf_map_lookup_elem(&targets, &number);
	return kinds && *kinds & kind;
}

// The reference of a task. Whether it is observed is decided when it is first seen, and again when `targets` has changed.
static __always_inline struct ref *ref_of(struct task_struct *task, struct control *c)
{
	struct ref *ref = bpf_task_storage_get(&refs, task, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);
	if (!ref || ref->generation == (__u32)c->generation)
		return ref;
	ref->generation = c->generation;
	if (!ref->place) {
		if (c->all || is_target(task->tgid, TARGET_PROCESS) || is_target(task->pid, TARGET_THREAD))
			take_place(ref, task, c);
	}
	return ref;
}

// --- Sums ---

// Two buckets for each power of two from 2^8 ns on; the first is for less, the last for more.
static __always_inline __u32 bucket(__u64 ns)
{
	__u32 log = 0;
	__u64 rest = ns;
	if (rest >> 32) { rest >>= 32; log += 32; }
	if (rest >> 16) { rest >>= 16; log += 16; }
	if (rest >> 8) { rest >>= 8; log += 8; }
	if (rest >> 4) { rest >>= 4; log += 4; }
	if (rest >> 2) { rest >>= 2; log += 2; }
	if (rest >> 1) log += 1;
	if (log < 8)
		return 0;
	__u32 at = 1 + (log - 8) * 2 + ((ns >> (log - 1)) & 1);
	return at < BUCKETS ? at : BUCKETS - 1;
}

static __always_inline void count_in(__u32 *histogram, __u64 ns)
{
	__u32 at = bucket(ns);
	if (at < BUCKETS)
		histogram[at]++;
}

// A system call that was interrupted and is resumed under another number is the one that it was.
static __always_inline __u32 of_call(struct task *t, __u32 entry)
{
	bool is_restart = entry == NR_RESTART || entry == (ENTRY_X32 | NR_RESTART) || entry == (ENTRY_COMPAT | NR_COMPAT_RESTART);
	if (is_restart && t->call)
		return t->call;
	t->call = entry;
	return entry;
}

static __always_inline __u32 entry_of(struct task_struct *task, struct task *t)
{
	if (task->flags & (PF_KTHREAD | PF_IO_WORKER | PF_USER_WORKER))
		return ENTRY_KERNEL;
	struct pt_regs *regs = (struct pt_regs *)bpf_task_pt_regs(task);
#if defined(__TARGET_ARCH_x86)
	unsigned long number = regs->orig_ax, ip = regs->ip;
	__u32 compat = task->thread_info.status & TS_COMPAT ? ENTRY_COMPAT : 0;
#else
	unsigned long number = (long)regs->syscallno, ip = regs->pc;
	__u32 compat = task->thread_info.flags & TIF_32BIT ? ENTRY_COMPAT : 0;
#endif
	if (number < ENTRY_COMPAT)
		return of_call(t, number | compat);
#if defined(__TARGET_ARCH_x86)
	if (number - X32_BIT < ENTRY_COMPAT)
		return of_call(t, (number - X32_BIT) | ENTRY_X32);
#endif
	return t->fault_ip && t->fault_ip == ip ? ENTRY_FAULT : ENTRY_INTERRUPT;
}

static __always_inline bool is_yield(__u32 entry)
{
	return entry == NR_SCHED_YIELD || entry == (ENTRY_COMPAT | NR_COMPAT_SCHED_YIELD) || entry == (ENTRY_X32 | NR_SCHED_YIELD);
}

static __always_inline __u64 key_of(__u32 entry, enum reason reason)
{
	return (__u64)reason << 32 | entry;
}

#if defined(__TARGET_ARCH_x86)
#define FUTEX 202
#define ARGUMENT(regs, x86, arm64) ((regs)->x86)
#else
#define FUTEX 98
#define ARGUMENT(regs, x86, arm64) ((regs)->regs[arm64])
#endif

#define FUTEX_WAIT 0
#define FUTEX_LOCK_PI 6
#define FUTEX_WAIT_BITSET 9
#define FUTEX_LOCK_PI2 13
#define FUTEX_FLAGS (128 | 256)
#define FUTEX_WAITERS 0x80000000

// What a wait in futex is for, as its arguments tell. The word of a lock that is taken and waited for holds 2 (glibc, Rust, Go, GLib) or
// has the highest bit set (musl, and what the kernel itself defines for such words); all bits are set in one by which a thread parks.
static __always_inline __u32 futex_waits_for(struct task_struct *task)
{
	struct pt_regs *regs = (struct pt_regs *)bpf_task_pt_regs(task);
	__u32 command = ARGUMENT(regs, si, 1) & ~FUTEX_FLAGS, word = ARGUMENT(regs, dx, 2);
	if (command == FUTEX_LOCK_PI || command == FUTEX_LOCK_PI2)
		return ENTRY_FUTEX_LOCK;
	if (command != FUTEX_WAIT && command != FUTEX_WAIT_BITSET)
		return FUTEX;
	if (ARGUMENT(regs, r10, 3))
		return ENTRY_FUTEX_TIMED;
	return word == 2 || (word & FUTEX_WAITERS && word != ~0u) ? ENTRY_FUTEX_LOCK : FUTEX;
}

// The index of a cause in the table of its task; mostly it is the last one again, or found at once. Where the table is full, the least
// frequent makes room, and what it has counted goes to the last, which is for all the rest: what a program did once as it started does
// not keep out what it does all the time.
static __always_inline __u32 cause_of(struct task *t, __u64 key, struct control *c)
{
	if (t->cause < CAUSES && t->causes[t->cause].key == key)
		return t->cause;
#pragma unroll
	for (__u32 at = 0; at < CAUSES - 1; at++) {
		if (t->causes[at].key == key)
			return at;
		if (!t->causes[at].key) {
			t->causes[at].key = key;
			return at;
		}
	}
	// Without branches, each of which would have the verifier look at all that follows once more.
	__u64 fewest = t->causes[0].switches;
	__u32 least = 0;
#pragma unroll
	for (__u32 at = 1; at < CAUSES - 1; at++) {
		__s64 is_less = (__s64)(t->causes[at].switches - fewest) >> 63;
		asm volatile("" : "+r"(is_less));
		fewest += (t->causes[at].switches - fewest) & is_less;
		least += (at - least) & is_less;
	}
	asm volatile("" : "+r"(least));
	if (least >= CAUSES)
		return CAUSES;
	struct cause *rest = &t->causes[CAUSES - 1], *leaves = &t->causes[least];
	rest->key = key_of(ENTRY_OTHER, REASON_BLOCKED);
	rest->switches += fewest;
	rest->off_ns += leaves->off_ns;
	rest->wait_ns += leaves->wait_ns;
	__sync_fetch_and_add(&c->no_cause, fewest);
	*leaves = (struct cause){ .key = key };
	return least;
}

// Another process, and where its name is: with a task of it, or with a run.
struct other {
	__u32 process;
	struct task_struct *task;
	struct run *run;
};

static __always_inline __u32 process_of(struct task_struct *task)
{
	return task->flags & PF_KTHREAD ? PROCESS_KERNEL : task->tgid;
}

static __always_inline struct other of_task(struct task_struct *task)
{
	return (struct other){ process_of(task), task, NULL };
}

static __always_inline void name_it(struct neighbour *n, struct other other)
{
	bpf_probe_read_kernel_str(n->name, sizeof(n->name), other.run ? other.run->name : other.task->group_leader->comm);
}

// Where nothing has room any more, the lightest of the task's own neighbours makes it: so who is there most is told, and what is lost
// is little. A wake-up that another CPU counts meanwhile may be the new one's.
static __always_inline struct neighbour *instead_of_the_lightest(struct task *t, struct other other, struct control *c)
{
	struct neighbour *lightest = &t->neighbours[0];
	__u64 fewest = ~0ull;
#pragma unroll
	for (__u32 at = 0; at < NEIGHBOURS; at++) {
		struct neighbour *n = &t->neighbours[at];
		__u64 events = n->runs + n->preempted + n->woke + n->kept_waiting;
		if (events < fewest) {
			fewest = events;
			lightest = n;
		}
	}
	__sync_fetch_and_add(&c->no_pair, fewest);
	t->wait_others_ns += lightest->kept_waiting_ns;
	lightest->process = other.process;
	lightest->ran_ns = lightest->runs = lightest->preempted = lightest->woke = 0;
	lightest->kept_waiting_ns = lightest->kept_waiting = 0;
	name_it(lightest, other);
	return lightest;
}

// The other process's place in the task's own table, which mostly holds it: looking it up among all pairs takes several times as
// long. Tasks may be woken on one CPU while their neighbours run on another, so a free place is taken at once or not at all.
static __always_inline struct neighbour *neighbour(struct task *t, struct other other, struct control *c)
{
#pragma unroll
	for (__u32 at = 0; at < NEIGHBOURS; at++) {
		struct neighbour *n = &t->neighbours[at];
		if (n->process == other.process)
			return n;
		if (!n->process && !__sync_val_compare_and_swap(&n->process, 0, other.process)) {
			name_it(n, other);
			return n;
		}
	}
	struct pair key = { t->tgid, other.process };
	struct neighbour *found = bpf_map_lookup_elem(&pairs, &key);
	if (found)
		return found;
	struct neighbour new = { .process = other.process };
	name_it(&new, other);
	bpf_map_update_elem(&pairs, &key, &new, BPF_NOEXIST);
	found = bpf_map_lookup_elem(&pairs, &key);
	return found ? found : instead_of_the_lightest(t, other, c);
}

// --- Who kept a task waiting ---

// Counts a part of a wait for the process that ran meanwhile.
static __noinline int kept_waiting(struct task *t, struct run *run, __u64 ns, struct control *c)
{
	struct neighbour *n = neighbour(t, (struct other){ run->process, NULL, run }, c);
	if (n) {
		n->kept_waiting_ns += ns;
		n->kept_waiting++;
	}
	return 0;
}

// All ones if `a` is less than `b`, else 0. Not a branch, after each of which the verifier would look at all that follows once more.
static __always_inline __u64 is_less(__u64 a, __u64 b)
{
	__s64 sign = (__s64)(a - b) >> 63;
	asm volatile("" : "+r"(sign));
	return sign;
}

static __always_inline __u64 lesser(__u64 a, __u64 b)
{
	return b + ((a - b) & is_less(a, b));
}

static __always_inline __u64 greater(__u64 a, __u64 b)
{
	return a + ((b - a) & is_less(a, b));
}

// Keeps a wait in place of the shortest of the longest of this CPU.
static __noinline int keep_wait(struct cpu *on, struct task *t, struct wait *wait)
{
	struct wait *kept = &on->longest[on->shortest & (LONGEST - 1)];
	*kept = *wait;
	kept->pid = t->pid;
	kept->tgid = t->tgid;
	__builtin_memcpy(kept->name, t->name, sizeof(kept->name));
	__u64 least = on->longest[0].ns;
	__u32 shortest = 0;
#pragma unroll
	for (__u32 at = 1; at < LONGEST; at++) {
		__u64 is_shorter = is_less(on->longest[at].ns, least);
		least += (on->longest[at].ns - least) & is_shorter;
		shortest += (at - shortest) & is_shorter;
	}
	on->shortest = shortest;
	on->long_ns = least;
	return 0;
}

// Who was in the way for the most of a wait, and where that run is.
struct most {
	__u64 ns, process, run;
};

static __always_inline void behind(struct most *most, __u64 process, __u64 ns, __u64 run)
{
	__u64 is_more = is_less(most->ns, ns);
	most->ns += (ns - most->ns) & is_more;
	most->process += (process - most->process) & is_more;
	most->run += (run - most->run) & is_more;
}

// Shares a wait out among those that ran meanwhile on the CPU that the task got after it, whose last runs end where the task's own,
// which is not over yet, began. Nobody ran in what is between two runs. Not static: so the verifier looks at it once, by itself.
__noinline int share_out(struct task *t, struct cpu *on, __u64 ns, struct control *c)
{
	if (!t || !on || !c)
		return 0;
	__u64 since = t->on_since - ns, moved = lesser(t->moved_ns, ns), at = t->on_since, until = since + moved, nobody = 0;
	struct most most = { moved, PROCESS_MOVED, 0 };
	for (__u32 back = 0; back < RUNS; back++) {
		__u32 place = (on->newest - back) & (RUNS - 1);
		struct run *run = &on->runs[place];
		if (at <= until || !run->end)
			break;
		__u64 end = lesser(greater(run->end, until), at);
		nobody += at - end;
		at = lesser(greater(run->end - run->ns, until), end);
		if (at == end)
			continue;
		kept_waiting(t, run, end - at, c);
		behind(&most, run->process, end - at, place);
	}
	t->wait_moved_ns += moved;
	t->wait_nobody_ns += nobody;
	t->wait_others_ns += at - until;
	behind(&most, PROCESS_NOBODY, nobody, 0);
	behind(&most, PROCESS_OTHERS, at - until, 0);
	if (ns <= on->long_ns)
		return 0;
	struct wait wait = { .since = since, .ns = ns, .behind_ns = most.ns, .behind = most.process };
	__builtin_memcpy(wait.behind_name, on->runs[most.run & (RUNS - 1)].name, sizeof(wait.behind_name));
	return keep_wait(on, t, &wait);
}

// Remembers a run that is over. What ran in its place before is mostly the same process, whose name needs not be looked up.
static __always_inline void remember(struct cpu *on, struct task_struct *task, __u64 now, __u64 ran)
{
	__u32 at = (on->newest + 1) & (RUNS - 1), process = process_of(task);
	struct run *run = &on->runs[at];
	on->newest = at;
	run->end = now;
	run->ns = ran;
	if (run->process == process)
		return;
	run->process = process;
	bpf_probe_read_kernel_str(run->name, sizeof(run->name), task->group_leader->comm);
}

// --- Events ---

static __always_inline __u32 state_of(struct task_struct *task)
{
	if (bpf_core_field_exists(task->__state))
		return task->__state;
	return BPF_CORE_READ((struct task_struct___before_5_14 *)task, state);
}

// One side of an event. The letters that tools show for a state are those of the kernel's own event: 0x80 is an idle thread of the
// kernel, 0x10 has ended, 0x100 could have run on.
static __always_inline void fill(struct thread *thread, struct task_struct *task, bool was_preempted)
{
	__u32 state = state_of(task);
	thread->pid = task->pid;
	thread->tgid = task->tgid;
	thread->priority = task->prio;
	// Which has no letter for these, and calls them uninterruptible.
	if (state & (TASK_RTLOCK_WAIT | TASK_FROZEN))
		state = TASK_UNINTERRUPTIBLE;
	thread->state = was_preempted ? 0x100 : state & TASK_DEAD ? 0x10 : state == TASK_IDLE ? 0x80 : state & 0x7f;
	bpf_probe_read_kernel_str(thread->name, sizeof(thread->name), task->comm);
}

static __always_inline void stream(struct task_struct *from, struct task_struct *to, __u64 now, __u32 cpu, bool is_wakeup,
				   bool was_preempted, struct control *c)
{
	struct event *event = bpf_ringbuf_reserve(&events, sizeof(*event), 0);
	if (!event) {
		__sync_fetch_and_add(&c->no_event, 1);
		return;
	}
	event->at = now;
	event->cpu = cpu;
	event->is_wakeup = is_wakeup;
	fill(&event->from, from, was_preempted);
	fill(&event->to, to, false);
	// The observer looks several times a second by itself.
	bpf_ringbuf_submit(event, BPF_RB_NO_WAKEUP);
}

// --- The switch ---

// What a task sleeps for that the kernel counts as voluntary.
static __always_inline enum reason sleeps_for(struct task_struct *task, __u32 state)
{
	if (state & TASK_TRACED_BIT)
		return REASON_TRACED;
	if (state & TASK_STOPPED_BIT)
		return REASON_STOPPED;
	bool is_frozen = state & TASK_FROZEN || task->flags & PF_FROZEN ||
			 (state & TASK_INTERRUPTIBLE && task->jobctl & JOBCTL_TRAP_FREEZE);
	return is_frozen && !(task->flags & PF_KTHREAD) ? REASON_FROZEN : REASON_BLOCKED;
}

// Whether the kernel took a task that could have run on off its queue, as its CPU time is used up. What is being throttled has its
// mark already.
static __always_inline bool is_throttled(struct task_struct *task)
{
	struct sched_dl_entity *dl = &task->dl;
	if (task->prio < 0)
		return BPF_CORE_READ_BITFIELD(dl, dl_throttled);
	if (task->prio < MAX_RT_PRIO)
		return bpf_core_field_exists(task->rt.rt_rq) && bpf_core_field_exists(struct rt_rq, rt_throttled) &&
		       task->rt.rt_rq->rt_throttled;
	// Since Linux 6.18 a task leaves its queue on its way back to its own code; before, its whole group did at once.
	if (bpf_core_field_exists(task->throttled))
		return task->throttled;
	return bpf_core_field_exists(struct cfs_rq, throttle_count) && task->se.cfs_rq->throttle_count > 0;
}

// Whether `next` was woken while `prev` ran; if not, it had been waiting since before.
static __always_inline bool was_woken_meanwhile(struct task_struct *prev, struct task_struct *next, struct task *comer)
{
	if (!bpf_core_field_exists(prev->sched_info.last_arrival))
		return false;
	// What was preempted itself was not woken.
	if (comer && comer->cause < CAUSES && comer->causes[comer->cause].reason >= REASON_YIELDED)
		return false;
	return next->sched_info.last_queued > prev->sched_info.last_arrival;
}

// Mostly the run before is all that a task waited behind, and of a process that it remembers.
static __always_inline bool was_behind_the_last(struct task *t, struct cpu *on, __u64 ns)
{
	struct run *run = &on->runs[on->newest & (RUNS - 1)];
	if (t->moved_ns || run->end != t->on_since || run->ns < ns || ns > on->long_ns)
		return false;
#pragma unroll
	for (__u32 at = 0; at < NEIGHBOURS; at++) {
		struct neighbour *n = &t->neighbours[at];
		if (n->process == run->process) {
			n->kept_waiting_ns += ns;
			n->kept_waiting++;
			return true;
		}
	}
	return false;
}

static __always_inline enum reason leaves(struct task *t, struct task_struct *prev, struct task_struct *next, struct task *comer,
				       struct cpu *on, __u32 cpu, __u64 now, struct control *c)
{
	// How long it had waited to get here, for which it had left last time.
	__u64 delay = run_delay(prev), wait = delay - t->delay_seen;
	// The kernel's clock for it is read a little earlier than ours.
	if (!counts_only && wait > t->last_off)
		wait = t->last_off;
	t->delay_seen = delay;
	if (t->cause < CAUSES) {
		t->wait_ns += wait;
		t->causes[t->cause].wait_ns += wait;
		if (!counts_only) {
			count_in(t->wait, wait);
			if (t->causes[t->cause].reason == REASON_THROTTLED)
				t->wait_throttled_ns += wait;
			else if (wait && !was_behind_the_last(t, on, wait))
				share_out(t, on, wait, c);
		}
	}
	// As the kernel counts it: it has just added one to either of the two counters of `prev`.
	__u64 voluntary = prev->nvcsw;
	bool is_voluntary = voluntary != t->voluntary_seen;
	t->voluntary_seen = voluntary;
	__u32 entry = entry_of(prev, t);
	enum reason reason;
	__u32 state = state_of(prev);
	if (state & TASK_DEAD)
		reason = REASON_ENDED;
	else if (is_voluntary)
		reason = sleeps_for(prev, state);
	else if (is_yield(entry))
		reason = REASON_YIELDED;
	// Nothing else takes a CPU from a task for nobody.
	else if (is_throttled(prev) || !next->pid)
		reason = REASON_THROTTLED;
	else
		reason = was_woken_meanwhile(prev, next, comer) ? REASON_PREEMPTED_BY_WOKEN : REASON_PREEMPTED_BY_QUEUED;
	if (reason == REASON_BLOCKED && entry == FUTEX)
		entry = futex_waits_for(prev);
	if (is_voluntary)
		t->voluntary++;
	else
		t->involuntary++;

	__u32 at = cause_of(t, key_of(entry, reason), c);
	if (at < CAUSES)
		t->causes[at].switches++;
	t->cause = at;
	t->cpu = cpu;
	if (counts_only)
		return reason;
	t->off_since = now;
	t->busy_then = on->busy_ns;
	if (reason == REASON_PREEMPTED_BY_WOKEN || reason == REASON_PREEMPTED_BY_QUEUED) {
		struct neighbour *by = neighbour(t, of_task(next), c);
		if (by)
			by->preempted++;
	}
	return reason;
}

static __always_inline void comes(struct task *t, struct cpu *on, __u32 cpu, __u64 now)
{
	__u32 at = t->cause, last = t->cpu;
	if (t->off_since) {
		__u64 off = now - t->off_since;
		t->off_ns += off;
		t->last_off = off;
		count_in(t->off, off);
		if (at < CAUSES)
			t->causes[at].off_ns += off;
	}
	if (last == cpu) {
		__u64 others = on->busy_ns - t->busy_then;
		t->others_ns += others;
		count_in(t->others, others);
	} else if (last < CPUS) {
		struct cpu *from = bpf_map_lookup_elem(&cpus, &last);
		if (from)
			t->moved[from->core == on->core ? 0 : from->cache == on->cache ? 1 : 2]++;
	}
	t->off_since = t->moved_ns = 0;
	t->on_since = now;
}

// Counts a run for the observed task that had this CPU last, as long as that is off since, and has had no other CPU.
static __always_inline void ran_beside(struct cpu *on, __u32 cpu, struct task_struct *prev, __u64 now, __u64 ran, struct control *c)
{
	__u32 place = on->last_place;
	if (!place || on->last_pid == prev->pid)
		return;
	struct task *last = bpf_map_lookup_elem(&tasks, &place);
	if (!last || last->pid != on->last_pid || last->cpu != cpu)
		return;
	if (!last->off_since) {
		// It came back elsewhere, and this run may have begun before.
		__u64 since = now - ran, came = last->on_since;
		if (came <= since || came > now)
			return;
		ran = came - since;
	}
	struct neighbour *n = neighbour(last, of_task(prev), c);
	if (n) {
		n->ran_ns += ran;
		n->runs++;
	}
}

// After its last switch a task needs its place no more. The observer takes what was counted, and frees it.
static __always_inline void give_back(__u32 place, struct task *t, struct task_struct *task)
{
	__u32 number = task->pid;
	struct ref *ref = bpf_task_storage_get(&refs, task, 0, 0);
	if (ref)
		ref->place = 0;
	bpf_map_delete_elem(&targets, &number);
	t->state = TASK_ENDED;
	bpf_ringbuf_output(&ended, &place, sizeof(place), BPF_RB_NO_WAKEUP);
}

SEC("tp_btf/sched_switch")
int BPF_PROG(on_switch, bool preempt, struct task_struct *prev, struct task_struct *next)
{
	__u32 cpu = bpf_get_smp_processor_id();
	struct cpu *on = bpf_map_lookup_elem(&cpus, &cpu);
	struct control *c = controls();
	if (!on || !c)
		return 0;
	__u64 now = counts_only ? 0 : bpf_ktime_get_ns();
	__u64 ran = on->since ? now - on->since : 0;
	on->since = now;
	on->switches++;

	struct ref *coming = next->pid ? ref_of(next, c) : NULL;
	struct task *comer = place_of(coming);
	// Who leaves came through here, unless it was there before the first switch of this CPU or has been added meanwhile: looking
	// up its reference once more would be a tenth of all that is done here.
	__u32 place = on->running_pid == prev->pid ? on->running_place : 0;
	on->running_pid = next->pid;
	on->running_place = coming ? coming->place : 0;

	if (prev->pid) {
		if (!counts_only)
			ran_beside(on, cpu, prev, now, ran, c);
		if (!place) {
			struct ref *going = ref_of(prev, c);
			place = going ? going->place : 0;
		}
		struct task *t = place ? bpf_map_lookup_elem(&tasks, &place) : NULL;
		// The kernel has not found its reference as it came: it looks none up while a program that it has interrupted does.
		if (t && t->off_since)
			comes(t, on, cpu, greater(now - ran, t->off_since));
		on->busy_ns += ran;
		if (t) {
			// It may have been running since before it was observed.
			if (t->on_since)
				t->run_ns += ran;
			if (counts_only) {
				__u64 runtime = prev->se.sum_exec_runtime;
				t->run_ns += runtime - t->busy_then;
				t->busy_then = runtime;
			}
			on->last_pid = prev->pid;
			on->last_place = place;
			enum reason reason = leaves(t, prev, next, comer, on, cpu, now, c);
			if (reason == REASON_ENDED) {
				give_back(place, t, prev);
				// Who runs after it is nobody's neighbour, and its place may be another's soon.
				on->last_place = 0;
			}
		}
		if (!counts_only)
			remember(on, prev, now, ran);
	} else {
		on->idle_ns += ran;
	}
	if (comer && !counts_only) {
		comes(comer, on, cpu, now);
		// The kernel adds a wait when it is over: what it has added already was over when the task was moved here.
		comer->moved_ns = run_delay(next) - comer->delay_seen;
	}
	if (wants_events && (comer || place))
		stream(prev, next, now, cpu, false, preempt, c);
	if (wants_scheduler_time && (comer || place)) {
		struct in_scheduler *inside = bpf_map_lookup_elem(&in_scheduler, &cpu);
		if (inside)
			inside->own = bpf_ktime_get_ns() - now;
	}
	return 0;
}

// --- How long the scheduler takes ---

// Attached only where it is asked for: two more readings of the clock for each switch.
SEC("tp_btf/sched_entry_tp")
int BPF_PROG(on_scheduler_entry, bool preempt)
{
	__u32 cpu = bpf_get_smp_processor_id();
	struct in_scheduler *inside = bpf_map_lookup_elem(&in_scheduler, &cpu);
	if (inside) {
		inside->own = 0;
		inside->entered = bpf_ktime_get_ns();
	}
	return 0;
}

// A new task does not come by here the first time that it runs.
SEC("tp_btf/sched_exit_tp")
int BPF_PROG(on_scheduler_exit, bool is_switch)
{
	__u64 now = bpf_ktime_get_ns();
	__u32 cpu = bpf_get_smp_processor_id();
	struct in_scheduler *inside = bpf_map_lookup_elem(&in_scheduler, &cpu);
	if (inside && inside->entered && inside->own) {
		__u64 took = now - inside->entered - inside->own;
		inside->ns += took;
		count_in(inside->times, took);
		inside->entered = 0;
	}
	return 0;
}

// --- What happens to a task besides ---

// Attached only where wakers or events are asked for: it costs a third of what all else does.
SEC("tp_btf/sched_waking")
int BPF_PROG(on_waking, struct task_struct *task)
{
	struct control *c = controls();
	struct task *t = c ? place_of(ref_of(task, c)) : NULL;
	struct task_struct *waker = bpf_get_current_task_btf();
	if (t && wants_events)
		stream(waker, task, bpf_ktime_get_ns(), bpf_get_smp_processor_id(), true, false, c);
	// One that has not left its CPU yet is spared the switch.
	if (!t || !t->off_since || !waker->pid)
		return 0;
	struct neighbour *by = neighbour(t, of_task(waker), c);
	if (by)
		by->woke++;
	return 0;
}

SEC("tp_btf/sched_process_fork")
int BPF_PROG(on_fork, struct task_struct *parent, struct task_struct *child)
{
	struct control *c = controls();
	if (!c)
		return 0;
	struct ref *of_parent = bpf_task_storage_get(&refs, parent, 0, 0);
	if (!(of_parent && of_parent->place) && !c->all)
		return 0;
	struct ref *ref = bpf_task_storage_get(&refs, child, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);
	if (!ref || ref->place)
		return 0;
	ref->generation = c->generation;
	take_place(ref, child, c);
	return 0;
}

// An exec and prctl(PR_SET_NAME). A thread that calls exec takes the number of its process.
SEC("tp_btf/task_rename")
int BPF_PROG(on_rename, struct task_struct *task, const char *name)
{
	struct task *t = place_of(bpf_task_storage_get(&refs, task, 0, 0));
	if (!t)
		return 0;
	t->pid = task->pid;
	bpf_probe_read_kernel_str(t->name, sizeof(t->name), name);
	return 0;
}

SEC("tp_btf/page_fault_user")
int BPF_PROG(on_fault, unsigned long address, struct pt_regs *regs)
{
	struct task *t = place_of(bpf_task_storage_get(&refs, bpf_get_current_task_btf(), 0, 0));
	if (t)
#if defined(__TARGET_ARCH_x86)
		t->fault_ip = regs->ip;
#else
		t->fault_ip = regs->pc;
#endif
	return 0;
}
