/* Valgrind's reports on threads and forks of this process, and the first thread. GPL-2.0-or-later, see COPYING. */
#include "switchcost.h"

#include "pub_tool_libcbase.h"
#include "pub_tool_libcproc.h"
#include "pub_tool_tooliface.h"

/* In libcoregrind, not in the tool headers. */
extern UWord *VG_(client_auxv);

#define AUXILIARY_RANDOM 25
#define RANDOM_BYTES 16

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
    task->promised_slot = is_as_run() && tasks[maker].has_cpu ? lifecycle_expect(maker, task->process_slot) : NO_SLOT;
}

static void thread_ends(ThreadId tid)
{
    struct task *task = &tasks[tid];

    if (task->slot == NO_SLOT) {
        /* The thread was told to end before it ran. */
        task->slot = task->promised_slot;
        task->promised_slot = NO_SLOT;
    }
    if (task->slot == NO_SLOT)
        return;
    if (task->has_cpu) {
        lifecycle_end_others(tid);
        stream_record(SC_EXIT, task->slot, NULL, 0);
        turns_leave(tid, SC_ENDED);
    } else if (tasks_is_cpu_held()) {
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

/* Called in the child of a fork. The child must not write before it has the CPU, for which it waits when the fork
   has returned. */
static void process_is_forked(ThreadId tid)
{
    struct task *task = &tasks[tid];

    forget_others(tid);
    task->parent = task->slot;
    task->process_slot = NO_SLOT;
    lifecycle_claim_slot(tid);
    task->process_slot = task->slot;
    task->has_cpu = False;
    stamps_forked();
    task->is_forked = True;
}

/* Sets the 16 random bytes that the kernel puts on the stack of each new image. The bytes are meant for the stack
   protector. But string functions with tables, which read a few bytes too many, turn them into addresses, so no two
   traces would be the same. */
static void settle_random_bytes(void)
{
    UWord *entry;

    for (entry = VG_(client_auxv); entry && entry[0] != 0; entry += 2)
        if (entry[0] == AUXILIARY_RANDOM)
            VG_(memset)((void *)entry[1], 0x5c, RANDOM_BYTES);
}

/* Takes the first time slice of this image's first thread. */
void threads_start(void)
{
    const ThreadId first = 1;
    struct task *task;

    tasks_make();
    settle_random_bytes();
    task = &tasks[first];
    task->slot = ring_find_execed();
    if (task->slot != NO_SLOT) {
        task->process_slot = task->slot;
        turns_first(first, SC_WHY_EXECED);
        lifecycle_write_exec(first);
    } else {
        task->slot = ring_claim_slot(NO_SLOT, NO_SLOT);
        task->process_slot = task->slot;
        task->owes_birth = True;
        turns_first(first, SC_WHY_BORN);
    }
}

void threads_register(void)
{
    VG_(track_pre_thread_ll_create)(thread_is_made);
    VG_(track_pre_thread_ll_exit)(thread_ends);
    VG_(atfork)(NULL, NULL, process_is_forked);
}
