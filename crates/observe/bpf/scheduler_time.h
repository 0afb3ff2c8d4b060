// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// Measures the time that the kernel spends inside its scheduler.

#pragma once

#include "histogram.h"
#include "maps.h"

// Attached only if requested, because the two functions read the clock twice per switch.
SEC("tp_btf/sched_entry_tp")
int BPF_PROG(on_scheduler_entry, bool preempt)
{
    __u32 cpu = bpf_get_smp_processor_id();
    struct in_scheduler *inside = bpf_map_lookup_elem(&in_scheduler, &cpu);
    if (inside) {
        inside->own = 0;
        inside->entered = bpf_ktime_get_ns();
    }
    return 0;
}

// A new task does not pass this tracepoint before it first runs.
SEC("tp_btf/sched_exit_tp")
int BPF_PROG(on_scheduler_exit, bool is_switch)
{
    __u64 now = bpf_ktime_get_ns();
    __u32 cpu = bpf_get_smp_processor_id();
    struct in_scheduler *inside = bpf_map_lookup_elem(&in_scheduler, &cpu);
    if (inside && inside->entered && inside->own) {
        __u64 took = now - inside->entered - inside->own;
        inside->ns += took;
        count_in(inside->times, took);
        inside->entered = 0;
    }
    return 0;
}
