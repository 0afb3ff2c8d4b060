/* Births, execs and ends of tasks, in their slots and in the stream. GPL-2.0-or-later, see COPYING. */
#include "switchcost.h"

#include "pub_tool_libcbase.h"

#define LONGEST_NAME 256

static UInt pack_name(ULong *words)
{
    const HChar *name = execs_name();
    UInt length = VG_(strlen)(name);

    if (length > LONGEST_NAME)
        length = LONGEST_NAME;
    words[0] = length;
    return 1 + stream_pack(words + 1, name, length);
}

/* Writes the birth of a task, when the task first has the CPU. */
void lifecycle_write_birth(ThreadId tid)
{
    struct sc_slot *slot = &ring_slots[tasks[tid].slot];
    ULong words[3 + LONGEST_NAME / 8];

    words[0] = (ULong)slot->parent << 32 | slot->process_slot;
    words[1] = (ULong)slot->pid << 32 | slot->tid;
    stream_record(SC_BIRTH, tasks[tid].slot, words, 2 + pack_name(words + 2));
    tasks[tid].owes_birth = False;
}

/* Writes an exec. The task has a new image from here on. */
void lifecycle_write_exec(ThreadId tid)
{
    ULong words[1 + LONGEST_NAME / 8];

    stream_record(SC_EXEC, tasks[tid].slot, words, pack_name(words));
}

/* Claims a slot for a new thread. The thread is not yet visible to others, and does not have the big lock. */
void lifecycle_claim_slot(ThreadId tid)
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

/* As run: records a task that is being created. The creator may continue and even execute another program before the
   new task runs, so the state that the new task inherits gets its place in the stream now. */
UInt lifecycle_expect(ThreadId maker, UInt process_slot)
{
    UInt slot = ring_claim_slot(tasks[maker].slot, process_slot);
    ULong words[1] = { (ULong)tasks[maker].slot << 32 | ring_slots[slot].process_slot };

    stream_record(SC_FORK, slot, words, 1);
    return slot;
}

static void write_end(struct task *task)
{
    stream_record(SC_EXIT, task->slot, NULL, 0);
    ring_set_state(task->slot, SC_ENDED);
    task->slot = NO_SLOT;
}

/* As run: records that a task which was announced could not be created. */
void lifecycle_bury_promised(ThreadId tid)
{
    struct task *task = &tasks[tid];

    stream_record(SC_EXIT, task->promised_slot, NULL, 0);
    ring_set_state(task->promised_slot, SC_ENDED);
    task->promised_slot = NO_SLOT;
    task->has_lost_birth = False;
}

/* Called at the end of an image by the thread that has the CPU. Records the ends of all other threads, which do not
   get the CPU again. */
void lifecycle_end_others(ThreadId tid)
{
    ThreadId other;

    for (other = 1; other < VG_N_THREADS; other++) {
        struct task *task = &tasks[other];
        if (other != tid && task->slot != NO_SLOT && (task->has_ended || tasks_is_ending(other)))
            write_end(task);
    }
}
