// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// Reports switches and wake-ups one by one.

#pragma once

#include "maps.h"

// Fills in one side of an event. States are numbered as in the kernel's own switch event: 0x80 is
// an idle kernel thread, 0x10 a task that has ended, 0x100 a task that was still runnable.
static __always_inline void fill(struct thread *thread, struct task_struct *task, bool was_preempted)
{
    __u32 state = state_of(task);
    thread->pid = task->pid;
    thread->tgid = task->tgid;
    thread->priority = task->prio;
    // The kernel's event has no number for these states, and shows them as uninterruptible.
    if (state & (TASK_RTLOCK_WAIT | TASK_FROZEN))
        state = TASK_UNINTERRUPTIBLE;
    thread->state = was_preempted ? 0x100 : state & TASK_DEAD ? 0x10 : state == TASK_IDLE ? 0x80 : state & 0x7f;
    bpf_probe_read_kernel_str(thread->name, sizeof(thread->name), task->comm);
}

static __always_inline void stream(struct task_struct *from, struct task_struct *to, __u64 now, __u32 cpu,
                                   bool is_wakeup, bool was_preempted, struct control *c)
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
    // The observer reads the buffer several times per second without being woken.
    bpf_ringbuf_submit(event, BPF_RB_NO_WAKEUP);
}
