/* Starts the tool in place of Valgrind's own launcher. GPL-2.0-or-later, see COPYING.

   The tool contains Valgrind's core. The core needs a launcher only to start each program that is executed later.
   With this launcher, the tool runs with the files with which it was built, whatever Valgrind is installed. The
   launcher also raises the limit on open files, so that the core has room for its own files beside the program's,
   and passes the program's limit on (limits.c). The launcher sets the size of the first thread's stack, for which
   the core would permit at most 16 MiB, whatever the program's limit is. The core would lose the words of a script
   whose interpreter is a script, so the launcher replaces such a script by its interpreter. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "script.h"

#define TOOL "switchcost-amd64-linux"
/* Option of constant length, so that no address in the process depends on the limit. */
#define FILES "--files="
#define STACK "--main-stacksize="
#define DIGITS 20
/* Address space that is reserved for the stack if the limit is larger, or there is none. */
#define LARGEST_STACK (1ULL << 30)
/* Limit that is higher than the number of open files of any traced program. When a program closes all files,
   Valgrind checks every descriptor below the limit. */
#define MANY_FILES 65536
/* Maximum depth of scripts whose interpreters are scripts, as in the kernel. */
#define MOST_SCRIPTS 4

/* Raises the limit on open files. Writes the previous limit into `option`. */
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

/* Returns the arguments, with the options first. The options replace those for the previous program. */
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

/* Reads the first line of a script. Returns 0 if the file is no script. */
static int read_script(const char *path, char *line, char **interpreter, char **argument)
{
    int file = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t bytes = file < 0 ? 0 : read(file, line, SCRIPT_BYTES);

    if (file >= 0)
        close(file);
    return script_split(line, bytes, interpreter, argument);
}

/* Returns the arguments, with the interpreter in place of a script whose interpreter is a script, like the kernel. */
static char **with_interpreters(char **arguments)
{
    static char lines[MOST_SCRIPTS][SCRIPT_BYTES + 1];
    char inner[SCRIPT_BYTES + 1], *interpreter, *argument, *unused[2];
    int place = 1, count, depth;

    while (arguments[place] && strncmp(arguments[place], "--", 2) == 0)
        place++;
    for (depth = 0; depth < MOST_SCRIPTS && arguments[place] && strchr(arguments[place], '/'); depth++) {
        char **all;
        if (!read_script(arguments[place], lines[depth], &interpreter, &argument)
            || !read_script(interpreter, inner, &unused[0], &unused[1]))
            break;
        for (count = place; arguments[count]; count++)
            ;
        all = calloc(count + 3, sizeof *all);
        if (!all)
            break;
        memcpy(all, arguments, place * sizeof *all);
        all[place] = interpreter;
        if (argument)
            all[place + 1] = argument;
        memcpy(all + place + (argument ? 2 : 1), arguments + place, (count - place) * sizeof *all);
        arguments = all;
    }
    return arguments;
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
        execv(tool, with_interpreters(with_options(count, arguments, files, stack)));
    perror(tool);
    return 127;
}
