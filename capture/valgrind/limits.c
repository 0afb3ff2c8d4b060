/* Limits on a program's open files and heap. GPL-2.0-or-later, see COPYING.

   Valgrind gives its own open files the highest descriptors that it may use. It does not let a program use these, or
   change its hard limit. Therefore the launcher starts the tool with a limit of many more files than a program has
   open. The program sees its own limits, because Valgrind's variables have the program's limits during the system
   calls that read or set limits.

   Valgrind reserves 8 MiB for the heap that brk() moves, and refuses more. Then malloc() uses mappings, but a
   program that has no other heap ends. */
#include "switchcost.h"

#include "pub_tool_aspacemgr.h"
#include "pub_tool_libcproc.h"
#include "pub_tool_vki.h"
#include "pub_tool_vkiscnums.h"

#include "core.h"

/* coregrind/pub_core_aspacemgr.h */
Bool __real_vgPlain_am_create_reservation(Addr start, SizeT bytes, ShrinkMode mode, SSizeT extra);
Bool __wrap_vgPlain_am_create_reservation(Addr start, SizeT bytes, ShrinkMode mode, SSizeT extra);

/* coregrind/pub_core_clientstate.h */
extern Int VG_(fd_soft_limit);
extern struct vki_rlimit VG_(client_rlimit_stack);

#define MOST 0x7fffffff
/* Maximum size of a heap. The free space between a heap and the tool's own code is little more than twice as large,
   and libraries are mapped after the heap. */
#define LARGEST_HEAP (512UL << 20)

/* The program's limits on open files. */
static Int soft, hard;
/* Number of the first descriptor that belongs to Valgrind. */
static Int own;
/* Hard limit before the system call that sets another one. */
static Int hard_before;

/* Enlarges the reservation for the heap, the only one that shrinks from below, to all of the free space. */
Bool __wrap_vgPlain_am_create_reservation(Addr start, SizeT bytes, ShrinkMode mode, SSizeT extra)
{
    SizeT more;

    for (more = LARGEST_HEAP; mode == SmLower && more > bytes; more /= 2)
        if (__real_vgPlain_am_create_reservation(start, more, mode, extra))
            return True;
    return __real_vgPlain_am_create_reservation(start, bytes, mode, extra);
}

static Int least(ULong one, ULong other)
{
    return one < other ? one : other;
}

static void hide(void)
{
    VG_(fd_soft_limit) = least(soft, own);
    VG_(fd_hard_limit) = own;
}

/* Starts with the soft limit of the program, as the launcher found it. */
void limits_start(ULong files)
{
    struct vki_rlimit real = { 0, 0 };

    VG_(getrlimit)(VKI_RLIMIT_NOFILE, &real);
    own = VG_(fd_hard_limit);
    hard = least(real.rlim_max, MOST);
    soft = files == 0 ? own : least(files, hard);
    hide();
}

static Bool is_about_files(UInt number, const UWord *arguments)
{
    switch (number) {
    case __NR_getrlimit:
    case __NR_setrlimit:
        return arguments[0] == VKI_RLIMIT_NOFILE;
    case __NR_prlimit64:
        return arguments[1] == VKI_RLIMIT_NOFILE && (arguments[0] == 0 || arguments[0] == (UWord)VG_(getpid)());
    default:
        return False;
    }
}

/* Returns the limit that a system call sets; NULL if it sets none, or it cannot be read. */
static const struct vki_rlimit *wanted(UInt number, const UWord *arguments)
{
    UWord at = number == __NR_setrlimit ? arguments[1] : number == __NR_prlimit64 ? arguments[2] : 0;

    return VG_(am_is_valid_for_client)(at, sizeof(struct vki_rlimit), VKI_PROT_READ) ? (const struct vki_rlimit *)at
                                                                                     : NULL;
}

/* Called before a system call. Valgrind accepts a new hard limit only if it equals the old one. */
void limits_before(UInt number, const UWord *arguments)
{
    const struct vki_rlimit *limit;

    if (!is_about_files(number, arguments))
        return;
    VG_(fd_soft_limit) = soft;
    VG_(fd_hard_limit) = hard;
    hard_before = hard;
    limit = wanted(number, arguments);
    if (limit && limit->rlim_cur <= limit->rlim_max && limit->rlim_max <= (ULong)hard)
        VG_(fd_hard_limit) = limit->rlim_max;
}

void limits_after(UInt number, const UWord *arguments, Bool is_done)
{
    struct vki_rlimit *old;

    if (!is_about_files(number, arguments))
        return;
    if (is_done) {
        soft = VG_(fd_soft_limit);
        hard = VG_(fd_hard_limit);
    }
    old = (struct vki_rlimit *)(number == __NR_prlimit64 ? arguments[3] : 0);
    if (is_done && old)
        old->rlim_max = hard_before;
    hide();
}

/* Sets the program's limits in the kernel for the next program of the process. The result is for limits_keep, which
   is called if there is no next program after all. */
ULong limits_hand_on(void)
{
    struct vki_rlimit real = { 0, 0 }, own_limits;

    VG_(getrlimit)(VKI_RLIMIT_NOFILE, &real);
    own_limits = real;
    own_limits.rlim_cur = soft;
    own_limits.rlim_max = least(real.rlim_max, hard);
    VG_(setrlimit)(VKI_RLIMIT_NOFILE, &own_limits);
    /* Only Valgrind has recorded the limit that the program has set. */
    VG_(setrlimit)(VKI_RLIMIT_STACK, &VG_(client_rlimit_stack));
    return real.rlim_cur;
}

void limits_keep(ULong files)
{
    struct vki_rlimit real = { 0, 0 };

    VG_(getrlimit)(VKI_RLIMIT_NOFILE, &real);
    real.rlim_cur = files < real.rlim_max ? files : real.rlim_max;
    VG_(setrlimit)(VKI_RLIMIT_NOFILE, &real);
}
