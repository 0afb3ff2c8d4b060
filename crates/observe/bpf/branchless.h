// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// Comparisons without branches. After each branch the verifier would check all of the following
// code again.

#pragma once

#include <linux/bpf.h>

// Returns all ones if `a` is less than `b`, otherwise 0.
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
