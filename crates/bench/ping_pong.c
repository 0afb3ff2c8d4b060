/* A ping-pong without any code of switchcost: two processes on one CPU hand a byte back and forth; before
 * that, one process hands the byte to itself.
 *
 *     ping_pong CPU POLICY HANDOFFS
 *
 * POLICY is the kernel's number of the scheduling policy. Prints three numbers per hand-off as JSON: the
 * CPU time of both processes (getrusage) in ns; this time minus the time in which a process hands the byte
 * to itself; and the switches of both processes, as counted by the kernel. */
#define _GNU_SOURCE
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

struct used {
    double ns;
    double switches;
};

static struct used of(const struct rusage *usage)
{
    double user = usage->ru_utime.tv_sec * 1e9 + usage->ru_utime.tv_usec * 1e3;
    double system = usage->ru_stime.tv_sec * 1e9 + usage->ru_stime.tv_usec * 1e3;
    return (struct used){ user + system, usage->ru_nvcsw + usage->ru_nivcsw };
}

static struct used so_far(void)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return of(&usage);
}

static void or_fail(int is_done, const char *what)
{
    if (!is_done) {
        perror(what);
        exit(1);
    }
}

static void hand(int from, int to, long rounds)
{
    char byte;
    for (long i = 0; i < rounds; i++) {
        or_fail(read(from, &byte, 1) == 1, "read");
        or_fail(write(to, &byte, 1) == 1, "write");
    }
}

int main(int count, char **words)
{
    or_fail(count == 4, "need CPU POLICY HANDOFFS");
    long rounds = atol(words[3]) / 2;
    struct sched_param parameters = { 0 };
    int own[2], there[2], back[2];
    cpu_set_t cpus;

    parameters.sched_priority = sched_get_priority_min(atoi(words[2]));
    CPU_ZERO(&cpus);
    CPU_SET(atoi(words[1]), &cpus);
    or_fail(!sched_setaffinity(0, sizeof(cpus), &cpus), "sched_setaffinity");
    or_fail(!sched_setscheduler(0, atoi(words[2]), &parameters), "sched_setscheduler");
    or_fail(!pipe(own) && !pipe(there) && !pipe(back), "pipe");

    or_fail(write(own[1], "", 1) == 1, "write");
    struct used before = so_far();
    hand(own[0], own[1], rounds);
    struct used alone = so_far();

    pid_t other = fork();
    or_fail(other >= 0, "fork");
    if (other == 0) {
        hand(there[0], back[1], rounds);
        _exit(0);
    }
    struct used start = so_far();
    or_fail(write(there[1], "", 1) == 1, "write");
    hand(back[0], there[1], rounds - 1);
    char last;
    or_fail(read(back[0], &last, 1) == 1, "read");
    struct used end = so_far();
    struct rusage usage;
    or_fail(wait4(other, NULL, 0, &usage) == other, "wait4");
    struct used theirs = of(&usage);
    double handoff = (end.ns - start.ns + theirs.ns) / (2.0 * rounds);
    printf("{\"handoff_ns\": %f, \"direct_ns\": %f, \"switches\": %f}\n", handoff, handoff - (alone.ns - before.ns) / rounds,
           (end.switches - start.switches + theirs.switches) / (2.0 * rounds));
    return 0;
}
