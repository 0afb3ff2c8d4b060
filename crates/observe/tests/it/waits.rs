//! Tests which tasks ran while a task was off its CPU, and for which tasks it waited.

use switchcost_observe::Options;
use switchcost_record::observation::{Behind, Observation, Pair};

use crate::states::loop_on;
use crate::{observed, program_traced, sum, turn};

/// Returns a sum of the effects of an unobserved process on all observed tasks.
fn by(counted: &Observation, process: u32, of: fn(&Pair) -> u64) -> u64 {
    counted
        .pairs
        .iter()
        .filter(|pair| pair.other == Some(process))
        .map(of)
        .sum()
}

/// Checks conditions that hold for every observation.
fn check(counted: &Observation) {
    let ran: u64 = counted.pairs.iter().map(|pair| pair.ran_ns.0).sum();
    let off = sum(counted, |tasks| tasks.off_ns.0 + tasks.off_at_end_ns.0);
    assert!(
        ran <= off,
        "neighbours ran for {ran} ns while tasks were off for {off} ns"
    );
    let kept: u64 = counted
        .pairs
        .iter()
        .map(|pair| pair.kept_waiting_ns.0)
        .sum();
    let others: u64 = counted.waits.iter().map(|waits| waits.sum().0).sum();
    assert_eq!(
        kept + others,
        sum(counted, |tasks| tasks.wait_ns.0),
        "each wait is shared out, no more and no less"
    );
}

#[test]
fn who_runs_on_another_cpu_is_no_neighbour() {
    let _turn = turn();
    if std::thread::available_parallelism().map_or(1, usize::from) < 2 {
        return println!("skipped: there is one CPU");
    }
    let mut beside = loop_on(0, 10.0);
    let process = beside.id();
    // The process begins on the loop's CPU, and sleeps on another.
    let script = r#"sub put { system("taskset", "-pc", $_[0], $$) == 0 or die } open(my $n, ">", "/dev/null"); open(STDOUT, ">&", $n);
        put(0); select(undef, undef, undef, 0.02); put(1); for (1..10) { select(undef, undef, undef, 0.1) }"#;
    let counted = observed(script, Options::default());
    beside
        .kill()
        .and_then(|()| beside.wait())
        .expect("our child");
    let Some((_, counted)) = counted else { return };
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
    let mut beside = loop_on(0, 10.0);
    let process = beside.id();
    // One process computes, and needs the CPU for half a second.
    let script = r#"open(my $n, ">", "/dev/null"); open(STDOUT, ">&", $n); system("taskset", "-pc", "0", $$) == 0 or die;
        while ((times)[0] < 0.5) { for (1..100000) { $x++ } }"#;
    let counted = observed(script, Options::default());
    beside
        .kill()
        .and_then(|()| beside.wait())
        .expect("our child");
    let Some((_, counted)) = counted else {
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
    let _turn = turn();
    // On a busy machine the longest waits may be in the queue of another CPU, or after too many
    // processes.
    assert!(
        (0..5).any(|_| is_named_beside_a_loop()),
        "no process is named in five times three waits"
    );
}

#[test]
fn a_neighbour_that_executes_another_program_has_the_name_of_that() {
    let _turn = turn();
    let begun = std::env::temp_dir().join(format!("switchcost-begun-{}", std::process::id()));
    // A shell needs the CPU for a moment and then becomes perl, after the observed program has
    // started.
    let line = format!(
        "until [ -e {0} ]; do sleep 0.01; done; i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done; \
         exec perl -e 'open(my $f, q(>), q({0}.exec)); while ((times)[0] < 5) {{ }}'",
        begun.display()
    );
    let mut beside = std::process::Command::new("taskset")
        .args(["-c", "0", "sh", "-c", &line])
        .spawn()
        .expect("taskset");
    let process = beside.id();
    let script = format!(
        r#"open(my $f, ">", "{0}"); my $exec;
           for (my $now = 0; $now < (defined $exec ? $exec + 0.6 : 8); $now = (times)[0]) {{
               for (1..100000) {{ $x++ }} $exec = $now if !defined $exec && -e "{0}.exec" }}"#,
        begun.display()
    );
    // A child of the shell would have its own pair, from before the shell's exec.
    let mut command = std::process::Command::new("taskset");
    command.args(["-c", "0", "perl", "-e", &script]);
    let counted = program_traced(&mut command, Options::default());
    beside
        .kill()
        .and_then(|()| beside.wait())
        .expect("our child");
    let _ = std::fs::remove_file(&begun);
    let has_executed = std::fs::remove_file(begun.with_extension("exec")).is_ok();
    let Some((_, counted, _)) = counted else {
        return;
    };
    let names: Vec<&str> = counted
        .pairs
        .iter()
        .filter(|pair| pair.other == Some(process))
        .map(|pair| pair.name.as_str())
        .collect();
    assert!(has_executed, "the shell has become perl meanwhile");
    assert!(
        !names.is_empty() && names.iter().all(|name| *name == "perl"),
        "{:?}",
        counted.pairs
    );
}

#[test]
fn waits_of_tasks_that_go_wherever_there_is_room_add_up() {
    let _turn = turn();
    let script = "for (1..6) { if (!fork) { for (1..300) { select(undef, undef, undef, 0.001) } exit } } 1 while wait > 0";
    let Some((_, counted)) = observed(script, Options::default()) else {
        return;
    };
    check(&counted);
}

#[test]
fn waits_behind_more_runs_than_are_remembered_add_up() {
    let _turn = turn();
    // Each of forty processes that yield to one another on one CPU waits for all others.
    let number = if cfg!(target_arch = "x86_64") {
        24
    } else {
        124
    };
    let script = format!(
        r#"open(my $n, ">", "/dev/null"); open(STDOUT, ">&", $n); system("taskset", "-pc", "0", $$) == 0 or die;
           for (1..40) {{ if (!fork) {{ select(undef, undef, undef, 0.3); syscall({number}) for 1..300; exit }} }} 1 while wait > 0"#
    );
    let Some((_, counted)) = observed(&script, Options::default()) else {
        return;
    };
    check(&counted);
    let others: u64 = counted.waits.iter().map(|waits| waits.others_ns.0).sum();
    assert!(others > 0, "{:?}", counted.waits);
}

#[test]
fn a_wait_behind_two_that_switch_all_the_time_is_known_however_often_they_do() {
    let _turn = turn();
    let script = r#"pipe(my $a, my $b); pipe(my $c, my $d); my $p = fork; my $x;
        ($a, $b, $c, $d) = ($c, $d, $a, $b) if !$p; close($a); close($d); syswrite($b, "x") if $p;
        syswrite($b, "x") while sysread($c, $x, 1)"#;
    let mut beside = std::process::Command::new("taskset")
        .args(["-c", "0", "perl", "-e", script])
        .spawn()
        .expect("taskset");
    let script = r#"open(my $n, ">", "/dev/null"); open(STDOUT, ">&", $n); system("taskset", "-pc", "0", $$) == 0 or die;
        while ((times)[0] < 0.3) { for (1..100000) { $x++ } }"#;
    let counted = observed(script, Options::default());
    beside
        .kill()
        .and_then(|()| beside.wait())
        .expect("our child");
    let Some((_, counted)) = counted else { return };
    check(&counted);
    let runs: u64 = counted.pairs.iter().map(|pair| pair.runs).sum();
    let waits: u64 = sum(&counted, |tasks| tasks.wait.count());
    assert!(runs > 20 * waits, "{runs} runs in {waits} waits");
    let wait = sum(&counted, |tasks| tasks.wait_ns.0);
    let others: u64 = counted.waits.iter().map(|waits| waits.others_ns.0).sum();
    assert!(
        others < wait / 20,
        "{others} ns of {wait} ns are behind nobody that is known"
    );
}
