//! Causes equal what a program did on purpose, within the handful of switches that the kernel adds.

use observation::{Entry, Why};
use switchcost_observe::Options;

use crate::{call, observed, switches, turn};

/// Puts all that follows onto one CPU: without another at work, nobody takes it from a task.
const ON_ONE_CPU: &str = r#"system("taskset", "-pc", "0", $$) == 0 or die; "#;

fn script(rest: &str) -> String {
    ON_ONE_CPU.replace("system(", r#"open(my $n, ">", "/dev/null"); open(STDOUT, ">&", $n); system("#) + rest
}

#[test]
fn reads_that_wait_are_told_as_that() {
    let _turn = turn();
    let script = script(
        r#"pipe(my $a, my $b); if (!fork) { for (1..500) { sysread($a, my $x, 1) } exit }
           for (1..500) { syswrite($b, "x"); select(undef, undef, undef, 0.0002) } wait;"#,
    );
    let Some((_, counted)) = observed(&script, Options::default()) else { return };
    let (reads, sleeps) = (
        switches(&counted.tasks, Why::Blocked, &call("read")),
        switches(&counted.tasks, Why::Blocked, &call("pselect6")),
    );
    assert!((480..540).contains(&reads), "{reads} of 500 reads that wait");
    assert!((490..540).contains(&sleeps), "{sleeps} of 500 sleeps");
}

#[test]
fn yields_are_told_as_that() {
    let _turn = turn();
    // Two that yield to each other. One that is alone goes on.
    let number = if cfg!(target_arch = "x86_64") { 24 } else { 124 };
    let script = script(&format!("my $p = fork; for (1..2000) {{ syscall({number}) }} waitpid($p, 0) if $p;"));
    let Some((_, counted)) = observed(&script, Options::default()) else { return };
    let yields = switches(&counted.tasks, Why::Yielded, &call("sched_yield"));
    assert!((1800..4020).contains(&yields), "{yields} of at most 4000 yields");
    let involuntary: u64 = counted.tasks.iter().map(|tasks| tasks.involuntary).sum();
    assert!(involuntary < yields + 200, "{involuntary}: hardly anything else was involuntary");
}

#[test]
fn time_slices_that_end_are_told_as_that() {
    let _turn = turn();
    // Two that compute on one CPU, for a second of CPU time each: slices of some milliseconds. The clock is a system call, and looked
    // at seldom.
    let script = script("my $p = fork; while ((times)[0] < 1) { for (1..200000) { $x++ } } waitpid($p, 0) if $p;");
    let Some((_, counted)) = observed(&script, Options::default()) else { return };
    let ended = switches(&counted.tasks, Why::SliceEnded, &Entry::Interrupt);
    assert!(ended >= 50, "{ended} slices ended in two seconds");
    // On a busy machine others take their turns, too.
    let own = counted.pairs.iter().filter(|pair| pair.name == "perl").map(|pair| pair.preempted).sum::<u64>();
    assert!(own > 40, "{own} times they took the CPU from each other");
}

#[test]
fn who_is_woken_takes_the_cpu_and_is_told_as_that() {
    let _turn = turn();
    // One computes; the other sleeps a millisecond each time, and is let in as it wakes.
    let script = script(
        "my $p = fork; my $t = time + 2;
         if ($p) { while (time < $t) { $x++ } waitpid($p, 0) } else { while (time < $t) { select(undef, undef, undef, 0.001) } }",
    );
    let Some((_, counted)) = observed(&script, Options { wants_wakers: true, ..Options::default() }) else { return };
    let preempted = switches(&counted.tasks, Why::PreemptedByWoken, &Entry::Interrupt);
    assert!(preempted > 200, "{preempted} preemptions by who was woken");
    let by_it = counted.pairs.iter().filter(|pair| pair.name == "perl").map(|pair| pair.preempted).sum::<u64>();
    assert!(by_it > 150, "{by_it} times it let itself in");
    // The interrupt of the timer comes while the other runs.
    let woke: u64 = counted.pairs.iter().filter(|pair| pair.name == "perl").map(|pair| pair.woke).sum();
    assert!(woke > 200, "{woke} wake-ups while the other ran");
}
