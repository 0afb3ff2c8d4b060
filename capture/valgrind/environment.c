/* The environment that a program sees: its own. GPL-2.0-or-later, see COPYING.

   Valgrind tells itself by VALGRIND_LIB where its files are, and has the loader load one of them into the program by LD_PRELOAD: both would
   be seen by the program and by what it starts. That file does nothing here. An exec sets VALGRIND_LIB for the next program again. */
#include "switchcost.h"

#include "pub_tool_clientstate.h"
#include "pub_tool_libcbase.h"
#include "pub_tool_libcproc.h"

/* In libcoregrind, not in the tool headers: the environment and what follows it on the client's first stack. */
extern UWord *VG_(client_auxv);

#define FOLDER "VALGRIND_LIB="
#define PRELOADED "LD_PRELOAD="

static Bool begins_with(const HChar *text, const HChar *start)
{
    return VG_(strncmp)(text, start, VG_(strlen)(start)) == 0;
}

/* The words behind it move up, to the last of the auxiliary vector, which the loader looks for right behind the environment. */
static void remove_variable(HChar **place)
{
    UWord *end = VG_(client_auxv);

    while (end[0] != 0)
        end += 2;
    VG_(memmove)(place, place + 1, (HChar *)(end + 2) - (HChar *)(place + 1));
    VG_(client_auxv)--;
}

/* Valgrind's own files come first; what the program was given follows a colon. */
static void restore_preloaded(HChar **place)
{
    HChar *given = VG_(strchr)(*place, ':');

    if (!given) {
        remove_variable(place);
        return;
    }
    *place = given + 1 - (sizeof PRELOADED - 1);
    VG_(memcpy)(*place, PRELOADED, sizeof PRELOADED - 1);
}

/* Before the program begins. */
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
