/* Starts the tool, in the place of Valgrind's own launcher. GPL-2.0-or-later, see COPYING.

   The tool has Valgrind's core in it; all that the core wants of a launcher is to know what to start for each program that is
   executed later. So what was built together runs together, whichever Valgrind is installed by then, or none. */
#define _GNU_SOURCE
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define TOOL "switchcost-amd64-linux"

int main(int count, char **arguments)
{
    char self[PATH_MAX], tool[PATH_MAX];
    const char *folder = getenv("VALGRIND_LIB");
    ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);

    if (count < 1 || !folder || length < 0
        || (size_t)snprintf(tool, sizeof tool, "%s/%s", folder, TOOL) >= sizeof tool) {
        fprintf(stderr, "switchcost: found no folder in VALGRIND_LIB, need that of %s; start the program with "
                        "`switchcost trace -- COMMAND`\n", TOOL);
        return 127;
    }
    self[length] = '\0';
    if (setenv("VALGRIND_LAUNCHER", self, 1) == 0)
        execv(tool, arguments);
    perror(tool);
    return 127;
}
