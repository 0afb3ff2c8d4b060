/* The as-run mode: the kernel schedules the tasks, and time stamps show which task ran when. GPL-2.0-or-later, see
   COPYING.

   A run is what a thread executes until it blocks, is preempted, or loses Valgrind's big lock to another thread. Each
   run begins a new buffer with an SC_STAMP, so that buffers can be sorted by their stamps.

   Preemption is detected without privileges: the kernel clears rseq_cs of a registered thread whenever it takes the
   CPU away (or delivers a signal). This file's rseq_cs names a critical section without instructions, so nothing is
   ever aborted. The client never registers one itself, because Valgrind 3.19 refuses the call as unknown. */
#include "switchcost.h"

#include "pub_tool_libcassert.h"
#include "pub_tool_libcbase.h"
#include "pub_tool_mallocfree.h"

#include "kernel.h"

#define RSEQ_SIGNATURE 0x53053053U
#define AREA_BYTES 32

struct rseq_area {
    UInt cpu_start, cpu;
    ULong section;
    UInt flags, padding[3];
} __attribute__((aligned(AREA_BYTES)));

struct rseq_section {
    UInt version, flags;
    ULong start, length, abort;
} __attribute__((aligned(AREA_BYTES)));

/* Target of an abort; the kernel requires the signature right before it. */
static const UInt landing[2] = { RSEQ_SIGNATURE, 0 };
static struct rseq_section section;
static struct rseq_area *areas;
static Bool *is_registered;
static ThreadId writer = VG_INVALID_THREADID;

#define IS_BACK 1

/* Returns a time stamp. The reading need not be ordered with the instructions around it: stamps order the runs of
   one CPU, and between two runs either the kernel has switched, or another thread has taken Valgrind's lock. */
static ULong time_stamp(void)
{
    UInt low, high;

    __asm__ volatile("rdtsc" : "=a"(low), "=d"(high));
    return (ULong)high << 32 | low;
}

/* Returns the switches of the calling thread that the kernel has counted since the last call of this function. The
   counts continue after an exec. */
static ULong new_switches(struct sc_slot *slot)
{
    struct counts now = kernel_counts();
    ULong voluntary = now.voluntary - slot->voluntary;
    ULong involuntary = now.involuntary - slot->involuntary;

    slot->voluntary = now.voluntary;
    slot->involuntary = now.involuntary;
    return SC_COUNTS(voluntary, involuntary);
}

static struct sc_slot *slot_of(ThreadId tid)
{
    return &ring_slots[tasks[tid].slot];
}

static void make_areas(void)
{
    Addr memory;

    section.start = (Addr)&section;
    section.length = 1;
    section.abort = (Addr)&landing[1];
    memory = (Addr)VG_(calloc)("switchcost.stamps", VG_N_THREADS + 1, sizeof *areas);
    areas = (struct rseq_area *)((memory + AREA_BYTES - 1) & ~(Addr)(AREA_BYTES - 1));
    is_registered = VG_(calloc)("switchcost.stamps", VG_N_THREADS, sizeof *is_registered);
}

/* Reports a fault after which the order of this task's blocks would be wrong. The controller then ends everything. */
static void give_up(UInt fault, ULong detail)
{
    ring_fault(fault, detail);
    for (;;)
        ring_sleep(&ring->freed, __atomic_load_n(&ring->freed, __ATOMIC_SEQ_CST));
}

/* Starts to watch for preemptions of the calling thread. */
static void watch(ThreadId tid)
{
    if (!is_registered[tid]) {
        Long outcome = kernel_call(KERNEL_RSEQ, (Addr)&areas[tid], sizeof areas[tid], 0, RSEQ_SIGNATURE);
        if (outcome < 0)
            give_up(SC_FAULT_RSEQ, -outcome);
        is_registered[tid] = True;
    }
    __atomic_store_n(&areas[tid].section, (Addr)&section, __ATOMIC_SEQ_CST);
    live.watch = &areas[tid].section;
    if (areas[tid].cpu != ring->cpu)
        give_up(SC_FAULT_CPU, areas[tid].cpu);
}

/* Sleeps until the controller, which needs no more data, ends this process. */
static void sleep_to_the_end(void)
{
    while (ring_is_stopping())
        ring_sleep(&ring->freed, __atomic_load_n(&ring->freed, __ATOMIC_SEQ_CST));
}

/* Opens a run. A run counts as open before it has its stamp, so that a run with a later stamp is not taken for an
   earlier one. From the watch on, each loss of the CPU is detected, and ends the run. */
static void open_run(ThreadId tid, ULong counts)
{
    struct sc_slot *slot = slot_of(tid);
    ULong words[3] = { 0, counts, 0 };

    sleep_to_the_end();
    if (buffers_claim(tasks[tid].slot))
        words[2] = new_switches(slot);
    watch(tid);
    __atomic_store_n(&slot->open_stamp, time_stamp(), __ATOMIC_SEQ_CST);
    words[0] = time_stamp();
    __atomic_store_n(&slot->open_stamp, words[0], __ATOMIC_SEQ_CST);
    buffers_stamp(words[0]);
    buffers_put(SC_STAMP, 0, words, 3);
}

static void close_run(ThreadId tid, ULong why, ULong counts)
{
    struct sc_slot *slot = slot_of(tid);

    buffers_put(SC_LEAVE, why, &counts, 1);
    buffers_hand_over();
    __atomic_store_n(&slot->open_stamp, 0, __ATOMIC_SEQ_CST);
    __atomic_store_n(&slot->back, 0, __ATOMIC_SEQ_CST);
    ring_doorbell();
}

/* Called with the big lock, when the thread continues, runs for the first time, or runs after another thread of its
   process. */
void stamps_enter(ThreadId tid)
{
    ULong back;

    if (!areas)
        make_areas();
    if (writer != VG_INVALID_THREADID && writer != tid)
        stamps_leave(writer, SC_LEFT_LOCK);
    if (tasks[tid].has_cpu)
        return;
    writer = tid;
    tasks[tid].has_cpu = True;
    back = slot_of(tid)->back;
    open_run(tid, back ? back & ~(ULong)IS_BACK : new_switches(slot_of(tid)));
}

void stamps_leave(ThreadId tid, ULong why)
{
    close_run(tid, why, 0);
    tasks[tid].has_cpu = False;
    writer = VG_INVALID_THREADID;
}

/* Called when the thread has returned from the kernel, before it takes any lock. */
void stamps_back(ThreadId tid)
{
    struct sc_slot *slot = slot_of(tid);

    __atomic_store_n(&slot->back, new_switches(slot) | IS_BACK, __ATOMIC_SEQ_CST);
}

/* Resets the state in a forked child, which has a copy of its parent's memory but none of its runs. */
void stamps_forked(void)
{
    writer = VG_INVALID_THREADID;
}

/* Resets the state for a new thread, which may have the number of a thread that has ended. */
void stamps_new_thread(ThreadId tid)
{
    if (is_registered)
        is_registered[tid] = False;
}

/* Called by generated code if the kernel has cleared rseq_cs, which means that the thread lost the CPU. */
void stamps_preempted(void)
{
    close_run(writer, SC_LEFT_PREEMPTED, new_switches(slot_of(writer)));
    open_run(writer, 0);
}

/* Checks, outside of generated code, whether the kernel has cleared rseq_cs. */
void stamps_look(ThreadId tid)
{
    if (is_as_run() && writer == tid && __atomic_load_n(&areas[tid].section, __ATOMIC_SEQ_CST) == 0)
        stamps_preempted();
}

/* Waits for an empty buffer. Other tasks may run in the meantime. */
void stamps_wait(void)
{
    close_run(writer, SC_LEFT_WAITING, new_switches(slot_of(writer)));
    open_run(writer, 0);
}

/* Ends the last run of a task that is asked to stop. */
void stamps_stop(ThreadId tid)
{
    stamps_leave(tid, SC_LEFT_WAITING);
    sleep_to_the_end();
}
