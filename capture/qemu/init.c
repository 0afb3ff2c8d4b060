/* The first process of the guest: runs the programs, starts and ends the recording, and reports how the programs ended.
   GPL-2.0-or-later, see ../valgrind/COPYING.

   /switchcost/commands contains texts that each end with a 0: seconds, the length of a time slice, whether the
   programs stop themselves at the start and end of the recording, the number of commands; for each command its
   directory, the numbers of variables and arguments, the variables, the arguments. The programs' output is held in
   memory until the recording has ended. Then all output is passed to the plugin, a page at a time, as lines `status
   N STATUS`, `switches N` (if known), `nanoseconds N` and, each followed by its bytes, `output N BYTES`; errors are
   `error TEXT`. A serial line would take longer than many programs run, because QEMU handles each byte separately.
   Before the recording, `preempt MODES` gives the kernel's preemption modes, with the present one in brackets, and
   `symbols BYTES CHECKSUM FRAMES...` the place in memory of the names of the kernel's functions and variables;
   afterwards `contents` gives, in the same way, the place of the list of what the kernel's pages hold. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/reboot.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "layout.h"

#define MOST_COMMANDS 64
#define LONGEST_COMMANDS (4 << 20)
#define MOST_SYMBOLS_BYTES (16UL << 20)
#define MOST_CONTENTS_BYTES (2UL << 20)

static struct sc_guest guest __attribute__((aligned(4096)));
static struct sc_said said __attribute__((aligned(4096)));
static struct layout layout;
static struct listing symbols, contents;

struct command {
    const char *directory;
    char **variables;
    char **arguments;
    pid_t pid;
    int output;
    int status;
};

static struct command commands[MOST_COMMANDS];
static int count;
static int64_t seconds;
/* Whether the recording covers only the time from each program's first SIGSTOP to its second, without its start and
   end. */
static int are_stopping;

#define SIGNAL(which, where) \
    __asm__ volatile("movabs %0, %%rax\n\tmov %%rax, (%1)" : : "i"(SC_SIGNAL + which), "r"(where) : "rax", "memory")

static void signal_plugin(uint64_t kind)
{
    /* The page may be shared with forked children. If so, the first store copies the page, and the store instruction
       is executed again, alone. A store before the signal therefore copies the page. */
    *(volatile uint64_t *)&guest.signal = 0;
    switch (kind) {
    case SC_GUEST_ARM:
        SIGNAL(SC_GUEST_ARM, &guest.signal);
        break;
    case SC_GUEST_BEGIN:
        SIGNAL(SC_GUEST_BEGIN, &guest.signal);
        break;
    default:
        SIGNAL(SC_GUEST_END, &guest.signal);
    }
}

/* Passes the first `bytes` bytes of `said.text` to the plugin. */
static void say(size_t bytes)
{
    said.bytes = bytes;
    SIGNAL(SC_GUEST_SAYS, &said.signal);
}

/* Reports a line, which must fit into a page. */
static void __attribute__((format(printf, 1, 2))) report(const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    say(vsnprintf(said.text, sizeof said.text, format, arguments));
    va_end(arguments);
}

static void __attribute__((noreturn)) leave(void)
{
    sync();
    reboot(RB_POWER_OFF);
    for (;;)
        pause();
}

void fail(const char *format, ...)
{
    char text[1024];
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    report("error %s\n", text);
    leave();
}

static void mount_all(void)
{
    mkdir("/proc", 0755);
    mkdir("/sys", 0755);
    mkdir("/dev", 0755);
    mkdir("/tmp", 01777);
    mount("proc", "/proc", "proc", 0, NULL);
    mount("sysfs", "/sys", "sysfs", 0, NULL);
    mount("devtmpfs", "/dev", "devtmpfs", 0, NULL);
    mount("debugfs", "/sys/kernel/debug", "debugfs", 0, NULL);
}

static char *text_of(const char *path, size_t most)
{
    char *text = malloc(most + 1);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    size_t length = 0;
    ssize_t bytes;

    if (!text || fd < 0)
        fail("no readable %s", path);
    while (length < most && (bytes = read(fd, text + length, most - length)) > 0)
        length += bytes;
    close(fd);
    text[length] = '\0';
    return text;
}

static char *next(char **at)
{
    char *text = *at;

    *at += strlen(text) + 1;
    return text;
}

static char **texts(char **at, int many)
{
    char **list = calloc(many + 1, sizeof *list);
    int index;

    if (!list)
        fail("no memory");
    for (index = 0; index < many; index++)
        list[index] = next(at);
    return list;
}

static void read_commands(void)
{
    char *at = text_of("/switchcost/commands", LONGEST_COMMANDS);
    const char *slice;

    seconds = atoll(next(&at));
    slice = next(&at);
    if (*slice && layout_set_slice(atoll(slice)) != 0)
        fail("no setting for the length of a slice in this kernel's scheduler");
    are_stopping = atoi(next(&at));
    count = atoi(next(&at));
    if (count < 1 || count > MOST_COMMANDS)
        fail("%d commands, need 1 to %d", count, MOST_COMMANDS);
    for (struct command *command = commands; command < commands + count; command++) {
        int variables, arguments;
        command->directory = next(&at);
        variables = atoi(next(&at));
        arguments = atoi(next(&at));
        command->variables = texts(&at, variables);
        command->arguments = texts(&at, arguments);
    }
}

static void run(struct command *command, int go)
{
    char byte;
    int null = open("/dev/null", O_RDONLY);

    dup2(null, 0);
    dup2(command->output, 1);
    dup2(command->output, 2);
    while (read(go, &byte, 1) > 0) {
    }
    close(go);
    if (chdir(command->directory) == 0)
        execve(command->arguments[0], command->arguments, command->variables);
    dprintf(2, "%s: %m\n", command->arguments[0]);
    _exit(127);
}

/* Starts all programs. The programs wait until a pipe is closed. */
static int start_all(void)
{
    int ends[2];

    mkdir("/switchcost/output", 0700);
    if (pipe2(ends, O_CLOEXEC) != 0)
        fail("no pipe");
    for (struct command *command = commands; command < commands + count; command++) {
        char path[64];
        snprintf(path, sizeof path, "/switchcost/output/%d", (int)(command - commands));
        command->output = open(path, O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
        command->pid = fork();
        if (command->output < 0 || command->pid < 0)
            fail("no process for command %d", (int)(command - commands));
        if (command->pid == 0) {
            close(ends[1]);
            run(command, ends[0]);
        }
    }
    close(ends[0]);
    return ends[1];
}

/* Reports the kernel's preemption modes; nothing if the mode cannot be chosen. */
static void report_preemption(void)
{
    char modes[128] = "";
    int fd = open("/sys/kernel/debug/sched/preempt", O_RDONLY | O_CLOEXEC);

    if (fd >= 0 && read(fd, modes, sizeof modes - 1) > 0)
        modes[strcspn(modes, "\n")] = '\0';
    report("preempt %s\n", modes);
    close(fd);
}

/* Reports the place of a list in memory: its number of bytes, its checksum (FNV-1a), and the frames of its pages. */
static void report_listing(const char *what, const struct listing *listing)
{
    uint64_t sum = 0xcbf29ce484222325, page = 0;
    size_t at;
    int fd = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);

    for (at = 0; at < listing->bytes; at++)
        sum = (sum ^ (unsigned char)listing->text[at]) * 0x100000001b3;
    report("%s %zu %ld", what, listing->bytes, (long)sum);
    for (at = 0; at < listing->bytes; at += 4096) {
        if (pread(fd, &page, sizeof page, ((uintptr_t)listing->text + at) / 4096 * sizeof page) != sizeof page)
            break;
        report(" %ld", (long)(page & ((1UL << 55) - 1)));
    }
    report("\n");
    close(fd);
}

static void note_end(pid_t pid, int status)
{
    for (struct command *command = commands; command < commands + count; command++)
        if (command->pid == pid)
            command->status = status;
}

static volatile sig_atomic_t is_late;

static void note_late(int number)
{
    (void)number;
    is_late = 1;
    kill(-1, SIGKILL);
}

static void limit_time(void)
{
    struct sigaction action = { .sa_handler = note_late, .sa_flags = SA_RESTART };

    sigaction(SIGALRM, &action, NULL);
    alarm(seconds);
}

/* Waits until all programs have ended, including orphans, whose parent this process becomes. */
static void await_ends(void)
{
    int status;
    pid_t pid;

    while ((pid = wait(&status)) > 0)
        note_end(pid, status);
}

/* Waits until each command has stopped itself. Returns 0 if one has ended instead. */
static int await_stops(void)
{
    int status, all = 1;

    for (struct command *command = commands; command < commands + count; command++)
        if (waitpid(command->pid, &status, WUNTRACED) != command->pid || !WIFSTOPPED(status)) {
            note_end(command->pid, status);
            all = 0;
        }
    return all;
}

static void let_go_on(void)
{
    for (struct command *command = commands; command < commands + count; command++)
        kill(command->pid, SIGCONT);
}

static uint64_t switches(int fd)
{
    static char text[1 << 16];
    const char *line;
    ssize_t bytes = pread(fd, text, sizeof text - 1, 0);

    text[bytes > 0 ? bytes : 0] = '\0';
    line = strstr(text, "\nctxt ");
    return line ? strtoull(line + 6, NULL, 10) : 0;
}

static long preemptions(void)
{
    struct rusage used;

    return getrusage(RUSAGE_SELF, &used) == 0 ? used.ru_nivcsw : -1;
}

/* Returns the number of switches; -1 if another task ran during the count, because its switches cannot be told
   apart. */
static int64_t switches_undisturbed(int fd)
{
    long before = preemptions();
    int64_t counted = switches(fd);

    return preemptions() == before ? counted : -1;
}

static void report_file(int fd)
{
    ssize_t bytes;

    lseek(fd, 0, SEEK_SET);
    while ((bytes = read(fd, said.text, sizeof said.text)) > 0)
        say(bytes);
}

static void report_end(int64_t counted, uint64_t nanoseconds)
{
    if (counted >= 0)
        report("switches %ld\n", counted);
    report("nanoseconds %lu\n", nanoseconds);
    if (is_late)
        report("late %ld\n", (long)seconds);
    for (struct command *command = commands; command < commands + count; command++)
        report("status %d %d\n", (int)(command - commands), command->status);
    for (struct command *command = commands; command < commands + count; command++) {
        struct stat facts;
        fstat(command->output, &facts);
        report("output %d %ld\n", (int)(command - commands), (long)facts.st_size);
        report_file(command->output);
    }
    report("end\n");
}

int main(void)
{
    struct timespec moment = { .tv_nsec = 20 * 1000 * 1000 };
    uint64_t began, ended;
    int64_t before, after;
    int go, stat;

    mount_all();
    entropy_give();
    layout_show_addresses();
    listing_open(&symbols, MOST_SYMBOLS_BYTES);
    listing_open(&contents, MOST_CONTENTS_BYTES);
    layout_find(&guest, &layout, &symbols);
    read_commands();
    stat = open("/proc/stat", O_RDONLY | O_CLOEXEC);
    go = start_all();
    if (are_stopping) {
        close(go);
        limit_time();
        if (!await_stops()) {
            report("unready\n");
            report_end(0, 0);
            leave();
        }
    }
    report_preemption();
    report_listing("symbols", &symbols);
    contents_list_areas(&contents);
    report("ready\n");
    signal_plugin(SC_GUEST_ARM);
    /* Work that is left from booting is done first, by switching away from this process and back. */
    for (int times = 0; times < 10; times++)
        nanosleep(&moment, NULL);
    do
        before = switches_undisturbed(stat);
    while (before < 0);
    signal_plugin(SC_GUEST_BEGIN);
    began = __builtin_ia32_rdtsc();
    if (are_stopping) {
        let_go_on();
        await_stops();
    } else {
        close(go);
        limit_time();
        /* The recording ends after the end of all programs. */
        await_ends();
        alarm(0);
    }
    ended = __builtin_ia32_rdtsc();
    signal_plugin(SC_GUEST_END);
    after = switches_undisturbed(stat);
    contents_list(&layout, &contents);
    if (are_stopping) {
        let_go_on();
        await_ends();
        alarm(0);
    }
    report_listing("contents", &contents);
    report_end(after < 0 ? -1 : after - before, ended - began);
    leave();
    return 0;
}
