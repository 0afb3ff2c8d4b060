// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// Why a task leaves its CPU: by the kernel's own counters and states.

#pragma once

#include "kernel.h"
#include "layout.h"

// What a task sleeps for that the kernel counts as voluntary.
static __always_inline enum reason sleeps_for(struct task_struct *task, __u32 state)
{
    if (state & TASK_TRACED_BIT)
        return REASON_TRACED;
    if (state & TASK_STOPPED_BIT)
        return REASON_STOPPED;
    bool is_frozen = state & TASK_FROZEN || task->flags & PF_FROZEN
                     || (state & TASK_INTERRUPTIBLE && task->jobctl & JOBCTL_TRAP_FREEZE);
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
        return bpf_core_field_exists(task->rt.rt_rq) && bpf_core_field_exists(struct rt_rq, rt_throttled)
               && task->rt.rt_rq->rt_throttled;
    // Since Linux 6.18 a task leaves its queue on its way back to its own code; before, its whole group did at once.
    if (bpf_core_field_exists(task->throttled))
        return task->throttled;
    return bpf_core_field_exists(struct cfs_rq, throttle_count) && task->se.cfs_rq->throttle_count > 0;
}

// Whether `next` was woken while `prev` ran; if not, it had been waiting since before.
static __always_inline bool was_woken_meanwhile(struct task_struct *prev, struct task_struct *next,
                                                struct task *next_task)
{
    if (!bpf_core_field_exists(prev->sched_info.last_arrival))
        return false;
    // What was preempted itself was not woken.
    if (next_task && next_task->cause < CAUSES && next_task->causes[next_task->cause].reason >= REASON_YIELDED)
        return false;
    return next->sched_info.last_queued > prev->sched_info.last_arrival;
}

// CFS, before Linux 6.6, let a task run for so long at least (sched_min_granularity_ns on one CPU).
#define LEAST_SLICE_NS 750000

// Whether its time slice was over, of a task that makes way for one that has been waiting since before. If not, a task was woken, and
// it was that one's turn. A slice goes on after a preemption.
static __always_inline bool is_slice_over(struct task_struct *task, struct task *t)
{
    __u64 ran = task->se.sum_exec_runtime - t->slice_began;
    // Of the real-time policies only SCHED_RR has slices.
    if (task->prio < MAX_RT_PRIO)
        return task->policy == SCHED_RR;
    return ran >= (bpf_core_field_exists(task->se.slice) ? task->se.slice : LEAST_SLICE_NS);
}

static __always_inline enum reason reason_of(struct task *t, struct task_struct *prev, struct task_struct *next,
                                             struct task *next_task, bool is_voluntary, __u32 entry)
{
    __u32 state = state_of(prev);
    if (state & TASK_DEAD)
        return REASON_ENDED;
    if (is_voluntary)
        return sleeps_for(prev, state);
    // First, as a task of SCHED_DEADLINE gives the rest of its period up by a yield.
    if (is_throttled(prev))
        return REASON_THROTTLED;
    if (is_yield(entry))
        return REASON_YIELDED;
    // Nothing else takes a CPU from a task for the idle task.
    if (!next->pid)
        return REASON_THROTTLED;
    if (was_woken_meanwhile(prev, next, next_task))
        return REASON_PREEMPTED_BY_WOKEN;
    return is_slice_over(prev, t) ? REASON_SLICE_ENDED : REASON_PREEMPTED_BY_QUEUED;
}

static __always_inline bool is_preemption(enum reason reason)
{
    return reason >= REASON_PREEMPTED_BY_WOKEN && reason <= REASON_SLICE_ENDED;
}

// Whether the task is still in the queue of its CPU.
static __always_inline bool is_queued(enum reason reason)
{
    return reason >= REASON_YIELDED && reason <= REASON_SLICE_ENDED;
}

// A task that was preempted before its slice was over has the rest of it when it comes back.
static __always_inline bool goes_on_with_slice(enum reason reason)
{
    return reason == REASON_PREEMPTED_BY_WOKEN || reason == REASON_PREEMPTED_BY_QUEUED;
}
