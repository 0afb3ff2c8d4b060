/* Programs that restrict their own system calls. GPL-2.0-or-later, see COPYING.

   In the program's process, Valgrind makes system calls that filters do not expect, and that strict mode forbids.
   The process would be killed, or end with a message about Valgrind. Therefore a restriction is accepted but not
   enforced, and the trace records this. */
#include "switchcost.h"

#include "pub_tool_aspacemgr.h"
#include "pub_tool_libcbase.h"
#include "pub_tool_libcproc.h"
#include "pub_tool_vki.h"
#include "pub_tool_vkiscnums.h"

#include "core.h"

#define GET_MODE 21 /* prctl */
#define SET_MODE 22
#define SET_TIME_STAMPS 26
#define MODE_STRICT 1
#define MODE_FILTER 2
#define SYSCALL_SECCOMP 317
#define SET_STRICT 0
#define SET_FILTER 1
/* Flag for a file by which another process is notified of system calls. There will be no notifications. */
#define NEW_LISTENER 8
#define LONGEST_FILTER 4096

/* coregrind/m_syswrap/priv_types_n_macros.h */
struct entry {
    void (*before)(ThreadId tid, const void *layout, void *arguments, void *status, UWord *flags);
    void (*after)(ThreadId tid, void *arguments, void *status);
};
#define MAY_BLOCK 2

extern struct entry *__real_vgModuleLocal_get_linux_syscall_entry(UInt number);
struct entry *__wrap_vgModuleLocal_get_linux_syscall_entry(UInt number);

static ULong mode;
static struct entry real_control;

/* struct sock_fprog of the kernel. */
struct filter {
    UShort length;
    Addr instructions;
};

static SysRes take(ULong wanted)
{
    mode = wanted;
    ring_note_restricted(VG_(getpid)());
    return VG_(mk_SysRes_Success)(0);
}

static SysRes take_filter(Addr at, ULong flags)
{
    const struct filter *filter = (const struct filter *)at;

    if (flags & NEW_LISTENER)
        return VG_(mk_SysRes_Error)(VKI_EINVAL);
    if (!VG_(am_is_valid_for_client)(at, sizeof *filter, VKI_PROT_READ))
        return VG_(mk_SysRes_Error)(VKI_EFAULT);
    if (filter->length == 0 || filter->length > LONGEST_FILTER)
        return VG_(mk_SysRes_Error)(VKI_EINVAL);
    return take(MODE_FILTER);
}

static Bool control(UWord option, UWord wanted, UWord filter, SysRes *result)
{
    if (option == GET_MODE && mode != 0)
        *result = VG_(mk_SysRes_Success)(mode);
    else if (option == SET_MODE && wanted == MODE_STRICT)
        *result = take(MODE_STRICT);
    else if (option == SET_MODE && wanted == MODE_FILTER)
        *result = take_filter(filter, 0);
    else if (option == SET_TIME_STAMPS && is_as_run())
        /* The tool itself needs to read the time stamp counter (stamps.c). The answer is that of the kernel on a
           machine that cannot forbid this. */
        *result = VG_(mk_SysRes_Error)(VKI_EINVAL);
    else
        return False;
    return True;
}

/* Whether the tool answers a system call in place of the kernel; `result` is the answer then. */
Bool seccomp_answers(UWord number, UWord a, UWord b, UWord c, SysRes *result)
{
    if (number == __NR_prctl)
        return control(a, b, c, result);
    if (number != SYSCALL_SECCOMP || a > SET_FILTER)
        return False;
    if (a == SET_FILTER)
        *result = take_filter(c, b);
    else
        *result = b == 0 && c == 0 ? take(MODE_STRICT) : VG_(mk_SysRes_Error)(VKI_EINVAL);
    return True;
}

static void hand_to_kernel(ThreadId tid, const void *layout, void *arguments, void *status, UWord *flags)
{
    (void)tid, (void)layout, (void)arguments, (void)status, (void)flags;
}

/* Handles prctl. The call does not block, so the core makes it directly and keeps its lock. */
static void control_before(ThreadId tid, const void *layout, void *arguments, void *status, UWord *flags)
{
    real_control.before(tid, layout, arguments, status, flags);
    *flags &= ~(UWord)MAY_BLOCK;
}

/* Returns Valgrind's entry for a system call. Valgrind has none for seccomp. */
struct entry *__wrap_vgModuleLocal_get_linux_syscall_entry(UInt number)
{
    static struct entry own_control, seccomp = { hand_to_kernel, NULL };
    struct entry *entry = __real_vgModuleLocal_get_linux_syscall_entry(number);

    if (number == SYSCALL_SECCOMP)
        return &seccomp;
    if (number != __NR_prctl || !entry)
        return entry;
    real_control = *entry;
    own_control = (struct entry){ control_before, entry->after };
    return &own_control;
}
