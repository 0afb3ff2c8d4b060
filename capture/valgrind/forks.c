/* Forks that fail, and forks that share memory. GPL-2.0-or-later, see COPYING.

   Valgrind blocks all signals around a fork, and unblocks them in the child and in the parent, but not if there is
   no child: the next fault, such as one with which Valgrind extends a stack, would end the program. Valgrind runs a
   program with all signals blocked except those of faults (block_signals in coregrind/m_scheduler/scheduler.c).

   With CLONE_VM and CLONE_VFORK a child shares its parent's memory until it executes a program or exits. Valgrind
   gives the child a copy. But posix_spawn returns why an exec has failed in a variable on the parent's stack.
   Therefore an exiting child passes on which words it has changed in the parent's last frames, and the parent, which
   waits for it, changes them, too. (For Valgrind, the system call vfork is fork, and its caller does not wait.) */
#include "switchcost.h"

#include "pub_tool_aspacemgr.h"
#include "pub_tool_libcbase.h"
#include "pub_tool_libcproc.h"
#include "pub_tool_machine.h"
#include "pub_tool_vki.h"
#include "pub_tool_vkiscnums.h"

#include "kernel.h"

/* In libcoregrind, not in the tool headers, like in ring.c. */
extern SysRes VG_(am_shared_mmap_file_float_valgrind)(SizeT length, UInt prot, Int fd, Off64T offset);

/* Size of the frames in words: 16 KiB. */
#define FRAME_WORDS 2048

struct change {
    ULong *place;
    ULong word;
};

/* Changes by the last child, in memory that it shares with its parent. */
static struct {
    ULong count;
    struct change all[FRAME_WORDS];
} *changes;
/* The frames at the fork, and their content then. */
static ULong *frames, content[FRAME_WORDS];
static SizeT words;
/* The process that has forked with shared memory last; 0 for none. */
static Int parent;

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

static Bool map_changes(void)
{
    Long fd = kernel_call(KERNEL_MEMFD_CREATE, (Addr) "switchcost", KERNEL_MFD_CLOEXEC, 0, 0);
    SysRes mapped;

    if (fd < 0)
        return False;
    kernel_call(KERNEL_FTRUNCATE, fd, sizeof *changes, 0, 0);
    mapped = VG_(am_shared_mmap_file_float_valgrind)(sizeof *changes, VKI_PROT_READ | VKI_PROT_WRITE, fd, 0);
    kernel_call(KERNEL_CLOSE, fd, 0, 0, 0);
    if (!sr_isError(mapped))
        changes = (void *)(Addr)sr_Res(mapped);
    return !sr_isError(mapped);
}

/* Called before a fork. */
void forks_before(ThreadId tid, UWord number, UWord flags)
{
    const UWord sharing = VKI_CLONE_VM | VKI_CLONE_VFORK;
    const NSegment *segment;

    parent = 0;
    if (number != __NR_clone || (flags & sharing) != sharing || (!changes && !map_changes()))
        return;
    frames = (ULong *)(VG_(get_SP)(tid) & ~7UL);
    segment = VG_(am_find_nsegment)((Addr)frames);
    words = segment ? (segment->end + 1 - (Addr)frames) / sizeof *frames : 0;
    words = words < FRAME_WORDS ? words : FRAME_WORDS;
    VG_(memcpy)(content, frames, words * sizeof *frames);
    changes->count = 0;
    parent = VG_(getpid)();
}

/* Called before a process exits. */
void forks_pass_on(void)
{
    SizeT place;

    if (parent == 0 || parent == VG_(getpid)())
        return;
    for (place = 0; place < words; place++)
        if (frames[place] != content[place])
            changes->all[changes->count++] = (struct change){ frames + place, frames[place] };
}

/* Called in the parent after a fork. */
void forks_take_over(void)
{
    SizeT number;

    for (number = 0; parent != 0 && number < changes->count; number++)
        *changes->all[number].place = changes->all[number].word;
    parent = 0;
}
