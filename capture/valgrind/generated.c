/* Code that a program generates. GPL-2.0-or-later, see COPYING.

   Valgrind checks before each run whether code has changed, except for code in a file. A program that must not have
   memory which is both writable and executable maps an unnamed file of its own twice: what it writes to one mapping
   is executed in the other. */
#include "switchcost.h"

#include "pub_tool_aspacemgr.h"
#include "pub_tool_libcbase.h"

/* Valgrind's own function for this: which extents are checked for changes, and how exact registers are in them. */
static check_function *of_core;

static Bool ends_with(const HChar *text, const HChar *end)
{
    SizeT length = VG_(strlen)(text), rest = VG_(strlen)(end);

    return length >= rest && VG_(strcmp)(text + length - rest, end) == 0;
}

/* Whether the address is in a mapping of a file that can be written to. */
static Bool is_generated(Addr address)
{
    const NSegment *segment = VG_(am_find_nsegment)(address);
    const HChar *path = segment && segment->kind == SkFileC ? VG_(am_get_filename)(segment) : NULL;

    return path
           && (segment->hasW || ends_with(path, " (deleted)") || VG_(strncmp)(path, "/memfd:", 7) == 0
               || VG_(strncmp)(path, "/dev/shm/", 9) == 0);
}

static UInt needs_check(void *closure, VexRegisterUpdates *registers, const VexGuestExtents *extents)
{
    const VexRegisterUpdates exact = *registers;
    UInt checked = of_core(closure, registers, extents), index;

    for (index = 0; index < extents->n_used; index++)
        if (is_generated(extents->base[index])) {
            checked |= 1U << index;
            *registers = exact;
        }
    return checked;
}

check_function *generated_check(check_function *core)
{
    of_core = core;
    return needs_check;
}
