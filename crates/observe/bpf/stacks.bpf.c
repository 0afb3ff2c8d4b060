// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// Samples the user stacks of observed tasks at their switches: a random switch out of a given
// number, so that all switches have the same weight. This is a separate program, loaded only if
// stacks are requested. Data for the observer has a fixed layout, as in src/stacks/layout.rs.

#include "kernel.h"
#include "own.h"

char LICENSE[] SEC("license") = "Dual MIT/GPL";

// --- Data for the observer, and settings from it ---

#define DEPTH 127

struct sample {
    __u32 process, waits;
    __u64 switches; // number of switches that the sample represents
    __u64 depth;
    char name[16];
    __u64 frames[DEPTH]; // innermost frame first
};

struct control {
    __u64 every; // number of switches per sample
    __u64 all;   // nonzero if every task is observed
    __u64 lost;  // switches that should have been sampled, but found no room in the buffer
};

_Static_assert(sizeof(struct sample) == 1056 && sizeof(struct control) == 24, "as in src/stacks/layout.rs");

struct {
    __uint(type, BPF_MAP_TYPE_ARRAY);
    __uint(max_entries, 1);
    __type(key, __u32);
    __type(value, struct control);
} control SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_HASH);
    __uint(max_entries, 16384);
    __type(key, __u32);
    __type(value, __u32);
} processes SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_RINGBUF);
    __uint(max_entries, 1 << 20);
} samples SEC(".maps");

static const __u32 FIRST = 0;

SEC("tp_btf/sched_switch")
int BPF_PROG(on_switch, bool preempt, struct task_struct *prev, struct task_struct *next)
{
    struct control *c = bpf_map_lookup_elem(&control, &FIRST);
    if (!c || !prev->pid || prev->flags & (PF_KTHREAD | PF_IO_WORKER | PF_USER_WORKER))
        return 0;
    __u64 every = c->every;
    if (every > 1 && bpf_get_prandom_u32() % every)
        return 0;
    __u32 process = prev->tgid;
    bool is_of_all = c->all && !is_own(prev);
    if (!is_of_all && !bpf_map_lookup_elem(&processes, &process))
        return 0;
    struct sample *sample = bpf_ringbuf_reserve(&samples, sizeof(*sample), 0);
    if (!sample) {
        __sync_fetch_and_add(&c->lost, every ? every : 1);
        return 0;
    }
    sample->process = process;
    sample->waits = !preempt && state_of(prev);
    sample->switches = every ? every : 1;
    bpf_probe_read_kernel_str(sample->name, sizeof(sample->name), prev->comm);
    // A task that has ended has no memory any more, and therefore no stack.
    long bytes = bpf_get_stack(ctx, sample->frames, sizeof(sample->frames), BPF_F_USER_STACK);
    sample->depth = bytes > 0 ? bytes / sizeof(__u64) : 0;
    // The observer reads the buffer several times per second without being woken.
    bpf_ringbuf_submit(sample, BPF_RB_NO_WAKEUP);
    return 0;
}
