//! Tests observations of programs that make known switches on purpose. They need root and a kernel
//! with BTF; otherwise each test reports that it was skipped.

mod build;
mod causes;
mod counts;
mod groups;
mod in_flight;
mod known;
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
use switchcost_record::observation::{Cause, Entry, Event, Observation, Source, Tasks, Why};

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
    let _turn = turn();
    trace(command, options)
}

/// Runs a Perl script on CPU 0 under observation, while another program runs; returns the number of
/// that program's process, and the counts.
fn observed_beside(other: &mut Command, script: &str) -> Option<(u32, Observation)> {
    let _turn = turn();
    let mut other = other.spawn().expect("it is there");
    let mut perl = Command::new("taskset");
    perl.args(["-c", "0", "perl", "-e", script]);
    let counted = trace(&mut perl, Options::default());
    end(&mut other);
    Some((other.id(), counted?.1))
}

/// Kills a child.
fn end(child: &mut Child) {
    child.kill().and_then(|()| child.wait()).expect("our child");
}

fn trace(command: &mut Command, options: Options) -> Option<(String, Observation, Vec<Event>)> {
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
    if !is_counted(&counted, options) {
        return None;
    }
    let by = match (options.without_bpf, options.counts_only) {
        (true, _) => Source::Perf,
        (_, true) => Source::BpfCounts,
        _ => Source::Bpf,
    };
    assert_eq!(counted.source, by);
    let output = String::from_utf8(output.stdout).expect("it prints text");
    Some((output, counted, events))
}

/// Whether the kernel's records were counted, if that was requested; otherwise says why not.
fn is_counted(counted: &Observation, options: Options) -> bool {
    let is_counted = !options.without_bpf || counted.source != Source::Proc;
    if !is_counted {
        println!("skipped: {}", counted.not_counted_by.join("; "));
    }
    is_counted
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

/// Returns the total time for which tasks waited, summed over the processes that kept them waiting
/// and over other parts of waits.
fn shared_out_ns(counted: &Observation) -> u64 {
    let kept = counted.pairs.iter().map(|pair| pair.kept_waiting_ns.0);
    let others = counted.waits.iter().map(|waits| waits.sum().0);
    kept.chain(others).sum()
}

/// Adds up a number of all observed tasks of this name.
fn sum_of(counted: &Observation, name: &str, number: impl Fn(&Tasks) -> u64) -> u64 {
    let tasks = counted.tasks.iter().filter(|tasks| tasks.name == name);
    tasks.map(number).sum()
}

/// Adds up a number of all causes that are of this kind.
fn sum_causes(
    tasks: &[Tasks],
    is_counted: impl Fn(&Cause) -> bool,
    number: impl Fn(&Cause) -> u64,
) -> u64 {
    let causes = tasks.iter().flat_map(|tasks| &tasks.causes);
    causes.filter(|cause| is_counted(cause)).map(number).sum()
}

/// Returns the switches that have a cause.
fn switches_of_causes(counted: &Observation) -> u64 {
    sum_causes(&counted.tasks, |_| true, |cause| cause.switches)
}

/// Returns the switches for one reason, whatever their kernel entry.
fn switches_for(tasks: &[Tasks], why: Why) -> u64 {
    sum_causes(tasks, |cause| cause.why == why, |cause| cause.switches)
}

/// Compiles a program in C into a folder; returns nothing, with a message, without a compiler.
fn compile(source: &str, flags: &[&str], name: &str) -> Option<(tempfile::TempDir, PathBuf)> {
    let folder = tempfile::tempdir().expect("a folder");
    let (file, program) = (folder.path().join("source.c"), folder.path().join(name));
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
    let is_it = |cause: &Cause| cause.why == why && cause.entry == *entry;
    sum_causes(tasks, is_it, |cause| cause.switches)
}

/// Returns the number of a system call: the first on x86-64, otherwise the second.
const fn number(x86_64: u32, other: u32) -> u32 {
    if cfg!(target_arch = "x86_64") {
        x86_64
    } else {
        other
    }
}

fn call(name: &str) -> Entry {
    Entry::SystemCall(name.to_owned())
}
