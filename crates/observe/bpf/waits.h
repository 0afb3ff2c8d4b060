// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// Who kept a task waiting for a CPU, and the longest waits.

#pragma once

#include "branchless.h"
#include "neighbours.h"

// Counts a part of a wait for the process that ran meanwhile. None of these three is static: so the verifier looks at each once, by itself.
__noinline int kept_waiting(struct task *t, struct run *run, __u64 ns, struct control *c)
{
    if (!t || !run || !c)
        return 0;
    struct neighbour *n = neighbour(t, (struct other){ run->process, NULL, run }, c);
    if (n) {
        n->kept_waiting_ns += ns;
        n->kept_waiting++;
    }
    return 0;
}

// Who was in the way for the most of a wait, and where that run is.
struct most {
    __u64 ns, process, run;
};

// Keeps a wait in place of the shortest of the longest of this CPU, where it is written: this stack is the third of three, which together
// may be no deeper than 512 bytes before Linux 6.13.
__noinline int keep_wait(struct cpu *on, struct task *t, struct most *most, __u64 ns)
{
    if (!on || !t || !most)
        return 0;
    struct wait *kept = &on->longest[on->shortest & (LONGEST - 1)];
    kept->since = t->on_since - ns;
    kept->ns = ns;
    kept->behind_ns = most->ns;
    kept->behind = most->process;
    kept->pid = t->pid;
    kept->tgid = t->tgid;
    __builtin_memcpy(kept->name, t->name, sizeof(kept->name));
    __builtin_memcpy(kept->behind_name, on->runs[most->run & (RUNS - 1)].name, sizeof(kept->behind_name));
    __u64 least = on->longest[0].ns;
    __u32 shortest = 0;
#pragma unroll
    for (__u32 at = 1; at < LONGEST; at++) {
        __u64 is_shorter = is_less(on->longest[at].ns, least);
        least += (on->longest[at].ns - least) & is_shorter;
        shortest += (at - shortest) & is_shorter;
    }
    on->shortest = shortest;
    on->long_ns = least;
    return 0;
}

static __always_inline void behind(struct most *most, __u64 process, __u64 ns, __u64 run)
{
    __u64 is_more = is_less(most->ns, ns);
    most->ns += (ns - most->ns) & is_more;
    most->process += (process - most->process) & is_more;
    most->run += (run - most->run) & is_more;
}

// Shares a wait out among those that ran meanwhile on the CPU that the task got after it, whose last runs end where the task's own,
// which is not over yet, began. Between two runs the CPU was idle.
__noinline int share_out(struct task *t, struct cpu *on, __u64 ns, struct control *c)
{
    if (!t || !on || !c)
        return 0;
    __u64 moved = lesser(t->moved_ns, ns), at = t->on_since, until = at - ns + moved, idle = 0;
    struct most most = { moved, PROCESS_MOVED, 0 };
    t->wait_moved_ns += moved;
    for (__u32 back = 0; back < RUNS; back++) {
        __u32 slot = (on->newest - back) & (RUNS - 1);
        struct run *run = &on->runs[slot];
        if (at <= until || !run->end)
            break;
        __u64 end = lesser(greater(run->end, until), at);
        idle += at - end;
        at = lesser(greater(run->end - run->ns, until), end);
        if (at == end)
            continue;
        kept_waiting(t, run, end - at, c);
        behind(&most, run->process, end - at, slot);
    }
    t->wait_nobody_ns += idle;
    t->wait_others_ns += at - until;
    behind(&most, PROCESS_NOBODY, idle, 0);
    behind(&most, PROCESS_OTHERS, at - until, 0);
    return ns <= on->long_ns ? 0 : keep_wait(on, t, &most, ns);
}

// Mostly the run before is all that a task waited behind, and of a process that it remembers.
static __always_inline bool was_behind_the_last(struct task *t, struct cpu *on, __u64 ns)
{
    struct run *run = &on->runs[on->newest & (RUNS - 1)];
    if (t->moved_ns || run->end != t->on_since || run->ns < ns || ns > on->long_ns)
        return false;
#pragma unroll
    for (__u32 at = 0; at < NEIGHBOURS; at++) {
        struct neighbour *n = &t->neighbours[at];
        if (n->process == run->process) {
            copy_name(n->name, run->name);
            n->kept_waiting_ns += ns;
            n->kept_waiting++;
            return true;
        }
    }
    return false;
}

// Remembers a run that is over.
static __always_inline void remember(struct cpu *on, struct task_struct *task, __u64 now, __u64 ran)
{
    __u32 at = (on->newest + 1) & (RUNS - 1), process = process_of(task);
    struct run *run = &on->runs[at];
    on->newest = at;
    run->end = now;
    run->ns = ran;
    run->process = process;
    copy_name(run->name, task->group_leader->comm);
}
