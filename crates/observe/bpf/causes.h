// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// Manages the table of causes of a task's switches.

#pragma once

#include "maps.h"

static __always_inline __u64 key_of(__u32 entry, enum reason reason)
{
    return (__u64)reason << 32 | entry;
}

// Returns the index of a cause in its task's table. Usually the index is the last one again, or is
// found immediately. If the table is full, the cause with the fewest switches is removed, and its
// counts are added to the entry at the end of the table for other causes of its reason. So causes
// that occurred once when a program started do not displace frequent ones. The function is not
// static, so that the verifier checks it only once. Otherwise it would be checked together with all
// code after each of its exits, which took a third of a second.
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
    // The loop has no branches, because after each branch the verifier would check all of the
    // following code again.
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
