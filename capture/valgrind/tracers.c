/* Programs that look into others: debuggers, tracers of system calls. GPL-2.0-or-later, see COPYING.

   They would find Valgrind's registers and system calls in place of the program's, and would stop a task in its
   turn, so that no task would have the next turn. Therefore they are refused in the kernel's way, as if they were
   forbidden, which the trace records. */
#include "switchcost.h"

#include "pub_tool_libcproc.h"
#include "pub_tool_vki.h"
#include "pub_tool_vkiscnums.h"

#include "core.h"

#define TRACE_ME 0
#define ATTACH 16
#define SEIZE 0x4206

/* Whether the tool answers a system call in place of the kernel; if so, with which result. */
Bool tracers_answers(UWord number, UWord request, SysRes *result)
{
    if (number != __NR_ptrace || (request != TRACE_ME && request != ATTACH && request != SEIZE))
        return False;
    ring_note_tracing(VG_(getpid)());
    *result = VG_(mk_SysRes_Error)(VKI_EPERM);
    return True;
}
