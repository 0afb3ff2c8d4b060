/* Forks that fail. GPL-2.0-or-later, see COPYING.

   Valgrind blocks all signals around a fork, and unblocks them in the child and in the parent, but not if there is
   no child: the next fault, such as one with which Valgrind extends a stack, would end the program. Valgrind runs a
   program with all signals blocked except those of faults (block_signals in coregrind/m_scheduler/scheduler.c). */
#include "switchcost.h"

#include "pub_tool_vki.h"
#include "pub_tool_vkiscnums.h"

#include "kernel.h"

static ULong bit(UInt signal)
{
    return 1ULL << (signal - 1);
}

void forks_after(UWord number, Bool is_done)
{
    ULong blocked = ~(bit(VKI_SIGSEGV) | bit(VKI_SIGBUS) | bit(VKI_SIGFPE) | bit(VKI_SIGILL) | bit(VKI_SIGTRAP) | bit(VKI_SIGSYS));

    if (!is_done && (number == __NR_clone || number == __NR_fork || number == __NR_vfork))
        kernel_call(KERNEL_SIGPROCMASK, VKI_SIG_SETMASK, (Addr)&blocked, 0, sizeof blocked);
}
