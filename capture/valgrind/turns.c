/* Time slices (turns) of tasks on the virtual CPU. GPL-2.0-or-later, see COPYING.

   A task leaves the CPU at an event check (at the end of its time slice) or around a system call. A task never waits
   inside generated code. The task waits only if Valgrind holds no address of a translation and the big lock is free,
   because other threads of the process may run and discard translations.

   Functions of Valgrind's core are wrapped at link time. disp_run_translations runs generated code, for at most as
   many superblocks at a time as surely fit. Each superblock must be counted for this, so no jump may be linked past
   the event check that Valgrind omits for forward jumps (the Makefile ensures this). release_BigLock is the last
   function before the kernel is entered for a system call that may block, and acquire_BigLock the first after it:
   there the task leaves the virtual CPU and requests it again, before it takes any lock. do_syscall makes execs and
   forks, and calls that do not block. */
#include "switchcost.h"

#include "libvex_guest_amd64.h"
#include "pub_tool_libcassert.h"
#include "pub_tool_libcproc.h"
#include "pub_tool_machine.h"
#include "pub_tool_tooliface.h"
#include "pub_tool_vki.h"
#include "pub_tool_vkiscnums.h"

/* coregrind/pub_core_threadstate.h */
typedef enum { VgTs_WaitSys = 3, VgTs_Yielding = 4 } ThreadStatus;

extern void __real_vgPlain_release_BigLock(ThreadId tid, ThreadStatus status, const HChar *who);
extern void __real_vgPlain_acquire_BigLock(ThreadId tid, const HChar *who);
extern SysRes __real_vgPlain_do_syscall(UWord number, UWord a, UWord b, UWord c, UWord d, UWord e, UWord f, UWord g,
                                        UWord h);
extern void __real_vgPlain_disp_run_translations(HWord *two_words, VexGuestAMD64State *guest, Addr code);
/* coregrind/pub_core_transtab.h */
extern Bool VG_(search_transtab)(Addr *code, UInt *section, UInt *entry, Addr address, Bool is_remembered);
void __wrap_vgPlain_disp_run_translations(HWord *two_words, VexGuestAMD64State *guest, Addr code);
void __wrap_vgPlain_release_BigLock(ThreadId tid, ThreadStatus status, const HChar *who);
void __wrap_vgPlain_acquire_BigLock(ThreadId tid, const HChar *who);
SysRes __wrap_vgPlain_do_syscall(UWord number, UWord a, UWord b, UWord c, UWord d, UWord e, UWord f, UWord g, UWord h);

#define GUEST_AREA 0
#define LIVE_AREA 1

/* Whether Valgrind has made its table of threads. */
static Bool is_started;

static Int event_counter(ThreadId tid)
{
    Int counter;

    VG_(get_shadow_regs_area)(tid, (UChar *)&counter, GUEST_AREA, offsetof(VexGuestAMD64State, host_EvC_COUNTER),
                              sizeof counter);
    return counter;
}

/* Makes the next event check stop the thread, before another superblock runs. */
static void stop_soon(ThreadId tid)
{
    const Int zero = 0;

    VG_(set_shadow_regs_area)(tid, GUEST_AREA, offsetof(VexGuestAMD64State, host_EvC_COUNTER), sizeof zero,
                              (const UChar *)&zero);
}

/* Waits for the CPU, without the big lock. Returns False if the thread must end, and was not granted the CPU. */
static Bool await_grant(ThreadId tid)
{
    struct sc_slot *slot = &ring_slots[tasks[tid].slot];

    if (is_as_run()) {
        stamps_back(tid);
        ring_set_state(tasks[tid].slot, SC_GRANTED);
        return True;
    }
    while (__atomic_load_n(&slot->grant, __ATOMIC_SEQ_CST) == 0) {
        if (is_started && tasks_is_ending(tid))
            return False;
        ring_sleep(&slot->grant, 0);
    }
    __atomic_store_n(&slot->grant, 0, __ATOMIC_SEQ_CST);
    return True;
}

/* Begins a time slice, with the big lock. While the thread waited for the lock, another thread may have executed a
   program or ended the process. That thread then has the CPU, and acts for this one. */
static void begin_turn(ThreadId tid)
{
    struct task *task = &tasks[tid];

    if (is_started && tasks_is_ending(tid))
        return;
    task->is_turn_over = False;
    if (is_as_run()) {
        stamps_enter(tid);
    } else {
        task->has_cpu = True;
        if (!ring_is_alone())
            instrument_counting();
        stream_load(task->slot, ring_slots[task->slot].budget);
    }
    if (task->owes_birth)
        lifecycle_write_birth(tid);
    if (task->has_lost_birth)
        lifecycle_bury_promised(tid);
    shapes_publish();
}

/* Releases the CPU. `state` is SC_QUEUED (`why` is set before), SC_IN_SYSCALL or SC_ENDED. */
void turns_leave(ThreadId tid, UInt state)
{
    struct task *task = &tasks[tid];

    ring_slots[task->slot].syscall = task->syscall;
    if (is_as_run())
        stamps_leave(tid, state == SC_ENDED ? SC_LEFT_ENDED : SC_LEFT_SYSCALL);
    else
        ring_slots[task->slot].budget = stream_save();
    task->has_cpu = False;
    ring_set_state(task->slot, state);
}

/* Puts the task into the queue. The controller waits for the expected birth of a new task until that task is in the
   queue. */
static void queue(ThreadId tid, UInt why)
{
    struct task *task = &tasks[tid];

    ring_queue(task->slot, task->owes_birth ? SC_WHY_BORN : why);
    if (task->owes_birth)
        ring_set_making(task->parent, False);
}

/* Takes the first time slice of a process. Valgrind has not started its first thread yet, so there is no lock. */
void turns_first(ThreadId tid, UInt why)
{
    ring_queue(tasks[tid].slot, why);
    await_grant(tid);
    begin_turn(tid);
    is_started = True;
}

/* Queues for the CPU and waits for it. The big lock is free in the meantime. */
void turns_pass(ThreadId tid, UInt why)
{
    struct task *task = &tasks[tid];
    Bool is_granted;

    if (is_as_run() && task->has_cpu)
        return;
    ring_slots[task->slot].why = why;
    if (task->has_cpu)
        turns_leave(tid, SC_QUEUED);
    else
        queue(tid, why);
    __real_vgPlain_release_BigLock(tid, VgTs_Yielding, "switchcost: waits for its turn");
    is_granted = await_grant(tid);
    __real_vgPlain_acquire_BigLock(tid, "switchcost: has its turn");
    if (is_granted)
        begin_turn(tid);
}

void __wrap_vgPlain_release_BigLock(ThreadId tid, ThreadStatus status, const HChar *who)
{
    struct task *task = &tasks[tid];
    Bool leaves = status == VgTs_WaitSys && task->has_cpu && task->is_in_syscall && task->may_wake;

    if (leaves) {
        task->has_left = True;
        turns_leave(tid, SC_IN_SYSCALL);
    }
    __real_vgPlain_release_BigLock(tid, status, who);
    if (leaves)
        sleeps_before(tid);
}

void __wrap_vgPlain_acquire_BigLock(ThreadId tid, const HChar *who)
{
    struct task *task = &tasks[tid];
    Bool is_granted = False;

    if (task->slot == NO_SLOT && !tasks_is_ending(tid))
        lifecycle_claim_slot(tid);
    if (task->slot != NO_SLOT && !task->has_cpu && !tasks_is_ending(tid)) {
        queue(tid, sleeps_has_slept(tid) ? SC_WHY_SLEPT : SC_WHY_SYSCALL);
        is_granted = await_grant(tid);
    }
    __real_vgPlain_acquire_BigLock(tid, who);
    if (is_granted)
        begin_turn(tid);
}

static Bool is_exec(UWord number)
{
    return number == __NR_execve || number == __NR_execveat;
}

/* Whether the caller must release the CPU before a fork: for a clone with CLONE_VFORK, which returns when the child has
   ended or executed a program. In as-run captures this is so for each clone and fork, because what the child inherits
   must be in the stream before the child runs. */
static Bool is_waiting_fork(UWord number, UWord flags)
{
    return is_as_run() ? number == __NR_clone || number == __NR_fork
                       : number == __NR_clone && (flags & VKI_CLONE_VFORK);
}

static void leave_for_core(ThreadId tid, Bool is_last)
{
    tasks[tid].has_left = True;
    if (is_last)
        lifecycle_end_others(tid);
    else if (is_as_run())
        tasks[tid].promised_slot = lifecycle_expect(tid, NO_SLOT);
    turns_leave(tid, SC_IN_SYSCALL);
}

/* Wraps system calls that Valgrind's core makes for the client while it holds the big lock: execs and forks. An exec
   is the last action of an image. A task returns from here without the CPU, and waits for it after the call. */
SysRes __wrap_vgPlain_do_syscall(UWord number, UWord a, UWord b, UWord c, UWord d, UWord e, UWord f, UWord g, UWord h)
{
    ThreadId tid = tasks ? VG_(get_running_tid)() : VG_INVALID_THREADID;
    ULong files = 0;
    SysRes result;

    if (seccomp_answers(number, a, b, c, &result) || tracers_answers(number, a, &result)
        || namespaces_answer(number, a, b, &result)) {
        forks_after(number, False);
        return result;
    }
    if (tid != VG_INVALID_THREADID && tasks[tid].has_cpu && tasks[tid].is_in_syscall
        && (is_exec(number) || is_waiting_fork(number, a)))
        leave_for_core(tid, is_exec(number));
    if (is_exec(number)) {
        b = execs_arguments(tid, b);
        files = limits_hand_on();
    }
    a = execs_link(tid, number, 0, a);
    b = execs_link(tid, number, 1, b);
    result = __real_vgPlain_do_syscall(number, a, b, c, d, e, f, g, h);
    if (is_exec(number))
        limits_keep(files);
    forks_after(number, !sr_isError(result));
    return result;
}

/* Called when a system call of the task has ended, or was interrupted by a signal and will be repeated. */
void turns_end_syscall(ThreadId tid)
{
    if (tasks[tid].has_cpu)
        stream_record(SC_SYSCALL_EXIT, tasks[tid].syscall, NULL, 0);
    tasks[tid].is_in_syscall = False;
}

static void start_client_code(ThreadId tid, ULong blocks)
{
    (void)blocks;
    if (is_as_run() && !tasks_is_ending(tid)) {
        stamps_enter(tid);
        shapes_publish();
    }
    if (tasks[tid].is_in_syscall)
        turns_end_syscall(tid);
    if (tasks[tid].is_turn_over || !tasks[tid].has_cpu)
        stop_soon(tid);
}

/* Whether generated code runs that may write to the stream. */
static Bool is_writing;

/* Runs generated code for at most `most` superblocks, and at most as many as fit into the buffer. Returns how many
   of `most` did not run. */
static Int run_some(ThreadId tid, HWord *two_words, VexGuestAMD64State *guest, Addr code, Int most)
{
    Int fit = stream_begin_run(most);
    const ULong *words;
    Int left;

    if (fit == 0)
        tasks[tid].is_turn_over = True;
    *live_of(guest) = live;
    /* Valgrind's event check at the start of each superblock decrements this counter, and stops if the result is
       negative. */
    guest->host_EvC_COUNTER = fit;
    /* If a fault interrupts the run, Valgrind expects zeros here. The values of the last run may still be there. */
    two_words[0] = two_words[1] = 0;
    is_writing = True;
    __real_vgPlain_disp_run_translations(two_words, guest, code);
    is_writing = False;
    live = *live_of(guest);
    /* The counter is -1 if all superblocks ran and the next one was stopped. */
    left = (Int)guest->host_EvC_COUNTER < 0 ? 0 : (Int)guest->host_EvC_COUNTER;
    words = stream_end_run();
    if (words)
        hot_ran(fit - left, words, live.cursor);
    return most - fit + left;
}

/* Wraps the function that runs generated code. The event counter has the number of superblocks left in Valgrind's
   own time slice; all of them seem to run in this one call. */
void __wrap_vgPlain_disp_run_translations(HWord *two_words, VexGuestAMD64State *guest, Addr code)
{
    ThreadId tid = VG_(get_running_tid)();
    Int left = guest->host_EvC_COUNTER;
    UInt section, entry;

    if (left <= 0 || !tasks[tid].has_cpu) {
        __real_vgPlain_disp_run_translations(two_words, guest, code);
        return;
    }
    do {
        left = run_some(tid, two_words, guest, code, left);
        if ((Int)guest->host_EvC_COUNTER >= 0) {
            guest->host_EvC_COUNTER = left;
            return;
        }
        hot_translate_again();
    } while (left > 0 && !tasks[tid].is_turn_over
             && VG_(search_transtab)(&code, &section, &entry, guest->guest_RIP, True));
}

static void end_turn(ThreadId tid)
{
    if (is_as_run())
        stamps_stop(tid);
    else
        turns_pass(tid, SC_WHY_QUANTUM);
}

/* Lets the task wait. Waiting is safe only after a failed event check: on the other ways out of generated code,
   Valgrind may hold the address of a translation that it is about to link. */
static void stop_client_code(ThreadId tid, ULong blocks)
{
    struct task *task = &tasks[tid];

    (void)blocks;
    if (is_writing) {
        /* A fault has interrupted the run. */
        is_writing = False;
        VG_(get_shadow_regs_area)(tid, (UChar *)&live, LIVE_AREA, 0, sizeof live);
        stream_end_run();
    }
    if (event_counter(tid) >= 0 || tasks_is_ending(tid))
        return;
    if (!task->has_cpu)
        turns_pass(tid, SC_WHY_QUANTUM);
    else if (task->is_turn_over)
        end_turn(tid);
    task->is_turn_over = False;
}

void turns_register(void)
{
    VG_(track_start_client_code)(start_client_code);
    VG_(track_stop_client_code)(stop_client_code);
}
