use std::ffi::OsString;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::time::{Duration, Instant};

use switchcost_capture::{Command, Ending, Options, Order, Summary};
use switchcost_trace::{Cause, Chunk, Mark, TaskId};
use switchcost_units::CpuId;

use super::support::{
    LONGEST, PING_PONG, PIPELINES, THREADS, await_that, code, compiled, execs, in_order,
    living_with, marks, seen, successes, switches, tool, traced,
};

fn as_run() -> Options {
    in_order(Order::AsRun)
}

fn capture<const N: usize>(words: [impl Into<OsString>; N]) -> (Summary, Vec<Chunk>) {
    traced(&[Command::new(words)], as_run(), &AtomicBool::new(false))
}

/// Returns each mark with the task that runs when it is made.
fn with_runners(chunks: &[Chunk]) -> Vec<(u32, Mark)> {
    let mut running = 0;
    let follow = |mark: &Mark| {
        let before = running;
        if let Mark::Switch { to, .. } = mark {
            running = to.0;
        }
        (before, mark.clone())
    };
    marks(chunks).map(follow).collect()
}

fn births(chunks: &[Chunk]) -> Vec<(u32, u32)> {
    let births = marks(chunks).filter_map(|mark| match mark {
        Mark::Birth {
            process, parent, ..
        } => Some((process.0, parent.0)),
        _ => None,
    });
    births.collect()
}

fn exits(chunks: &[Chunk]) -> usize {
    marks(chunks)
        .filter(|mark| matches!(mark, Mark::Exit { .. }))
        .count()
}

const READ: u16 = 0;
const WRITE: u16 = 1;

#[test]
fn what_is_read_from_a_pipe_was_written_before() {
    let program = compiled("ping_pong_as_run", PING_PONG);
    let (summary, chunks) = capture([program]);
    assert_eq!(summary.ending, Ending::Finished);
    assert_eq!(code(&summary, 0), Some(0));
    // For each task, tokens written (calls entered) and read (calls left). Libraries are read
    // before the fork.
    let (mut written, mut read) = ([0; 3], [0; 3]);
    let mut is_forked = false;
    for (task, mark) in with_runners(&chunks) {
        match mark {
            Mark::Birth {
                task: TaskId(2), ..
            } => is_forked = true,
            Mark::SyscallEnter { number: WRITE } => written[task as usize] += 1,
            Mark::SyscallExit { number: READ } if is_forked => {
                read[task as usize] += 1;
                let other = 3 - task as usize;
                assert!(
                    read[task as usize] <= written[other],
                    "task {task} reads {read:?} of {written:?}"
                );
            }
            _ => {}
        }
    }
    assert_eq!((written, read), ([0, 100, 100], [0, 100, 100]));
    let taken = switches(&chunks);
    // On one CPU each token needs its reader to run after its writer.
    assert!(
        taken.iter().filter(|switch| switch.0 != switch.1).count() >= 200,
        "{taken:?}"
    );
    let blocked = taken
        .iter()
        .filter(|switch| switch.2 && switch.3 == Cause::Syscall(READ));
    assert!(blocked.count() >= 50, "{taken:?}");
}

const SPIN: &str = r#"
#define _GNU_SOURCE
#include <stdio.h>
#include <sys/resource.h>
static long switches(void)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return usage.ru_nvcsw + usage.ru_nivcsw;
}
int main(int count, char **words)
{
    volatile long sum = 0;
    long before = switches(), after;
    FILE *file;
    for (long i = 0; i < 20000000; i++)
        sum += i;
    after = switches();
    file = fopen(words[1], count > 1 ? "w" : "r");
    return !file || fprintf(file, "%ld", after - before) < 0 || fclose(file);
}
"#;
const GETRUSAGE: u16 = 98;

/// Returns the numbers of switches away from a task: between its two readings of the kernel's
/// count, and in the whole trace.
fn switches_of(chunks: &[Chunk], task: u32) -> (u64, u64) {
    let (mut looks, mut between, mut all) = (0, 0, 0);
    for (runner, mark) in with_runners(chunks) {
        match mark {
            _ if runner != task => {}
            Mark::SyscallExit { number: GETRUSAGE } if looks == 0 => looks = 1,
            Mark::SyscallEnter { number: GETRUSAGE } if looks == 1 => looks = 2,
            Mark::Switch { .. } => {
                all += 1;
                between += u64::from(looks == 1);
            }
            _ => {}
        }
    }
    (between, all)
}

#[test]
fn preemptions_are_those_that_the_kernel_counts() {
    let program = compiled("spin", SPIN);
    let files = ["spin-1", "spin-2"].map(|name| program.with_file_name(name));
    let commands = files.each_ref().map(|file| Command::new([&program, file]));
    let (summary, chunks) = traced(&commands, as_run(), &AtomicBool::new(false));
    assert_eq!(successes(&summary), 2);
    let taken = switches(&chunks);
    let preempted = |from| {
        taken
            .iter()
            .filter(|switch| (switch.0, switch.1, switch.2) == (from, 3 - from, false))
            .count()
    };
    assert!(
        preempted(1) >= 5 && preempted(2) >= 5,
        "two that spin share one CPU: {taken:?}"
    );
    assert!(taken.iter().any(|switch| switch.3 == Cause::Quantum));
    for (task, file) in [1, 2].into_iter().zip(&files) {
        let counted: u64 = std::fs::read_to_string(file)
            .expect("written")
            .parse()
            .expect("a number");
        let (between, all) = switches_of(&chunks, task);
        eprintln!(
            "task {task}: {between} switches in the trace, {counted} by the kernel, {summary:?}"
        );
        assert!(
            between <= counted,
            "task {task}: {between} switches in the trace, {counted} by the kernel"
        );
        let most = all + summary.switches_elsewhere;
        assert!(
            counted <= most,
            "task {task}: {counted} by the kernel, {all} in the trace, {summary:?}"
        );
    }
}

#[test]
fn threads_share_their_address_space() {
    let program = compiled("threads_as_run", THREADS);
    let (summary, chunks) = capture([program]);
    assert_eq!(code(&summary, 0), Some(0), "{summary:?}");
    assert_eq!(births(&chunks), [(1, 0), (1, 1), (1, 1), (1, 1), (1, 1)]);
    let ran: std::collections::BTreeSet<u32> =
        switches(&chunks).iter().map(|switch| switch.1).collect();
    assert_eq!(ran.len(), 5, "each thread ran");
}

#[test]
fn forks_and_execs_are_followed() {
    let program = compiled("pipelines_as_run", PIPELINES);
    let (summary, chunks) = capture([program]);
    assert_eq!(code(&summary, 0), Some(0), "{summary:?}");
    assert_eq!(
        births(&chunks)
            .iter()
            .filter(|(_, parent)| *parent == 1)
            .count(),
        6
    );
    assert_eq!((execs(&chunks, b"ls"), execs(&chunks, b"wc")), (3, 3));
    assert_eq!(exits(&chunks), 7);
    // The parent is another program before the child first runs, or soon after.
    let (summary, chunks) = capture(["sh", "-c", "true & exec true"]);
    assert_eq!(code(&summary, 0), Some(0), "{summary:?}");
    assert_eq!(exits(&chunks), 2);
}

#[test]
fn a_killed_task_ends_and_the_others_go_on() {
    // The task is killed in the middle of a run, with a buffer that it never submits.
    let script = "while :; do :; done & sleep 0.3; kill -KILL $!; wait $!; exit 3";
    let (summary, chunks) = capture(["sh", "-c", script]);
    assert_eq!(summary.ending, Ending::Finished);
    assert_eq!(code(&summary, 0), Some(3));
    assert!(marks(&chunks).any(|mark| matches!(mark, Mark::Exit { task: TaskId(2) })));
}

#[test]
fn a_stopped_task_holds_no_one_up() {
    // The task is stopped, most likely in the middle of a run; the task that continues it needs
    // buffers until then.
    let script = "while :; do :; done & i=0; while [ $i -lt 200 ]; do i=$((i+1)); done; kill -STOP $!; \
                  while [ $i -lt 25000 ]; do i=$((i+1)); done; kill -CONT $!; \
                  while [ $i -lt 25200 ]; do i=$((i+1)); done; kill -KILL $!; wait $!; exit 4";
    let (summary, chunks) = capture(["sh", "-c", script]);
    assert_eq!(summary.ending, Ending::Finished);
    assert_eq!(code(&summary, 0), Some(4));
    assert_eq!(exits(&chunks), 2);
}

#[test]
fn more_tasks_than_buffers_take_turns() {
    let script = "for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24; do \
                  (j=0; while [ $j -lt 400 ]; do j=$((j+1)); done) & done; wait";
    let (summary, chunks) = capture(["sh", "-c", script]);
    assert_eq!(summary.ending, Ending::Finished);
    assert_eq!(code(&summary, 0), Some(0));
    assert_eq!(exits(&chunks), 25);
}

#[test]
fn an_interrupt_keeps_what_was_written_and_leaves_nothing_running() {
    tool();
    const OWN: &str = "SWITCHCOST_TEST_AS_RUN";
    let own = std::process::id().to_string();
    let folder = tempfile::tempdir().expect("a folder");
    let marks = ["sleeps", "loops", "first"].map(|name| folder.path().join(name));
    let [sleeps, loops, first] = marks.each_ref().map(|mark| mark.display());
    let script = format!(
        "(: > {sleeps}; exec sleep 1000) & (: > {loops}; while :; do :; done) & : > {first}; while :; do :; done"
    );
    let environment = vec![(OWN.into(), own.clone().into())];
    let command = Command {
        environment,
        ..Command::new(["sh", "-c", script.as_str()])
    };
    let stop = AtomicBool::new(false);
    let start = Instant::now();
    let (summary, chunks) = std::thread::scope(|scope| {
        scope.spawn(|| {
            await_that("three processes ran", || {
                marks.iter().all(|mark| mark.exists())
            });
            std::thread::sleep(Duration::from_millis(200));
            stop.store(true, SeqCst);
        });
        traced(&[command], as_run(), &stop)
    });
    assert_eq!(summary.ending, Ending::Interrupted);
    assert_eq!(living_with(OWN, &own), 0, "no process is left");
    assert!(summary.instructions > 100_000, "{summary:?}");
    assert_eq!(births(&chunks).len(), 3);
    assert!(start.elapsed() < LONGEST);
}

fn refusal<const N: usize>(words: [impl Into<OsString>; N], options: Options) -> String {
    let stop = AtomicBool::new(false);
    let outcome = seen(&[Command::new(words)], options, &stop, |_| ());
    outcome.expect_err("refused").to_string()
}

const MOVE: &str = r"
#define _GNU_SOURCE
#include <sched.h>
int main(void)
{
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(0, &set);
    return sched_setaffinity(0, sizeof set, &set);
}
";

#[test]
fn a_task_that_leaves_the_cpu_of_the_others_is_refused() {
    if std::thread::available_parallelism().map_or(1, usize::from) < 2 {
        eprintln!("skipped: there is one CPU, and nowhere to go");
        return;
    }
    let program = compiled("move", MOVE);
    let options = Options {
        cpu: Some(CpuId(1)),
        ..as_run()
    };
    let refused = refusal([program], options);
    assert!(
        refused
            .starts_with("a task runs on CPU 0, but with the order as-run all must stay on CPU 1"),
        "{refused}"
    );
}

const DENY: &str = r"
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <unistd.h>
int main(int count, char **words)
{
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 334, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = { 4, filter };
    if (count < 2 || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program))
        return 1;
    return execv(words[1], words + 1);
}
";

/// Traces a program; `without_a_way_to_see_preemptions_nothing_is_traced` runs this as a separate
/// process, because a system call filter of the traced program itself would not be in force.
#[test]
#[ignore = "traces where rseq is refused, for another test"]
fn traces_where_rseq_is_refused() {
    println!("{}", refusal(["/bin/true"], as_run()));
}

#[test]
fn without_a_way_to_see_preemptions_nothing_is_traced() {
    tool();
    let mut denied = std::process::Command::new(compiled("deny", DENY));
    denied.arg(std::env::current_exe().expect("a test is a program"));
    denied.args([
        "as_run::traces_where_rseq_is_refused",
        "--exact",
        "--ignored",
        "--nocapture",
    ]);
    let output = denied.output().expect("it was compiled");
    let said = String::from_utf8_lossy(&output.stdout);
    let expected = "the order as-run needs rseq to detect preemptions, but rseq is not available (Function not implemented (os \
        error 38))";
    assert!(
        said.contains(expected),
        "{said}{}",
        String::from_utf8_lossy(&output.stderr)
    );
}
