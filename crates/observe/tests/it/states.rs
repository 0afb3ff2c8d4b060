//! Tests that tasks which the kernel keeps from running are recognised by the kernel's own state of
//! them.

use std::process::{Child, Command};

use switchcost_observe::Options;
use switchcost_record::observation::{Entry, Observation, Pair, Tasks, Why};

use crate::groups::{Group, hierarchies};
use crate::{by_records, call, observed, switches, turn};

/// Returns the switches for one reason, whatever their kernel entry.
fn all(tasks: &[Tasks], why: Why) -> u64 {
    tasks
        .iter()
        .flat_map(|tasks| &tasks.causes)
        .filter(|cause| cause.why == why)
        .map(|cause| cause.switches)
        .sum()
}

/// Starts a program that computes on a CPU for this many seconds, unobserved.
pub(crate) fn loop_on(cpu: usize, seconds: f64) -> Child {
    let script = format!("use Time::HiRes 'time'; my $t = time + {seconds}; 1 while time < $t");
    let cpu = cpu.to_string();
    Command::new("taskset")
        .args(["-c", &cpu, "perl", "-e", &script])
        .spawn()
        .expect("taskset and perl are there")
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
    let mut outside = loop_on(0, 20.0);
    // A tenth of a second of CPU time takes 20 periods of the quota, or more if other tasks run.
    let script = format!(
        r#"open(my $n, ">", "/dev/null"); open(STDOUT, ">&", $n);
           system("taskset", "-pc", "0", $$) == 0 or die; my $p = fork;
           if (!$p) {{ open(my $f, ">", "{}/cgroup.procs"); print $f $$; close $f; my $t = time + 15; 1 while (times)[0] + (times)[1] < 0.1 && time < $t; exit }}
           waitpid($p, 0)"#,
        group.folder.display()
    );
    let counted = observed(&script, Options::default());
    outside
        .kill()
        .and_then(|()| outside.wait())
        .expect("our child");
    let Some((_, counted)) = counted else { return };
    assert_is_not_blamed_for_quota(&counted, outside.id());
    let (throttled, periods) = (
        all(&counted.tasks, Why::Throttled),
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
    let off: u64 = counted
        .tasks
        .iter()
        .flat_map(|tasks| &tasks.causes)
        .filter(|cause| cause.why == Why::Throttled)
        .map(|cause| cause.off_ns.0)
        .sum();
    let throttled_ns = group.throttled_ns();
    assert!(
        off >= throttled_ns / 10 * 9,
        "{off} ns, of which the kernel held it up for {throttled_ns}"
    );
}

/// Asserts that a process that runs while a quota keeps a task from its CPU is blamed for no more
/// preemptions than the task had, and for no more waiting than the task did afterwards.
fn assert_is_not_blamed_for_quota(counted: &Observation, other: u32) {
    let causes = counted.tasks.iter().flat_map(|tasks| &tasks.causes);
    let preemptions: u64 = causes
        .clone()
        .filter(|cause| cause.why.is_preemption())
        .map(|cause| cause.switches)
        .sum();
    let waited: u64 = causes
        .filter(|cause| cause.why != Why::Throttled)
        .map(|cause| cause.wait_ns.0)
        .sum();
    let blamed: Vec<&Pair> = counted
        .pairs
        .iter()
        .filter(|pair| pair.other == Some(other))
        .collect();
    assert!(
        blamed.iter().any(|pair| pair.ran_ns.0 > 0),
        "it ran on that CPU meanwhile: {:?}",
        counted.pairs
    );
    assert!(
        blamed.iter().map(|pair| pair.preempted).sum::<u64>() <= preemptions,
        "{blamed:?}, {preemptions} preemptions"
    );
    assert!(
        blamed
            .iter()
            .map(|pair| pair.kept_waiting_ns.0)
            .sum::<u64>()
            <= waited,
        "{blamed:?}, {waited} ns"
    );
}

#[test]
fn the_end_of_the_time_of_a_deadline_task_is_reported_as_such_though_another_task_is_next() {
    let _turn = turn();
    let number = if cfg!(target_arch = "x86_64") {
        314
    } else {
        274
    };
    // The quota is 2 ms in each 10 ms, while all CPUs are busy.
    let script = format!(
        r#"use Time::HiRes 'time'; my $a = pack("LLQlLQQQ", 48, 6, 0, 0, 0, 2e6, 1e7, 1e7);
           if (syscall({number}, 0, $a, 0) != 0) {{ print "refused"; exit }}
           my $t = time + 0.3; 1 while time < $t"#
    );
    let cpus = std::thread::available_parallelism()
        .map_or(1, usize::from)
        .min(4);
    let mut others: Vec<Child> = (0..cpus).map(|cpu| loop_on(cpu, 2.0)).collect();
    let counted = observed(&script, Options::default());
    for other in &mut others {
        other.kill().and_then(|()| other.wait()).expect("our child");
    }
    let Some((reported, counted)) = counted else {
        return;
    };
    if reported == "refused" {
        return println!("skipped: the kernel takes no SCHED_DEADLINE task here");
    }
    let (throttled, slices) = (
        all(&counted.tasks, Why::Throttled),
        all(&counted.tasks, Why::SliceEnded),
    );
    assert!((15..=35).contains(&throttled), "{throttled} of 30 periods");
    assert!(
        slices < throttled / 2,
        "{slices} time slices ended of a task that goes before all others"
    );
}

#[test]
fn stopped_is_not_a_wait_of_the_programs_and_what_is_resumed_keeps_its_name() {
    let _turn = turn();
    // One process sleeps, another computes; both are stopped and continued five times, and are then
    // ended.
    let script = r#"
        use Time::HiRes 'time'; sub pause { select(undef, undef, undef, $_[0]) }
        my $s = fork; exec "sleep", "30" if !$s; pause(0.05);
        my $c = fork; if (!$c) { my $t = time + 30; 1 while time < $t; exit } pause(0.02);
        for (1..5) { kill("STOP", $s, $c); pause(0.015); kill("CONT", $s, $c); pause(0.015) }
        kill("TERM", $s, $c); waitpid($s, 0); waitpid($c, 0)"#;
    let Some((_, counted)) = observed(script, Options::default()) else {
        return;
    };
    let of_sleep: Vec<Tasks> = counted
        .tasks
        .iter()
        .filter(|tasks| tasks.name == "sleep")
        .cloned()
        .collect();
    assert_eq!(all(&of_sleep, Why::Stopped), 5, "{of_sleep:?}");
    assert_eq!(all(&counted.tasks, Why::Stopped), 10);
    assert_eq!(
        switches(&of_sleep, Why::Blocked, &call("clock_nanosleep")),
        6,
        "the first time, and after each stop"
    );
    assert_eq!(
        switches(&counted.tasks, Why::Blocked, &call("restart_syscall")),
        0
    );
    assert_eq!(
        switches(&counted.tasks, Why::Blocked, &Entry::Interrupt),
        0,
        "on its way back to its own code"
    );
}

#[test]
fn stops_for_a_debugger_are_reported_as_such() {
    let _turn = turn();
    let number = if cfg!(target_arch = "x86_64") {
        101
    } else {
        117
    };
    let script = format!(
        r#"my $p = fork; if (!$p) {{ syscall({number}, 0, 0, 0, 0); kill(10, $$) for 1..5; exit }}
           for (1..5) {{ waitpid($p, 0); syscall({number}, 7, $p, 0, 0) }} waitpid($p, 0)"#
    );
    let Some((_, counted)) = observed(&script, Options::default()) else {
        return;
    };
    assert_eq!(
        (
            all(&counted.tasks, Why::Traced),
            all(&counted.tasks, Why::Stopped)
        ),
        (5, 0)
    );
}

#[test]
fn frozen_is_not_a_wait_of_the_programs() {
    let _turn = turn();
    let mut is_tried = false;
    for hierarchy in hierarchies("freezer") {
        let Some(group) = Group::below(&hierarchy) else {
            continue;
        };
        let (file, on, off, report, is_frozen) = if group.folder.join("freezer.state").exists() {
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
        let Some((_, counted)) = observed(&script, Options::default()) else {
            return;
        };
        assert_eq!(
            all(&counted.tasks, Why::Frozen),
            4,
            "{hierarchy:?}: {:?}",
            counted.tasks
        );
        assert_eq!(
            switches(&counted.tasks, Why::Blocked, &Entry::Interrupt),
            0,
            "on its way back to its own code"
        );
        is_tried = true;
    }
    if !is_tried {
        println!("skipped: there is no control group to be had");
    }
}

/// Returns the names reported for threads of a process whose first thread has ended and which
/// rename themselves, and the name of the process.
fn names_of_threads(options: Options) -> Option<Vec<(String, String)>> {
    let number = if cfg!(target_arch = "x86_64") {
        (157, 60)
    } else {
        (167, 93)
    };
    // The first thread names itself, starts two others and ends before them.
    let script = format!(
        r#"use threads; sub name {{ syscall({}, 15, my $n = "$_[0]\0", 0, 0, 0) }} name("leader");
           for my $n ("alpha", "beta") {{ threads->create(sub {{ name($n); select(undef, undef, undef, 0.01) for 1..20; exit }})->detach }}
           select(undef, undef, undef, 0.05); syscall({}, 0)"#,
        number.0, number.1
    );
    let (_, counted) = observed(&script, options)?;
    let names = |tasks: &Tasks| (tasks.name.clone(), tasks.process_name().to_owned());
    Some(counted.tasks.iter().map(names).collect())
}

#[test]
fn a_process_has_the_name_of_its_first_thread_even_if_that_has_ended() {
    let _turn = turn();
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
