/* Programs that look into others: debuggers, tracers of system calls. GPL-2.0-or-later, see COPYING.

   They would find Valgrind's registers and system calls in the place of a program's, and stop a task in its turn, with nobody to have the
   next one. So they are refused, as the kernel does where that is forbidden, which the trace records. */
#include "switchcost.h"

#include "pub_tool_libcproc.h"
#include "pub_tool_vki.h"
#include "pub_tool_vkiscnums.h"

#include "core.h"

#define TRACE_ME 0
#define ATTACH 16
#define SEIZE 0x4206

/* Whether a system call is not the kernel's to make; and what it returns. */
Bool tracers_answers(UWord number, UWord request, SysRes *result)
{
    if (number != __NR_ptrace || (request != TRACE_ME && request != ATTACH && request != SEIZE))
        return False;
    ring_note_tracing(VG_(getpid)());
    *result = VG_(mk_SysRes_Error)(VKI_EPERM);
    return True;
}
