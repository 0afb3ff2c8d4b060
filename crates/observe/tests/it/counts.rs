//! Tests that counts equal those of the kernel.

use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;
use std::time::{Duration, Instant};

use switchcost_observe::{Backend, Options};
use switchcost_record::observation::{Event, EventKind, Observation, Source, Tasks};
use switchcost_units::{CpuId, Nanos};

use crate::{begin, by_records, observed, observer, sum, switches_of_causes, traced, turn};

/// Perl code of two processes that hand a byte back and forth and then print their numbers and the
/// kernel's counts of each.
const PING_PONG: &str = r#"
    sub report { print "process $$\n"; open(my $f, "<", "/proc/self/status"); for (<$f>) { print "$1 $2\n" if /^(\w*voluntary)_ctxt_switches:\s+(\d+)/ } }
    $| = 1;
    pipe(my $a, my $b); pipe(my $c, my $d);
    if (!fork) { for (1..3000) { sysread($a, my $x, 1); syswrite($d, "x") } report(); exit }
    for (1..3000) { syswrite($b, "x"); sysread($c, my $x, 1) }
    wait; report();
"#;

#[test]
fn counts_equal_the_kernels() {
    let _turn = turn();
    let Some((reported, counted)) = observed(PING_PONG, Options::default()) else {
        return;
    };
    check_counts(&reported, &counted);
    // Each switch has a cause.
    let causes: u64 = switches_of_causes(&counted);
    assert_eq!(causes, sum(&counted, Tasks::switches));
    assert_eq!((counted.lost.tasks, counted.lost.pairs), (0, 0));
}

#[test]
fn the_scheduler_is_entered_and_left_at_each_switch() {
    let _turn = turn();
    let options = Options {
        wants_scheduler_time: true,
        ..Options::default()
    };
    let Some((reported, counted)) = observed(PING_PONG, options) else {
        return;
    };
    let Some(inside) = &counted.in_scheduler else {
        println!("skipped: the kernel has no tracepoints at its scheduler's entry and exit");
        return;
    };
    let own = check_switches(&reported, &counted);
    // The number is that of times that an observed task left or got a CPU; usually both happen at
    // the same switch.
    let switches = own.0 + own.1;
    let times = inside.times.count();
    assert!(
        (switches - switches / 1000 - 2..=2 * switches).contains(&times),
        "{times} times, {switches} switches"
    );
    // The time is a part of a task's time off the CPU, and no less than some loads and stores.
    let mean = inside.ns.0 as f64 / times as f64;
    let off = sum(&counted, |tasks| tasks.off_ns.0) as f64 / switches as f64;
    assert!(
        mean > 50.0 && mean < off,
        "{mean} ns inside, {off} ns off the CPU"
    );
}

#[test]
fn counts_of_the_kernels_records_equal_its_counters() {
    let _turn = turn();
    let options = by_records();
    let Some((reported, counted)) = observed(PING_PONG, options) else {
        return;
    };
    check_counts(&reported, &counted);
    assert_eq!((counted.lost.tasks, counted.lost.records), (0, 0));
}

#[test]
fn counts_without_a_clock_are_the_same_and_so_is_the_cpu_time() {
    let _turn = turn();
    let options = Options {
        counts_only: true,
        ..Options::default()
    };
    let Some((reported, counted)) = observed(PING_PONG, options) else {
        return;
    };
    check_switches(&reported, &counted);
    let causes: u64 = switches_of_causes(&counted);
    assert_eq!(causes, sum(&counted, Tasks::switches));
    let has_times = |tasks: &Tasks| tasks.off.count() + tasks.off_ns.0 + tasks.others.count() > 0;
    assert!(
        !counted.tasks.iter().any(has_times) && counted.pairs.is_empty() && counted.cpus.is_empty()
    );
    let computes = "while ((times)[0] < 0.5) { for (1..100000) { $x++ } } print join(' ', times)";
    let Some((reported, counted)) = observed(computes, options) else {
        return;
    };
    let seconds: f64 = reported
        .split(' ')
        .take(2)
        .filter_map(|time| time.parse::<f64>().ok())
        .sum();
    let ran = counted
        .tasks
        .iter()
        .map(|tasks| tasks.run_ns.0 as f64 / 1e9)
        .sum::<f64>();
    // The kernel reports a process's time in hundredths of a second, and the rest belongs to its
    // end.
    assert!(
        (seconds - 0.02..seconds + 0.1).contains(&ran),
        "{ran} s, the kernel: {seconds}"
    );
}

fn check_counts(reported: &str, counted: &Observation) {
    let own = check_switches(reported, counted);
    // Each time off the CPU has an end.
    let off: u64 = sum(counted, |tasks| tasks.off.count());
    // Rarely the kernel does not call the BPF program for a switch (docs/method/observing.md,
    // "Known limit").
    let ended = own.0 + own.1 - 2;
    assert!(
        off <= ended,
        "the last switch of each task has no end: {off} of {ended}"
    );
    assert!(
        ended - off <= ended / 1000,
        "all others have one: {off} of {ended}: {:?}",
        counted.tasks
    );
    assert!(
        counted
            .tasks
            .iter()
            .all(|tasks| tasks.wait_ns <= tasks.off_ns),
        "waiting is a part of being off"
    );
    assert_eq!(sum(counted, |tasks| tasks.count), 2);
}

/// Checks the numbers of voluntary and of other switches.
fn check_switches(reported: &str, counted: &Observation) -> (u64, u64) {
    let of = |name: &str| -> u64 {
        reported
            .lines()
            .filter_map(|line| {
                line.strip_prefix(name)?
                    .strip_prefix(' ')?
                    .parse::<u64>()
                    .ok()
            })
            .sum()
    };
    let (voluntary, involuntary) = (of("voluntary"), of("nonvoluntary"));
    assert!(voluntary > 2000, "they did wait for each other: {reported}");
    let counted_of = |of: fn(&Tasks) -> u64| counted.tasks.iter().map(of).sum::<u64>();
    let own = (
        counted_of(|tasks| tasks.voluntary),
        counted_of(|tasks| tasks.involuntary),
    );
    // After their reports the processes end, each with a switch that the kernel counts as
    // voluntary, and switches in between. The first process was held before it was observed, with
    // one wait, and may have been preempted on the way.
    assert!(
        (voluntary + 1..voluntary + 20).contains(&own.0),
        "{own:?}, the kernel: {reported}"
    );
    // Rarely the kernel does not call the BPF program for a switch (docs/method/observing.md,
    // "Known limit").
    let missed = 2 + (voluntary + involuntary) / 1000;
    assert!(
        (involuntary.saturating_sub(missed)..involuntary + 20).contains(&own.1),
        "{own:?}, the kernel: {reported}"
    );
    own
}

#[test]
fn many_short_processes_are_counted_though_their_places_are_used_again() {
    let _turn = turn();
    // More processes than there are slots at a time would take long; this number suffices for slots
    // to be reused.
    let script = r#"for (1..2000) { my $p = fork; if (!$p) { exec "/bin/true" } waitpid($p, 0) }"#;
    let Some((_, counted)) = observed(script, Options::default()) else {
        return;
    };
    let ended: u64 = counted
        .tasks
        .iter()
        .filter(|tasks| tasks.name == "true")
        .map(|tasks| tasks.count)
        .sum();
    assert_eq!(ended, 2000);
    assert_eq!(counted.lost.tasks, 0);
}

#[test]
fn each_switch_is_an_event_where_they_are_wanted() {
    let _turn = turn();
    let options = Options {
        wants_events: true,
        ..Options::default()
    };
    let Some((reported, counted, events)) = traced(PING_PONG, options) else {
        return;
    };
    assert_eq!(counted.lost.events, 0);
    let switches = || {
        events
            .iter()
            .filter(|event| matches!(event.kind, EventKind::Switch { .. }))
    };
    // The switch to one of the processes is an event, too, whichever task leaves; another perl may
    // leave.
    let numbers = reported
        .lines()
        .filter_map(|line| line.strip_prefix("process ")?.parse().ok());
    let processes: BTreeSet<u32> = numbers.collect();
    assert_eq!(processes.len(), 2, "{reported}");
    let own: Vec<&Event> = switches()
        .filter(|event| processes.contains(&event.from.process))
        .collect();
    let all: u64 = sum(&counted, |tasks| tasks.voluntary + tasks.involuntary);
    assert_eq!(own.len() as u64, all);
    // A byte that was waited for came with a wake-up, in the kernel's order on each CPU.
    let waits = own
        .iter()
        .filter(|event| event.kind == EventKind::Switch { state: 1 })
        .count();
    let woken = events
        .iter()
        .filter(|event| event.kind == EventKind::Wakeup)
        .count();
    assert!(
        waits > 2000 && woken >= waits,
        "{waits} waits, {woken} wake-ups"
    );
    let mut latest: BTreeMap<CpuId, Nanos> = BTreeMap::new();
    assert!(events.iter().all(|event| {
        latest
            .insert(event.cpu, event.at)
            .is_none_or(|before| before <= event.at)
    }));
    // Events were not requested, so there are none.
    let Some((_, _, none)) = traced(PING_PONG, Options::default()) else {
        return;
    };
    assert_eq!(none, []);
}

#[test]
fn a_process_that_no_one_has_waited_for_has_ended() {
    let _turn = turn();
    for options in [Options::default(), by_records()] {
        let Some(mut observer) = observer(options) else {
            return;
        };
        let mut perl = Command::new("perl");
        perl.args(["-e", "if (!fork) { exit } sleep 60"]);
        let mut child = begin(&mut perl, &mut observer).expect("perl is there");
        let since = Instant::now();
        while !has_zombie(child.id()) && since.elapsed() < Duration::from_secs(20) {
            std::thread::sleep(Duration::from_millis(20));
        }
        assert!(has_zombie(child.id()), "its child has ended");
        let counted = observer.finish().expect("it is read");
        child.kill().and_then(|()| child.wait()).expect("our child");
        if options.without_bpf && counted.source == Source::Proc {
            return println!("skipped: {}", counted.not_counted_by.join("; "));
        }
        let count = |of: fn(&Tasks) -> bool| {
            counted
                .tasks
                .iter()
                .filter(|tasks| of(tasks))
                .map(|t| t.count)
                .sum::<u64>()
        };
        let found = (
            count(|tasks| tasks.process.is_none()),
            count(|tasks| tasks.process.is_some()),
        );
        assert_eq!(found, (1, 1), "{:?}", counted.tasks);
    }
}

/// Whether a process has a zombie child.
fn has_zombie(process: u32) -> bool {
    let read = |path: String| std::fs::read_to_string(path).unwrap_or_default();
    let children = read(format!("/proc/{process}/task/{process}/children"));
    children
        .split_whitespace()
        .any(|child| read(format!("/proc/{child}/stat")).contains(") Z "))
}
