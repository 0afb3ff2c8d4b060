//! Tests which tasks ran while a task was off its CPU, and for which tasks it waited.

use std::process::Command;

use switchcost_record::observation::{Behind, Observation, Pair};

use crate::known::all;
use crate::states::loop_on;
use crate::{observed_beside, shared_out_ns, sum};

/// Returns a sum of the effects of an unobserved process on all observed tasks.
fn by(counted: &Observation, process: u32, of: fn(&Pair) -> u64) -> u64 {
    let pairs = counted.pairs.iter();
    pairs
        .filter(|pair| pair.other == Some(process))
        .map(of)
        .sum()
}

/// Returns the time for which unknown tasks had the CPU while tasks waited for it.
fn behind_others(counted: &Observation) -> u64 {
    counted.waits.iter().map(|waits| waits.others_ns.0).sum()
}

/// Checks conditions that hold for every observation.
fn check(counted: &Observation) {
    let ran: u64 = counted.pairs.iter().map(|pair| pair.ran_ns.0).sum();
    let off = sum(counted, |tasks| tasks.off_ns.0 + tasks.off_at_end_ns.0);
    assert!(
        ran <= off,
        "neighbours ran for {ran} ns while tasks were off for {off} ns"
    );
    assert_eq!(
        shared_out_ns(counted),
        sum(counted, |tasks| tasks.wait_ns.0),
        "each wait is shared out, no more and no less"
    );
}

#[test]
fn who_runs_on_another_cpu_is_no_neighbour() {
    if std::thread::available_parallelism().map_or(1, usize::from) < 2 {
        return println!("skipped: there is one CPU");
    }
    // The process begins on the loop's CPU, and sleeps on another.
    let script = r#"open(my $n, ">", "/dev/null"); open(STDOUT, ">&", $n); select(undef, undef, undef, 0.02);
        system("taskset", "-pc", "1", $$) == 0 or die; for (1..10) { select(undef, undef, undef, 0.1) }"#;
    let Some((process, counted)) = observed_beside(&mut loop_on(0, 10.0), script) else {
        return;
    };
    check(&counted);
    let ran = by(&counted, process, |pair| pair.ran_ns.0);
    let off = sum(&counted, |tasks| tasks.off_ns.0);
    assert!(
        off > 1_000_000_000 && ran < off / 2,
        "it ran for {ran} ns of {off} ns on that CPU"
    );
}

/// Runs a task once on the same CPU as a loop; returns whether the loop is named. Other activity on
/// the machine may hide it.
fn is_named_beside_a_loop() -> bool {
    // One process computes, and needs the CPU for half a second.
    let script = "while ((times)[0] < 0.5) { for (1..100000) { $x++ } }";
    let Some((process, counted)) = observed_beside(&mut loop_on(0, 10.0), script) else {
        return true;
    };
    check(&counted);
    let wait = sum(&counted, |tasks| tasks.wait_ns.0);
    let kept = by(&counted, process, |pair| pair.kept_waiting_ns.0);
    // Both processes need the CPU all the time, and so get equal shares, however many others there
    // are.
    let is_fair = (250_000_000..1_000_000_000).contains(&kept) && kept <= wait;
    assert!(
        is_fair,
        "{kept} ns of {wait} ns for half a second of CPU time"
    );
    let longest = &counted.longest_waits;
    assert!(
        longest.is_sorted_by(|a, b| a.wait_ns >= b.wait_ns) && longest.len() == 3,
        "{longest:?}"
    );
    assert!(
        longest.iter().all(|wait| wait.behind_ns <= wait.wait_ns),
        "{longest:?}"
    );
    longest
        .iter()
        .any(|wait| wait.name == "perl" && matches!(wait.behind, Behind::Process(_)))
}

#[test]
fn who_has_the_cpu_is_who_keeps_others_waiting_for_it() {
    // On a busy machine the longest waits may be in the queue of another CPU, or after too many
    // processes.
    assert!(
        (0..5).any(|_| is_named_beside_a_loop()),
        "no process is named in five times three waits"
    );
}

#[test]
fn a_neighbour_that_executes_another_program_has_the_name_of_that() {
    let begun = std::env::temp_dir().join(format!("switchcost-begun-{}", std::process::id()));
    // A shell needs the CPU for a moment and then becomes perl, after the observed program has
    // started.
    let line = format!(
        "until [ -e {0} ]; do sleep 0.01; done; i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done; \
         exec perl -e 'open(my $f, q(>), q({0}.exec)); while ((times)[0] < 5) {{ }}'",
        begun.display()
    );
    let script = format!(
        r#"open(my $f, ">", "{0}"); my $exec;
           for (my $now = 0; $now < (defined $exec ? $exec + 0.3 : 8); $now = (times)[0]) {{
               for (1..100000) {{ $x++ }} $exec = $now if !defined $exec && -e "{0}.exec" }}"#,
        begun.display()
    );
    // A child of the shell would have its own pair, from before the shell's exec.
    let mut shell = Command::new("taskset");
    shell.args(["-c", "0", "sh", "-c", &line]);
    let counted = observed_beside(&mut shell, &script);
    let _ = std::fs::remove_file(&begun);
    let has_executed = std::fs::remove_file(begun.with_extension("exec")).is_ok();
    let Some((process, counted)) = counted else {
        return;
    };
    assert!(has_executed, "the shell has become perl meanwhile");
    let mut pairs = counted.pairs.clone();
    pairs.retain(|pair| pair.other == Some(process));
    assert!(
        !pairs.is_empty() && pairs.iter().all(|pair| pair.name == "perl"),
        "{pairs:?}"
    );
}

#[test]
fn waits_of_known_programs_add_up() {
    let Some(counted) = all() else { return };
    check(counted);
}

#[test]
fn waits_behind_more_runs_than_are_remembered_add_up() {
    let Some(counted) = all() else { return };
    let crowd = counted
        .waits
        .iter()
        .filter(|waits| waits.process_name == "crowd");
    let others: u64 = crowd.map(|waits| waits.others_ns.0).sum();
    assert!(others > 0, "{:?}", counted.waits);
}

#[test]
fn a_wait_behind_two_that_switch_all_the_time_is_known_however_often_they_do() {
    let script = r#"pipe(my $a, my $b); pipe(my $c, my $d); my $p = fork; my $x;
        ($a, $b, $c, $d) = ($c, $d, $a, $b) if !$p; close($a); close($d); syswrite($b, "x") if $p;
        syswrite($b, "x") while sysread($c, $x, 1)"#;
    let mut pair = Command::new("taskset");
    pair.args(["-c", "0", "perl", "-e", script]);
    let script = "while ((times)[0] < 0.3) { for (1..100000) { $x++ } }";
    let Some((_, counted)) = observed_beside(&mut pair, script) else {
        return;
    };
    check(&counted);
    let runs: u64 = counted.pairs.iter().map(|pair| pair.runs).sum();
    let waits: u64 = sum(&counted, |tasks| tasks.wait.count());
    assert!(runs > 20 * waits, "{runs} runs in {waits} waits");
    let wait = sum(&counted, |tasks| tasks.wait_ns.0);
    let others = behind_others(&counted);
    assert!(
        others < wait / 20,
        "{others} ns of {wait} ns are behind nobody that is known"
    );
}
