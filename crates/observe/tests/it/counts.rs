//! Tests that counts equal those of the kernel.

use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use switchcost_observe::{Backend, Options};
use switchcost_record::observation::{Event, EventKind, Observation, Tasks};
use switchcost_units::{CpuId, Nanos};

use crate::known::all;
use crate::{
    begin, by_records, end, is_counted, observed, observer, sum, sum_of, switches_of_causes,
    traced, turn,
};

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
    let Some((reported, counted, events)) = traced(PING_PONG, Options::default()) else {
        return;
    };
    check_counts(&reported, &counted);
    // Each switch has a cause.
    let causes = switches_of_causes(&counted);
    assert_eq!(causes, sum(&counted, Tasks::switches));
    assert_eq!((counted.lost.tasks, counted.lost.pairs), (0, 0));
    // Events were not requested, so there are none.
    assert_eq!(events, []);
}

/// Returns the output of [`PING_PONG`], its counts and its events, with the scheduler's times.
fn in_detail() -> Option<&'static (String, Observation, Vec<Event>)> {
    static DETAILS: OnceLock<Option<(String, Observation, Vec<Event>)>> = OnceLock::new();
    let options = Options {
        wants_scheduler_time: true,
        wants_events: true,
        ..Options::default()
    };
    DETAILS.get_or_init(|| traced(PING_PONG, options)).as_ref()
}

#[test]
fn the_scheduler_is_entered_and_left_at_each_switch() {
    let Some((reported, counted, _)) = in_detail() else {
        return;
    };
    let Some(inside) = &counted.in_scheduler else {
        println!("skipped: the kernel has no tracepoints at its scheduler's entry and exit");
        return;
    };
    let own = check_switches(reported, counted);
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
    let off = sum(counted, |tasks| tasks.off_ns.0) as f64 / switches as f64;
    assert!(
        mean > 50.0 && mean < off,
        "{mean} ns inside, {off} ns off the CPU"
    );
}

#[test]
fn counts_of_the_kernels_records_equal_its_counters() {
    // The kernel has no room for records while the observer waits for a CPU.
    for _ in 0..5 {
        let Some((reported, counted)) = observed(PING_PONG, by_records()) else {
            return;
        };
        if counted.lost.records == 0 {
            check_counts(&reported, &counted);
            assert_eq!(counted.lost.tasks, 0);
            return;
        }
    }
    panic!("records were lost five times");
}

#[test]
fn counts_without_a_clock_are_the_same() {
    let options = Options {
        counts_only: true,
        ..Options::default()
    };
    let Some((reported, counted)) = observed(PING_PONG, options) else {
        return;
    };
    check_switches(&reported, &counted);
    let causes = switches_of_causes(&counted);
    assert_eq!(causes, sum(&counted, Tasks::switches));
    let has_times = |tasks: &Tasks| tasks.off.count() + tasks.off_ns.0 + tasks.others.count() > 0;
    assert!(
        !counted.tasks.iter().any(has_times) && counted.pairs.is_empty() && counted.cpus.is_empty()
    );
}

fn check_counts(reported: &str, counted: &Observation) {
    let own = check_switches(reported, counted);
    // Each time off the CPU has an end.
    let off = sum(counted, |tasks| tasks.off.count());
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
    let is_part = |tasks: &Tasks| tasks.wait_ns <= tasks.off_ns;
    assert!(counted.tasks.iter().all(is_part), "{:?}", counted.tasks);
    assert_eq!(sum(counted, |tasks| tasks.count), 2);
}

/// Checks the numbers of voluntary and involuntary switches, and returns them.
fn check_switches(reported: &str, counted: &Observation) -> (u64, u64) {
    let of = |name: &str| -> u64 {
        let numbers = reported.lines().filter_map(|line| line.strip_prefix(name));
        numbers
            .filter_map(|number| number.parse::<u64>().ok())
            .sum()
    };
    let (voluntary, involuntary) = (of("voluntary "), of("nonvoluntary "));
    assert!(voluntary > 2000, "they did wait for each other: {reported}");
    let own = (
        sum(counted, |tasks| tasks.voluntary),
        sum(counted, |tasks| tasks.involuntary),
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
    let Some(counted) = all() else { return };
    assert_eq!(sum_of(counted, "true", |tasks| tasks.count), 500);
    assert_eq!(counted.lost.tasks, 0);
}

#[test]
fn each_switch_is_an_event_where_they_are_wanted() {
    let Some((reported, counted, events)) = in_detail() else {
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
    assert_eq!(own.len() as u64, sum(counted, Tasks::switches));
    // A byte that was waited for came with a wake-up, in the kernel's order on each CPU.
    let count = |events: &mut dyn Iterator<Item = &Event>, kind: EventKind| {
        events.filter(|event| event.kind == kind).count()
    };
    let waits = count(&mut own.into_iter(), EventKind::Switch { state: 1 });
    let woken = count(&mut events.iter(), EventKind::Wakeup);
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
}

#[test]
fn a_process_that_no_one_has_waited_for_has_ended() {
    let _turn = turn();
    for options in [Options::default(), by_records()] {
        let Some(mut observer) = observer(options) else {
            return;
        };
        let mut perl = Command::new("perl");
        perl.args([
            "-e",
            "if (!fork) { select undef, undef, undef, 0.1; exit } sleep 60",
        ]);
        let mut child = begin(&mut perl, &mut observer).expect("perl is there");
        let since = Instant::now();
        while !has_zombie(child.id()) && since.elapsed() < Duration::from_secs(20) {
            observer.tick();
            std::thread::sleep(Duration::from_millis(20));
        }
        assert!(has_zombie(child.id()), "its child has ended");
        let counted = observer.finish().expect("it is read");
        end(&mut child);
        if !is_counted(&counted, options) {
            return;
        }
        let lives = |tasks: &Tasks| tasks.process.is_some();
        let living = sum(&counted, |tasks| tasks.count * u64::from(lives(tasks)));
        let found = (sum(&counted, |tasks| tasks.count) - living, living);
        assert_eq!(found, (1, 1), "{:?}", counted.tasks);
        assert_eq!(counted.lost.unfollowed, 0, "its last switch counts once");
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

#[test]
fn processes_that_get_an_observed_name_are_counted_however_short_they_live() {
    let _turn = turn();
    let Some(mut observer) = observer(Options::default()) else {
        return;
    };
    observer.add_names(&["observed-later".to_owned()]);
    let folder = tempfile::tempdir().expect("room");
    let program = folder.path().join("observed-later");
    std::os::unix::fs::symlink("/bin/sleep", &program).expect("room");
    for _ in 0..20 {
        let status = Command::new(&program).arg("0.01").status();
        assert!(status.expect("there is a sleep").success());
        observer.tick();
    }
    let counted = observer.finish().expect("the tables are there");
    let tasks: Vec<_> = (counted.tasks.iter())
        .filter(|tasks| tasks.name == "observed-later")
        .collect();
    let ended: u64 = tasks.iter().map(|tasks| tasks.count).sum();
    let voluntary: u64 = tasks.iter().map(|tasks| tasks.voluntary).sum();
    assert_eq!(ended, 20, "{:?}", counted.tasks);
    assert!(voluntary >= 20, "{voluntary} of 20 sleeps");
}
