// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// Comparisons that are no branches, after each of which the verifier would look at all that follows once more.

#pragma once

#include <linux/bpf.h>

// All ones if `a` is less than `b`, else 0.
static __always_inline __u64 is_less(__u64 a, __u64 b)
{
    __s64 sign = (__s64)(a - b) >> 63;
    asm volatile("" : "+r"(sign));
    return sign;
}

static __always_inline __u64 lesser(__u64 a, __u64 b)
{
    return b + ((a - b) & is_less(a, b));
}

static __always_inline __u64 greater(__u64 a, __u64 b)
{
    return a + ((b - a) & is_less(a, b));
}
