/* The threads of this process, as tasks of the controller. GPL-2.0-or-later, see COPYING. */
#include "switchcost.h"

#include "pub_tool_mallocfree.h"

/* In libcoregrind, not in the tool headers. */
extern Bool VG_(is_exiting)(ThreadId tid);

struct task *tasks;
static Bool is_process_ending;

/* Makes the table of threads. No thread is a task yet. */
void tasks_make(void)
{
    ThreadId tid;

    tasks = VG_(calloc)("switchcost.tasks", VG_N_THREADS, sizeof *tasks);
    for (tid = 0; tid < VG_N_THREADS; tid++) {
        tasks[tid].slot = NO_SLOT;
        tasks[tid].promised_slot = NO_SLOT;
    }
}

void tasks_end_process(void)
{
    is_process_ending = True;
}

Bool tasks_is_ending(ThreadId tid)
{
    return is_process_ending || VG_(is_exiting)(tid);
}

/* Whether any thread of this process holds the CPU. */
Bool tasks_is_cpu_held(void)
{
    ThreadId tid;

    for (tid = 1; tid < VG_N_THREADS; tid++)
        if (tasks[tid].slot != NO_SLOT && tasks[tid].has_cpu)
            return True;
    return False;
}
