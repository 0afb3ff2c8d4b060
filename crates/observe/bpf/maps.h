// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// Data shared with the observer, and settings that are made before the program is loaded.

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

// One entry per possible CPU; a single entry if only switches are counted (`counts_only`).
struct {
    __uint(type, BPF_MAP_TYPE_ARRAY);
    __uint(map_flags, BPF_F_MMAPABLE);
    __uint(max_entries, CPUS);
    __type(key, __u32);
    __type(value, struct marks);
} marks SEC(".maps");

// A single entry if times inside the scheduler are not requested.
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

// Queue of the slots of `tasks` that are free.
struct {
    __uint(type, BPF_MAP_TYPE_QUEUE);
    __uint(max_entries, TASKS);
    __type(value, __u32);
} free_slots SEC(".maps");

// Ring buffer with the slots of `tasks` whose tasks have ended.
struct {
    __uint(type, BPF_MAP_TYPE_RINGBUF);
    __uint(max_entries, 1 << 18);
} ended SEC(".maps");

// Ring buffer of switches and wake-ups. The buffer has the least possible size if events are not
// requested.
struct {
    __uint(type, BPF_MAP_TYPE_RINGBUF);
    __uint(max_entries, 1 << 24);
} events SEC(".maps");

// Whether events are requested. The value is set before the program is loaded, so that no code for
// unrequested data is loaded.
const volatile __u8 wants_events = 0;

const volatile __u8 wants_scheduler_time = 0;

// Whether times and other processes are left out, and no clock is read. Reading the clock takes a
// third as long as everything else.
const volatile __u8 counts_only = 0;

// IDs of the processes and threads to be observed. Processes that these start are observed, too.
struct {
    __uint(type, BPF_MAP_TYPE_HASH);
    __uint(max_entries, 16384);
    __type(key, __u32);
    __type(value, enum target);
} targets SEC(".maps");

// Name of a task, as the kernel stores it.
struct name {
    char text[16];
};

// Names of the processes to be observed, from the moment at which a process gets the name.
struct {
    __uint(type, BPF_MAP_TYPE_HASH);
    __uint(max_entries, 256);
    __type(key, struct name);
    __type(value, __u8);
} names SEC(".maps");

// Effects of other processes on an observed process that find no room in the tables of its tasks.
struct {
    __uint(type, BPF_MAP_TYPE_HASH);
    __uint(max_entries, 8192);
    __type(key, struct pair);
    __type(value, struct neighbour);
} pairs SEC(".maps");

// Storage that the kernel attaches to each task, and frees with it.
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

// Copies a name in two loads. The name is copied at each event: a shell becomes another program
// after its first runs, and a process ID may be reused.
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
