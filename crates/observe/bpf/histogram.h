// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// Histograms of times.

#pragma once

#include "layout.h"

// Returns the bucket of a time: two buckets per power of two from 2^8 ns on; the first bucket is
// for shorter times, the last for longer ones.
static __always_inline __u32 bucket(__u64 ns)
{
    __u32 log = 0;
    __u64 rest = ns;
    if (rest >> 32) {
        rest >>= 32;
        log += 32;
    }
    if (rest >> 16) {
        rest >>= 16;
        log += 16;
    }
    if (rest >> 8) {
        rest >>= 8;
        log += 8;
    }
    if (rest >> 4) {
        rest >>= 4;
        log += 4;
    }
    if (rest >> 2) {
        rest >>= 2;
        log += 2;
    }
    if (rest >> 1)
        log += 1;
    if (log < 8)
        return 0;
    __u32 at = 1 + (log - 8) * 2 + ((ns >> (log - 1)) & 1);
    return at < BUCKETS ? at : BUCKETS - 1;
}

static __always_inline void count_in(__u32 *histogram, __u64 ns)
{
    __u32 at = bucket(ns);
    if (at < BUCKETS)
        histogram[at]++;
}
