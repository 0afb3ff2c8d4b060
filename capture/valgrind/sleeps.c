/* Finds out whether a task has slept in a system call. GPL-2.0-or-later, see COPYING.

   A task that sleeps for some microseconds only, as for a timer, is awake again before the controller looks, and
   would seem not to have slept. The kernel has counted the sleep. */
#include "switchcost.h"
#include "kernel.h"

#include "pub_tool_vkiscnums.h"

#define SYSCALL_IO_URING_ENTER 426
#define SYSCALL_EPOLL_PWAIT2 441

/* Size in bytes of struct stat, which has the kind of a file. */
#define STAT_BYTES 144
#define STAT_MODE 24
#define KIND 0170000
#define DIRECTORY 0040000
#define BLOCKS 0060000
#define REGULAR 0100000

/* Whether a descriptor is that of a file on a disk, for which reads take varying times. */
static Bool is_on_disk(UWord descriptor)
{
    UChar facts[STAT_BYTES];
    UInt kind;

    if (kernel_call(KERNEL_FSTAT, descriptor, (Addr)facts, 0, 0) < 0)
        return False;
    kind = *(UInt *)(facts + STAT_MODE) & KIND;
    return kind == REGULAR || kind == BLOCKS || kind == DIRECTORY;
}

/* Whether a task that sleeps in a system call waits for a timer, another task or a device. If the task may also wait
   for a disk, a sleep does not count as a switch, because it is not reproducible. */
static Bool waits_for_events(UInt number, const UWord *arguments)
{
    switch (number) {
    case __NR_read:
    case __NR_write:
    case __NR_readv:
    case __NR_writev:
        return !is_on_disk(arguments[0]);
    case __NR_nanosleep:
    case __NR_clock_nanosleep:
    case __NR_pause:
    case __NR_rt_sigsuspend:
    case __NR_rt_sigtimedwait:
    case __NR_poll:
    case __NR_ppoll:
    case __NR_select:
    case __NR_pselect6:
    case __NR_epoll_wait:
    case __NR_epoll_pwait:
    case SYSCALL_EPOLL_PWAIT2:
    case SYSCALL_IO_URING_ENTER:
    case __NR_futex:
    case __NR_semop:
    case __NR_semtimedop:
    case __NR_msgsnd:
    case __NR_msgrcv:
    case __NR_mq_timedsend:
    case __NR_mq_timedreceive:
    case __NR_connect:
    case __NR_accept:
    case __NR_accept4:
    case __NR_sendto:
    case __NR_sendmsg:
    case __NR_sendmmsg:
    case __NR_recvfrom:
    case __NR_recvmsg:
    case __NR_recvmmsg:
        return True;
    default:
        return False;
    }
}

static ULong sleeps_so_far(void)
{
    struct counts counts = kernel_counts();

    return counts.voluntary;
}

/* Called before the task enters the kernel. */
void sleeps_before(ThreadId tid)
{
    struct task *task = &tasks[tid];

    if (task->is_for_events)
        task->sleeps = sleeps_so_far();
}

void sleeps_begin(ThreadId tid, UInt number, const UWord *arguments)
{
    tasks[tid].is_for_events = !is_as_run() && waits_for_events(number, arguments);
}

/* Whether the task has slept in the system call. Must be called when the task has returned and before it waits for
   anything else. */
Bool sleeps_has_slept(ThreadId tid)
{
    struct task *task = &tasks[tid];

    return task->is_in_syscall && task->is_for_events && sleeps_so_far() != task->sleeps;
}
