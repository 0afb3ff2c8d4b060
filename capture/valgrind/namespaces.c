/* Refuses new PID namespaces. GPL-2.0-or-later, see COPYING.

   In its own PID namespace, a process has IDs other than those that the capture knows, and cannot find the task that
   gives it the CPU. Therefore these namespaces are refused with the kernel's error for a lack of rights, and the
   trace records this. All other namespaces are left to the kernel. */
#include "switchcost.h"

#include "pub_tool_libcproc.h"
#include "pub_tool_vki.h"
#include "pub_tool_vkiscnums.h"

#include "core.h"
#include "kernel.h"

/* CLONE_NEWPID */
#define OF_PROCESSES 0x20000000
/* NS_GET_NSTYPE of ioctl */
#define GET_TYPE 0xb703

static Bool is_wanted(UWord number, UWord a, UWord b)
{
    switch (number) {
    case __NR_unshare:
    case __NR_clone:
        return (a & OF_PROCESSES) != 0;
    case __NR_setns:
        return (b & OF_PROCESSES) || (b == 0 && kernel_call(KERNEL_IOCTL, a, GET_TYPE, 0, 0) == OF_PROCESSES);
    default:
        return False;
    }
}

/* Whether the tool answers a system call in place of the kernel; `result` is the answer then. */
Bool namespaces_answer(UWord number, UWord a, UWord b, SysRes *result)
{
    if (!is_wanted(number, a, b))
        return False;
    ring_note_namespace(VG_(getpid)());
    *result = VG_(mk_SysRes_Error)(VKI_EPERM);
    return True;
}
