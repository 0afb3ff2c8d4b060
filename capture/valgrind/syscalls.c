/* System calls: writes their marks and the user memory that they touch, and defines at which of them another task
   may continue. GPL-2.0-or-later. */
#include "switchcost.h"

#include "pub_tool_aspacemgr.h"
#include "pub_tool_libcbase.h"
#include "pub_tool_tooliface.h"
#include "pub_tool_vki.h"
#include "pub_tool_vkiscnums.h"

/* In libcoregrind, not in the tool headers: delivers a pending signal that is not blocked, if there is one. */
extern void VG_(poll_signals)(ThreadId tid);

#define PAGE_BYTES 4096
#define SYSCALL_PIDFD_SEND_SIGNAL 424

/* Whether a system call neither blocks nor wakes a task, so that its caller keeps the CPU. */
static Bool is_quick(UInt number)
{
    switch (number) {
    case __NR_brk:
    case __NR_mmap:
    case __NR_munmap:
    case __NR_mprotect:
    case __NR_mremap:
    case __NR_madvise:
    case __NR_stat:
    case __NR_fstat:
    case __NR_lstat:
    case __NR_newfstatat:
    case __NR_statx:
    case __NR_lseek:
    case __NR_access:
    case __NR_faccessat:
    case __NR_readlink:
    case __NR_readlinkat:
    case __NR_getcwd:
    case __NR_getdents:
    case __NR_getdents64:
    case __NR_dup:
    case __NR_getpid:
    case __NR_gettid:
    case __NR_getppid:
    case __NR_getpgrp:
    case __NR_getpgid:
    case __NR_getsid:
    case __NR_getuid:
    case __NR_geteuid:
    case __NR_getgid:
    case __NR_getegid:
    case __NR_getgroups:
    case __NR_uname:
    case __NR_sysinfo:
    case __NR_umask:
    case __NR_times:
    case __NR_time:
    case __NR_getcpu:
    case __NR_clock_gettime:
    case __NR_clock_getres:
    case __NR_gettimeofday:
    case __NR_getrlimit:
    case __NR_prlimit64:
    case __NR_getrusage:
    case __NR_getrandom:
    case __NR_arch_prctl:
    case __NR_set_tid_address:
    case __NR_set_robust_list:
    case __NR_rseq:
    case __NR_rt_sigaction:
    case __NR_rt_sigprocmask:
    case __NR_rt_sigreturn:
    case __NR_sigaltstack:
    case __NR_sched_getaffinity:
    case __NR_sched_getparam:
    case __NR_sched_getscheduler:
        return True;
    default:
        return False;
    }
}

static Bool makes_task(UInt number)
{
    return number == __NR_clone || number == __NR_fork || number == __NR_vfork;
}

/* Whether a signal stops a task that has no handler for it. */
static Bool is_stop(UWord signal)
{
    return signal == VKI_SIGSTOP || signal == VKI_SIGTSTP || signal == VKI_SIGTTIN || signal == VKI_SIGTTOU;
}

/* Whether a task may stop itself by this system call. Such a task must have released the CPU before. */
static Bool may_stop(UInt number, const UWord *arguments)
{
    switch (number) {
    case __NR_kill:
    case __NR_tkill:
    case __NR_rt_sigqueueinfo:
    case SYSCALL_PIDFD_SEND_SIGNAL:
        return is_stop(arguments[1]);
    case __NR_tgkill:
    case __NR_rt_tgsigqueueinfo:
        return is_stop(arguments[2]);
    default:
        return False;
    }
}

/* Whether the program will handle faults, and may then continue as if nothing had happened. The kernel may write the
   previous action over this one. */
static Bool will_handle_faults(const UWord *arguments)
{
    /* The structure is the kernel's struct sigaction, whose first word is the handler. */
    const UWord *action = (const UWord *)arguments[1];

    switch (arguments[0]) {
    case VKI_SIGSEGV:
    case VKI_SIGBUS:
    case VKI_SIGFPE:
    case VKI_SIGILL:
    case VKI_SIGTRAP:
        return VG_(am_is_valid_for_client)((Addr)action, sizeof *action, VKI_PROT_READ) && *action != (UWord)VKI_SIG_DFL
               && *action != (UWord)VKI_SIG_IGN;
    default:
        return False;
    }
}

static void before(ThreadId tid, UInt number, UWord *arguments, UInt count)
{
    struct task *task = &tasks[tid];

    (void)count;
    task->syscall = number;
    task->is_in_syscall = True;
    task->may_wake = !is_quick(number);
    task->has_left = False;
    sleeps_begin(tid, number, arguments);
    if (task->has_cpu) {
        stamps_look(tid);
        stream_record(SC_SYSCALL_ENTER, number, NULL, 0);
    }
    if (task->has_cpu && !is_as_run() && may_stop(number, arguments)) {
        task->has_left = True;
        turns_leave(tid, SC_IN_SYSCALL);
    }
    if (makes_task(number)) {
        ring_set_making(task->slot, True);
        forks_before(tid, number, arguments[0]);
    }
    if (number == __NR_exit_group) {
        forks_pass_on();
        tasks_end_process();
    }
    if (number == __NR_rt_sigaction && will_handle_faults(arguments))
        instrument_exactly();
    limits_before(number, arguments);
    execs_before(tid, number, arguments);
}

static void settle_birth(struct task *task, UInt number, SysRes result)
{
    if (makes_task(number) && sr_isError(result))
        ring_set_making(task->slot, False);
    task->has_lost_birth = task->promised_slot != NO_SLOT && sr_isError(result);
    if (!task->has_lost_birth)
        task->promised_slot = NO_SLOT;
}

static void after(ThreadId tid, UInt number, UWord *arguments, UInt count, SysRes result)
{
    struct task *task = &tasks[tid];

    (void)count;
    limits_after(number, arguments, !sr_isError(result));
    if (!sr_isError(result))
        execs_after_open(number, arguments, sr_Res(result));
    /* Programs close all descriptors that they could have, open or not. */
    if (number == __NR_close && sr_isError(result))
        task->may_wake = False;
    if (task->has_cpu)
        stamps_look(tid);
    settle_birth(task, number, result);
    if (tasks_is_ending(tid))
        return;
    if (task->is_forked) {
        task->is_forked = False;
        task->is_in_syscall = False;
        turns_pass(tid, SC_WHY_BORN);
        return;
    }
    if (makes_task(number))
        forks_take_over();
    if (!task->has_cpu || (task->may_wake && !task->has_left))
        turns_pass(tid, SC_WHY_SYSCALL);
    turns_end_syscall(tid);
    /* A child that ends first closes its pipes, then its parent gets a signal. The signal comes while the parent is
       still in the read that the end of the pipe has ended, or when Valgrind next checks for signals. At the
       parent's time slice the signal has come, so it is always delivered here. */
    if (!is_as_run() && task->may_wake)
        VG_(poll_signals)(tid);
}

static void touch(CorePart part, ThreadId tid, Addr address, SizeT bytes, Bool is_store)
{
    ULong words[2] = { address, bytes | (ULong)is_store << 63 };

    if (part == Vg_CoreSysCall && bytes > 0 && tasks[tid].has_cpu)
        stream_record(SC_KERNEL_TOUCH, 0, words, 2);
}

static void kernel_reads(CorePart part, ThreadId tid, const HChar *what, Addr address, SizeT bytes)
{
    (void)what;
    touch(part, tid, address, bytes, False);
}

/* Returns the length of a string with its terminating zero; 0 if the string cannot be read to its end. */
static SizeT string_bytes(Addr start)
{
    Addr at = start;

    for (;;) {
        Addr page_end = (at | (PAGE_BYTES - 1)) + 1;
        if (!VG_(am_is_valid_for_client)(at, page_end - at, VKI_PROT_READ))
            return 0;
        for (; at < page_end; at++)
            if (*(const HChar *)at == 0)
                return at + 1 - start;
    }
}

static void kernel_reads_string(CorePart part, ThreadId tid, const HChar *what, Addr address)
{
    (void)what;
    if (part == Vg_CoreSysCall)
        touch(part, tid, address, string_bytes(address), False);
}

static void kernel_has_written(CorePart part, ThreadId tid, Addr address, SizeT bytes)
{
    touch(part, tid, address, bytes, True);
}

void syscalls_register(void)
{
    VG_(needs_syscall_wrapper)(before, after);
    VG_(track_pre_mem_read)(kernel_reads);
    VG_(track_pre_mem_read_asciiz)(kernel_reads_string);
    VG_(track_post_mem_write)(kernel_has_written);
}
