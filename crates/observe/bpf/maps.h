// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// What is shared with the observer, and what is set before the program is loaded.

#pragma once

#include "kernel.h"
#include "layout.h"

struct {
    __uint(type, BPF_MAP_TYPE_ARRAY);
    __uint(map_flags, BPF_F_MMAPABLE);
    __uint(max_entries, TASKS);
    __type(key, __u32);
    __type(value, struct task);
} tasks SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_ARRAY);
    __uint(map_flags, BPF_F_MMAPABLE);
    __uint(max_entries, CPUS);
    __type(key, __u32);
    __type(value, struct cpu);
} cpus SEC(".maps");

// As many entries as there may be CPUs; one where times are not wanted.
struct {
    __uint(type, BPF_MAP_TYPE_ARRAY);
    __uint(map_flags, BPF_F_MMAPABLE);
    __uint(max_entries, CPUS);
    __type(key, __u32);
    __type(value, struct marks);
} marks SEC(".maps");

// One entry where it is not wanted.
struct {
    __uint(type, BPF_MAP_TYPE_ARRAY);
    __uint(map_flags, BPF_F_MMAPABLE);
    __uint(max_entries, CPUS);
    __type(key, __u32);
    __type(value, struct in_scheduler);
} in_scheduler SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_ARRAY);
    __uint(map_flags, BPF_F_MMAPABLE);
    __uint(max_entries, 1);
    __type(key, __u32);
    __type(value, struct control);
} control SEC(".maps");

// Slots of `tasks` that are free.
struct {
    __uint(type, BPF_MAP_TYPE_QUEUE);
    __uint(max_entries, TASKS);
    __type(value, __u32);
} free_slots SEC(".maps");

// Slots of `tasks` whose task is gone.
struct {
    __uint(type, BPF_MAP_TYPE_RINGBUF);
    __uint(max_entries, 1 << 18);
} ended SEC(".maps");

// Switches and wake-ups, one by one; as small as can be where they are not wanted.
struct {
    __uint(type, BPF_MAP_TYPE_RINGBUF);
    __uint(max_entries, 1 << 24);
} events SEC(".maps");

// Set before the program is loaded, so that what is not wanted is not in it.
const volatile __u8 wants_events = 0;

const volatile __u8 wants_scheduler_time = 0;

// The same of all times that take a clock, and of neighbours: a third of what all else does is to read it.
const volatile __u8 counts_only = 0;

// Processes and threads to be observed, by their numbers, besides what those start that are.
struct {
    __uint(type, BPF_MAP_TYPE_HASH);
    __uint(max_entries, 16384);
    __type(key, __u32);
    __type(value, enum target);
} targets SEC(".maps");

// What other processes did to an observed one, beyond what its tasks remember themselves.
struct {
    __uint(type, BPF_MAP_TYPE_HASH);
    __uint(max_entries, 8192);
    __type(key, struct pair);
    __type(value, struct neighbour);
} pairs SEC(".maps");

// Kept with each task by the kernel, and freed with it.
struct ref {
    __u32 slot, generation;
};

struct {
    __uint(type, BPF_MAP_TYPE_TASK_STORAGE);
    __uint(map_flags, BPF_F_NO_PREALLOC);
    __type(key, int);
    __type(value, struct ref);
} refs SEC(".maps");

static const __u32 FIRST = 0;

// Two words are loaded. The name is copied at each event: a shell becomes a program after its first runs, and a number may be another
// process's later.
static __always_inline void copy_name(char *name, const char *from)
{
    ((__u64 *)name)[0] = ((const __u64 *)from)[0];
    ((__u64 *)name)[1] = ((const __u64 *)from)[1];
}

static __always_inline struct control *controls(void)
{
    return bpf_map_lookup_elem(&control, &FIRST);
}

static __always_inline struct task *task_of(struct ref *ref)
{
    __u32 slot = ref ? ref->slot : 0;
    return slot ? bpf_map_lookup_elem(&tasks, &slot) : NULL;
}
