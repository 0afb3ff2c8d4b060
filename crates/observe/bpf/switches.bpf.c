// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// Counts the context switches of some tasks, or of all, inside the kernel. For each switch the
// counts show the cause, the task's time off the CPU, its wait for a CPU, the tasks that ran in
// between, and the tasks that preempted or woke it. Events are streamed only on request; the
// observer maps `tasks` and `cpus` into its memory and reads sums.
//
// Only BTF tracepoints are used, because they cost least, and exist where probes on functions are
// not permitted.

#include "counters.h"
#include "events.h"
#include "scheduler_time.h"
#include "switch.h"
#include "targets.h"

char LICENSE[] SEC("license") = "Dual MIT/GPL";

SEC("tp_btf/sched_switch")
int BPF_PROG(on_switch, bool preempt, struct task_struct *prev, struct task_struct *next)
{
    __u32 cpu = bpf_get_smp_processor_id();
    struct cpu *on = bpf_map_lookup_elem(&cpus, &cpu);
    struct control *c = controls();
    if (!on || !c)
        return 0;
    if (counters)
        end_turn(cpu);
    __u64 now = counts_only ? 0 : bpf_ktime_get_ns();
    __u64 ran = on->since ? now - on->since : 0;
    on->since = now;
    on->switches++;

    struct ref *next_ref = next->pid ? ref_of(next, c) : NULL;
    struct task *next_task = task_of(next_ref);
    // The leaving task got this CPU through this program, unless it was there before the first
    // switch of this CPU or has been added since. Looking its reference up again would take a tenth
    // of the program's time.
    __u32 slot = on->running_pid == prev->pid ? on->running_slot : 0;
    on->running_pid = next->pid;
    on->running_slot = next_ref ? next_ref->slot : 0;

    if (prev->pid) {
        if (!counts_only)
            ran_beside(on, cpu, prev, now, ran, c);
        if (!slot) {
            struct ref *prev_ref = ref_of(prev, c);
            slot = prev_ref ? prev_ref->slot : 0;
        }
        struct task *t = slot ? bpf_map_lookup_elem(&tasks, &slot) : NULL;
        enum reason reason = 0;
        // When the task got the CPU, the kernel did not find its reference: while a program that
        // was interrupted does a lookup, the kernel finds none.
        if (t && t->off_since)
            switched_in(t, on, cpu, greater(now - ran, t->off_since));
        on->busy_ns += ran;
        if (t) {
            // The kernel's account of the run. By the kernel's account, a run begins some
            // microseconds earlier than by this program's, if an interrupt wakes the task.
            t->run_ns = prev->se.sum_exec_runtime - t->run_began;
            // The task may have run since before it, or this CPU, was observed.
            if (t->on_since && !counts_only)
                count_in(t->turns, ran);
            else if (!counts_only && on->switches > 1)
                t->on_since = now - ran;
            if (counters)
                count_turn(cpu, slot, ran);
            on->last_pid = prev->pid;
            on->last_slot = slot;
            reason = switched_out(t, prev, next, next_task, on, cpu, now, c);
            if (reason == REASON_ENDED) {
                release_slot(slot, t, prev);
                // Tasks that run here after this one have no effect on it, and its slot may soon
                // belong to another task.
                on->last_slot = 0;
            }
        }
        if (!counts_only) {
            __u32 share = remember(on, process_of(prev), now, ran);
            copy_name(on->shares[share & (SHARES - 1)].name, prev->group_leader->comm);
            if (now - on->marked >= MARK_NS)
                take_mark(on, cpu, now);
            if (t && is_queued(reason))
                note_shares(&t->shares_then, on);
        }
    } else {
        on->idle_ns += ran;
    }
    if (next_task && !counts_only) {
        switched_in(next_task, on, cpu, now);
        // The kernel adds a wait when it ends. A wait that was already added ended when the task
        // was moved to this CPU.
        next_task->moved_ns = run_delay(next) - next_task->delay_seen;
    }
    if (wants_events && (next_task || slot))
        stream(prev, next, now, cpu, false, preempt, c);
    if (wants_scheduler_time && (next_task || slot)) {
        struct in_scheduler *inside = bpf_map_lookup_elem(&in_scheduler, &cpu);
        if (inside)
            inside->own = bpf_ktime_get_ns() - now;
    }
    if (counters)
        begin_turn(cpu);
    return 0;
}

// --- Other events of a task ---

// Examines all tasks, in three situations. With new targets, a task that runs or waits for a CPU is
// observed from now on, and not only from its next switch, which may never come. When counts are
// read, the start of a woken task's wait is needed; the kernel has it by the scheduler's clock, of
// which this program knows one moment: when the task got its last CPU. The name of a process is
// that of its first thread, which may have changed.
SEC("iter/task")
int on_look(struct bpf_iter__task *of)
{
    struct task_struct *task = of->task;
    struct control *c = controls();
    if (!task || !c)
        return 0;
    struct task *t = task_of(is_ready(task) ? ref_of(task, c) : bpf_task_storage_get(&refs, task, 0, 0));
    if (!t)
        return 0;
    copy_name(t->process_name, task->group_leader->comm);
    bool is_new = !t->voluntary && !t->involuntary && !t->on_since && !t->off_since;
    if (!is_ready(task) || counts_only || is_on_cpu(task))
        return 0;
    if (is_new)
        t->off_since = bpf_ktime_get_ns();
    else if (t->on_since && t->off_since)
        t->queued_since = t->on_since + queued_after_arrival(task);
    return 0;
}

// Attached only if wakers or events are requested, because it costs a third as much as everything
// else.
SEC("tp_btf/sched_waking")
int BPF_PROG(on_waking, struct task_struct *task)
{
    struct control *c = controls();
    struct task *t = c ? task_of(ref_of(task, c)) : NULL;
    struct task_struct *waker = bpf_get_current_task_btf();
    if (t && wants_events)
        stream(waker, task, bpf_ktime_get_ns(), bpf_get_smp_processor_id(), true, false, c);
    // A task that has not left its CPU yet is woken without a switch.
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
    if (!(of_parent && of_parent->slot) && !is_of_all(child, c) && !is_born_into_group(child, c))
        return 0;
    observe_now(child, c);
    return 0;
}

// A task enters a control group. If a process has several threads, the kernel reports only one of
// them. Each of the others is observed from its next switch.
SEC("tp_btf/cgroup_attach_task")
int BPF_PROG(on_attach, struct cgroup *group, const char *path, struct task_struct *task, bool is_process)
{
    struct control *c = controls();
    if (!c || !c->group || is_own(task) || !is_observed(group, c))
        return 0;
    if (is_process && task->signal->nr_threads > 1)
        make_target(task->tgid, c);
    observe_now(task, c);
    return 0;
}

// The task calls exec or prctl(PR_SET_NAME). A thread that calls exec gets the ID of its process.
SEC("tp_btf/task_rename")
int BPF_PROG(on_rename, struct task_struct *task, const char *name)
{
    struct control *c = controls();
    struct name kept = {};
    bpf_probe_read_kernel_str(kept.text, sizeof(kept.text), name);
    if (c && task->pid == task->tgid && !is_own(task) && bpf_map_lookup_elem(&names, &kept)) {
        if (task->signal->nr_threads > 1)
            make_target(task->tgid, c);
        observe_now(task, c);
    }
    struct task *t = task_of(bpf_task_storage_get(&refs, task, 0, 0));
    if (!t)
        return 0;
    t->pid = task->pid;
    copy_name(t->name, kept.text);
    if (task->pid == task->tgid)
        copy_name(t->process_name, t->name);
    return 0;
}

SEC("tp_btf/page_fault_user")
int BPF_PROG(on_fault, unsigned long address, struct pt_regs *regs)
{
    struct task *t = task_of(bpf_task_storage_get(&refs, bpf_get_current_task_btf(), 0, 0));
    if (t)
#if defined(__TARGET_ARCH_x86)
        t->fault_ip = regs->ip;
#else
        t->fault_ip = regs->pc;
#endif
    return 0;
}
