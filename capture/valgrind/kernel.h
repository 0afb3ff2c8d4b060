/* System calls that the tool makes for itself, not for the client. SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef SWITCHCOST_KERNEL_H
#define SWITCHCOST_KERNEL_H

#include "pub_tool_basics.h"

/* Makes a system call. Returns the kernel's result; on failure, a negative error number. */
static inline Long kernel_call(ULong number, ULong a, ULong b, ULong c, ULong d)
{
    Long result;
    register ULong r10 __asm__("r10") = d;
    register ULong r8 __asm__("r8") = 0;
    register ULong r9 __asm__("r9") = 0;
    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
                     : "rcx", "r11", "memory");
    return result;
}

#define KERNEL_READ 0
#define KERNEL_OPEN 2
#define KERNEL_CLOSE 3
#define KERNEL_FSTAT 5
#define KERNEL_SIGPROCMASK 14
#define KERNEL_IOCTL 16
#define KERNEL_KILL 62
#define KERNEL_FCNTL 72
#define KERNEL_FTRUNCATE 77
#define KERNEL_GETRUSAGE 98
#define KERNEL_GETUID 102
#define KERNEL_GETGID 104
#define KERNEL_PRCTL 157
#define KERNEL_GETTID 186
#define KERNEL_GETXATTR 191
#define KERNEL_FUTEX 202
#define KERNEL_EXIT_GROUP 231
#define KERNEL_MEMFD_CREATE 319
#define KERNEL_RSEQ 334

#define KERNEL_FUTEX_WAIT 0
#define KERNEL_FUTEX_WAKE 1
#define KERNEL_ESRCH 3
#define KERNEL_F_DUPFD 0
#define KERNEL_F_GETFD 1
#define KERNEL_F_SETFD 2
#define KERNEL_CLOEXEC 1
#define KERNEL_MFD_CLOEXEC 1
#define KERNEL_SET_NAME 15

/* Number of words in struct rusage: two times of two words, then fourteen counts. */
#define RUSAGE_WORDS 18
#define RUSAGE_VOLUNTARY 16
#define RUSAGE_INVOLUNTARY 17
#define RUSAGE_THREAD 1

/* Number of switches of the calling thread. */
struct counts {
    ULong voluntary;
    ULong involuntary;
};

static inline struct counts kernel_counts(void)
{
    ULong usage[RUSAGE_WORDS] = { 0 };

    kernel_call(KERNEL_GETRUSAGE, RUSAGE_THREAD, (Addr)usage, 0, 0);
    return (struct counts){ usage[RUSAGE_VOLUNTARY], usage[RUSAGE_INVOLUNTARY] };
}

#endif
