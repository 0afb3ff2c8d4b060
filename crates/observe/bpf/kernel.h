// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// Structures of the running kernel, with only those fields that are read, and queries that differ
// between kernel versions. The positions of fields are determined when a program is loaded (CO-RE).

#pragma once

#include <linux/bpf.h>
#include <stdbool.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_tracing.h>

#define OF_THE_KERNEL __attribute__((preserve_access_index))
#define PF_IO_WORKER 0x00000010
#define PF_USER_WORKER 0x00004000
#define PF_KTHREAD 0x00200000
// Flag of a frozen task before Linux 6.1, which introduced a state for frozen tasks.
#define PF_FROZEN 0x00010000
#define TASK_INTERRUPTIBLE 0x00000001
#define TASK_UNINTERRUPTIBLE 0x00000002
#define TASK_STOPPED_BIT 0x00000004
#define TASK_TRACED_BIT 0x00000008
#define TASK_DEAD 0x00000080
#define TASK_IDLE 0x00000402
#define TASK_RTLOCK_WAIT 0x00001000
#define TASK_FROZEN 0x00008000
// Flag of a task whose control group of version 2 is to be frozen.
#define JOBCTL_TRAP_FREEZE 0x00800000
#define MAX_RT_PRIO 100
#define SCHED_RR 2

struct pt_regs {
#if defined(__TARGET_ARCH_x86)
    unsigned long di, dx, si, sp, orig_ax, ip, r10;
#elif defined(__TARGET_ARCH_arm64)
    __u64 regs[31];
    __s32 syscallno;
    __u64 sp, pc;
#endif
} OF_THE_KERNEL;

// Native system call numbers, and flags by which a task of a 32-bit ABI is recognised. Numbers of
// x32 calls have an additional bit.
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
// These numbers are the same on i386 and arm.
#define NR_COMPAT_SCHED_YIELD 158
#define NR_COMPAT_RESTART 0

struct rt_rq {
    int rt_throttled;
} OF_THE_KERNEL;

struct cfs_rq {
    int throttle_count;
} OF_THE_KERNEL;

struct sched_entity {
    __u64 sum_exec_runtime, slice;
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

struct kernfs_node {
    __u64 id;
} OF_THE_KERNEL;

struct cgroup;

struct cgroup_subsys_state {
    struct cgroup *cgroup;
    struct cgroup_subsys_state *parent;
} OF_THE_KERNEL;

struct cgroup_root {
    int hierarchy_id;
} OF_THE_KERNEL;

struct cgroup {
    struct cgroup_subsys_state self;
    struct kernfs_node *kn;
    struct cgroup_root *root;
} OF_THE_KERNEL;

struct css_set {
    struct cgroup *dfl_cgrp;
} OF_THE_KERNEL;

struct signal_struct {
    int nr_threads;
} OF_THE_KERNEL;

struct task_struct {
    struct thread_info thread_info;
    int pid, tgid, on_cpu;
    unsigned int flags;
    unsigned int __state;
    unsigned int policy;
    int prio;
    unsigned long nvcsw, jobctl;
    bool throttled;
    struct task_struct *group_leader;
    struct sched_entity se;
    struct sched_rt_entity rt;
    struct sched_dl_entity dl;
    struct sched_info sched_info;
    struct css_set *cgroups;
    struct signal_struct *signal;
    char comm[16];
} OF_THE_KERNEL;

struct bpf_iter__task {
    struct task_struct *task;
} OF_THE_KERNEL;

// The structure before Linux 5.14.
struct task_struct___before_5_14 {
    long state;
} OF_THE_KERNEL;

static __always_inline __u32 state_of(struct task_struct *task)
{
    if (bpf_core_field_exists(task->__state))
        return task->__state;
    return BPF_CORE_READ((struct task_struct___before_5_14 *)task, state);
}

// Whether the task runs or waits for a CPU.
static __always_inline bool is_ready(struct task_struct *task)
{
    return !state_of(task);
}

static __always_inline bool is_on_cpu(struct task_struct *task)
{
    return !bpf_core_field_exists(task->on_cpu) || task->on_cpu;
}

// Returns the time from a task's last arrival on a CPU until it was queued for one; 0 if it is not
// queued.
static __always_inline __u64 queued_after_arrival(struct task_struct *task)
{
    if (!bpf_core_field_exists(task->sched_info.last_queued))
        return 0;
    __u64 queued = task->sched_info.last_queued, arrived = task->sched_info.last_arrival;
    return queued > arrived ? queued - arrived : 0;
}

// Returns the total time that the task has waited for CPUs. The kernel adds a wait when the task
// gets a CPU.
static __always_inline __u64 run_delay(struct task_struct *task)
{
    return bpf_core_field_exists(task->sched_info.run_delay) ? task->sched_info.run_delay : 0;
}
