/* Who is born and who ends: threads, forks, execs. GPL-2.0-or-later, see COPYING. */
#include "switchcost.h"

#include "pub_tool_clientstate.h"
#include "pub_tool_libcassert.h"
#include "pub_tool_libcbase.h"
#include "pub_tool_libcproc.h"
#include "pub_tool_mallocfree.h"
#include "pub_tool_tooliface.h"

/* In libcoregrind, not in the tool headers. */
extern Bool VG_(is_exiting)(ThreadId tid);
extern UWord *VG_(client_auxv);

#define AUXILIARY_RANDOM 25
#define RANDOM_BYTES 16

#define LONGEST_NAME 256

struct task *tasks;
static Bool is_process_ending;

static const HChar *program_name(void)
{
    const HChar *path = VG_(args_the_exename);
    const HChar *slash = VG_(strrchr)(path, '/');

    return slash ? slash + 1 : path;
}

static UInt pack_name(ULong *words)
{
    const HChar *name = program_name();
    UInt length = VG_(strlen)(name);

    if (length > LONGEST_NAME)
        length = LONGEST_NAME;
    words[0] = length;
    return 1 + stream_pack(words + 1, name, length);
}

void tasks_write_birth(ThreadId tid)
{
    struct sc_slot *slot = &ring_slots[tasks[tid].slot];
    ULong words[3 + LONGEST_NAME / 8];

    words[0] = (ULong)slot->parent << 32 | slot->process_slot;
    words[1] = (ULong)slot->pid << 32 | slot->tid;
    stream_record(SC_BIRTH, tasks[tid].slot, words, 2 + pack_name(words + 2));
    tasks[tid].owes_birth = False;
}

static void write_exec(ThreadId tid)
{
    ULong words[1 + LONGEST_NAME / 8];

    stream_record(SC_EXEC, tasks[tid].slot, words, pack_name(words));
}

void tasks_end_process(void)
{
    is_process_ending = True;
}

Bool tasks_is_ending(ThreadId tid)
{
    return is_process_ending || VG_(is_exiting)(tid);
}

/* A new thread, not yet known to anybody: it runs without the big lock. */
void tasks_birth(ThreadId tid)
{
    struct task *task = &tasks[tid];

    if (task->promised_slot == NO_SLOT) {
        task->slot = ring_claim_slot(task->parent, task->process_slot);
    } else {
        task->slot = task->promised_slot;
        ring_adopt_slot(task->slot);
        task->promised_slot = NO_SLOT;
    }
    task->owes_birth = True;
}

/* As run: the maker may run on, and execute another program, before who is made first runs. What that one begins with
   must have its place in the stream now. */
UInt tasks_expect(ThreadId maker, UInt process_slot)
{
    UInt slot = ring_claim_slot(tasks[maker].slot, process_slot);
    ULong words[1] = { (ULong)tasks[maker].slot << 32 | ring_slots[slot].process_slot };

    stream_record(SC_FORK, slot, words, 1);
    return slot;
}

static void thread_is_made(ThreadId maker, ThreadId made)
{
    struct task *task = &tasks[made];

    if (maker == VG_INVALID_THREADID)
        return;
    VG_(memset)(task, 0, sizeof *task);
    stamps_new_thread(made);
    task->slot = NO_SLOT;
    task->parent = tasks[maker].slot;
    task->process_slot = tasks[maker].process_slot;
    task->promised_slot = is_as_run() && tasks[maker].has_cpu ? tasks_expect(maker, task->process_slot) : NO_SLOT;
}

static void write_end(struct task *task)
{
    stream_record(SC_EXIT, task->slot, NULL, 0);
    ring_set_state(task->slot, SC_ENDED);
    task->slot = NO_SLOT;
}

/* As run: a task that was expected could not be made. */
void tasks_bury_promised(ThreadId tid)
{
    struct task *task = &tasks[tid];

    stream_record(SC_EXIT, task->promised_slot, NULL, 0);
    ring_set_state(task->promised_slot, SC_ENDED);
    task->promised_slot = NO_SLOT;
    task->has_lost_birth = False;
}

/* At the end of an image: the thread that has the CPU speaks for the others, which end without ever getting it. */
void tasks_end_others(ThreadId tid)
{
    ThreadId other;

    for (other = 1; other < VG_N_THREADS; other++) {
        struct task *task = &tasks[other];
        if (other != tid && task->slot != NO_SLOT && (task->has_ended || tasks_is_ending(other)))
            write_end(task);
    }
}

static Bool someone_has_cpu(void)
{
    ThreadId tid;

    for (tid = 1; tid < VG_N_THREADS; tid++)
        if (tasks[tid].slot != NO_SLOT && tasks[tid].has_cpu)
            return True;
    return False;
}

static void thread_ends(ThreadId tid)
{
    struct task *task = &tasks[tid];

    if (task->slot == NO_SLOT)
        return;
    if (task->has_cpu) {
        tasks_end_others(tid);
        stream_record(SC_EXIT, task->slot, NULL, 0);
        turns_leave(tid, SC_ENDED);
    } else if (someone_has_cpu()) {
        task->has_ended = True;
        return;
    } else {
        ring_set_state(task->slot, SC_ENDED);
    }
    task->slot = NO_SLOT;
}

static void forget_others(ThreadId tid)
{
    ThreadId other;

    for (other = 1; other < VG_N_THREADS; other++)
        if (other != tid)
            tasks[other].slot = NO_SLOT;
}

/* In the child of a fork: it must not write before it has a turn, which it waits for when the fork has returned. */
static void process_is_forked(ThreadId tid)
{
    struct task *task = &tasks[tid];

    forget_others(tid);
    task->parent = task->slot;
    task->process_slot = NO_SLOT;
    tasks_birth(tid);
    task->process_slot = task->slot;
    task->has_cpu = False;
    stamps_forked();
    task->is_forked = True;
}

static void make_tasks(void)
{
    ThreadId tid;

    tasks = VG_(calloc)("switchcost.tasks", VG_N_THREADS, sizeof *tasks);
    for (tid = 0; tid < VG_N_THREADS; tid++) {
        tasks[tid].slot = NO_SLOT;
        tasks[tid].promised_slot = NO_SLOT;
    }
}

/* The kernel leaves 16 random bytes on the stack of each new image. They are the stack protector's, but table-driven
   string functions that read a few bytes too many turn them into addresses: no two traces would be the same. */
static void settle_random_bytes(void)
{
    UWord *entry;

    for (entry = VG_(client_auxv); entry && entry[0] != 0; entry += 2)
        if (entry[0] == AUXILIARY_RANDOM)
            VG_(memset)((void *)entry[1], 0x5c, RANDOM_BYTES);
}

/* The first thread of this image takes its first turn. */
void tasks_start(void)
{
    const ThreadId first = 1;
    struct task *task;

    make_tasks();
    settle_random_bytes();
    task = &tasks[first];
    task->slot = ring_find_execed();
    if (task->slot != NO_SLOT) {
        task->process_slot = task->slot;
        turns_first(first, SC_WHY_EXECED);
        write_exec(first);
    } else {
        task->slot = ring_claim_slot(NO_SLOT, NO_SLOT);
        task->process_slot = task->slot;
        task->owes_birth = True;
        turns_first(first, SC_WHY_BORN);
    }
}

void tasks_register(void)
{
    VG_(track_pre_thread_ll_create)(thread_is_made);
    VG_(track_pre_thread_ll_exit)(thread_ends);
    VG_(atfork)(NULL, NULL, process_is_forked);
}
