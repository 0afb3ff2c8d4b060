/* The environment of a program, as the program sees it. GPL-2.0-or-later, see COPYING.

   Valgrind passes the place of its files to itself in VALGRIND_LIB, and makes the loader load one of them into the
   program with LD_PRELOAD. The program, and programs that it starts, would see both variables. The preloaded file
   has no effect here. An exec sets VALGRIND_LIB again for the next program. */
#include "switchcost.h"

#include "pub_tool_clientstate.h"
#include "pub_tool_libcbase.h"
#include "pub_tool_libcproc.h"

/* In libcoregrind, not in the tool headers: the auxiliary vector, right after the environment on the client's first
   stack. */
extern UWord *VG_(client_auxv);
/* In libcoregrind, not in the tool headers: the folder from which the core loads its files. */
extern const HChar *VG_(libdir);

#define FOLDER "VALGRIND_LIB="
#define PRELOADED "LD_PRELOAD="
#define FILE_OF_CORE "/vgpreload_core-amd64-linux.so"

static Bool begins_with(const HChar *text, const HChar *start)
{
    return VG_(strncmp)(text, start, VG_(strlen)(start)) == 0;
}

/* Removes a variable. The words after the variable move up, to the end of the auxiliary vector, which the loader
   expects right after the environment. */
static void remove_variable(HChar **place)
{
    UWord *end = VG_(client_auxv);

    while (end[0] != 0)
        end += 2;
    VG_(memmove)(place, place + 1, (HChar *)(end + 2) - (HChar *)(place + 1));
    VG_(client_auxv)--;
}

/* Restores the program's own value of LD_PRELOAD: Valgrind puts its file first, whose path may have colons, and the
   program's files after a colon. */
static void restore_preloaded(HChar **place)
{
    HChar *given = *place + sizeof PRELOADED - 1 + VG_(strlen)(VG_(libdir)) + sizeof FILE_OF_CORE - 1;

    if (VG_(strlen)(*place) <= (SizeT)(given - *place)) {
        remove_variable(place);
        return;
    }
    *place = given + 1 - (sizeof PRELOADED - 1);
    VG_(memcpy)(*place, PRELOADED, sizeof PRELOADED - 1);
}

/* Called before the program begins. */
void environment_start(void)
{
    HChar **place;

    for (place = VG_(client_envp); *place && !begins_with(*place, PRELOADED); place++)
        ;
    if (*place)
        restore_preloaded(place);
    for (place = VG_(client_envp); *place && !begins_with(*place, FOLDER); place++)
        ;
    if (*place)
        remove_variable(place);
}
