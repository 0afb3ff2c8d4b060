//! Tests that tasks which the kernel keeps from running are recognised by their state in the
//! kernel.

use std::process::Command;

use switchcost_observe::Options;
use switchcost_record::observation::{Cause, Entry, Observation, Pair, Tasks, Why};

use crate::groups::{Group, hierarchies};
use crate::known::known;
use crate::{
    by_records, call, end, number, observed, sum_causes, switches, switches_for, trace, turn,
};

/// Returns a program that computes on a CPU for this many seconds.
pub(crate) fn loop_on(cpu: usize, seconds: f64) -> Command {
    let script = format!("use Time::HiRes 'time'; my $t = time + {seconds}; 1 while time < $t");
    let mut command = Command::new("taskset");
    command.args(["-c", &cpu.to_string(), "perl", "-e", &script]);
    command
}

/// Runs a Perl script under observation, while the caller has the turn.
fn observed_in_turn(script: &str) -> Option<(String, Observation)> {
    let mut perl = Command::new("perl");
    let (reported, counted, _) = trace(perl.args(["-e", script]), Options::default())?;
    Some((reported, counted))
}

#[test]
fn a_quota_that_is_used_up_is_reported_as_such_though_another_task_is_next() {
    let _turn = turn();
    let Some(group) = Group::with("cpu") else {
        return;
    };
    let has_quota = (group.write("cpu.cfs_period_us", "25000")
        && group.write("cpu.cfs_quota_us", "5000"))
        || group.write("cpu.max", "5000 25000");
    assert!(has_quota, "a group with a quota");
    // Even on a busy CPU, the group runs often enough to use up the quota.
    let has_weight = group.write("cpu.shares", "262144") || group.write("cpu.weight", "10000");
    assert!(has_weight, "a group that comes before others");
    let mut outside = loop_on(0, 20.0).spawn().expect("taskset is there");
    // A tenth of a second of CPU time takes 20 periods of the quota, or more if other tasks run.
    let script = format!(
        r#"open(my $n, ">", "/dev/null"); open(STDOUT, ">&", $n);
           system("taskset", "-pc", "0", $$) == 0 or die; my $p = fork;
           if (!$p) {{ open(my $f, ">", "{}/cgroup.procs"); print $f $$; close $f; my $t = time + 15; 1 while (times)[0] + (times)[1] < 0.1 && time < $t; exit }}
           waitpid($p, 0)"#,
        group.folder.display()
    );
    let counted = observed_in_turn(&script);
    end(&mut outside);
    let Some((_, counted)) = counted else { return };
    assert_is_not_blamed_for_quota(&counted, outside.id());
    let (throttled, periods) = (
        switches_for(&counted.tasks, Why::Throttled),
        group.number("cpu.stat", "nr_throttled "),
    );
    // A period in which the group never runs, because it has overdrawn the one before, is an
    // additional one for the kernel.
    assert!(
        throttled >= 5 && throttled <= periods + 2,
        "{throttled} switches, {periods} periods"
    );
    assert!(
        3 * throttled >= periods,
        "{throttled} switches, {periods} periods"
    );
    let is_throttled = |cause: &Cause| cause.why == Why::Throttled;
    let off = sum_causes(&counted.tasks, is_throttled, |cause| cause.off_ns.0);
    let throttled_ns = group.throttled_ns();
    assert!(
        off >= throttled_ns / 10 * 9,
        "{off} ns, of which the kernel held it up for {throttled_ns}"
    );
}

/// Asserts that a process that runs while a quota keeps a task from its CPU is not blamed for the
/// quota: neither for more preemptions nor for more waiting than the task had for other causes.
fn assert_is_not_blamed_for_quota(counted: &Observation, other: u32) {
    let is_preemption = |cause: &Cause| cause.why.is_preemption();
    let preemptions = sum_causes(&counted.tasks, is_preemption, |cause| cause.switches);
    let is_other = |cause: &Cause| cause.why != Why::Throttled;
    let waited = sum_causes(&counted.tasks, is_other, |cause| cause.wait_ns.0);
    let mut blamed = counted.pairs.clone();
    blamed.retain(|pair| pair.other == Some(other));
    let sum = |number: fn(&Pair) -> u64| blamed.iter().map(number).sum::<u64>();
    assert!(
        sum(|pair| pair.ran_ns.0) > 0,
        "it ran on that CPU meanwhile: {:?}",
        counted.pairs
    );
    assert!(
        sum(|pair| pair.preempted) <= preemptions && sum(|pair| pair.kept_waiting_ns.0) <= waited,
        "{blamed:?}, {preemptions} preemptions, {waited} ns"
    );
}

#[test]
fn the_end_of_the_time_of_a_deadline_task_is_reported_as_such_though_another_task_is_next() {
    let _turn = turn();
    let number = number(314, 274);
    // The quota is 2 ms in each 10 ms, while all CPUs are busy.
    let script = format!(
        r#"use Time::HiRes 'time'; my $a = pack("LLQlLQQQ", 48, 6, 0, 0, 0, 2e6, 1e7, 1e7);
           if (syscall({number}, 0, $a, 0) != 0) {{ print "refused"; exit }}
           my $t = time + 0.3; 1 while time < $t"#
    );
    let cpus = std::thread::available_parallelism()
        .map_or(1, usize::from)
        .min(4);
    let others = (0..cpus).map(|cpu| loop_on(cpu, 2.0).spawn());
    let others: Vec<_> = others.collect();
    let counted = observed_in_turn(&script);
    for other in others {
        end(&mut other.expect("taskset is there"));
    }
    let Some((reported, counted)) = counted else {
        return;
    };
    if reported == "refused" {
        return println!("skipped: the kernel takes no SCHED_DEADLINE task here");
    }
    let [throttled, slices] =
        [Why::Throttled, Why::SliceEnded].map(|why| switches_for(&counted.tasks, why));
    assert!((15..=35).contains(&throttled), "{throttled} of 30 periods");
    assert!(
        slices < throttled / 2,
        "{slices} time slices ended of a task that goes before all others"
    );
}

#[test]
fn stopped_is_not_a_wait_of_the_programs_and_what_is_resumed_keeps_its_name() {
    let Some(counted) = known(&["stops", "sleep"]) else {
        return;
    };
    let mut of_sleep = counted.tasks.clone();
    of_sleep.retain(|tasks| tasks.name == "sleep");
    assert_eq!(switches_for(&of_sleep, Why::Stopped), 5, "{of_sleep:?}");
    assert_eq!(switches_for(&counted.tasks, Why::Stopped), 10);
    // The first time, and after each stop.
    let sleeps = switches(&of_sleep, Why::Blocked, &call("clock_nanosleep"));
    assert_eq!(sleeps, 6);
    // On its way back to its own code it does not wait.
    for entry in [call("restart_syscall"), Entry::Interrupt] {
        assert_eq!(
            switches(&counted.tasks, Why::Blocked, &entry),
            0,
            "{entry:?}"
        );
    }
}

#[test]
fn stops_for_a_debugger_are_reported_as_such() {
    let Some(counted) = known(&["traced"]) else {
        return;
    };
    let [traced, stopped] =
        [Why::Traced, Why::Stopped].map(|why| switches_for(&counted.tasks, why));
    assert_eq!((traced, stopped), (5, 0));
}

#[test]
fn frozen_is_not_a_wait_of_the_programs() {
    let _turn = turn();
    let mut is_tried = false;
    for hierarchy in hierarchies("freezer") {
        let Some(group) = Group::below(&hierarchy) else {
            continue;
        };
        let is_first = group.folder.join("freezer.state").exists();
        let (file, on, off, report, is_frozen) = if is_first {
            (
                "freezer.state",
                "FROZEN",
                "THAWED",
                "freezer.state",
                "FROZEN",
            )
        } else {
            ("cgroup.freeze", "1", "0", "cgroup.events", "frozen 1")
        };
        let script = format!(
            r#"use Time::HiRes 'time'; sub pause {{ select(undef, undef, undef, $_[0]) }}
               sub put {{ open(my $f, ">", "{}/$_[0]") or die; print $f $_[1]; close $f or die }}
               sub is_frozen {{ open(my $f, "<", "{}/{report}") or die; grep {{ /^{is_frozen}$/ }} <$f> }}
               my $p = fork; if (!$p) {{ my $t = time + 30; 1 while time < $t; exit }} put("cgroup.procs", $p);
               for (1..4) {{ put("{file}", "{on}"); my $t = time + 5; pause(0.001) until is_frozen() or time > $t;
                   put("{file}", "{off}"); pause(0.02) }}
               kill("TERM", $p); waitpid($p, 0)"#,
            group.folder.display(),
            group.folder.display()
        );
        let Some((_, counted)) = observed_in_turn(&script) else {
            return;
        };
        let frozen = switches_for(&counted.tasks, Why::Frozen);
        assert_eq!(frozen, 4, "{hierarchy:?}: {:?}", counted.tasks);
        let interrupted = switches(&counted.tasks, Why::Blocked, &Entry::Interrupt);
        assert_eq!(interrupted, 0, "on its way back to its own code");
        is_tried = true;
    }
    if !is_tried {
        println!("skipped: there is no control group to be had");
    }
}

/// Returns the names reported for threads of a process whose first thread has ended and which
/// rename themselves, and the name of the process.
fn names_of_threads(options: Options) -> Option<Vec<(String, String)>> {
    // The first thread names itself, starts two others and ends before them.
    let script = format!(
        r#"use threads; sub name {{ syscall({}, 15, my $n = "$_[0]\0", 0, 0, 0) }} name("leader");
           for my $n ("alpha", "beta") {{ threads->create(sub {{ name($n); select(undef, undef, undef, 0.01) for 1..20; exit }})->detach }}
           select(undef, undef, undef, 0.05); syscall({}, 0)"#,
        number(157, 167),
        number(60, 93)
    );
    let (_, counted) = observed(&script, options)?;
    let names = |tasks: &Tasks| (tasks.name.clone(), tasks.process_name().to_owned());
    Some(counted.tasks.iter().map(names).collect())
}

#[test]
fn a_process_has_the_name_of_its_first_thread_even_if_that_has_ended() {
    let only_counts = Options {
        counts_only: true,
        ..Options::default()
    };
    for options in [Options::default(), only_counts, by_records()] {
        let Some(mut names) = names_of_threads(options) else {
            return;
        };
        names.sort();
        let leader = "leader".to_owned();
        let expected = ["alpha", "beta", "leader"].map(|name| (name.to_owned(), leader.clone()));
        assert_eq!(names, expected, "{options:?}");
    }
}
