//! Tests tasks that sleep for a short time, and tasks that are stopped and continued.

use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use switchcost_capture::{Command, Ending, Order, Summary};
use switchcost_trace::{Cause, Chunk};

use super::support::{
    ORDERS, await_that, code, compiled, execs, in_order, in_time, options, processes_with,
    recorded, scratch, switches, traced,
};

const CLOCK_NANOSLEEP: u16 = 230;
const TGKILL: u16 = 234;

/// Captures a program that must succeed; returns the summary and the chunks.
fn captured(name: &str, source: &str, order: Order) -> (Summary, Vec<Chunk>) {
    let command = Command::new([compiled(name, source)]);
    let (summary, chunks) = in_time(|stop| traced(&[command], in_order(order), stop));
    assert_eq!(summary.ending, Ending::Finished, "{order:?}");
    assert_eq!(code(&summary, 0), Some(0), "{order:?}: {summary:?}");
    (summary, chunks)
}

fn voluntary_at(chunks: &[Chunk], call: u16) -> usize {
    let is_it = |&&(.., is_voluntary, cause): &&(u32, u32, bool, Cause)| {
        is_voluntary && cause == Cause::Syscall(call)
    };
    switches(chunks).iter().filter(is_it).count()
}

/// Program that sleeps a hundred times for a microsecond, while another process computes.
const SHORT_SLEEPS: &str = r"
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
int main(void)
{
    volatile int *is_over = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    int status;
    if (fork() == 0) {
        while (!*is_over) {}
        _exit(0);
    }
    for (int i = 0; i < 100; i++)
        nanosleep(&(struct timespec){ 0, 1000 }, 0);
    *is_over = 1;
    return wait(&status) < 0 || status;
}
";

#[test]
fn a_sleep_too_short_to_be_seen_is_a_switch_all_the_same() {
    // If an interrupt delays the kernel, a timer can expire before its task sleeps; then the kernel
    // does not count a switch for the call either.
    let has_all_in_one = (0..3).any(|_| {
        let (_, chunks) = captured("short_sleeps", SHORT_SLEEPS, ORDERS[0]);
        let slept = voluntary_at(&chunks, CLOCK_NANOSLEEP);
        assert!((95..=100).contains(&slept), "{slept} of 100");
        slept == 100
    });
    assert!(has_all_in_one);
}

/// Program that stops four processes: one computes, one sleeps for a time, one waits forever, and
/// one stops itself.
const STOPS: &str = r"
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
static volatile long *rounds;
static void compute(void) { for (;;) ++*rounds; }
static void sleep_long(void) { nanosleep(&(struct timespec){ 1000, 0 }, 0); }
static void wait_for_ever(void) { poll(0, 0, -1); }
static void stop_itself(void) { raise(SIGSTOP); wait_for_ever(); }
static void spin(void) { for (volatile int i = 0; i < 200000; i++) {} }
static int check(void (*work)(void))
{
    int status;
    pid_t child = fork();
    if (child == 0)
        work();
    spin();
    if (work != stop_itself)
        kill(child, SIGSTOP);
    if (waitpid(child, &status, WUNTRACED) != child || !WIFSTOPPED(status))
        return 1;
    long before = *rounds;
    spin();
    if (*rounds != before)
        return 2;
    kill(child, SIGCONT);
    if (waitpid(child, &status, WCONTINUED) != child || !WIFCONTINUED(status))
        return 3;
    while (work == compute && *rounds == before)
        sched_yield();
    kill(child, SIGKILL);
    return waitpid(child, &status, 0) != child || !WIFSIGNALED(status);
}
int main(void)
{
    rounds = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    return check(compute) || check(sleep_long) || check(wait_for_ever) || check(stop_itself);
}
";

#[test]
fn who_is_stopped_gets_no_turn_before_it_is_continued_and_holds_no_one_up() {
    let (_, chunks) = captured("stops", STOPS, ORDERS[0]);
    assert_eq!(
        voluntary_at(&chunks, TGKILL),
        1,
        "who stops itself leaves the CPU: {:?}",
        switches(&chunks)
    );
    captured("stops", STOPS, Order::AsRun);
}

/// Program that counts, while a child computes forever, until the file given as its argument
/// exists.
const BESIDE: &str = r#"
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>
int main(int count, char **words)
{
    pid_t child = fork();
    if (child == 0) {
        prctl(PR_SET_NAME, "to-be-stopped");
        for (;;) {}
    }
    while (count > 1 && access(words[1], F_OK))
        for (volatile int i = 0; i < 1000; i++) {}
    kill(child, SIGKILL);
    return waitpid(child, 0, 0) != child;
}
"#;

#[test]
fn who_is_stopped_from_outside_in_its_turn_leaves_the_cpu() {
    let program = compiled("beside", BESIDE);
    let go = scratch().join("beside.go");
    let _ = std::fs::remove_file(&go);
    let command = Command {
        environment: vec![("BESIDE".into(), std::process::id().to_string().into())],
        ..Command::new([program.as_os_str(), go.as_os_str()])
    };
    let child = || {
        let is_it = |pid: &i32| {
            std::fs::read_to_string(format!("/proc/{pid}/comm"))
                .is_ok_and(|name| name == "to-be-stopped\n")
        };
        processes_with("BESIDE", &std::process::id().to_string())
            .into_iter()
            .find(is_it)
    };
    let (summary, _) = std::thread::scope(|scope| {
        scope.spawn(|| {
            await_that("a child", || child().is_some());
            let number = child().expect("it computes");
            let child = Pid::from_raw(number).expect("a number");
            let fact = |name: &str| {
                std::fs::read_to_string(format!("/proc/{number}/{name}")).expect("it lives")
            };
            loop {
                kill_process(child, Signal::STOP).expect("ours");
                await_that("a stop", || fact("stat").contains(") T "));
                // A task that waits for a turn is in a system call.
                if fact("syscall").starts_with("-1 ") {
                    break;
                }
                kill_process(child, Signal::CONT).expect("ours");
                std::thread::sleep(Duration::from_millis(1));
            }
            std::fs::write(&go, "").expect("written");
        });
        in_time(|stop| recorded(&[command], options(), stop))
    });
    assert_eq!(summary.ending, Ending::Finished, "{summary:?}");
    assert_eq!(code(&summary, 0), Some(0), "{summary:?}");
    assert!(summary.warnings.is_empty(), "{summary:?}");
}

/// Program that has other programs executed while two of its threads compute.
const SPAWNS: &str = r#"
#include <pthread.h>
#include <spawn.h>
#include <sys/wait.h>
extern char **environ;
static volatile long rounds;
static void *compute(void *unused)
{
    for (;;)
        rounds++;
    return unused;
}
int main(void)
{
    char *words[] = { "true", 0 };
    pthread_t thread;
    for (int i = 0; i < 2; i++)
        if (pthread_create(&thread, 0, compute, 0))
            return 1;
    for (int i = 0; i < 10; i++) {
        pid_t child;
        int status;
        long before = rounds;
        while (rounds == before) {}
        if (posix_spawnp(&child, "true", 0, 0, words, environ) || waitpid(child, &status, 0) != child || status)
            return 2;
    }
    return 0;
}
"#;

#[test]
fn who_waits_for_a_child_to_execute_a_program_holds_no_one_up_with_its_other_threads() {
    let (_, chunks) = captured("spawns", SPAWNS, ORDERS[0]);
    assert_eq!(execs(&chunks, b"true"), 10);
}
