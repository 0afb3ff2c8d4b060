//! Tests a parallel build against the kernel's own counts of all its processes.

use std::fs;
use std::process::Command;
use std::time::Duration;

use switchcost_observe::{Backend, Options};

use crate::{begin, by_records, is_counted, observer, sum, turn};

/// Number of targets: enough that they wait for each other and for CPUs, and finish within a few
/// seconds.
const TARGETS: usize = 60;

/// Returns a makefile in which each target is a pipeline of four programs.
fn makefile() -> String {
    let names: Vec<String> = (0..TARGETS).map(|at| format!("t{at}")).collect();
    let rules = names
        .iter()
        .map(|name| format!("{name}:\n\tseq 3000 | sort -r | sort | cksum > $@\n"));
    format!("all: {}\n{}", names.join(" "), rules.collect::<String>())
}

fn check(options: Options) {
    let _turn = turn();
    let Some(mut observer) = observer(options) else {
        return;
    };
    let folder = tempfile::tempdir().expect("a folder");
    fs::write(folder.path().join("Makefile"), makefile()).expect("a file");
    let mut make = Command::new("make");
    make.args(["-s", "-j", "8", "all"])
        .current_dir(folder.path());
    let child = begin(&mut make, &mut observer).expect("make is there");
    let ended = std::thread::spawn(move || switchcost_host::usage::wait(child));
    while !ended.is_finished() {
        observer.tick();
        std::thread::sleep(Duration::from_millis(10));
    }
    let (status, usage) = ended.join().expect("it only waits").expect("our child");
    assert!(status.success());
    let counted = observer.finish().expect("it is read");
    if !is_counted(&counted, options) {
        return;
    }
    let (tasks, voluntary, involuntary) = (
        sum(&counted, |tasks| tasks.count),
        sum(&counted, |tasks| tasks.voluntary),
        sum(&counted, |tasks| tasks.involuntary),
    );
    // Each target has four programs and their shell, and make; a shell may add a process.
    assert!(
        (5 * TARGETS as u64 + 1..=6 * TARGETS as u64 + 1).contains(&tasks),
        "{tasks} tasks"
    );
    // The parent may wait for a process before that process's last switch, and before the process
    // is preempted on its way there.
    let (all, reported) = (
        (usage.voluntary, usage.involuntary),
        format!("{usage:?}, {tasks} tasks"),
    );
    let least = if options.without_bpf {
        // Records end a little before their task, which may then wait for the locks of other
        // records.
        (all.0.saturating_sub(tasks), 0)
    } else {
        // One switch is excluded: make was held before it was observed, and may have been preempted
        // on the way.
        (all.0.saturating_sub(1), all.1.saturating_sub(2))
    };
    assert!(
        (least.0..=all.0 + tasks).contains(&voluntary),
        "{voluntary} voluntary; the kernel: {reported}"
    );
    assert!(
        (least.1..=all.1 + tasks).contains(&involuntary),
        "{involuntary} involuntary; the kernel: {reported}"
    );
    assert!(voluntary > tasks, "they waited for each other");
    assert_eq!((counted.lost.tasks, counted.lost.records), (0, 0));
}

#[test]
fn a_parallel_build_has_as_many_switches_as_its_resource_usage_says() {
    check(Options::default());
}

#[test]
fn the_kernels_records_of_a_parallel_build_are_as_many_too() {
    check(by_records());
}
