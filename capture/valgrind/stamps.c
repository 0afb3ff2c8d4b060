/* The as-run mode: nobody grants anything; time stamps say who ran when. GPL-2.0-or-later, see COPYING.

   A run is what a thread executes until it blocks, is preempted, or loses Valgrind's big lock to another thread. Each
   run begins a buffer of its own with an SC_STAMP, so that buffers can be put in order by their stamps.

   Preemption is seen without privilege: the kernel clears rseq_cs of a registered thread whenever it takes the CPU away
   (or delivers a signal). Ours names a critical section that contains no instruction, so nothing is ever aborted. The
   client never registers one itself: Valgrind 3.19 tells it that the call does not exist. */
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

/* Where an abort would go; the kernel wants the signature right before it. */
static const UInt landing[2] = { RSEQ_SIGNATURE, 0 };
static struct rseq_section section;
static struct rseq_area *areas;
static Bool *is_registered;
static ThreadId writer = VG_INVALID_THREADID;

/* struct rusage: two times of two words, then fourteen counts. */
#define RUSAGE_WORDS 18
#define RUSAGE_VOLUNTARY 16
#define RUSAGE_INVOLUNTARY 17
#define RUSAGE_THREAD 1

static ULong time_stamp(void)
{
    UInt low, high;

    __asm__ volatile("rdtsc" : "=a"(low), "=d"(high));
    return (ULong)high << 32 | low;
}

/* What the kernel has counted since the last call, for the calling thread. */
static ULong new_switches(struct task *task)
{
    ULong usage[RUSAGE_WORDS] = { 0 };
    ULong voluntary, involuntary;

    kernel_call(KERNEL_GETRUSAGE, RUSAGE_THREAD, (Addr)usage, 0, 0);
    voluntary = usage[RUSAGE_VOLUNTARY] - task->voluntary;
    involuntary = usage[RUSAGE_INVOLUNTARY] - task->involuntary;
    task->voluntary = usage[RUSAGE_VOLUNTARY];
    task->involuntary = usage[RUSAGE_INVOLUNTARY];
    return (voluntary & 0xffffff) << 8 | involuntary << 32;
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

/* In the thread itself. Where the kernel refuses, preemptions are not seen: rseq_cs then stays as it is. */
static void watch(ThreadId tid)
{
    if (!is_registered[tid]) {
        is_registered[tid] = True;
        kernel_call(KERNEL_RSEQ, (Addr)&areas[tid], sizeof areas[tid], 0, RSEQ_SIGNATURE);
    }
    areas[tid].section = (Addr)&section;
    live.watch = &areas[tid].section;
}

static void open_run(ThreadId tid, Bool is_preempted)
{
    struct task *task = &tasks[tid];
    ULong words[2] = { time_stamp(), 0 };

    __atomic_store_n(&ring_slots[task->slot].open_stamp, words[0], __ATOMIC_SEQ_CST);
    words[1] = is_preempted | new_switches(task);
    stream_open(task->slot, words[0]);
    stream_record(SC_STAMP, 0, words, 2);
    watch(tid);
}

static void close_run(ThreadId tid)
{
    stream_close();
    __atomic_store_n(&ring_slots[tasks[tid].slot].open_stamp, 0, __ATOMIC_SEQ_CST);
    ring_doorbell();
}

/* The thread runs on, or for the first time, or after another thread of its process: with the big lock. */
void stamps_enter(ThreadId tid)
{
    if (!areas)
        make_areas();
    if (writer != VG_INVALID_THREADID && writer != tid)
        stamps_leave(writer);
    if (tasks[tid].has_cpu)
        return;
    writer = tid;
    tasks[tid].has_cpu = True;
    open_run(tid, False);
}

void stamps_leave(ThreadId tid)
{
    close_run(tid);
    tasks[tid].has_cpu = False;
    writer = VG_INVALID_THREADID;
}

/* A forked child has its parent's memory but none of its runs, and a clock of switches of its own. */
void stamps_forked(ThreadId tid)
{
    writer = VG_INVALID_THREADID;
    tasks[tid].voluntary = 0;
    tasks[tid].involuntary = 0;
}

/* A new thread may get the number of one that has ended. */
void stamps_new_thread(ThreadId tid)
{
    if (is_registered)
        is_registered[tid] = False;
}

/* Called by generated code when the kernel has cleared rseq_cs. */
void stamps_preempted(void)
{
    close_run(writer);
    open_run(writer, True);
}
