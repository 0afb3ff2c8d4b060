use std::ffi::OsString;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};

use switchcost_capture::{Command, Ending, Failure, Options, Order, Summary, run, run_unread};
use switchcost_trace::{Cause, Chunk, Mark, TaskId};

use super::support::{
    FAULTS, HEAP, ORDERS, PING_PONG, STACK, THREADS, YIELDS, await_that, code, compiled,
    compiled_with, in_order, in_time, living_with, marks, options, seen, signal, succeeds,
    successes, switches, tool, traced,
};

fn capture_with(commands: &[Command], options: Options) -> (Summary, Vec<Chunk>) {
    let (summary, chunks) = traced(commands, options, &AtomicBool::new(false));
    let mut running = TaskId::NONE;
    for mark in marks(&chunks) {
        match *mark {
            Mark::Switch { to, .. } => running = to,
            Mark::Birth { parent, .. } => assert!(parent == TaskId::NONE || parent == running),
            _ => {}
        }
    }
    (summary, chunks)
}

fn capture<const N: usize>(words: [impl Into<OsString>; N]) -> (Summary, Vec<Chunk>) {
    capture_with(&[Command::new(words)], options())
}

/// Describes the first place at which two captures differ; `None` if they are equal.
fn difference(first: &[Chunk], second: &[Chunk]) -> Option<String> {
    let pairs = first.iter().flat_map(Chunk::events);
    let pairs = pairs.zip(second.iter().flat_map(Chunk::events));
    let differing = pairs.enumerate().find(|(_, (one, other))| one != other);
    match differing {
        Some((place, (one, other))) => Some(format!("event {place}: {one:x?} and {other:x?}")),
        None => (first != second).then(|| "one is longer, or has other chunks".to_owned()),
    }
}

/// Captures a program twice, and asserts that it succeeds and that both captures are equal.
fn capture_twice(program: &Path) -> Vec<Chunk> {
    let (summary, first) = capture([program]);
    assert_eq!(code(&summary, 0), Some(0), "{summary:?}");
    let (_, second) = capture([program]);
    assert_eq!(difference(&first, &second), None);
    first
}

#[test]
fn a_single_program_runs_to_its_end() {
    let (summary, chunks) = capture(["/bin/true"]);
    assert_eq!(summary.ending, Ending::Finished);
    assert_eq!(code(&summary, 0), Some(0));
    assert!(
        (50_000..1_000_000).contains(&summary.instructions),
        "{summary:?}"
    );
    let begins = |mark: &Mark| {
        matches!(
            mark,
            Mark::Switch {
                from: TaskId::NONE,
                to: TaskId(1),
                ..
            }
        )
    };
    assert_eq!(
        (
            marks(&chunks).filter(|mark| begins(mark)).count(),
            summary.switches
        ),
        (1, 0),
        "to begin is no switch"
    );
    assert!(marks(&chunks).any(|mark| matches!(mark, Mark::Exit { task: TaskId(1) })));
}

#[test]
fn what_no_one_reads_is_as_much() {
    let stop = AtomicBool::new(false);
    let words = run_unread(&[Command::new(["/bin/true"])], options(), &stop).expect("a capture");
    let (summary, _) = capture(["/bin/true"]);
    assert!(
        words > summary.instructions / 10 && words < summary.instructions,
        "{words} words, {summary:?}"
    );
    let error = run_unread(&[], options(), &stop).expect_err("nothing to run");
    assert_eq!(error.to_string(), "no command is given; put it after `--`");
}

#[test]
fn how_a_command_ends_is_reported() {
    for order in ORDERS {
        let ended = |script: &str| {
            let command = Command::new(["sh", "-c", script]);
            capture_with(&[command], in_order(order)).0
        };
        assert_eq!(code(&ended("exit 7"), 0), Some(7));
        assert_eq!(signal(&ended("kill -KILL $$"), 0), Some(9));
    }
}

/// Shell command whose `sort` has a fixed buffer size, because it would otherwise ask how much
/// memory is free.
const SHELL: [&str; 3] = [
    "sh",
    "-c",
    "for i in 3 1 2; do ls / | sort -S 1M | wc -l; done; echo $$ $PPID; (:) & echo $!; wait",
];

#[test]
fn a_program_goes_on_behind_a_fault_that_it_handles() {
    succeeds(&Command::new([compiled("faults", FAULTS)]), ORDERS[0]);
}

#[test]
fn a_heap_that_brk_moves_grows_as_far_as_is_free() {
    for (name, flags) in [
        ("heap", &[][..]),
        ("heap_in_place", &["-no-pie"]),
        ("heap_alone", &["-static"]),
    ] {
        succeeds(&Command::new([compiled_with(name, HEAP, flags)]), ORDERS[0]);
    }
}

#[test]
fn a_stack_grows_as_far_as_the_program_is_allowed() {
    let program = compiled("stack", STACK);
    let limited = |kilobytes: u32| {
        let line = format!(
            "ulimit -s {kilobytes} || exit 77; exec {}",
            program.display()
        );
        let (summary, _) = capture(["sh", "-c", line.as_str()]);
        summary.statuses[0].expect("a status")
    };
    let status = limited(65_536);
    if status.code() == Some(77) {
        return eprintln!("skipped: no right to a stack of 64 MiB");
    }
    assert!(status.success(), "{status:?}");
    let beyond = limited(16_384);
    assert_eq!(
        std::os::unix::process::ExitStatusExt::signal(&beyond),
        Some(11),
        "{beyond:?}"
    );
}

#[test]
fn a_program_goes_on_behind_a_fault_in_what_has_run_long() {
    let program = compiled_with("long_faults", FAULTS, &["-DWALKS=5000"]);
    let mut blocks = 0;
    let stop = AtomicBool::new(false);
    let summary = seen(&[Command::new([program])], options(), &stop, |chunk| {
        blocks += chunk.blocks.len();
    })
    .expect("a capture");
    assert_eq!(code(&summary, 0), Some(0), "other registers: {summary:?}");
    // The first superblocks are made longer after four million.
    assert!(
        blocks > 5_000_000,
        "{blocks} blocks are too few for longer superblocks"
    );
}

#[test]
fn pipelines_of_a_shell_are_the_same_bit_by_bit() {
    let (summary, first) = capture(SHELL);
    assert!(summary.switches > 10, "{summary:?}");
    if let Some(reason) = summary.no_pid_namespace {
        eprintln!("skipped: {reason}");
        return;
    }
    let (_, second) = capture(SHELL);
    assert_eq!(difference(&first, &second), None);
}

#[test]
#[ignore = "takes long: make test ARGS=--all"]
fn a_signal_that_comes_behind_the_end_of_a_pipe_is_handled_at_the_same_place_every_time() {
    // The shell reads until its children have closed the pipe; it learns of their ends a little
    // later, while other tasks run.
    let reader = Command::new([
        "sh",
        "-c",
        "for i in 1 2 3 4 5 6 7 8; do x=$(echo $i | cat); done",
    ]);
    let other = Command::new([
        "sh",
        "-c",
        "i=0; while [ $i -lt 1500 ]; do i=$((i+1)); done",
    ]);
    let run = || {
        let order = Order::Scheduled {
            quantum_instructions: 20_000,
        };
        capture_with(&[reader.clone(), other.clone()], in_order(order)).1
    };
    let first = run();
    for _ in 0..2 {
        let marks = |chunks: &[Chunk]| -> Vec<Mark> { marks(chunks).cloned().collect() };
        assert!(
            marks(&first) == marks(&run()),
            "a handler ran somewhere else"
        );
    }
}

#[test]
fn pipelines_of_a_shell_run_the_same_way_among_all_processes() {
    let command = Command::new(["sh", "-c", "for i in 1 2 3; do ls / | wc -l; done"]);
    let run = || {
        capture_with(
            std::slice::from_ref(&command),
            Options {
                in_pid_namespace: false,
                ..options()
            },
        )
    };
    let (summary, first) = run();
    assert_eq!(summary.no_pid_namespace, None, "no more was asked for");
    let (_, second) = run();
    // References are left out, because the shell writes the number of its parent process as digits,
    // each looked up in a table.
    let blocks_and_marks = |chunks: &[Chunk]| -> Vec<Chunk> {
        chunks
            .iter()
            .map(|chunk| Chunk {
                references: Vec::new(),
                ..chunk.clone()
            })
            .collect()
    };
    assert_eq!(
        difference(&blocks_and_marks(&first), &blocks_and_marks(&second)),
        None
    );
}

#[test]
fn a_ping_pong_switches_exactly_as_often_as_it_must() {
    let chunks = capture_twice(&compiled("ping_pong", PING_PONG));
    const READ: Cause = Cause::Syscall(0);
    const WAIT: Cause = Cause::Syscall(61);
    // The first read of the parent blocks before the child has run. The child answers all available
    // requests, blocks in its next read, and so on; after its last answer it ends.
    let mut expected = Vec::new();
    for _ in 0..99 {
        expected.extend([(1, 2, true, READ), (2, 1, true, READ)]);
    }
    expected.extend([(1, 2, true, READ), (2, 1, true, Cause::Exit)]);
    let found = switches(&chunks);
    assert!(
        found == expected,
        "{found:?}; {WAIT:?} is not among them: the child has ended before"
    );
}

#[test]
fn threads_take_turns_and_share_their_address_space() {
    let chunks = capture_twice(&compiled("threads", THREADS));
    let births: Vec<_> = marks(&chunks)
        .filter_map(|mark| match mark {
            Mark::Birth { task, process, .. } => Some((task.0, process.0)),
            _ => None,
        })
        .collect();
    assert_eq!(births, [(1, 1), (2, 1), (3, 1), (4, 1), (5, 1)]);
    assert!(
        switches(&chunks)
            .iter()
            .any(|switch| switch.3 == Cause::Quantum)
    );
}

#[test]
fn who_waits_by_yielding_hands_the_cpu_over_at_each_yield() {
    let program = compiled("yields", YIELDS);
    let (summary, chunks) = capture([program]);
    assert_eq!(code(&summary, 0), Some(0), "{summary:?}");
    let found = switches(&chunks);
    let yields = found
        .iter()
        .filter(|&&(.., is_voluntary, cause)| !is_voluntary && cause == Cause::Syscall(24))
        .count();
    // The first time slice is taken, and the last handed over, without a yield.
    assert_eq!(yields, 198, "{found:?}");
    assert!(
        found.iter().all(|switch| switch.3 != Cause::Quantum),
        "no one spins until the end of a quantum: {found:?}"
    );
}

#[test]
fn several_commands_share_the_cpu_by_quanta() {
    let loops = Command::new(["sh", "-c", "i=0; while [ $i -lt 300 ]; do i=$((i+1)); done"]);
    let (summary, chunks) = capture_with(&[loops.clone(), loops], in_order(ORDERS[0]));
    assert_eq!(successes(&summary), 2);
    let alternating = switches(&chunks);
    assert!(alternating.len() > 10, "{alternating:?}");
    assert_eq!(alternating[0], (1, 2, false, Cause::Quantum));
    assert_eq!(alternating[1], (2, 1, false, Cause::Quantum));
}

#[test]
fn the_end_of_one_command_ends_the_others_where_they_are_to_go_on_together() {
    let [forever, over] =
        ["while :; do :; done", "exit 3"].map(|line| Command::new(["sh", "-c", line]));
    for order in ORDERS {
        // Of the first commands, no task is left that would notify the controller.
        for commands in [
            &[forever.clone(), over.clone()][..],
            &[forever.clone(), over.clone(), forever.clone()],
        ] {
            let together = Options {
                end_with_any: true,
                ..in_order(order)
            };
            let (summary, _) = in_time(|stop| traced(commands, together, stop));
            assert_eq!(summary.ending, Ending::CommandEnded, "{order:?}");
            assert_eq!(summary.statuses[0], None);
            assert_eq!(code(&summary, 1), Some(3));
        }
    }
}

#[test]
fn a_number_of_switches_ends_everything() {
    let forever = Command::new(["sh", "-c", "sleep 1000 & while :; do :; done"]);
    for order in ORDERS {
        let limited = Options {
            stop_after_switches: Some(5),
            ..in_order(order)
        };
        let commands = [forever.clone(), forever.clone()];
        let (summary, _) = in_time(|stop| traced(&commands, limited, stop));
        assert_eq!((summary.ending, summary.switches), (Ending::SwitchLimit, 5));
    }
}

#[test]
fn an_error_of_the_sink_ends_everything() {
    #[derive(Debug, thiserror::Error)]
    #[error("the disk is full")]
    struct Full;
    let forever = [Command::new(["sh", "-c", "while :; do :; done"])];
    let failure = run(&forever, options(), &AtomicBool::new(false), |_, _| {
        Err(Full)
    })
    .expect_err("the sink fails");
    assert!(matches!(failure, Failure::Sink(Full)), "{failure}");
}

const VICTIM: &str = "SWITCHCOST_TEST_VICTIM";
const VICTIM_IN_PID_NAMESPACE: &str = "SWITCHCOST_TEST_VICTIM_IN_PID_NAMESPACE";

/// Runs the process that the next test kills; it is no test by itself.
#[test]
#[ignore = "runs for ever; the test nothing_is_left_after_a_killed_controller runs it"]
fn victim() {
    let in_pid_namespace =
        std::env::var(VICTIM_IN_PID_NAMESPACE).expect("run by the test") == "true";
    // One process waits in the background, one loops, one waits for a reader of its pipe.
    let script = "sleep 1000 & (while :; do :; done) & sleep 2000 | cat";
    capture_with(
        &[Command::new(["sh", "-c", script])],
        Options {
            in_pid_namespace,
            ..options()
        },
    );
}

#[test]
fn nothing_is_left_after_a_killed_controller() {
    tool();
    for in_pid_namespace in [true, false] {
        let own = format!("{} {in_pid_namespace}", std::process::id());
        let mut victim = std::process::Command::new(std::env::current_exe().expect("this program"))
            .args(["--ignored", "--exact", "scheduled::victim"])
            .env(VICTIM, &own)
            .env(VICTIM_IN_PID_NAMESPACE, in_pid_namespace.to_string())
            .stdout(std::process::Stdio::null())
            .spawn()
            .expect("the victim starts");
        // The processes are the controller, the supervisor, the shell, and its four children.
        await_that("seven processes ran", || living_with(VICTIM, &own) == 7);
        victim.kill().expect("killed");
        // The controller has not been reaped yet, but a zombie grants nothing either.
        await_that("all processes ended", || living_with(VICTIM, &own) == 0);
        victim.wait().expect("reaped");
    }
}

const CREAT: u16 = 85;

#[test]
fn an_interrupt_keeps_what_the_running_task_has_written() {
    // Alone and in a loop, the task would never release the CPU, and its first buffer would hold
    // all its work until then.
    let source =
        "#include <fcntl.h>\nint main(int n, char **words) { creat(words[1], 0600); for (;;) { } }";
    let program = compiled("loop", source);
    let file = program.with_extension("begun");
    let _ = std::fs::remove_file(&file);
    let stop = AtomicBool::new(false);
    let mut has_created = false;
    let summary = std::thread::scope(|scope| {
        scope.spawn(|| {
            await_that("the loop began", || file.exists());
            stop.store(true, SeqCst);
        });
        let commands = [Command::new([&program, &file])];
        seen(&commands, options(), &stop, |chunk| {
            has_created |= chunk
                .marks
                .iter()
                .any(|placed| placed.mark == Mark::SyscallEnter { number: CREAT });
        })
    })
    .expect("a capture");
    assert_eq!(summary.ending, Ending::Interrupted);
    assert!(has_created, "{summary:?}");
}
