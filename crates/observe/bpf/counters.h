// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// Sums up the CPU's hardware counters over time slices, from one switch to the next.

#pragma once

#include "histogram.h"
#include "maps.h"

// Available counters, one bit for each. The value is set before the program is loaded, so that
// without counters no code for them is loaded.
const volatile __u8 counters = 0;

// The counters that the observer has opened, CPU by CPU.
struct {
    __uint(type, BPF_MAP_TYPE_PERF_EVENT_ARRAY);
    __uint(max_entries, CPUS * COUNTERS);
    __type(key, __u32);
    __type(value, __u32);
} counter_events SEC(".maps");

// Sums of the counters for each slot of `tasks`. A single entry if there are no counters.
struct {
    __uint(type, BPF_MAP_TYPE_ARRAY);
    __uint(map_flags, BPF_F_MMAPABLE);
    __uint(max_entries, TASKS);
    __type(key, __u32);
    __type(value, struct counted);
} counted SEC(".maps");

// State of the counters of each CPU. A single entry if there are no counters.
struct {
    __uint(type, BPF_MAP_TYPE_ARRAY);
    __uint(map_flags, BPF_F_MMAPABLE);
    __uint(max_entries, CPUS);
    __type(key, __u32);
    __type(value, struct counting);
} counting SEC(".maps");

// Reads a counter. A reading that covers only a part of the time is rejected, never scaled. A CPU
// that came online later has no counter.
static __always_inline bool read_counter(struct counting *on, __u32 cpu, __u32 which, __u64 *count)
{
    struct bpf_perf_event_value value = {};
    if (bpf_perf_event_read_value(&counter_events, cpu * COUNTERS + which, &value, sizeof(value)))
        return false;
    *count = value.counter;
    on->refused += value.running != value.enabled;
    return value.running == value.enabled;
}

// Begins a time slice at the end of the BPF program, so that the program's own work is in no time
// slice, except for its first and last instructions.
static __always_inline void begin_turn(__u32 cpu)
{
    struct counting *on = bpf_map_lookup_elem(&counting, &cpu);
    if (!on)
        return;
    on->is_known = 1;
#pragma unroll
    for (__u32 which = 0; which < COUNTERS; which++)
        if (counters & (1 << which) && !read_counter(on, cpu, which, &on->began[which]))
            on->is_known = 0;
}

// Ends a time slice at the start of the BPF program, before the task of the time slice is known.
static __always_inline void end_turn(__u32 cpu)
{
    struct counting *on = bpf_map_lookup_elem(&counting, &cpu);
    if (!on)
        return;
#pragma unroll
    for (__u32 which = 0; which < COUNTERS; which++)
        if (counters & (1 << which) && !read_counter(on, cpu, which, &on->ended[which]))
            on->is_known = 0;
}

// Adds a time slice to the counts of its task.
static __always_inline void count_turn(__u32 cpu, __u32 slot, __u64 ran)
{
    struct counting *on = bpf_map_lookup_elem(&counting, &cpu);
    struct counted *all = bpf_map_lookup_elem(&counted, &slot);
    if (!on || !on->is_known || !all || !ran)
        return;
    all->ran_ns += ran;
#pragma unroll
    for (__u32 which = 0; which < COUNTERS; which++)
        all->sums[which] += on->ended[which] - on->began[which];
    __u64 instructions = on->ended[COUNTER_INSTRUCTIONS] - on->began[COUNTER_INSTRUCTIONS];
    __u64 per_us = instructions * 1000 / ran;
    if (per_us > all->most_per_us)
        all->most_per_us = per_us;
    count_in(all->turns, instructions);
}
