/* Programs with other rights than their caller's: set-user-ID, set-group-ID, and file capabilities. GPL-2.0-or-later,
   see COPYING.

   The kernel executes Valgrind, so such a program would not get its rights, and Valgrind refuses them all. Here, a
   caller that already has the rights may execute the program (as root may mount and su). A refusal counts only if
   the rights would change something; the trace records it. A script without its interpreter is refused here, too. */
#include "switchcost.h"

#include "pub_tool_libcfile.h"
#include "pub_tool_libcproc.h"
#include "pub_tool_vki.h"

#include "kernel.h"
#include "script.h"

#define CAPABILITIES "security.capability"

/* coregrind/pub_core_libcfile.h: returns 0 or an error number. Also tells whether the reason is that the program has
   rights, about which Valgrind then warns. */
Int __real_vgPlain_check_executable(Bool *has_rights, const HChar *path, Bool may_have_rights);
Int __wrap_vgPlain_check_executable(Bool *has_rights, const HChar *path, Bool may_have_rights);

static Bool is_user(UInt user)
{
    return (UInt)VG_(geteuid)() == user && kernel_call(KERNEL_GETUID, 0, 0, 0, 0) == user;
}

static Bool is_group(UInt group)
{
    return (UInt)VG_(getegid)() == group && kernel_call(KERNEL_GETGID, 0, 0, 0, 0) == group;
}

static Bool gains_rights(const HChar *path)
{
    struct vg_stat facts;

    if (sr_isError(VG_(stat)(path, &facts)))
        return False;
    return ((facts.mode & VKI_S_ISUID) && !is_user(facts.uid)) || ((facts.mode & VKI_S_ISGID) && !is_group(facts.gid))
           || (kernel_call(KERNEL_GETXATTR, (Addr)path, (Addr)CAPABILITIES, 0, 0) >= 0 && !is_user(0));
}

/* Whether a file is a script whose interpreter does not exist. Valgrind would end the process. */
static Bool lacks_interpreter(const HChar *path)
{
    SysRes opened = VG_(open)(path, VKI_O_RDONLY, 0);
    HChar line[SCRIPT_BYTES + 1], *interpreter, *argument;
    struct vg_stat facts;
    Int bytes;

    if (sr_isError(opened))
        return False;
    bytes = VG_(read)(sr_Res(opened), line, SCRIPT_BYTES);
    VG_(close)(sr_Res(opened));
    return script_split(line, bytes, &interpreter, &argument) && sr_isError(VG_(stat)(interpreter, &facts));
}

Int __wrap_vgPlain_check_executable(Bool *has_rights, const HChar *path, Bool may_have_rights)
{
    if (may_have_rights || !gains_rights(path)) {
        Int refusal = __real_vgPlain_check_executable(has_rights, path, True);
        return refusal == 0 && lacks_interpreter(path) ? VKI_ENOENT : refusal;
    }
    if (has_rights)
        *has_rights = False;
    if (ring)
        ring_note_rights(VG_(getpid)());
    return VKI_EACCES;
}
