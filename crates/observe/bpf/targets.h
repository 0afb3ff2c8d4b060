// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// Decides which tasks are observed.

#pragma once

#include "maps.h"
#include "own.h"

static __always_inline void allocate_slot(struct ref *ref, struct task_struct *task, struct control *c)
{
    __u32 slot = 0;
    if (bpf_map_pop_elem(&free_slots, &slot)) {
        __sync_fetch_and_add(&c->no_room, 1);
        return;
    }
    struct task *t = bpf_map_lookup_elem(&tasks, &slot);
    if (!t)
        return;
    t->pid = task->pid;
    t->tgid = task->tgid;
    t->flags = task->flags;
    t->voluntary_seen = task->nvcsw;
    t->delay_seen = run_delay(task);
    t->slice_began = t->run_began = task->se.sum_exec_runtime;
    t->cpu = CPUS;
    t->cause = CAUSES;
    bpf_probe_read_kernel_str(t->name, sizeof(t->name), task->comm);
    copy_name(t->process_name, task->group_leader->comm);
    t->state = TASK_IN_USE;
    ref->slot = slot;
}

static __always_inline bool is_of_all(struct task_struct *task, struct control *c)
{
    return c->all && !is_own(task);
}

// Maximum depth of nested control groups that is searched.
#define DEPTH 32

// Whether a control group is the observed group, or a descendant of it.
static __always_inline bool is_observed(struct cgroup *group, struct control *c)
{
    if (group->root->hierarchy_id != c->hierarchy)
        return false;
    struct cgroup_subsys_state *at = &group->self;
    for (int level = 0; level < DEPTH && at; level++) {
        if (at->cgroup->kn->id == c->group)
            return true;
        at = at->parent;
    }
    return false;
}

// Whether a new task is in the observed group: in version 2, a child may be created in another
// group than its parent's.
static __always_inline bool is_born_into_group(struct task_struct *child, struct control *c)
{
    return bpf_core_field_exists(child->cgroups) && c->group && !is_own(child)
           && is_observed(child->cgroups->dfl_cgrp, c);
}

static __always_inline bool is_target(__u32 number, __u32 kind)
{
    enum target *kinds = bpf_map_lookup_elem(&targets, &number);
    return kinds && *kinds & kind;
}

// Whether the kernel has started this task in an observed process, as a worker of io_uring. Such a
// start does not pass the tracepoint of forks.
static __always_inline bool is_worker_of_observed(struct task_struct *task)
{
    if (!(task->flags & (PF_IO_WORKER | PF_USER_WORKER)))
        return false;
    struct ref *leader = bpf_task_storage_get(&refs, task->group_leader, 0, 0);
    return leader && leader->slot;
}

// Makes a process a target. The decision about each thread of the process is then made again.
static __always_inline void make_target(__u32 process, struct control *c)
{
    enum target *before = bpf_map_lookup_elem(&targets, &process), kinds = TARGET_PROCESS | (before ? *before : 0);
    if ((before && *before & TARGET_PROCESS) || bpf_map_update_elem(&targets, &process, &kinds, BPF_ANY))
        return;
    __sync_fetch_and_add(&c->generation, 1);
}

// Observes a task from now on.
static __always_inline void observe_now(struct task_struct *task, struct control *c)
{
    struct ref *ref = bpf_task_storage_get(&refs, task, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);
    if (!ref || ref->slot)
        return;
    ref->generation = c->generation;
    allocate_slot(ref, task, c);
}

// Returns the reference of a task. Whether a task is observed is decided when the task is first
// seen, and again when `targets` has changed.
static __always_inline struct ref *ref_of(struct task_struct *task, struct control *c)
{
    struct ref *ref = bpf_task_storage_get(&refs, task, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);
    __u32 generation = c->generation, before = ref ? ref->generation : generation;
    if (before == generation)
        return ref;
    // Another CPU may examine the task at the same time, but only one CPU takes a slot for it.
    if (__sync_val_compare_and_swap(&ref->generation, before, generation) == before && !ref->slot) {
        if (is_of_all(task, c) || is_target(task->tgid, TARGET_PROCESS) || is_target(task->pid, TARGET_THREAD)
            || is_worker_of_observed(task))
            allocate_slot(ref, task, c);
    }
    return ref;
}
