/* Programs that are executed: the file, and the name with which it is called. GPL-2.0-or-later, see COPYING.

   Valgrind starts its launcher with the path from an exec, in place of the program's own name (argv[0]). For the
   kernel, the program of a traced process is the tool, so a path to the process's program (/proc/self/exe) must lead
   to the traced program instead. On the new program's stack, the name replaces the path, which has been given the
   same length. */
#include "switchcost.h"
#include "core.h"
#include "kernel.h"
#include "script.h"

#include "pub_tool_aspacemgr.h"
#include "pub_tool_clientstate.h"
#include "pub_tool_libcbase.h"
#include "pub_tool_libcfile.h"
#include "pub_tool_libcprint.h"
#include "pub_tool_libcproc.h"
#include "pub_tool_mallocfree.h"
#include "pub_tool_vki.h"
#include "pub_tool_vkiscnums.h"
#include "pub_tool_xarray.h"

/* coregrind/pub_core_clientstate.h: the client's program and its command line, as files. */
extern Int VG_(cl_exec_fd);
extern Int VG_(cl_cmdline_fd);
/* The client's program as a path; not in Valgrind 3.19. */
extern const HChar *VG_(resolved_exename) __attribute__((weak));

/* coregrind/pub_core_libcfile.h */
Bool __real_vgPlain_resolve_filename(Int descriptor, const HChar **path);
Bool __wrap_vgPlain_resolve_filename(Int descriptor, const HChar **path);

#define LONGEST_PATH 4096
#define OWN_FILE "/proc/self/fd/"
#define THREADS_FILE "/proc/thread-self/fd/"
#define OPEN_CLOEXEC 02000000
#define NAME "--argv0="
#define SHUT "--shut="
/* Size of the longest task name that the kernel stores, its terminating zero included. */
#define TASK_NAME 16

static Bool is_same(const struct vg_stat *one, const struct vg_stat *other)
{
    return one->dev == other->dev && one->ino == other->ino;
}

/* Whether the path leads to this process's program as the kernel sees it, which is the tool. */
static Bool is_tool(const HChar *path)
{
    struct vg_stat named, tool;

    return !sr_isError(VG_(stat)(path, &named)) && !sr_isError(VG_(stat)("/proc/self/exe", &tool))
           && is_same(&named, &tool);
}

/* Whether a path is one of the names in /proc of this process's own program. */
static Bool is_own_program(UWord path)
{
    static const HChar *const names[] = { "/proc/self/exe", "/proc/thread-self/exe" };
    HChar by_number[sizeof "/proc//exe" + 12];

    if (!VG_(am_is_valid_for_client)(path, sizeof by_number, VKI_PROT_READ))
        return False;
    VG_(sprintf)(by_number, "/proc/%d/exe", VG_(getpid)());
    return VG_(strcmp)((const HChar *)path, names[0]) == 0 || VG_(strcmp)((const HChar *)path, names[1]) == 0
           || VG_(strcmp)((const HChar *)path, by_number) == 0;
}

/* Returns the index of the argument with the path of the link that a system call reads; -1 for other calls. */
static Int link_at(UWord number)
{
    return number == __NR_readlink ? 0 : number == __NR_readlinkat ? 1 : -1;
}

/* Returns a path of the program's open file in /proc. */
static const HChar *own_file(void)
{
    static HChar by_number[sizeof OWN_FILE + 12];

    VG_(sprintf)(by_number, OWN_FILE "%d", VG_(cl_exec_fd));
    return by_number;
}

/* Handles an open of the program's path. Valgrind 3.27 opens the program by this path, which may no longer lead
   anywhere. */
static void before_open(UInt number, const UWord *arguments)
{
    static const HChar *by_path;
    Bool is_own = (number == __NR_open && is_own_program(arguments[0]))
                  || (number == __NR_openat && is_own_program(arguments[1]));

    if (!&VG_(resolved_exename))
        return;
    if (!by_path)
        by_path = VG_(resolved_exename);
    VG_(resolved_exename) = is_own ? own_file() : by_path;
}

/* Prepares an exec. Other threads make system calls until the exec has ended them. If the first thread has ended,
   /proc/self is empty. */
void execs_before(ThreadId tid, UInt number, const UWord *arguments)
{
    struct task *task = &tasks[tid];
    UInt path = number == __NR_execveat ? 1 : 0;

    task->executed = NULL;
    task->reads_own_link = link_at(number) >= 0 && is_own_program(arguments[link_at(number)]);
    before_open(number, arguments);
    if (number != __NR_execve && number != __NR_execveat)
        return;
    task->executed = (const HChar *const *)arguments[path + 1];
    task->executes_itself = is_tool((const HChar *)arguments[path]);
}

static Bool is_executing(void)
{
    ThreadId tid = tasks ? VG_(get_running_tid)() : VG_INVALID_THREADID;

    return tid != VG_INVALID_THREADID && tasks[tid].is_in_syscall && tasks[tid].executed;
}

/* Reads the link to the program. Valgrind 3.24 lets the kernel write the tool's path, and then writes the program's
   path over it, so the end of a longer path would remain. Therefore the kernel is asked for the link of the
   program's open file instead. */
UWord execs_link(ThreadId tid, UWord number, Int place, UWord path)
{
    if (place != link_at(number) || tid == VG_INVALID_THREADID || !tasks[tid].is_in_syscall || !tasks[tid].reads_own_link)
        return path;
    return (UWord)own_file();
}

/* Whether a path leads to the file that is open as `descriptor`. */
static Bool leads_to(const HChar *path, Int descriptor)
{
    struct vg_stat named, open;

    return !sr_isError(VG_(stat)(path, &named)) && VG_(fstat)(descriptor, &open) >= 0 && is_same(&named, &open);
}

/* Writes the path of an open file; an empty one if it has none. */
static void path_of(Int descriptor, HChar *path)
{
    HChar link[sizeof THREADS_FILE + 12];
    SSizeT length;

    VG_(sprintf)(link, THREADS_FILE "%d", descriptor);
    length = VG_(readlink)(link, path, LONGEST_PATH - 1);
    path[length > 0 ? length : 0] = '\0';
}

/* Resolves the name of a file. A file that has no path, or has none any more (memfd_create), is executed by its
   descriptor. */
Bool __wrap_vgPlain_resolve_filename(Int descriptor, const HChar **path)
{
    static HChar by_number[sizeof OWN_FILE + 12];
    Bool is_found = __real_vgPlain_resolve_filename(descriptor, path);

    if (!is_executing() || (is_found && leads_to(*path, descriptor)))
        return is_found;
    VG_(sprintf)(by_number, OWN_FILE "%d", descriptor);
    *path = by_number;
    return True;
}

/* Finds the path for an exec, with room for a name of `least` bytes. Also finds the descriptor of a file that the
   next program must not inherit; -1 for none. */
static Int find_program(const HChar *path, Bool is_own, SizeT least, HChar *found)
{
    HChar program[LONGEST_PATH];
    Int shut = -1;
    SizeT length, pad;

    VG_(strncpy)(program, path, LONGEST_PATH - 1);
    program[LONGEST_PATH - 1] = '\0';
    if (is_own || is_tool(path)) {
        path_of(VG_(cl_exec_fd), program);
        if (!leads_to(program, VG_(cl_exec_fd))) {
            shut = kernel_call(KERNEL_FCNTL, VG_(cl_exec_fd), KERNEL_F_DUPFD, 3, 0);
            VG_(sprintf)(program, OWN_FILE "%d", shut);
        }
    } else if (VG_(strncmp)(path, OWN_FILE, sizeof OWN_FILE - 1) == 0) {
        Int number = VG_(strtoll10)(path + sizeof OWN_FILE - 1, NULL);
        if (kernel_call(KERNEL_FCNTL, number, KERNEL_F_GETFD, 0, 0) == KERNEL_CLOEXEC) {
            kernel_call(KERNEL_FCNTL, number, KERNEL_F_SETFD, 0, 0);
            shut = number;
        }
    }
    /* A name without a slash would be searched for in PATH. */
    length = VG_(strlen)(program);
    pad = VG_(strchr)(program, '/') ? 0 : 2;
    for (; length + pad < least; pad += 2)
        ;
    if (length + pad >= LONGEST_PATH)
        pad = 0;
    VG_(memset)(found, '/', pad);
    for (least = 0; program[0] != '/' && least < pad; least += 2)
        found[least] = '.';
    VG_(strcpy)(found + pad, program);
    return shut;
}

/* Whether the program is a script. The kernel replaces a script's argv[0], so its name does not matter. */
static Bool is_script(const HChar *path)
{
    SysRes opened = VG_(open)(path, VKI_O_RDONLY, 0);
    HChar start[2] = { 0, 0 };

    if (sr_isError(opened))
        return False;
    VG_(read)(sr_Res(opened), start, sizeof start);
    VG_(close)(sr_Res(opened));
    return start[0] == '#' && start[1] == '!';
}

static Bool begins_with(const HChar *text, const HChar *start)
{
    return VG_(strncmp)(text, start, VG_(strlen)(start)) == 0;
}

static HChar *option(const HChar *start, const HChar *value)
{
    HChar *text = VG_(malloc)("switchcost.execs", VG_(strlen)(start) + VG_(strlen)(value) + 1);

    VG_(sprintf)(text, "%s%s", start, value);
    return text;
}

/* Returns the launcher's arguments: Valgrind's own options, the path, and the words after the program's name. */
UWord execs_arguments(ThreadId tid, UWord made)
{
    const HChar *const *wanted = tid == VG_INVALID_THREADID ? NULL : tasks[tid].executed;
    const HChar **old = (const HChar **)made, **all;
    static HChar path[LONGEST_PATH];
    HChar number[12];
    const HChar *name;
    Int options, count, from, to = 0, shut;

    if (!wanted || old == (const HChar **)wanted)
        return made;
    options = VG_(sizeXA)(VG_(args_for_valgrind)) - VG_(args_for_valgrind_noexecpass);
    for (count = 0; old[count]; count++)
        ;
    name = wanted[0] && !is_script(old[options + 1]) ? wanted[0] : old[options + 1];
    shut = find_program(old[options + 1], tasks[tid].executes_itself, VG_(strlen)(name), path);
    all = VG_(calloc)("switchcost.execs", count + 3, sizeof *all);
    for (from = 0; from <= options; from++)
        if (!begins_with(old[from], NAME) && !begins_with(old[from], SHUT))
            all[to++] = old[from];
    if (name != old[options + 1] && VG_(strlen)(name) <= VG_(strlen)(path))
        all[to++] = option(NAME, name);
    VG_(sprintf)(number, "%d", shut);
    if (shut >= 0)
        all[to++] = option(SHUT, number);
    all[to++] = path;
    for (from = options + 2; from < count; from++)
        all[to++] = old[from];
    return (UWord)all;
}

/* Returns the client's words on its stack; NULL if they are not found. The words of a script begin with its
   interpreter, and perhaps an argument for it. */
static HChar **find_words(void)
{
    HChar **end = VG_(client_envp) - 1;
    Word least = 1 + VG_(sizeXA)(VG_(args_for_client)), count;

    for (count = least; count <= least + 2; count++)
        if ((Word)end[-count - 1] == count)
            return end - count;
    return NULL;
}

/* Returns the number of words that a script's interpreter and its argument add. */
static Word of_script(HChar **words)
{
    return (Word)words[-1] - (1 + VG_(sizeXA)(VG_(args_for_client)));
}

/* Removes the blanks at the end of an interpreter's argument, which Valgrind leaves there. */
static void trim(HChar *argument)
{
    HChar *end = argument + VG_(strlen)(argument);

    while (end > argument && script_is_blank(end[-1]))
        *--end = '\0';
}

/* Writes the name directly before the words that follow it, as the kernel does. Programs that show their state
   overwrite the name and the words. */
static void put_name(HChar **place, const HChar *name)
{
    SizeT length = VG_(strlen)(name), room = VG_(strlen)(*place);

    if (room < length)
        return;
    *place += room - length;
    VG_(strcpy)(*place, name);
}

/* Writes the command line that the program reads in /proc/self/cmdline. */
static void put_command_line(HChar **words)
{
    Int file = VG_(cl_cmdline_fd);

    if (file < 0 || kernel_call(KERNEL_FTRUNCATE, file, 0, 0, 0) < 0)
        return;
    VG_(lseek)(file, 0, VKI_SEEK_SET);
    for (; *words; words++)
        VG_(write)(file, *words, VG_(strlen)(*words) + 1);
    VG_(lseek)(file, 0, VKI_SEEK_SET);
}

/* Finds the interpreter of a script, which is what the process executes. */
static void find_interpreter(const HChar *path)
{
    SysRes opened = VG_(open)(path, VKI_O_RDONLY, 0);

    if (sr_isError(opened))
        return;
    VG_(close)(VG_(cl_exec_fd));
    VG_(cl_exec_fd) = VG_(safe_fd)(sr_Res(opened));
}

/* Returns the name of the file, whichever path led to it. */
const HChar *execs_name(void)
{
    static HChar path[LONGEST_PATH];
    const HChar *named = VG_(args_the_exename), *at;
    HChar *end;

    while (named[0] == '/' && named[1] == '/')
        named++;
    if (begins_with(named, OWN_FILE)) {
        path_of(VG_(cl_exec_fd), path);
        end = VG_(strstr)(path, " (deleted)");
        if (end)
            *end = '\0';
        named = path;
    }
    for (at = named; *at; at++)
        if (*at == '/')
            named = at + 1;
    return named;
}

/* Called after a program has opened its own file in /proc. For this, Valgrind copies the descriptor of a file of its
   own, and loses the flag that closes the copy at an exec. */
void execs_after_open(UInt number, const UWord *arguments, Int descriptor)
{
    UInt first = number == __NR_openat ? 1 : 0;

    if ((number == __NR_open || number == __NR_openat) && (arguments[first + 1] & OPEN_CLOEXEC)
        && begins_with((const HChar *)arguments[first], "/proc/"))
        kernel_call(KERNEL_FCNTL, descriptor, KERNEL_F_SETFD, KERNEL_CLOEXEC, 0);
}

/* Restores the path of the program. Valgrind 3.27 shows a program the path with which it was executed, which here
   includes the room for a name. */
static void resolve_program(void)
{
    static HChar path[LONGEST_PATH];

    path_of(VG_(cl_exec_fd), path);
    if (&VG_(resolved_exename) && path[0] == '/')
        VG_(resolved_exename) = path;
}

/* Called when the program has been loaded. Shows the program the same as the kernel would. */
void execs_start(const HChar *name, const HChar *shut)
{
    HChar task[TASK_NAME];
    HChar **words = find_words();

    if (shut)
        VG_(close)(VG_(strtoll10)(shut, NULL));
    resolve_program();
    if (words) {
        if (of_script(words) > 0)
            find_interpreter(words[0]);
        else if (name)
            put_name(words, name);
        if (of_script(words) > 1)
            trim(words[1]);
        put_command_line(words);
    }
    VG_(strncpy)(task, execs_name(), sizeof task - 1);
    task[sizeof task - 1] = '\0';
    kernel_call(KERNEL_PRCTL, KERNEL_SET_NAME, (Addr)task, 0, 0);
}
