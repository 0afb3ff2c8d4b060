// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// Determines how a task entered the kernel: by which system call and for what purpose, or in
// another way.

#pragma once

#include "kernel.h"
#include "layout.h"

// Returns the entry for a system call. A call that was interrupted and is resumed under another
// number keeps its first number.
static __always_inline __u32 of_call(struct task *t, __u32 entry)
{
    bool is_restart = entry == NR_RESTART || entry == (ENTRY_X32 | NR_RESTART)
                      || entry == (ENTRY_COMPAT | NR_COMPAT_RESTART);
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
    return entry == NR_SCHED_YIELD || entry == (ENTRY_COMPAT | NR_COMPAT_SCHED_YIELD)
           || entry == (ENTRY_X32 | NR_SCHED_YIELD);
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

// Largest distance between a futex word and the caller's stack pointer at which the word is assumed
// to be in the caller's frames, and hardly a lock. musl's condition variables wait on such a word,
// for the value 2.
#define NEAR_STACK 4096

// Returns the purpose of a wait in futex, judged by the call's arguments. The word of a contended
// lock either is 2 (glibc, Rust, Go, GLib), or has the highest bit set next to the owner (musl, and
// the kernel's own definition of such words). A semaphore of musl with a waiter has only that bit
// set, and a word on which a thread parks has all bits set.
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
    if (ARGUMENT(regs, di, 0) - regs->sp < NEAR_STACK)
        return FUTEX;
    bool has_owner = word & FUTEX_WAITERS && word != FUTEX_WAITERS && word != ~0u;
    return word == 2 || has_owner ? ENTRY_FUTEX_LOCK : FUTEX;
}
