/* Starts the tool in place of Valgrind's own launcher. GPL-2.0-or-later, see COPYING.

   The tool contains Valgrind's core, which needs a launcher only to know what to start for each program that is
   executed later. Therefore files that were built together run together, whichever Valgrind is installed, or none.
   The launcher also gives the core a limit on open files under which the core has room for its own files next to the
   program's, and passes the program's own limit (limits.c). For a first thread's stack the core would permit at most
   16 MiB, whatever the program's limit is. */
#define _GNU_SOURCE
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#define TOOL "switchcost-amd64-linux"
/* Option of constant length, so that nothing in the process depends on the limit. */
#define FILES "--files="
#define STACK "--main-stacksize="
#define DIGITS 20
/* Address space that is reserved if the limit is larger, or there is none. */
#define LARGEST_STACK (1ULL << 30)
/* Limit that exceeds the open files of any traced program. Valgrind checks all descriptors when a program closes
   them. */
#define MANY_FILES 65536

/* Raises the limit on open files, and records the previous limit. */
static void note_files(char *option, size_t room)
{
    struct rlimit limit = { 0, 0 };
    rlim_t wanted;

    getrlimit(RLIMIT_NOFILE, &limit);
    snprintf(option, room, FILES "%0*llu", DIGITS, (unsigned long long)limit.rlim_cur);
    wanted = limit.rlim_max < MANY_FILES ? limit.rlim_max : MANY_FILES;
    if (limit.rlim_cur < wanted) {
        limit.rlim_cur = wanted;
        setrlimit(RLIMIT_NOFILE, &limit);
    }
}

static void note_stack(char *option, size_t room)
{
    struct rlimit limit = { LARGEST_STACK, 0 };
    unsigned long long bytes;

    getrlimit(RLIMIT_STACK, &limit);
    bytes = limit.rlim_cur < LARGEST_STACK ? limit.rlim_cur : LARGEST_STACK;
    snprintf(option, room, STACK "%0*llu", DIGITS, bytes);
}

/* Returns the arguments with the options first, in place of those for the previous program. */
static char **with_options(int count, char **arguments, char *files, char *stack)
{
    int old = count > 2 && strncmp(arguments[1], FILES, strlen(FILES)) == 0 ? 2 : 0;
    char **all = calloc(count + 3, sizeof *all);

    if (!all)
        return arguments;
    all[0] = arguments[0];
    all[1] = files;
    all[2] = stack;
    memcpy(all + 3, arguments + 1 + old, (count - 1 - old) * sizeof *all);
    return all;
}

int main(int count, char **arguments)
{
    char self[PATH_MAX], tool[PATH_MAX], files[sizeof FILES + DIGITS], stack[sizeof STACK + DIGITS];
    const char *folder = getenv("VALGRIND_LIB");
    ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);

    if (count < 1 || !folder || length < 0
        || (size_t)snprintf(tool, sizeof tool, "%s/%s", folder, TOOL) >= sizeof tool) {
        fprintf(stderr,
                "switchcost: found no folder in VALGRIND_LIB, need that of %s; start the program with "
                "`switchcost trace -- COMMAND`\n",
                TOOL);
        return 127;
    }
    self[length] = '\0';
    note_files(files, sizeof files);
    note_stack(stack, sizeof stack);
    if (setenv("VALGRIND_LAUNCHER", self, 1) == 0)
        execv(tool, with_options(count, arguments, files, stack));
    perror(tool);
    return 127;
}
