/* Keeps Valgrind's own files in memory. GPL-2.0-or-later, see COPYING.

   Valgrind writes the contents of /proc/self/cmdline and /proc/self/auxv for the program into files of a temporary
   folder, and ends if the folder is missing, full or read-only, as in many containers. Here these files are in
   memory and need no folder. */
#include "switchcost.h"

#include "pub_tool_libcbase.h"

#include "core.h"
#include "kernel.h"

/* coregrind/pub_core_libcfile.h */
Int __real_vgPlain_mkstemp(const HChar *part_of_name, HChar *path);
Int __wrap_vgPlain_mkstemp(const HChar *part_of_name, HChar *path);
Int __real_vgPlain_unlink(const HChar *path);
Int __wrap_vgPlain_unlink(const HChar *path);

/* Name of a file that Valgrind unlinks as soon as it is open. */
#define IN_MEMORY "(in memory)"

Int __wrap_vgPlain_mkstemp(const HChar *part_of_name, HChar *path)
{
    Long made = kernel_call(KERNEL_MEMFD_CREATE, (Addr)part_of_name, KERNEL_MFD_CLOEXEC, 0, 0);

    if (made < 0)
        return __real_vgPlain_mkstemp(part_of_name, path);
    VG_(strcpy)(path, IN_MEMORY);
    return VG_(safe_fd)(made);
}

Int __wrap_vgPlain_unlink(const HChar *path)
{
    return VG_(strcmp)(path, IN_MEMORY) == 0 ? 0 : __real_vgPlain_unlink(path);
}
