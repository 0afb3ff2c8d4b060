// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// Determines why a task leaves its CPU, from the kernel's counters and states.

#pragma once

#include "kernel.h"
#include "layout.h"

// Returns the reason for a sleep that the kernel counts as voluntary.
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

// Whether the kernel has taken a runnable task from its queue because its CPU time is used up. A
// task that is being throttled already has the mark.
static __always_inline bool is_throttled(struct task_struct *task)
{
    struct sched_dl_entity *dl = &task->dl;
    if (task->prio < 0)
        return BPF_CORE_READ_BITFIELD(dl, dl_throttled);
    if (task->prio < MAX_RT_PRIO)
        return bpf_core_field_exists(task->rt.rt_rq) && bpf_core_field_exists(struct rt_rq, rt_throttled)
               && task->rt.rt_rq->rt_throttled;
    // Since Linux 6.18, a task is throttled when it returns to user mode. Before, its whole group
    // was throttled at once.
    if (bpf_core_field_exists(task->throttled))
        return task->throttled;
    return bpf_core_field_exists(struct cfs_rq, throttle_count) && task->se.cfs_rq->throttle_count > 0;
}

// Whether `next` was woken while `prev` ran. If not, `next` had been waiting before.
static __always_inline bool was_woken_meanwhile(struct task_struct *prev, struct task_struct *next,
                                                struct task *next_task)
{
    if (!bpf_core_field_exists(prev->sched_info.last_arrival))
        return false;
    // A task that was preempted has not been woken.
    if (next_task && next_task->cause < CAUSES && next_task->causes[next_task->cause].reason >= REASON_YIELDED)
        return false;
    return next->sched_info.last_queued > prev->sched_info.last_arrival;
}

// Least time, before Linux 6.6, for which CFS lets a task run (sched_min_granularity_ns on one
// CPU).
#define LEAST_SLICE_NS 750000

// Whether a task that is preempted by a waiting task has used up its time slice. If not, another
// task was woken, and the scheduler chose the waiting one. A time slice continues after a
// preemption.
static __always_inline bool is_slice_over(struct task_struct *task, struct task *t)
{
    __u64 ran = task->se.sum_exec_runtime - t->slice_began;
    // Of the real-time policies, only SCHED_RR has time slices.
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
    // Checked first, because a task of SCHED_DEADLINE gives up the rest of its period by a yield.
    if (is_throttled(prev))
        return REASON_THROTTLED;
    if (is_yield(entry))
        return REASON_YIELDED;
    // A runnable task is replaced by the idle task only for this reason.
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

// Whether a task that left its CPU for this reason is still in the CPU's queue.
static __always_inline bool is_queued(enum reason reason)
{
    return reason >= REASON_YIELDED && reason <= REASON_SLICE_ENDED;
}

// Whether the task continues its time slice when it runs again: after a preemption before the end
// of the time slice.
static __always_inline bool goes_on_with_slice(enum reason reason)
{
    return reason == REASON_PREEMPTED_BY_WOKEN || reason == REASON_PREEMPTED_BY_QUEUED;
}
