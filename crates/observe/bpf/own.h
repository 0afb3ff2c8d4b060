// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// The process that observes. Where all tasks are observed, its own are not meant.

#pragma once

#include "kernel.h"

// Set before the program is loaded.
const volatile __u32 own_process = 0;

static __always_inline bool is_own(struct task_struct *task)
{
    return task->tgid == own_process;
}
