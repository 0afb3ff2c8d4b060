// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// The causes of a task, by what they are.

#pragma once

#include "maps.h"

static __always_inline __u64 key_of(__u32 entry, enum reason reason)
{
    return (__u64)reason << 32 | entry;
}

// The index of a cause in the table of its task; mostly it is the last one again, or found at once. Where the table is full, the least
// frequent makes room, and what it has counted goes to the rest of the same reason, at the end: what a program did once as it started does
// not keep out what it does all the time. Not static: so the verifier looks at it once, by itself, and not with all that comes behind
// each of its ends, which took a third of a second.
__noinline __u32 cause_of(struct task *t, __u64 key, struct control *c)
{
    if (!t || !c)
        return CAUSES;
    if (t->cause < CAUSES && t->causes[t->cause].key == key)
        return t->cause;
#pragma unroll
    for (__u32 at = 0; at < CAUSES - REASONS; at++) {
        if (t->causes[at].key == key)
            return at;
        if (!t->causes[at].key) {
            t->causes[at].key = key;
            return at;
        }
    }
    // Without branches, each of which would have the verifier look at all that follows once more.
    __u64 fewest = t->causes[0].switches;
    __u32 least = 0;
#pragma unroll
    for (__u32 at = 1; at < CAUSES - REASONS; at++) {
        __s64 is_less = (__s64)(t->causes[at].switches - fewest) >> 63;
        asm volatile("" : "+r"(is_less));
        fewest += (t->causes[at].switches - fewest) & is_less;
        least += (at - least) & is_less;
    }
    asm volatile("" : "+r"(least));
    if (least >= CAUSES - REASONS)
        return CAUSES;
    struct cause *evicted = &t->causes[least];
    __u32 reason = evicted->reason, last = CAUSES - REASONS - 1 + reason;
    asm volatile("" : "+r"(last));
    if (last >= CAUSES)
        return CAUSES;
    struct cause *rest = &t->causes[last];
    rest->key = key_of(ENTRY_OTHER, reason);
    rest->switches += fewest;
    rest->off_ns += evicted->off_ns;
    rest->wait_ns += evicted->wait_ns;
    __sync_fetch_and_add(&c->no_cause, fewest);
    *evicted = (struct cause){ .key = key };
    return least;
}
