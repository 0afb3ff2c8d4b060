/* Programs that look into others: debuggers, tracers of system calls. GPL-2.0-or-later, see COPYING.

   Such programs would find Valgrind's registers and system calls in place of the traced program's. Such programs
   would also stop a task in its time slice, so that no task could run. Therefore the programs are refused with the
   kernel's error for a lack of rights, and the trace records the refusal. */
#include "switchcost.h"

#include "pub_tool_libcproc.h"
#include "pub_tool_vki.h"
#include "pub_tool_vkiscnums.h"

#include "core.h"

#define TRACE_ME 0
#define ATTACH 16
#define SEIZE 0x4206

/* Whether the tool answers a system call in place of the kernel; `result` is the answer then. */
Bool tracers_answers(UWord number, UWord request, SysRes *result)
{
    if (number != __NR_ptrace || (request != TRACE_ME && request != ATTACH && request != SEIZE))
        return False;
    ring_note_tracing(VG_(getpid)());
    *result = VG_(mk_SysRes_Error)(VKI_EPERM);
    return True;
}
