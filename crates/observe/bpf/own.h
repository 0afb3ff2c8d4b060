// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// The observer's own process. The observer's tasks are left out when all tasks are observed.

#pragma once

#include "kernel.h"

// ID of the observer's process, which is set before the program is loaded.
const volatile __u32 own_process = 0;

static __always_inline bool is_own(struct task_struct *task)
{
    return task->tgid == own_process;
}
