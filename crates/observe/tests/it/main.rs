//! Tests observations of programs that make known switches on purpose. They need root and a kernel
//! with BTF; otherwise each test reports that it was skipped.

mod build;
mod causes;
mod counts;
mod groups;
mod in_flight;
mod leftovers;
mod records;
mod stacks;
mod states;
mod waits;

use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use switchcost_facts::Root;
use switchcost_host::held::Held;
use switchcost_host::machine::manifest;
use switchcost_observe::{Backend, Observer, Options};
use switchcost_record::observation::{Entry, Event, Observation, Source, Tasks, Why};

/// Lock for one observation at a time, because children of this process are adopted by any observer
/// that scans for them.
static TURN: Mutex<()> = Mutex::new(());

fn turn() -> MutexGuard<'static, ()> {
    TURN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Returns options for counting by the records of perf, without BPF.
fn by_records() -> Options {
    Options {
        without_bpf: true,
        ..Options::default()
    }
}

/// Starts a BPF observer; returns nothing, with a message, if that is impossible.
fn observer(options: Options) -> Option<Observer> {
    let observer = Observer::start(
        Observation::empty(manifest(&Root::system()), String::new()),
        options,
    );
    match observer
        .bpf_unavailable_because()
        .filter(|_| !options.without_bpf)
    {
        Some(reason) => {
            // A kernel may accept no BPF programs; but if it accepts some and rejects these, the
            // test must not be skipped.
            assert!(!reason.to_string().contains("Verifier output"), "{reason}");
            println!("skipped: {reason}");
            None
        }
        None => Some(observer),
    }
}

/// Runs a Perl script (Debian always has Perl) under observation from start to end; returns its
/// output and its counts.
fn observed(script: &str, options: Options) -> Option<(String, Observation)> {
    let (reported, counted, _) = traced(script, options)?;
    Some((reported, counted))
}

/// Runs a Perl script under observation; also returns each event if the options request events.
fn traced(script: &str, options: Options) -> Option<(String, Observation, Vec<Event>)> {
    program_traced(Command::new("perl").args(["-e", script]), options)
}

/// Runs any program under observation; returns nothing if the program does not exist.
fn program_traced(
    command: &mut Command,
    options: Options,
) -> Option<(String, Observation, Vec<Event>)> {
    let mut observer = observer(options)?;
    let mut events = Vec::new();
    let child = begin(command.stdout(Stdio::piped()), &mut observer);
    let child = child
        .inspect_err(|error| println!("skipped: {command:?} cannot be run ({error})"))
        .ok()?;
    // The output of the program fits in a pipe.
    let output = std::thread::spawn(move || child.wait_with_output());
    // A process that has been waited for may still have its last switch; without BPF programs this
    // is not visible.
    let is_over = |observer: &mut Observer| {
        let lives = |tasks: &Tasks| tasks.process.is_some();
        options.without_bpf
            || observer
                .snapshot()
                .is_ok_and(|counted| !counted.tasks.iter().any(lives))
    };
    while !output.is_finished() || !is_over(&mut observer) {
        observer.tick();
        observer.take_events(&mut |event| events.push(event));
        std::thread::sleep(Duration::from_millis(10));
    }
    observer.take_events(&mut |event| events.push(event));
    let output = output
        .join()
        .expect("it only waits")
        .expect("it is our child");
    assert!(output.status.success());
    let counted = observer.finish().expect("the tables are there");
    let by = match (options.without_bpf, options.counts_only) {
        (true, _) => Source::Perf,
        (_, true) => Source::BpfCounts,
        _ => Source::Bpf,
    };
    if options.without_bpf && counted.source == Source::Proc {
        println!("skipped: {}", counted.not_counted_by.join("; "));
        return None;
    }
    assert_eq!(counted.source, by);
    Some((
        String::from_utf8(output.stdout).expect("it prints text"),
        counted,
        events,
    ))
}

/// Starts a program that is observed from its first instruction on.
fn begin(command: &mut Command, observer: &mut Observer) -> std::io::Result<Child> {
    let held = Held::start(std::mem::replace(command, Command::new("")))?;
    observer
        .add(&[held.process()])
        .expect("there is room for one");
    let (child, parent) = held.release()?;
    // The parent lives as long as the tests.
    std::mem::forget(parent);
    Ok(child)
}

/// Adds up a number of all observed tasks.
fn sum(counted: &Observation, number: impl Fn(&Tasks) -> u64) -> u64 {
    counted.tasks.iter().map(number).sum()
}

/// Returns the switches that have a cause.
fn switches_of_causes(counted: &Observation) -> u64 {
    sum(counted, |tasks| {
        tasks.causes.iter().map(|cause| cause.switches).sum()
    })
}

/// Compiles a program in C into a folder; returns nothing, with a message, without a compiler.
fn compile(source: &str, flags: &[&str]) -> Option<(tempfile::TempDir, PathBuf)> {
    let folder = tempfile::tempdir().expect("a folder");
    let (file, program) = (
        folder.path().join("source.c"),
        folder.path().join("program"),
    );
    std::fs::write(&file, source).expect("a file");
    let mut compiler = Command::new("cc");
    compiler
        .arg("-O1")
        .args(flags)
        .arg(&file)
        .arg("-o")
        .arg(&program);
    let is_made = compiler.status().is_ok_and(|status| status.success());
    if !is_made {
        println!("skipped: there is no C compiler");
    }
    is_made.then_some((folder, program))
}

/// Returns the switches of one cause, over all observed tasks.
fn switches(tasks: &[Tasks], why: Why, entry: &Entry) -> u64 {
    let causes = tasks.iter().flat_map(|tasks| &tasks.causes);
    causes
        .filter(|cause| cause.why == why && cause.entry == *entry)
        .map(|cause| cause.switches)
        .sum()
}

fn call(name: &str) -> Entry {
    Entry::SystemCall(name.to_owned())
}
