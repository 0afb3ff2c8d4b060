// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// Counts of the effects of other processes (neighbours) on a task.

#pragma once

#include "maps.h"

// Another process, and where its name is: in a task of the process, or in its share of a CPU.
struct other {
    __u32 process;
    struct task_struct *task;
    struct share *share;
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
    if (other.share)
        copy_name(n->name, other.share->name);
    else
        copy_name(n->name, other.task->group_leader->comm);
}

// If no table has room, replaces the task's neighbour with the smallest counts. The most frequent
// neighbours are then known, and little is lost. A wake-up that another CPU counts at the same time
// may be counted for the new neighbour.
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
    return lightest;
}

// Finds the slot of another process in the task's table, which usually has one; a search in `pairs`
// takes several times as long. A task may be woken on one CPU while its neighbours run on another,
// so a free slot is claimed in one atomic step or not at all.
static __always_inline struct neighbour *find_neighbour(struct task *t, struct other other, struct control *c)
{
#pragma unroll
    for (__u32 at = 0; at < NEIGHBOURS; at++) {
        struct neighbour *n = &t->neighbours[at];
        if (n->process == other.process)
            return n;
        if (!n->process && !__sync_val_compare_and_swap(&n->process, 0, other.process))
            return n;
    }
    struct pair key = { t->tgid, other.process };
    struct neighbour *found = bpf_map_lookup_elem(&pairs, &key);
    if (found)
        return found;
    struct neighbour new = { .process = other.process };
    bpf_map_update_elem(&pairs, &key, &new, BPF_NOEXIST);
    found = bpf_map_lookup_elem(&pairs, &key);
    return found ? found : instead_of_the_lightest(t, other, c);
}

static __always_inline struct neighbour *neighbour(struct task *t, struct other other, struct control *c)
{
    struct neighbour *n = find_neighbour(t, other, c);
    if (n)
        name_it(n, other);
    return n;
}
