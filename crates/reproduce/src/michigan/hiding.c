/* How much of a short wait becomes work if the CPU switches to another task.
 *
 *     hiding CPU REPETITIONS WINDOW_MS SEED FILE
 *
 * On one CPU, a requester asks a simulated device, which answers when the clock reaches a deadline, and a worker counts
 * units of work. The worker reads the clock before each unit, and gives the CPU back after the answer, so no timer and
 * no interrupt has a part. FILE gets a line of JSON per window; the order of a repetition's windows is random.
 * `switches` is how often the kernel took the CPU from the requester. */
#undef _FORTIFY_SOURCE /* whose longjmp refuses another stack */
#define _GNU_SOURCE
#include <inttypes.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

static const char *const ways[] = { "alone", "spin", "fibers", "threads", "processes" };
static enum { ALONE, SPIN, FIBERS, THREADS, PROCESSES } way;
static const int64_t waits_ns[] = { 1000, 10000, 100000 };
enum { WAITS = 3, WINDOWS = 1 + 4 * WAITS };
enum task { REQUESTER, WORKER };

static struct shared {
    _Atomic int turn;
    int is_over;
    int64_t deadline, units;
} *shared;
static jmp_buf fibers[2];

static void or_fail(int is_done, const char *what)
{
    if (!is_done) {
        perror(what);
        _exit(1);
    }
}

static int64_t now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * INT64_C(1000000000) + time.tv_nsec;
}

static void work_until_answered(void)
{
    static volatile uint64_t result;
    for (; now() < shared->deadline; shared->units++) {
        uint64_t x = result;
        for (int i = 0; i < 64; i++)
            x = x * UINT64_C(6364136223846793005) + 1;
        result = x;
    }
}

static void futex(int operation, int value)
{
    syscall(SYS_futex, &shared->turn, operation | (way == THREADS ? FUTEX_PRIVATE_FLAG : 0), value, NULL, NULL, 0);
}

static void await_turn(enum task own)
{
    while (shared->turn != (int)own)
        futex(FUTEX_WAIT, !own);
}

static void pass_turn(enum task next)
{
    shared->turn = next;
    futex(FUTEX_WAKE, 1);
}

static void hand_over(enum task next)
{
    if (way != FIBERS) {
        pass_turn(next);
        await_turn(!next);
    } else if (!_setjmp(fibers[!next])) { /* unlike swapcontext, without a system call for the signal mask */
        _longjmp(fibers[next], 1);
    }
}

static void *work(void *none)
{
    if (way != FIBERS)
        await_turn(WORKER);
    while (!shared->is_over) {
        work_until_answered();
        hand_over(REQUESTER);
    }
    return none;
}

static int64_t request_until(int64_t end, int64_t wait_ns)
{
    int64_t time, requests = 0;
    for (; (time = now()) < end; requests++) {
        shared->deadline = time + wait_ns;
        if (way == ALONE)
            work_until_answered();
        else if (way != SPIN)
            hand_over(WORKER);
        while (now() < shared->deadline)
            ;
    }
    return requests;
}

static long switches(void)
{
    struct rusage usage;
    getrusage(RUSAGE_THREAD, &usage);
    return usage.ru_nvcsw + usage.ru_nivcsw;
}

static void measure(int repetition, int64_t wait_ns, int64_t window_ns, int is_fifo)
{
    static ucontext_t context;
    static char stack[1 << 16];
    pthread_t thread;
    pid_t process;

    *shared = (struct shared){ 0 };
    if (way == FIBERS && !_setjmp(fibers[REQUESTER])) {
        or_fail(!getcontext(&context), "getcontext");
        context.uc_stack = (stack_t){ .ss_sp = stack, .ss_size = sizeof stack };
        makecontext(&context, (void (*)(void))work, 0);
        setcontext(&context);
    }
    if (way == THREADS)
        or_fail(!pthread_create(&thread, NULL, work, NULL), "pthread_create");
    if (way == PROCESSES) {
        or_fail((process = fork()) >= 0, "fork");
        if (!process) {
            prctl(PR_SET_PDEATHSIG, SIGKILL);
            _exit(work(NULL) != NULL);
        }
    }
    request_until(now() + window_ns / 10, wait_ns); /* touches the pages */
    shared->units = 0;
    long before = switches();
    int64_t start = now(), requests = request_until(start + window_ns, wait_ns), end = now();
    printf("{\"repetition\":%d,\"way\":\"%s\",\"wait_ns\":%" PRId64 ",\"ns\":%" PRId64 ",\"units\":%" PRId64
           ",\"requests\":%" PRId64 ",\"switches\":%ld,\"is_fifo\":%d}\n",
           repetition, ways[way], wait_ns, end - start, shared->units, requests, switches() - before, is_fifo);
    shared->is_over = 1;
    if (way >= THREADS)
        pass_turn(WORKER);
    if (way == THREADS)
        or_fail(!pthread_join(thread, NULL), "pthread_join");
    if (way == PROCESSES)
        or_fail(waitpid(process, NULL, 0) == process, "waitpid");
}

int main(int count, char **words)
{
    or_fail(count == 6 && freopen(words[5], "w", stdout), "hiding CPU REPETITIONS WINDOW_MS SEED FILE");
    alarm(120);
    cpu_set_t cpus;
    CPU_ZERO(&cpus);
    CPU_SET(atoi(words[1]), &cpus);
    or_fail(!sched_setaffinity(0, sizeof cpus, &cpus), "sched_setaffinity");
    int is_fifo = !sched_setscheduler(0, SCHED_FIFO, &(struct sched_param){ .sched_priority = 1 });
    shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    or_fail(shared != MAP_FAILED, "mmap");
    int64_t window_ns = atoi(words[3]) * INT64_C(1000000);
    srand(atoi(words[4]));
    for (int repetition = 0; repetition < atoi(words[2]); repetition++) {
        /* The number of windows is prime, so each stride reaches all. */
        int place = rand() % WINDOWS, stride = 1 + rand() % (WINDOWS - 1);
        for (int i = 0; i < WINDOWS; i++, place = (place + stride) % WINDOWS) {
            way = place ? SPIN + (place - 1) / WAITS : ALONE;
            measure(repetition, place ? waits_ns[(place - 1) % WAITS] : window_ns, window_ns, is_fifo);
            usleep(window_ns / 10000); /* the kernel lets SCHED_FIFO have 95 % of a CPU */
        }
    }
    return fflush(stdout) != 0;
}
