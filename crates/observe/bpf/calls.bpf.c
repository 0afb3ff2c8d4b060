// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// Records the system calls of some processes and the user code between the calls. A comparison
// shows what a switch in a call costs the code after it (docs/method/matched-intervals.md). This is
// a separate program, attached only for slices of the window, because it takes time in each call on
// the machine. Data for the observer has a fixed layout, as in src/calls/layout.rs.

#include "kernel.h"

char LICENSE[] SEC("license") = "Dual MIT/GPL";

// --- Data for the observer, and settings from it ---

#define PROCESSES 8
#define HAS_WOKEN 1

struct call {
    __u64 at; // time of entry
    __u32 thread, process;
    __u32 address; // lower half of the user's instruction pointer
    __s32 result;
    __u16 number, next;                   // system call numbers of this call and of the next one
    __u32 in_call_ns, in_user_ns;         // CPU time in the call, and in the user code after it, without interrupts
    __u32 call_others_ns, user_others_ns; // time of other tasks on the CPU during the call, and during the user code
    __u8 waits, preemptions;              // counts during the call
    __u8 user_switches, flags;
};

struct control {
    __u64 slice; // number of the current slice; data of earlier slices does not count
    __u64 lost;
};

_Static_assert(sizeof(struct call) == 48 && sizeof(struct control) == 16, "as in src/calls/layout.rs");

// IDs of the processes, which are set before the program is loaded.
const volatile __u32 processes[PROCESSES] = {};

struct {
    __uint(type, BPF_MAP_TYPE_ARRAY);
    __uint(max_entries, 1);
    __type(key, __u32);
    __type(value, struct control);
} control SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_RINGBUF);
    __uint(max_entries, 8 << 20);
} calls SEC(".maps");

// --- State of threads and CPUs ---

struct cpu {
    __u64 slice;
    __u64 busy_ns, switched; // time in tasks, and time of the last switch
    __u64 interrupts_ns, interrupted;
    __s64 depth;
};

struct {
    __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
    __uint(max_entries, 1);
    __type(key, __u32);
    __type(value, struct cpu);
} cpus SEC(".maps");

// State of a thread. A call and the user code after it are two phases; the sums are those of the
// present phase.
struct thread {
    __u64 slice;
    __u64 entered, left; // when the thread last entered and left the kernel
    __u64 off_since, busy_then, off_ns, others_ns;
    __u64 interrupts_then, interrupts_ns;
    __u32 cpu, waits, preemptions, is_in_call;
    struct call call;
    struct call ended; // the previous call, until it is sent to the observer; its entry is 0 if there is none
};

struct {
    __uint(type, BPF_MAP_TYPE_TASK_STORAGE);
    __uint(map_flags, BPF_F_NO_PREALLOC);
    __type(key, int);
    __type(value, struct thread);
} threads SEC(".maps");

static const __u32 FIRST = 0;

static __always_inline __u64 present_slice(void)
{
    struct control *c = bpf_map_lookup_elem(&control, &FIRST);
    return c ? c->slice : 0;
}

static __always_inline struct cpu *this_cpu(__u64 slice)
{
    struct cpu *cpu = bpf_map_lookup_elem(&cpus, &FIRST);
    if (cpu && cpu->slice != slice) {
        __builtin_memset(cpu, 0, sizeof(*cpu));
        cpu->slice = slice;
        cpu->switched = bpf_ktime_get_ns();
    }
    return cpu;
}

static __always_inline bool is_traced(__u32 process)
{
    bool is_one = false;
    for (int i = 0; i < PROCESSES; i++)
        is_one |= processes[i] == process;
    return is_one && process;
}

static __always_inline struct thread *thread_of(struct task_struct *task, __u64 slice, bool is_new)
{
    struct thread *t = bpf_task_storage_get(&threads, task, 0, is_new ? BPF_LOCAL_STORAGE_GET_F_CREATE : 0);
    if (!t || t->slice == slice)
        return t;
    if (!is_new)
        return NULL;
    __builtin_memset(t, 0, sizeof(*t));
    t->slice = slice;
    return t;
}

static __always_inline __u32 at_most(__u64 value, __u32 most)
{
    return value < most ? value : most;
}

static __always_inline void begin_phase(struct thread *t, struct cpu *cpu)
{
    t->off_ns = t->others_ns = t->interrupts_ns = 0;
    t->waits = t->preemptions = 0;
    t->interrupts_then = cpu->interrupts_ns;
}

static __always_inline void complete(struct thread *t, struct cpu *cpu, __u64 now, __u16 next)
{
    struct call *call = &t->call;
    __u64 interrupts_ns = t->interrupts_ns + cpu->interrupts_ns - t->interrupts_then;
    __s64 user_ns = now - t->left - t->off_ns - interrupts_ns;
    call->next = next;
    // May be negative, if an interrupt occurred between the readings of the clock and of the sum.
    call->in_user_ns = user_ns > 0 ? at_most(user_ns, ~0u) : 0;
    call->user_others_ns = at_most(t->others_ns, ~0u);
    call->user_switches = at_most(t->waits + t->preemptions, 0xff);
    t->ended = *call;
}

static __always_inline void send_ended(struct thread *t)
{
    if (!t->ended.at)
        return;
    struct call *out = bpf_ringbuf_reserve(&calls, sizeof(*out), 0);
    if (out) {
        *out = t->ended;
        t->ended.at = 0;
        // The observer reads the buffer several times per second without being woken.
        bpf_ringbuf_submit(out, BPF_RB_NO_WAKEUP);
        return;
    }
    t->ended.at = 0;
    struct control *c = bpf_map_lookup_elem(&control, &FIRST);
    if (c)
        __sync_fetch_and_add(&c->lost, 1);
}

SEC("tp_btf/sys_enter")
int BPF_PROG(on_entry, struct pt_regs *regs, long number)
{
    __u64 id = bpf_get_current_pid_tgid();
    if (!is_traced(id >> 32))
        return 0;
    // The clock is read first, so that the program's own time is not counted as user time.
    __u64 now = bpf_ktime_get_ns(), slice = present_slice();
    struct thread *t = thread_of(bpf_get_current_task_btf(), slice, true);
    struct cpu *cpu = this_cpu(slice);
    if (!t || !cpu)
        return 0;
    if (t->left)
        complete(t, cpu, now, number);
    t->call.at = t->entered = now;
    t->call.thread = id;
    t->call.process = id >> 32;
    t->call.number = number;
#if defined(__TARGET_ARCH_x86)
    t->call.address = regs->ip;
#else
    t->call.address = regs->pc;
#endif
    t->call.flags = 0;
    t->left = 0;
    t->is_in_call = 1;
    begin_phase(t, cpu);
    return 0;
}

SEC("tp_btf/sys_exit")
int BPF_PROG(on_exit, struct pt_regs *regs, long result)
{
    if (!is_traced(bpf_get_current_pid_tgid() >> 32))
        return 0;
    __u64 now = bpf_ktime_get_ns(), slice = present_slice();
    struct thread *t = thread_of(bpf_get_current_task_btf(), slice, false);
    struct cpu *cpu = this_cpu(slice);
    if (!t || !cpu || !t->entered)
        return 0;
    struct call *call = &t->call;
    call->result = result;
    call->in_call_ns = at_most(now - t->entered - t->off_ns, ~0u);
    call->call_others_ns = at_most(t->others_ns, ~0u);
    call->waits = at_most(t->waits, 0xff);
    call->preemptions = at_most(t->preemptions, 0xff);
    t->entered = 0;
    t->is_in_call = 0;
    begin_phase(t, cpu);
    // Sending takes longer after a switch. Here its time counts neither as time in a call nor as user time.
    send_ended(t);
    // The clock is read last, so that the program's own time is not counted as user time.
    t->left = bpf_ktime_get_ns();
    return 0;
}

static __always_inline void leave_cpu(struct thread *t, struct cpu *cpu, __u64 now, bool waits)
{
    t->off_since = now;
    t->busy_then = cpu->busy_ns;
    t->cpu = bpf_get_smp_processor_id();
    t->interrupts_ns += cpu->interrupts_ns - t->interrupts_then;
    if (waits)
        t->waits++;
    else
        t->preemptions++;
}

static __always_inline void come_to_cpu(struct thread *t, struct cpu *cpu, __u64 now)
{
    __u64 off_ns = now - t->off_since;
    bool is_same = t->cpu == bpf_get_smp_processor_id();
    t->off_ns += off_ns;
    // After a move to another core, the task's data in the old core's caches is lost, whatever ran
    // there.
    t->others_ns += is_same ? cpu->busy_ns - t->busy_then : off_ns;
    t->interrupts_then = cpu->interrupts_ns;
    t->off_since = 0;
}

SEC("tp_btf/sched_switch")
int BPF_PROG(on_switch, bool preempt, struct task_struct *prev, struct task_struct *next)
{
    __u64 now = bpf_ktime_get_ns(), slice = present_slice();
    struct cpu *cpu = this_cpu(slice);
    if (!cpu)
        return 0;
    if (prev->pid)
        cpu->busy_ns += now - cpu->switched;
    cpu->switched = now;
    struct thread *t = is_traced(prev->tgid) ? thread_of(prev, slice, false) : NULL;
    if (t)
        leave_cpu(t, cpu, now, !preempt && state_of(prev));
    t = is_traced(next->tgid) ? thread_of(next, slice, false) : NULL;
    if (t && t->off_since)
        come_to_cpu(t, cpu, now);
    return 0;
}

// The last call of a thread has no user code after it, and is not sent. The call before it is.
SEC("tp_btf/sched_process_exit")
int BPF_PROG(on_end, struct task_struct *task)
{
    struct thread *t = is_traced(task->tgid) ? thread_of(task, present_slice(), false) : NULL;
    if (t)
        send_ended(t);
    return 0;
}

SEC("tp_btf/sched_waking")
int BPF_PROG(on_waking, struct task_struct *task)
{
    if (!is_traced(bpf_get_current_pid_tgid() >> 32))
        return 0;
    struct thread *t = thread_of(bpf_get_current_task_btf(), present_slice(), false);
    if (t && t->is_in_call)
        t->call.flags |= HAS_WOKEN;
    return 0;
}

// --- Interrupts, which may nest ---

static __always_inline int begin_interrupt(void)
{
    struct cpu *cpu = this_cpu(present_slice());
    if (cpu && cpu->depth++ == 0)
        cpu->interrupted = bpf_ktime_get_ns();
    return 0;
}

static __always_inline int end_interrupt(void)
{
    struct cpu *cpu = this_cpu(present_slice());
    // The interrupt may have begun before the slice.
    if (!cpu || cpu->depth <= 0)
        return 0;
    if (--cpu->depth == 0)
        cpu->interrupts_ns += bpf_ktime_get_ns() - cpu->interrupted;
    return 0;
}

#define INTERRUPT(name)             \
    SEC("tp_btf/" #name "_entry")   \
    int BPF_PROG(on_##name##_entry) \
    {                               \
        return begin_interrupt();   \
    }                               \
    SEC("tp_btf/" #name "_exit")    \
    int BPF_PROG(on_##name##_exit)  \
    {                               \
        return end_interrupt();     \
    }

INTERRUPT(irq_handler)
INTERRUPT(softirq)
#if defined(__TARGET_ARCH_x86)
INTERRUPT(local_timer)
INTERRUPT(reschedule)
INTERRUPT(call_function)
INTERRUPT(call_function_single)
INTERRUPT(irq_work)
#else
INTERRUPT(ipi)
#endif
