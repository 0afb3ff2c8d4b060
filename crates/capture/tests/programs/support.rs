//! Code shared by the tests: the tool, programs in C, and searches in chunks.

use std::convert::Infallible;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use std::sync::atomic::{AtomicBool, Ordering::SeqCst};

use switchcost_capture::{
    Command, Ending, Failure, Options, Order, Output, Summary, Tool, record, run,
};
use switchcost_trace::{Cause, Chunk, Mark, Recorder, TraceHeader, TraceOrder, TraceReader};

/// Time after which a program counts as hanging.
pub(crate) const LONGEST: Duration = Duration::from_secs(300);

/// Timeout far longer than the capture takes if it ends as expected.
const TIMEOUT: Duration = Duration::from_secs(120);

/// Returns the tool that SWITCHCOST_TOOL_DIR names, or the one built from the sources next to this
/// crate.
pub(crate) fn tool() -> Tool {
    static FOLDER: OnceLock<PathBuf> = OnceLock::new();
    let folder = FOLDER.get_or_init(|| {
        if let Some(folder) = std::env::var_os("SWITCHCOST_TOOL_DIR") {
            return folder.into();
        }
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("valgrind");
        let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../capture/valgrind");
        let made = std::process::Command::new("make")
            .arg("--silent")
            .arg("-C")
            .arg(sources)
            .arg(format!("OUT={}", folder.display()))
            .status()
            .expect("make runs");
        assert!(made.success(), "the tool builds");
        folder
    });
    Tool::new(folder.clone())
}

/// Returns the folder for test files: one for each tool, because the same tests may run with two
/// tools concurrently.
pub(crate) fn scratch() -> PathBuf {
    let is_named = std::env::var_os("SWITCHCOST_TOOL_DIR").is_some();
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(if is_named {
        "with-named-tool"
    } else {
        "with-own-tool"
    });
    std::fs::create_dir_all(&folder).expect("a folder");
    folder
}

/// Both orders, the first with short time slices.
pub(crate) const ORDERS: [Order; 2] = [
    Order::Scheduled {
        quantum_instructions: 50_000,
    },
    Order::AsRun,
];

pub(crate) fn options() -> Options {
    Options {
        output: Output::Nowhere,
        ..Options::new(tool())
    }
}

pub(crate) fn in_order(order: Order) -> Options {
    Options { order, ..options() }
}

/// Captures a command that must succeed.
pub(crate) fn succeeds(command: &Command, order: Order) -> Summary {
    let command = std::slice::from_ref(command);
    let (summary, _) = in_time(|stop| recorded(command, in_order(order), stop));
    assert_eq!(summary.ending, Ending::Finished, "{order:?}: {summary:?}");
    assert_eq!(code(&summary, 0), Some(0), "{order:?}: {summary:?}");
    summary
}

pub(crate) fn succeeds_in_both_orders(command: &Command) -> [Summary; 2] {
    ORDERS.map(|order| succeeds(command, order))
}

/// Captures directly into a trace and checks the trace against every rule of the format; returns
/// the summary and the trace.
pub(crate) fn recorded(
    commands: &[Command],
    options: Options,
    stop: &AtomicBool,
) -> (Summary, Vec<u8>) {
    let order = if options.order == Order::AsRun {
        TraceOrder::AsRun
    } else {
        TraceOrder::Scheduled
    };
    let path = tempfile::NamedTempFile::new()
        .expect("a file")
        .into_temp_path();
    let file = std::fs::File::create(&path).expect("a file");
    let mut recorder =
        Recorder::create(file, &TraceHeader::new("valgrind", order, "x86_64")).expect("a trace");
    let summary = record(commands, options, stop, &mut recorder).expect("a capture");
    let (_, written) = recorder.finish().expect("a whole trace");
    assert_eq!(written.instructions, summary.instructions);
    let trace = std::fs::read(&path).expect("a trace");
    let report = switchcost_trace::check(TraceReader::new(&trace[..]).expect("a trace"));
    assert!(report.is_sound(), "{:?} {:?}", report.problems, report.loss);
    (summary, trace)
}

/// Runs `body` and sets the flag after the timeout, so that a capture that would not end fails its
/// test.
pub(crate) fn in_time<T>(body: impl FnOnce(&AtomicBool) -> T) -> T {
    let (stop, is_over) = (AtomicBool::new(false), AtomicBool::new(false));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let start = std::time::Instant::now();
            while !is_over.load(SeqCst) && start.elapsed() < TIMEOUT {
                std::thread::sleep(Duration::from_millis(20));
            }
            stop.store(true, SeqCst);
        });
        let outcome = body(&stop);
        is_over.store(true, SeqCst);
        outcome
    })
}

/// Captures into a trace, checks every rule of the format, and returns the chunks.
pub(crate) fn traced(
    commands: &[Command],
    options: Options,
    stop: &AtomicBool,
) -> (Summary, Vec<Chunk>) {
    let (summary, trace) = recorded(commands, options, stop);
    let mut reader = TraceReader::new(&trace[..]).expect("a trace");
    let (mut chunks, mut chunk) = (Vec::new(), Chunk::default());
    while reader.next_into(&mut chunk).expect("a whole trace") {
        chunks.push(chunk.clone());
    }
    assert_eq!(switches(&chunks).len() as u64, summary.switches);
    (summary, chunks)
}

/// Captures commands and shows each chunk to `see`.
pub(crate) fn seen(
    commands: &[Command],
    options: Options,
    stop: &AtomicBool,
    mut see: impl FnMut(&Chunk),
) -> Result<Summary, Failure<Infallible>> {
    run(commands, options, stop, |chunk, _| {
        see(chunk);
        Ok(())
    })
}

pub(crate) fn marks(chunks: &[Chunk]) -> impl Iterator<Item = &Mark> {
    chunks
        .iter()
        .flat_map(|chunk| &chunk.marks)
        .map(|placed| &placed.mark)
}

pub(crate) fn switches(chunks: &[Chunk]) -> Vec<(u32, u32, bool, Cause)> {
    marks(chunks)
        .filter(|mark| mark.is_switch())
        .filter_map(|mark| match *mark {
            Mark::Switch {
                from,
                to,
                is_voluntary,
                cause,
            } => Some((from.0, to.0, is_voluntary, cause)),
            _ => None,
        })
        .collect()
}

/// Returns how many execs of a program of this name the chunks have.
pub(crate) fn execs(chunks: &[Chunk], program: &[u8]) -> usize {
    let is_it = |mark: &&Mark| matches!(mark, Mark::Exec { name, .. } if name == program);
    marks(chunks).filter(is_it).count()
}

/// Returns how many commands succeeded.
pub(crate) fn successes(summary: &Summary) -> usize {
    let statuses = summary.statuses.iter().flatten();
    statuses.filter(|status| status.success()).count()
}

/// Returns the exit code of a command.
pub(crate) fn code(summary: &Summary, command: usize) -> Option<i32> {
    summary.statuses[command]?.code()
}

/// Returns the signal that ended a command.
pub(crate) fn signal(summary: &Summary, command: usize) -> Option<i32> {
    std::os::unix::process::ExitStatusExt::signal(&summary.statuses[command]?)
}

/// Asserts that a capture gave exactly one warning, which contains `words`.
#[track_caller]
pub(crate) fn assert_only_warning(summary: &Summary, words: &str) {
    let [warning] = &summary.warnings[..] else {
        panic!("one warning: {summary:?}")
    };
    assert!(warning.contains(words), "{warning}");
}

pub(crate) fn compiled(name: &str, source: &str) -> PathBuf {
    compiled_with(name, source, &["-pthread"])
}

/// Compiles a program in a temporary folder and then renames it, because concurrent tests may
/// compile and run the same program.
pub(crate) fn compiled_with(name: &str, source: &str, flags: &[&str]) -> PathBuf {
    let aside = tempfile::tempdir_in(scratch()).expect("a folder");
    let (made, text) = (aside.path().join(name), aside.path().join("program.c"));
    std::fs::write(&text, source).expect("written");
    let status = std::process::Command::new("cc")
        .arg("-O1")
        .args(flags)
        .arg("-o")
        .arg(&made)
        .arg(&text)
        .status()
        .expect("cc runs");
    assert!(status.success(), "{name} compiles");
    let path = scratch().join(name);
    std::fs::rename(made, &path).expect("renamed");
    path
}

/// Returns how many processes were started with this environment variable and have not ended.
pub(crate) fn living_with(variable: &str, value: &str) -> usize {
    processes_with(variable, value).len()
}

/// Returns the IDs of the processes that have this environment variable.
pub(crate) fn processes_with(variable: &str, value: &str) -> Vec<i32> {
    let wanted = format!("{variable}={value}");
    let has_it = |process: &std::fs::DirEntry| {
        let environment = std::fs::read(process.path().join("environ")).unwrap_or_default();
        environment
            .split(|&byte| byte == 0)
            .any(|own| own == wanted.as_bytes())
    };
    let processes = std::fs::read_dir("/proc")
        .expect("a list of processes")
        .flatten();
    processes
        .filter(has_it)
        .filter_map(|process| process.file_name().to_str()?.parse().ok())
        .collect()
}

pub(crate) fn await_that(what: &str, is_so: impl Fn() -> bool) {
    let deadline = Instant::now() + LONGEST;
    while !is_so() {
        assert!(Instant::now() < deadline, "{what} within {LONGEST:?}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

pub(crate) const PIPELINES: &str = r#"
#include <sys/wait.h>
#include <unistd.h>
static void start(int in, int out, char *program, char *argument, int other)
{
    if (fork() != 0)
        return;
    dup2(in, 0), dup2(out, 1), close(other);
    if (in > 2)
        close(in);
    if (out > 2)
        close(out);
    execlp(program, program, argument, (char *)0);
    _exit(1);
}
int main(void)
{
    for (int i = 0; i < 3; i++) {
        int ends[2];
        if (pipe(ends))
            return 1;
        start(0, ends[1], "ls", "/", ends[0]);
        start(ends[0], 1, "wc", "-l", ends[1]);
        close(ends[0]), close(ends[1]);
        if (wait(0) < 0 || wait(0) < 0)
            return 1;
    }
    return 0;
}
"#;

/// Program that walks over memory, then makes it inaccessible and walks again, while a handler
/// makes each page accessible after its fault. It exits with 0 if both walks gave the same result.
pub(crate) const FAULTS: &str = r"
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#define BYTES (64 * 4096)
#ifndef WALKS
#define WALKS 1
#endif
static volatile int allowed, bits, steps;
static void allow(int number, siginfo_t *fault, void *registers)
{
    (void)number, (void)registers;
    allowed++;
    mprotect((void *)((unsigned long)fault->si_addr & ~4095UL), 4096, PROT_READ | PROT_WRITE);
}
static unsigned long walk(char *memory)
{
    unsigned long a = 1, b = 2, c = 3, d = 4, e = 5, at;
    steps = bits = 0;
    for (at = 0; at < BYTES; at += 512) {
        a += b; b += c ^ a; c = c * 3 + at; d += a & b; e ^= d + c;
        steps++;
        if (a & 64)
            c ^= (unsigned long)bits;
        if (b & 128)
            bits += 1;
        *(volatile unsigned long *)(memory + at) = a;
        a += 7; b ^= *(volatile unsigned long *)(memory + at); c += e; d *= 5;
    }
    return a ^ b ^ c ^ d ^ e ^ (unsigned long)steps;
}
int main(void)
{
    struct sigaction action;
    char *memory = mmap(0, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    unsigned long expected = 0;
    for (int walks = 0; walks < WALKS; walks++)
        expected = walk(memory);
    memset(&action, 0, sizeof action);
    action.sa_sigaction = allow;
    action.sa_flags = SA_SIGINFO;
    sigaction(SIGSEGV, &action, 0);
    mprotect(memory, BYTES, PROT_NONE);
    return walk(memory) != expected || allowed != BYTES / 4096;
}
";

/// Program that runs as many rounds as its first argument says, and prints the result. With a
/// second argument, it exits with 0 if the result is equal to that argument. The program needs no
/// library, so that its behaviour depends on its arguments alone.
pub(crate) const FRAME: &str = r#"
unsigned long rounds(unsigned long count);
static long call(long number, long a, long b, long c)
{
    long result;
    __asm__ volatile("syscall" : "=a"(result) : "a"(number), "D"(a), "S"(b), "d"(c) : "rcx", "r11", "memory");
    return result;
}
static unsigned long number(const char *text)
{
    unsigned long value = 0;
    for (; *text; text++)
        value = value * 10 + (unsigned long)(*text - '0');
    return value;
}
void begin(long *stack)
{
    char text[21];
    int at = 20;
    unsigned long sum = rounds(number((const char *)stack[2]));
    if (stack[0] > 2)
        call(231, sum != number((const char *)stack[3]), 0, 0);
    for (text[20] = 10; at == 20 || sum; sum /= 10)
        text[--at] = (char)('0' + sum % 10);
    call(1, 1, (long)(text + at), 21 - at);
    call(231, 0, 0, 0);
}
__asm__(".globl _start\n_start: mov %rsp, %rdi\n and $-16, %rsp\n call begin");
"#;

/// Function that computes the rounds for [`FRAME`].
pub(crate) const ROUNDS: &str = r"
static volatile unsigned char table[4096];
__attribute__((noinline)) static unsigned find(unsigned from, unsigned char wanted)
{
    unsigned at;
    for (at = from; at < from + 12; at++)
        if (table[at & 4095] == wanted)
            break;
    return at;
}
unsigned long rounds(unsigned long count)
{
    unsigned long value = 88172645463325252UL, sum = 0;
    for (; count; count--) {
        value ^= value << 13; value ^= value >> 7; value ^= value << 17;
        if (value & 1)
            sum += find((unsigned)(value >> 8), (unsigned char)(value >> 40));
        else if ((value & 6) == 2)
            table[value >> 20 & 4095] = (unsigned char)(sum >> 3);
        else if ((value & 24) && sum > value)
            sum -= table[sum & 4095];
        else
            sum = sum << 1 | sum >> 63;
        if ((value & 0xff00) == 0)
            sum ^= value;
    }
    return sum;
}
";

pub(crate) const PING_PONG: &str = r"
#include <sys/wait.h>
#include <unistd.h>
int main(void)
{
    int there[2], back[2];
    char token = 0;
    if (pipe(there) || pipe(back))
        return 1;
    if (fork() == 0) {
        for (int i = 0; i < 100; i++)
            if (read(there[0], &token, 1) != 1 || write(back[1], &token, 1) != 1)
                return 1;
        return 0;
    }
    for (int i = 0; i < 100; i++)
        if (write(there[1], &token, 1) != 1 || read(back[0], &token, 1) != 1)
            return 1;
    return wait(0) < 0;
}
";

/// Program whose heap grows by brk alone, to 24 MiB, and is written to.
pub(crate) const HEAP: &str = r"
#include <unistd.h>
int main(void)
{
    for (int i = 0; i < 24; i++) {
        char *more = sbrk(1 << 20);
        if (more == (char *)-1)
            return 1;
        for (int at = 0; at < 1 << 20; at += 4096)
            more[at] = 1;
    }
    return 0;
}
";

/// Program with 25 MiB of frames on the stack of the first thread.
pub(crate) const STACK: &str = r"
static int deep(int left)
{
    volatile char frame[1 << 20];
    for (int at = 0; at < 1 << 20; at += 4096)
        frame[at] = left;
    return left ? deep(left - 1) + frame[0] : 0;
}
int main(void)
{
    return deep(24) != 300;
}
";

/// Program in which two threads pass control to each other 200 times, and yield while they wait.
pub(crate) const YIELDS: &str = r"
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
static atomic_long turn;
static void *work(void *own)
{
    for (int i = 0; i < 100; i++) {
        while (turn != (long)own)
            sched_yield();
        turn = !turn;
    }
    return 0;
}
int main(void)
{
    pthread_t threads[2];
    for (long i = 0; i < 2; i++)
        if (pthread_create(&threads[i], 0, work, (void *)i))
            return 1;
    return pthread_join(threads[0], 0) || pthread_join(threads[1], 0);
}
";

pub(crate) const THREADS: &str = r"
#include <pthread.h>
#include <stdlib.h>
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static long sum;
static void *work(void *p)
{
    for (int i = 0; i < 20000; i++) {
        pthread_mutex_lock(&lock);
        sum += (long)p;
        pthread_mutex_unlock(&lock);
    }
    return 0;
}
int main(void)
{
    pthread_t threads[4];
    for (long i = 0; i < 4; i++)
        if (pthread_create(&threads[i], 0, work, (void *)(i + 1)))
            return 1;
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], 0);
    return sum != 200000;
}
";
