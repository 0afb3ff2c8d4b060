//! Tests that the capture ends however the traced side ends, and keeps the data that it has.

use std::io::Write;
use std::path::PathBuf;
use std::process::Command as Process;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use rustix::fs::{CWD, Mode, mkfifoat};
use rustix::process::{Pid, Signal, kill_process};
use switchcost_capture::{CaptureError, Command, Ending, Failure, Options, Order, Summary, Tool};

use super::support::{
    ORDERS, await_that, code, compiled, in_order, in_time, living_with, processes_with, recorded,
    scratch, seen, signal, tool,
};

/// Environment variable that only the traced programs have.
const MARK: &str = "SWITCHCOST_TEST_DEATHS";

/// Program that starts as many threads as its last argument says. All live until the last has
/// started.
const MANY_THREADS: &str = r"
#include <pthread.h>
#include <stdlib.h>
static pthread_barrier_t all;
static void *await_all(void *nothing)
{
    pthread_barrier_wait(&all);
    return nothing;
}
int main(int count, char **words)
{
    int threads = atoi(words[count - 1]);
    pthread_t *thread = calloc(threads, sizeof *thread);
    pthread_attr_t small;
    pthread_attr_init(&small);
    pthread_attr_setstacksize(&small, 65536);
    pthread_barrier_init(&all, 0, threads + 1);
    for (int i = 0; i < threads; i++)
        if (pthread_create(&thread[i], &small, await_all, 0))
            return 1;
    pthread_barrier_wait(&all);
    for (int i = 0; i < threads; i++)
        pthread_join(thread[i], 0);
    return 0;
}
";

fn many_threads(count: u32) -> Command {
    let program = compiled("many_threads", MANY_THREADS);
    Command::new([program.into_os_string(), count.to_string().into()])
}

fn sound(commands: &[Command], options: Options, stop: &AtomicBool) -> Summary {
    let (summary, _) = recorded(commands, options, stop);
    assert!(summary.instructions > 0, "{summary:?}");
    summary
}

#[test]
fn more_threads_than_there_are_slots_are_an_error_that_says_so_and_keeps_what_there_is() {
    // With granted turns the result is the same, but takes a minute, because the kernel is asked
    // about each task again and again.
    let options = in_order(Order::AsRun);
    let mut instructions = 0;
    let failure = in_time(|stop| {
        seen(&[many_threads(2100)], options, stop, |chunk| {
            instructions += chunk.instructions();
        })
    })
    .expect_err("too many");
    assert!(
        matches!(failure, Failure::Capture(CaptureError::TooManyTasks)),
        "{failure}"
    );
    assert!(
        instructions > 100_000,
        "{instructions} instructions until then"
    );
}

/// Returns a tool whose Valgrind allows 20 threads, whatever number is requested.
fn valgrind_of_few_threads() -> Tool {
    let path = scratch().join("valgrind_of_few_threads");
    let script = format!(
        "#!/bin/sh\nfor word; do case $word in --max-threads=*) word=--max-threads=20;; esac\n\
         set -- \"$@\" \"$word\"; shift; done\nexec '{}' \"$@\"\n",
        tool().launcher.display()
    );
    // A separate process writes the file: a program that another test starts at this moment would
    // hold a file that is open here, which then cannot be executed.
    let written = Process::new("sh")
        .args(["-c", "printf %s \"$1\" > \"$0\" && chmod +x \"$0\""])
        .arg(&path)
        .arg(script)
        .status();
    assert!(written.expect("sh runs").success());
    Tool {
        launcher: path,
        ..tool()
    }
}

#[test]
fn where_valgrind_gives_a_program_up_the_capture_ends_and_says_so() {
    let tool = valgrind_of_few_threads();
    for order in ORDERS {
        let summary = in_time(|stop| {
            sound(
                &[many_threads(50)],
                Options {
                    tool: tool.clone(),
                    ..in_order(order)
                },
                stop,
            )
        });
        assert_eq!(summary.ending, Ending::Finished, "{order:?}");
        assert_eq!(code(&summary, 0), Some(1), "{order:?}: {summary:?}");
        let [warning] = &summary.warnings[..] else {
            panic!("{order:?}: {:?}", summary.warnings)
        };
        let number = summary.no_pid_namespace.is_none().then_some("process 2 ");
        assert!(
            warning.starts_with(number.unwrap_or("process ")),
            "{warning}"
        );
        assert!(
            warning.ends_with(
                "was killed, or Valgrind could not continue it (see its message): its last instructions are not in \
                 the trace"
            ),
            "{warning}"
        );
    }
}

fn kill_all_with(mark: &str) {
    for pid in processes_with(MARK, mark)
        .into_iter()
        .filter_map(Pid::from_raw)
    {
        let _ = kill_process(pid, Signal::KILL);
    }
}

fn marked(command: Command, mark: &str) -> Command {
    Command {
        environment: vec![(MARK.into(), mark.into())],
        ..command
    }
}

fn mark_of(name: &str, order: Order) -> String {
    format!("{name} {order:?} {}", std::process::id())
}

/// Returns the path of a file that does not exist yet.
fn new_path(name: &str) -> PathBuf {
    let path = scratch().join(name);
    let _ = std::fs::remove_file(&path);
    path
}

#[test]
fn a_program_that_is_killed_while_it_runs_ends_the_capture() {
    let source = "#include <fcntl.h>\nint main(int n, char **words) { creat(words[n - 1], 0600); for (;;) { } }";
    let program = compiled("killed", source);
    for order in ORDERS {
        let (mark, begun) = (mark_of("runs", order), new_path("killed.begun"));
        let command = marked(Command::new([&program, &begun]), &mark);
        let summary = in_time(|stop| {
            std::thread::scope(|scope| {
                scope.spawn(|| {
                    await_that("the loop began", || begun.exists());
                    kill_all_with(&mark);
                });
                sound(&[command], in_order(order), stop)
            })
        });
        assert_eq!(summary.ending, Ending::Finished, "{order:?}");
        let signal = signal(&summary, 0);
        assert_eq!(signal, Some(9), "{order:?}: {summary:?}");
        // As run, the task may be killed in the call that made the file, or while it waits for the
        // reader; then nothing is lost.
        let fewest = if order == Order::AsRun { 0 } else { 1 };
        assert!(
            (fewest..=1).contains(&summary.warnings.len()),
            "{order:?}: {:?}",
            summary.warnings
        );
        assert_eq!(living_with(MARK, &mark), 0);
    }
}

#[test]
fn a_program_that_is_killed_while_it_waits_for_the_reader_costs_no_one_else_anything() {
    let victim = Command::new(["sh", "-c", "while :; do :; done"]);
    let fifo = new_path("heir.fifo");
    mkfifoat(CWD, &fifo, Mode::RWXU).expect("a fifo");
    let heir = Command::new([
        "sh",
        "-c",
        "read line < $0; ls / > /dev/null; exit 7",
        fifo.to_str().expect("text"),
    ]);
    for order in ORDERS {
        let mark = mark_of("waits", order);
        let commands = [marked(victim.clone(), &mark), heir.clone()];
        // The file is opened for reading, too, so that opening does not wait, however late the
        // successor reads.
        let mut line = std::fs::File::options()
            .read(true)
            .write(true)
            .open(&fifo)
            .expect("our own fifo");
        let mut is_killed = false;
        let summary = in_time(|stop| {
            seen(&commands, in_order(order), stop, |_| {
                if !is_killed {
                    is_killed = true;
                    // No process reads now, and the loop fills all buffers in far less time.
                    std::thread::sleep(Duration::from_secs(2));
                    kill_all_with(&mark);
                    line.write_all(b"go on\n")
                        .expect("a pipe has room for a line");
                }
            })
        })
        .unwrap_or_else(|failure| panic!("{order:?}: {failure}"));
        assert!(is_killed);
        assert_eq!(summary.ending, Ending::Finished, "{order:?}");
        assert_eq!(code(&summary, 1), Some(7), "{order:?}: {summary:?}");
        assert_eq!(living_with(MARK, &mark), 0);
    }
}

#[test]
fn a_family_that_is_killed_at_any_moment_ends_the_capture() {
    let family = "while :; do ls / | sort | wc -l; (:) & wait; done";
    for order in ORDERS {
        for round in [0, 2, 5] {
            let mark = mark_of(&format!("family {round}"), order);
            let command = marked(Command::new(["sh", "-c", family]), &mark);
            let summary = in_time(|stop| {
                std::thread::scope(|scope| {
                    scope.spawn(|| {
                        await_that("the family grew", || living_with(MARK, &mark) > 1);
                        std::thread::sleep(Duration::from_millis(37 * round));
                        while living_with(MARK, &mark) > 0 {
                            kill_all_with(&mark);
                        }
                    });
                    sound(&[command], in_order(order), stop)
                })
            });
            assert_eq!(
                summary.ending,
                Ending::Finished,
                "{order:?}, round {round}: {summary:?}"
            );
        }
    }
}
