//! Tests a guest under QEMU. Two runs give the same trace. The trace has as many instructions as
//! QEMU counts, as many switches as the guest's kernel counts, and exactly the system calls and
//! switches that a program is known to make. The guests are few and small, because each takes time
//! to boot.

mod contents;
mod mappings;
mod pages;

use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use switchcost_capture::{
    Command, Ending, GuestError, GuestSummary, Parts, PlacedFolder, System, find_kernel,
    record_system,
};
use switchcost_trace::{
    Cause, Chunk, Dependences, Mark, Recorder, TaskId, TraceHeader, TraceOrder, TraceReader, check,
    summarize,
};

/// Maximum number of instructions between the two readings of the guest's clock and the ends of the
/// recording. There are eight to ten, depending on the compiler.
const AROUND: u64 = 16;
/// Maximum number of instructions of three short programs, which take some two million each. If the
/// kernel had to gather randomness, it would take a second of the guest's time: 250 million
/// instructions at the rate of these guests.
const MOST_FOR_THREE: u64 = 20_000_000;

/// Returns the guest; `None`, with a message, if this machine has none.
fn system() -> Option<System> {
    let made = || -> Result<System, GuestError> {
        let built = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../target/qemu");
        let parts = if built.join("guest-init").is_file() {
            Parts::new(built)
        } else {
            Parts::find()?
        };
        let kernel = find_kernel(&[parts.folder.join("kernel/boot")])?;
        Ok(System {
            parts,
            kernel,
            append: None,
            memory: None,
            slice: None,
            // A booting guest waits for fractions of a second of its own time, in which it then
            // executes fewer instructions.
            icount_shift: 2,
            seconds: 60,
            stop_after_switches: None,
            is_between_stops: false,
            files: Vec::new(),
            folders: Vec::new(),
            has_pages: false,
        })
    };
    let has_qemu = std::process::Command::new("qemu-system-x86_64")
        .arg("--version")
        .output()
        .is_ok();
    match made() {
        Ok(system) if has_qemu => Some(system),
        Ok(_) => {
            eprintln!("skipped: found no qemu-system-x86_64");
            None
        }
        Err(error) => {
            eprintln!("skipped: {error}");
            None
        }
    }
}

fn record(commands: &[Command], system: &System) -> (GuestSummary, Vec<u8>) {
    try_to_record(commands, system).expect("a guest that runs")
}

fn try_to_record(commands: &[Command], system: &System) -> Result<(GuestSummary, Vec<u8>), String> {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("guest.sct");
    let file = std::fs::File::create(&path).expect("a file");
    let header = TraceHeader::new("qemu", TraceOrder::AsRun, "x86_64");
    let mut recorder = Recorder::create(file, &header).expect("a trace");
    let summary = record_system(commands, system, &AtomicBool::new(false), &mut recorder);
    recorder.finish().expect("a whole trace");
    summary
        .map(|summary| (summary, std::fs::read(path).expect("a trace")))
        .map_err(|failure| failure.to_string())
}

/// Asserts that all commands succeeded, without a warning.
fn assert_all_succeeded(summary: &GuestSummary) {
    let mut statuses = summary.statuses.iter();
    assert!(
        statuses.all(std::process::ExitStatus::success),
        "{summary:?}"
    );
    assert_eq!(summary.warnings, [""; 0]);
}

/// Asserts that as many instructions were recorded as the guest's clock has counted.
fn assert_counts_as_qemu(summary: &GuestSummary, system: &System) {
    let counted = summary.guest_ns >> system.icount_shift;
    assert!(
        summary.instructions.abs_diff(counted) <= AROUND,
        "{summary:?}"
    );
}

fn count(marks: &[Mark], is_counted: impl Fn(&Mark) -> bool) -> usize {
    marks.iter().filter(|mark| is_counted(mark)).count()
}

/// Calls `see` for each chunk of a trace.
pub(crate) fn each_chunk(trace: &[u8], mut see: impl FnMut(&Chunk)) {
    let mut reader = TraceReader::new(trace).expect("a trace");
    let mut chunk = Chunk::default();
    while reader.next_into(&mut chunk).expect("a whole trace") {
        see(&chunk);
    }
}

fn marks(trace: &[u8]) -> Vec<Mark> {
    let mut marks = Vec::new();
    each_chunk(trace, |chunk| {
        marks.extend(chunk.marks.iter().map(|placed| placed.mark.clone()));
    });
    marks
}

/// Whether a block of the trace begins at an address.
fn runs(trace: &[u8], address: u64) -> bool {
    let mut runs = false;
    each_chunk(trace, |chunk| {
        runs |= chunk.blocks.iter().any(|block| block.address == address);
    });
    runs
}

#[test]
fn a_guest_is_the_same_each_time_and_counts_as_qemu_and_its_kernel_do() {
    let Some(mut system) = system() else { return };
    let folder = tempfile::tempdir().expect("a folder");
    let input = folder.path().join("input");
    std::fs::write(&input, "some words\n".repeat(2000)).expect("a file");
    let commands = [
        Command::new(["cat", "/proc/self/maps"]),
        Command::new(["wc".as_ref(), "-l".as_ref(), input.as_os_str()]),
        Command::new(["head", "-c", "16", "/dev/urandom"]),
    ];
    let (summary, trace) = record(&commands, &system);
    assert_all_succeeded(&summary);
    assert_eq!(
        summary.outputs[1],
        format!("2000 {}\n", input.display()).into_bytes()
    );
    assert_eq!(
        summary.outputs[2].len(),
        16,
        "random, and the same each time"
    );
    assert!(
        summary.instructions < MOST_FOR_THREE,
        "the kernel did not gather randomness first: {summary:?}"
    );
    // Another test compares the switches with the kernel's own count.
    assert_counts_as_qemu(&summary, &system);

    let report = check(TraceReader::new(&trace[..]).expect("a trace"));
    assert!(report.is_sound(), "{report:?}");
    let counts = summarize(
        TraceReader::new(&trace[..]).expect("a trace"),
        &Dependences::default(),
    );
    assert_eq!(counts.instructions, summary.instructions);
    let kernel = counts.kernel_instructions as f64 / counts.instructions as f64;
    assert!(
        (0.2..0.95).contains(&kernel),
        "short programs are mostly the kernel's work: {kernel}"
    );

    let marks = marks(&trace);
    assert_eq!(count(&marks, Mark::is_switch) as u64, summary.switches);
    let execs = |of: &[u8]| {
        count(
            &marks,
            |mark| matches!(mark, Mark::Exec { name, .. } if name == of),
        )
    };
    assert_eq!((execs(b"cat"), execs(b"wc"), execs(b"head")), (1, 1, 1));
    let exits = count(&marks, |mark| {
        matches!(
            mark,
            Mark::Switch {
                cause: Cause::Exit,
                is_voluntary: true,
                ..
            }
        )
    });
    assert_eq!(exits, 3, "each command leaves the CPU for the last time");
    const EXECVE: u16 = 59;
    let number = EXECVE;
    assert_eq!(
        count(&marks, |mark| *mark == Mark::SyscallEnter { number }),
        3
    );

    assert!(
        summary.symbols.count() > 10_000,
        "{} symbols of the kernel",
        summary.symbols.count()
    );
    let lines = summary.symbols.format_lines();
    let start = lines
        .lines()
        .find_map(|line| line.strip_suffix(" __switch_to_asm"))
        .expect("every kernel has it");
    let start = u64::from_str_radix(start, 16).expect("an address");
    assert_eq!(summary.symbols.name_at(start + 1), Some("__switch_to_asm"));
    assert!(runs(&trace, start), "each switch goes through it");
    mappings::check(&marks, &summary.outputs[0]);
    contents::check(&summary.symbols, &trace, start);

    // Marks of pages make no other difference, so that this also shows that a guest is the same each
    // time.
    system.has_pages = true;
    let (again, paged) = record(&commands, &system);
    assert_eq!(again, summary);
    assert!(pages::without_pages(&paged) == pages::without_pages(&trace));
}

#[test]
fn programs_without_end_are_ended_after_so_many_switches() {
    let Some(mut system) = system() else { return };
    system.stop_after_switches = Some(40);
    system.append = Some("mitigations=auto preempt=sometimes".to_owned());
    system.files = vec!["/bin/true".into()];
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join("loop"), "while :; do /bin/true; done\n").expect("a file");
    let there = std::path::PathBuf::from("/elsewhere");
    system.folders = vec![PlacedFolder {
        here: folder.path().to_owned(),
        there: there.clone(),
    }];
    let commands = [Command {
        directory: Some(there),
        ..Command::new(["sh", "loop"])
    }];
    let (summary, trace) = record(&commands, &system);
    assert_eq!(
        (summary.ending, summary.switches),
        (Ending::SwitchLimit, 40),
        "{summary:?}"
    );
    assert_eq!(summary.statuses, []);
    let [warning] = &summary.warnings[..] else {
        panic!("one warning: {summary:?}")
    };
    assert!(
        warning.starts_with("the guest's kernel has no preempt=sometimes: it "),
        "{warning}"
    );
    let marks = marks(&trace);
    assert_eq!(count(&marks, Mark::is_switch), 40);
    assert!(
        marks.last().is_some_and(Mark::is_switch),
        "the last one ends it: {:?}",
        marks.last()
    );
    let is_child = |mark: &Mark| matches!(mark, Mark::Exec { name, .. } if name == b"true");
    assert!(
        count(&marks, is_child) > 3,
        "the loop is where it was placed, and finds what it runs"
    );
}

/// Shows that the trace has only the programs that a shell starts between its two stops.
#[test]
fn what_comes_between_the_stops_of_a_program_is_traced_and_nothing_else() {
    let Some(mut system) = system() else { return };
    system.is_between_stops = true;
    system.files = vec!["/bin/true".into(), "/bin/echo".into()];
    let folder = tempfile::tempdir().expect("a folder");
    let script = folder.path().join("script");
    let stop = "kill -STOP $$";
    std::fs::write(
        &script,
        format!("/bin/echo early\n{stop}\n/bin/true\n/bin/true\n{stop}\n/bin/echo late\n"),
    )
    .expect("a file");
    let commands = [Command::new(["sh".as_ref(), script.as_os_str()])];
    let (summary, trace) = record(&commands, &system);
    assert_all_succeeded(&summary);
    assert_eq!(
        summary.outputs,
        [b"early\nlate\n"],
        "it ends as if nothing had been"
    );
    assert_counts_as_qemu(&summary, &system);
    assert!(check(TraceReader::new(&trace[..]).expect("a trace")).is_sound());
    let executed = marks(&trace).into_iter().filter_map(|mark| match mark {
        Mark::Exec { name, .. } => Some(name),
        _ => None,
    });
    assert_eq!(executed.collect::<Vec<_>>(), [b"true"; 2]);
}

#[test]
#[ignore = "takes long: make test ARGS=--all"]
fn a_program_that_never_stops_itself_is_an_error() {
    let Some(mut system) = system() else { return };
    system.is_between_stops = true;
    let error = try_to_record(&[Command::new(["/bin/true"])], &system).expect_err("it ends");
    assert!(
        error.contains("ended before it had stopped itself"),
        "{error}"
    );
}

/// Program without a library, which makes each system call itself: it asks for its parent, sleeps,
/// then passes a byte to a child and back.
const KNOWN: &str = r#"
static long call(long number, const void *one, const void *two)
{
    long result;
    __asm__ volatile("syscall" : "=a"(result) : "a"(number), "D"(one), "S"(two), "d"(1L) : "rcx", "r11", "memory");
    return result;
}
static void hand(long number, int end)
{
    char byte = 0;
    call(number, (void *)(long)end, &byte);
}
void _start(void)
{
    static const long pause[2] = { 0, 1000000 };
    int there[2], back[2], i;
    call(PIPE, there, 0), call(PIPE, back, 0);
    for (i = 0; i < ASKS; i++)
        call(GETPPID, 0, 0);
    for (i = 0; i < SLEEPS; i++)
        call(NANOSLEEP, pause, 0);
    if (call(FORK, 0, 0) == 0) {
        for (i = 0; i < TRIPS; i++)
            hand(READ, there[0]), hand(WRITE, back[1]);
    } else {
        for (i = 0; i < TRIPS; i++)
            hand(WRITE, there[1]), hand(READ, back[0]);
    }
    call(EXIT, 0, 0);
}
"#;

const ASKS: usize = 1000;
const SLEEPS: usize = 50;
const TRIPS: usize = 200;
const READ: u16 = 0;
const WRITE: u16 = 1;
const PIPE: u16 = 22;
const NANOSLEEP: u16 = 35;
const FORK: u16 = 57;
const EXIT: u16 = 60;
const GETPPID: u16 = 110;

fn compile(folder: &Path) -> PathBuf {
    let path = folder.join("known");
    std::fs::write(path.with_extension("c"), KNOWN).expect("written");
    let mut compiler = std::process::Command::new("cc");
    compiler.args(["-O1", "-static", "-nostdlib", "-fno-stack-protector", "-o"]);
    compiler.arg(&path).arg(path.with_extension("c"));
    macro_rules! define {
        ($($name:ident)*) => { $(compiler.arg(format!("-D{}={}", stringify!($name), $name));)* };
    }
    define!(ASKS SLEEPS TRIPS READ WRITE PIPE NANOSLEEP FORK EXIT GETPPID);
    assert!(compiler.status().expect("cc runs").success(), "it compiles");
    path
}

/// The marks of one task: switches and system calls.
#[derive(Default)]
struct Known {
    entered: Vec<u16>,
    left: Vec<u16>,
    /// Switches, each with whether it was voluntary, and its cause.
    switches: Vec<(bool, Cause)>,
}

impl Known {
    /// Collects the marks of a task. `marks` begin with the task's birth, or with the exec of its
    /// program.
    fn of(task: TaskId, marks: &[Mark]) -> Known {
        let mut known = Known::default();
        let mut running = task;
        for mark in marks {
            match *mark {
                Mark::Switch {
                    from,
                    to,
                    is_voluntary,
                    cause,
                } => {
                    if from == task {
                        known.switches.push((is_voluntary, cause));
                    }
                    running = to;
                }
                Mark::SyscallEnter { number } if running == task => known.entered.push(number),
                Mark::SyscallExit { number } if running == task => known.left.push(number),
                _ => {}
            }
        }
        known
    }

    /// Returns how many times a system call was entered and left.
    fn calls(&self, number: u16) -> (usize, usize) {
        let of = |calls: &[u16]| calls.iter().filter(|call| **call == number).count();
        (of(&self.entered), of(&self.left))
    }

    fn switches_in(&self, calls: &[u16]) -> Vec<(bool, Cause)> {
        let is_in =
            |cause: &Cause| matches!(cause, Cause::Syscall(number) if calls.contains(number));
        self.switches
            .iter()
            .filter(|(_, cause)| is_in(cause))
            .copied()
            .collect()
    }
}

/// Shows that a guest makes exactly the known system calls and switches. In addition, the timer may
/// take the CPU from a task by an interrupt, but never inside one of these calls.
#[test]
fn a_guest_makes_exactly_the_system_calls_and_switches_that_its_program_does() {
    let Some(mut system) = system() else { return };
    // The timer, which may take the CPU away in a call, has fewer ticks.
    system.icount_shift = 0;
    let folder = tempfile::tempdir().expect("a folder");
    let program = compile(folder.path());
    let (summary, trace) = record(&[Command::new([program.as_os_str()])], &system);
    assert_all_succeeded(&summary);
    let marks = marks(&trace);
    // The guest idles while the program sleeps.
    let is_from_idle = |mark: &Mark| matches!(mark, Mark::Switch { .. }) && !mark.is_switch();
    assert!(count(&marks, is_from_idle) >= SLEEPS);
    assert_eq!(count(&marks, Mark::is_switch) as u64, summary.switches);
    let find = |wanted: &dyn Fn(&Mark) -> Option<TaskId>| {
        let found = marks
            .iter()
            .enumerate()
            .find_map(|(place, mark)| Some((place, wanted(mark)?)));
        found.expect("it is there")
    };
    let (exec, parent) = find(&|mark| match mark {
        Mark::Exec { task, name, .. } if name == b"known" => Some(*task),
        _ => None,
    });
    let (birth, child) = find(&|mark| match mark {
        Mark::Birth {
            task, parent: of, ..
        } if *of == parent => Some(*task),
        _ => None,
    });
    let (first, second) = (
        Known::of(parent, &marks[exec..]),
        Known::of(child, &marks[birth..]),
    );

    assert_eq!(first.calls(GETPPID), (ASKS, ASKS));
    assert_eq!(first.calls(NANOSLEEP), (SLEEPS, SLEEPS));
    assert_eq!(
        (first.calls(PIPE), first.calls(FORK), first.calls(EXIT)),
        ((2, 2), (1, 1), (1, 0))
    );
    for task in [&first, &second] {
        assert_eq!(
            (task.calls(READ), task.calls(WRITE)),
            ((TRIPS, TRIPS), (TRIPS, TRIPS))
        );
    }
    assert_eq!(
        first.entered.len(),
        ASKS + SLEEPS + 2 + 1 + 2 * TRIPS + 1,
        "and no other"
    );
    assert_eq!(second.entered.len(), 2 * TRIPS + 1, "and no other");

    assert_eq!(
        first.switches_in(&[NANOSLEEP]),
        vec![(true, Cause::Syscall(NANOSLEEP)); SLEEPS]
    );
    // When a byte is sent, the other task may take the CPU immediately; when a byte is awaited, the
    // task releases the CPU, unless the byte is already there. In both cases a round trip takes two
    // switches, except for the last one back.
    let trips = [&first, &second].map(|task| task.switches_in(&[READ, WRITE]));
    assert!(
        trips
            .iter()
            .flatten()
            .all(|(is_voluntary, cause)| *is_voluntary == (*cause == Cause::Syscall(READ)))
    );
    let switches = trips[0].len() + trips[1].len();
    assert!(
        (2 * TRIPS - 1..=2 * TRIPS).contains(&switches),
        "{switches}"
    );
    for task in [&first, &second] {
        let last = task.switches.last();
        assert_eq!(last, Some(&(true, Cause::Exit)));
        assert_eq!(
            task.switches_in(&[GETPPID, PIPE, FORK, EXIT]),
            [],
            "nothing in these waits"
        );
    }
}
