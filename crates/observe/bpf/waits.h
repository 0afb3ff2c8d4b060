// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// Attributes the waits of a task to the processes that ran meanwhile, and records the longest
// waits.

#pragma once

#include "branchless.h"
#include "neighbours.h"
#include "reasons.h"

// Adds a part of a wait to the process that ran during it; `waits` is added to that process's
// number of waits. None of these functions is static, so that the verifier checks each only once.
__noinline int kept_waiting(struct task *t, struct share *share, __u64 ns, __u64 waits)
{
    struct control *c = controls();
    if (!t || !share || !c)
        return 0;
    struct neighbour *n = neighbour(t, (struct other){ share->process, NULL, share }, c);
    if (n) {
        n->kept_waiting_ns += ns;
        n->kept_waiting += waits;
    }
    return 0;
}

// The process that had the CPU for most of a wait, and for how long.
struct most {
    __u64 ns, process, share;
};

// Stores a wait in place of the shortest of this CPU's longest waits. The wait is written directly
// into the table: this function's stack is the third of three, which before Linux 6.13 may have at
// most 512 bytes together.
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
    __builtin_memcpy(kept->behind_name, on->shares[most->share & (SHARES - 1)].name, sizeof(kept->behind_name));
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

static __always_inline void behind(struct most *most, __u64 process, __u64 ns, __u64 share)
{
    __u64 is_more = is_less(most->ns, ns);
    most->ns += (ns - most->ns) & is_more;
    most->process += (process - most->process) & is_more;
    most->share += (share - most->share) & is_more;
}

// Divides a wait among the last runs on the CPU that the task then got. The last of these runs
// ended when the task's own run began. Between two runs the CPU was idle.
static __always_inline int share_out_by_runs(struct task *t, struct cpu *on, __u64 ns)
{
    __u64 moved = lesser(t->moved_ns, ns), at = t->on_since, until = at - ns + moved, idle = 0, seen = 0;
    struct most most = { moved, PROCESS_MOVED, 0 };
    t->wait_moved_ns += moved;
    for (__u32 back = 0; back < RUNS; back++) {
        struct run *run = &on->runs[(on->newest - back) & (RUNS - 1)];
        if (at <= until || !run->end)
            break;
        __u64 end = lesser(greater(run->end, until), at);
        idle += at - end;
        at = lesser(greater(run->end - run->ns, until), end);
        if (at == end)
            continue;
        __u32 share = run->share & (SHARES - 1);
        kept_waiting(t, &on->shares[share], end - at, !(seen >> share & 1));
        seen |= 1ull << share;
        behind(&most, on->shares[share].process, end - at, share);
    }
    t->wait_nobody_ns += idle;
    t->wait_others_ns += at - until;
    behind(&most, PROCESS_NOBODY, idle, 0);
    behind(&most, PROCESS_OTHERS, at - until, 0);
    return ns <= on->long_ns ? 0 : keep_wait(on, t, &most, ns);
}

// Divides a wait by the time that each process has run on this CPU since a moment. `since_ns` is
// the time from that moment until the task got the CPU.
static __always_inline int share_out_by_sums(struct task *t, struct cpu *on, __u64 ns, struct sums *then, __u64 since_ns)
{
    __u64 moved = lesser(t->moved_ns, ns), left = lesser(since_ns, ns - moved), others = ns - moved - left;
    struct most most = { moved, PROCESS_MOVED, 0 };
    t->wait_moved_ns += moved;
    for (__u32 at = 0; at < SHARES; at++) {
        struct share *share = &on->shares[at];
        __u64 since = greater(then->ns[at], share->others_ns), part = lesser(share->ns - since, left);
        left -= part;
        __u64 part_of_others = lesser(since - then->ns[at], left);
        left -= part_of_others;
        others += part_of_others;
        if (!part)
            continue;
        kept_waiting(t, share, part, 1);
        behind(&most, share->process, part, at);
    }
    t->wait_others_ns += others;
    t->wait_nobody_ns += left;
    behind(&most, PROCESS_OTHERS, others, 0);
    behind(&most, PROCESS_NOBODY, left, 0);
    return ns <= on->long_ns ? 0 : keep_wait(on, t, &most, ns);
}

// Counts the wait of a task that waited only for the previous run, if that was a run of a process
// in the task's own table, which is the usual case. Otherwise returns false.
static __always_inline bool was_behind_the_last(struct task *t, struct cpu *on, __u64 ns)
{
    struct run *run = &on->runs[on->newest & (RUNS - 1)];
    if (t->moved_ns || run->end != t->on_since || run->ns < ns || ns > on->long_ns)
        return false;
    struct share *share = &on->shares[run->share & (SHARES - 1)];
#pragma unroll
    for (__u32 at = 0; at < NEIGHBOURS; at++) {
        struct neighbour *n = &t->neighbours[at];
        if (n->process == share->process) {
            copy_name(n->name, share->name);
            n->kept_waiting_ns += ns;
            n->kept_waiting++;
            return true;
        }
    }
    return false;
}

// Whether a runnable task left a CPU and returned to it, and was in its queue all the time, as far
// as two clocks agree.
static __always_inline bool has_sums(struct task *t, __u32 cpu, __u64 ns)
{
    return t->cpu == cpu && !t->moved_ns && t->cause < CAUSES && is_queued(t->causes[t->cause].reason)
           && t->last_off - ns <= ns >> 4;
}

// Returns the index of the first mark at or after a moment, in the levels that reach back to the
// moment. If there is none, returns the oldest mark; without marks, LEVELS * MARKS.
__noinline __u32 find_mark(struct marks *m, __u64 moment)
{
    __u32 found = LEVELS * MARKS;
    if (!m)
        return found;
    for (__u32 level = 0; level < LEVELS; level++) {
        __u64 newest = (m->taken - 1) >> 2 * level;
        for (__u32 back = 0; back < MARKS; back++) {
            __u32 at = level * MARKS + ((newest - back) & (MARKS - 1));
            if (m->marks[at & (LEVELS * MARKS - 1)].at < moment)
                return found;
            found = at;
        }
    }
    return found;
}

__noinline int share_out(struct task *t, struct cpu *on, __u32 cpu, __u64 ns)
{
    if (!t || !on)
        return 0;
    __u64 came = t->on_since, began = came - ns, oldest = on->runs[(on->newest + 1) & (RUNS - 1)].end;
    if (oldest <= began)
        return share_out_by_runs(t, on, ns);
    struct sums *then = &t->shares_then;
    __u64 since_ns = ns;
    if (!has_sums(t, cpu, ns)) {
        struct marks *m = bpf_map_lookup_elem(&marks, &cpu);
        __u32 at = find_mark(m, began + t->moved_ns);
        if (!m || at >= LEVELS * MARKS || m->marks[at].at >= oldest)
            return share_out_by_runs(t, on, ns);
        then = &m->marks[at].sums;
        since_ns = came - m->marks[at].at;
    }
    return share_out_by_sums(t, on, ns, then, since_ns);
}

// Returns the index of the share of a process that is neither of the last two. If the process has
// no share, returns the share that was used least recently.
__noinline __u32 find_share(struct cpu *on, __u32 process)
{
    if (!on)
        return 0;
    for (__u32 at = 0; at < SHARES; at++)
        if (on->shares[at].process == process)
            return at;
    __u64 oldest = on->shares[0].last;
    __u32 place = 0;
#pragma unroll
    for (__u32 at = 1; at < SHARES; at++) {
        __u64 is_older = is_less(on->shares[at].last, oldest);
        oldest += (on->shares[at].last - oldest) & is_older;
        place += (at - place) & is_older;
    }
    struct share *share = &on->shares[place & (SHARES - 1)];
    share->process = process;
    share->others_ns = share->ns;
    return place;
}

// Records a run that has ended in the share of its process.
__noinline __u32 remember(struct cpu *on, __u32 process, __u64 now, __u64 ran)
{
    if (!on)
        return 0;
    __u32 at = on->newest & (RUNS - 1), place = on->runs[at].share & (SHARES - 1);
    if (on->shares[place].process != process || on->runs[at].end != now - ran) {
        place = on->runs[(at - 1) & (RUNS - 1)].share & (SHARES - 1);
        if (on->shares[place].process != process)
            place = find_share(on, process) & (SHARES - 1);
        at = (at + 1) & (RUNS - 1);
        on->newest = at;
        on->runs[at].ns = 0;
        on->runs[at].share = place;
    }
    on->runs[at].end = now;
    on->runs[at].ns += ran;
    on->shares[place].ns += ran;
    on->shares[place].last = now;
    return place;
}

static __always_inline void note_shares(struct sums *sums, struct cpu *on)
{
#pragma unroll
    for (__u32 at = 0; at < SHARES; at++)
        sums->ns[at] = on->shares[at].ns;
}

// Time between two marks. Of a wait that is longer than the recorded runs, only the part between
// two marks is unknown.
#define MARK_NS 1000000

__noinline int take_mark(struct cpu *on, __u32 cpu, __u64 now)
{
    struct marks *m = bpf_map_lookup_elem(&marks, &cpu);
    if (!m || !on)
        return 0;
    on->marked = now;
    __u64 taken = m->taken++;
    for (__u32 level = 0; level < LEVELS; level++) {
        if (taken & ((1 << 2 * level) - 1))
            break;
        struct mark *mark = &m->marks[(level * MARKS + (taken >> 2 * level & (MARKS - 1))) & (LEVELS * MARKS - 1)];
        mark->at = now;
        note_shares(&mark->sums, on);
    }
    return 0;
}
