// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// Effects of a switch on the task that leaves, on the task that arrives, and on tasks that are off
// the CPU.

#pragma once

#include "causes.h"
#include "entry.h"
#include "histogram.h"
#include "reasons.h"
#include "waits.h"

// Counts the task's wait for this CPU, under the cause for which the task left its last CPU.
static __always_inline void waited(struct task *t, struct cpu *on, __u32 cpu, struct task_struct *task)
{
    __u64 delay = run_delay(task), wait = delay - t->delay_seen;
    // The kernel's clock for the wait is read slightly earlier than that of this program.
    if (!counts_only && wait > t->last_off)
        wait = t->last_off;
    t->delay_seen = delay;
    // If the task has left no CPU yet, its wait since before it was observed is known only with a
    // clock.
    bool has_cause = t->cause < CAUSES;
    if (!has_cause && (counts_only || !wait))
        return;
    t->wait_ns += wait;
    if (has_cause)
        t->causes[t->cause].wait_ns += wait;
    if (counts_only)
        return;
    count_in(t->wait, wait);
    if (has_cause && t->causes[t->cause].reason == REASON_THROTTLED)
        t->wait_throttled_ns += wait;
    else if (wait && !was_behind_the_last(t, on, wait))
        share_out(t, on, cpu, wait);
}

static __always_inline enum reason switched_out(struct task *t, struct task_struct *prev, struct task_struct *next,
                                                struct task *next_task, struct cpu *on, __u32 cpu, __u64 now,
                                                struct control *c)
{
    waited(t, on, cpu, prev);
    // The kernel has just incremented one of the two counters of `prev`, which tells the kind of
    // the switch.
    __u64 voluntary = prev->nvcsw;
    bool is_voluntary = voluntary != t->voluntary_seen;
    t->voluntary_seen = voluntary;
    __u32 entry = entry_of(prev, t);
    enum reason reason = reason_of(t, prev, next, next_task, is_voluntary, entry);
    if (!goes_on_with_slice(reason))
        t->slice_began = prev->se.sum_exec_runtime;
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
    if (is_preemption(reason)) {
        struct neighbour *by = neighbour(t, of_task(next), c);
        if (by)
            by->preempted++;
    }
    return reason;
}

// Not static, so that the verifier checks the function only once.
__noinline int switched_in(struct task *t, struct cpu *on, __u32 cpu, __u64 now)
{
    if (!t || !on)
        return 0;
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
    return 0;
}

// Counts a run of `prev` for the observed task that had this CPU last. If that task has got another
// CPU during the run, only the part of the run before that is counted.
static __always_inline void ran_beside(struct cpu *on, __u32 cpu, struct task_struct *prev, __u64 now, __u64 ran,
                                       struct control *c)
{
    __u32 slot = on->last_slot;
    if (!slot || on->last_pid == prev->pid)
        return;
    struct task *last = bpf_map_lookup_elem(&tasks, &slot);
    if (!last || last->pid != on->last_pid || last->cpu != cpu)
        return;
    if (!last->off_since) {
        // The task has run on another CPU since, and this run may have begun before.
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

// Releases the slot of a task after its last switch. The observer then reads the counts and frees
// the slot.
static __always_inline void release_slot(__u32 slot, struct task *t, struct task_struct *task)
{
    __u32 number = task->pid;
    struct ref *ref = bpf_task_storage_get(&refs, task, 0, 0);
    if (ref)
        ref->slot = 0;
    bpf_map_delete_elem(&targets, &number);
    copy_name(t->process_name, task->group_leader->comm);
    t->state = TASK_ENDED;
    bpf_ringbuf_output(&ended, &slot, sizeof(slot), BPF_RB_NO_WAKEUP);
}
