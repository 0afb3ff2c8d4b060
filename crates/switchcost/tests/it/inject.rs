//! Preemptions of programs that are not changed. What takes rights that are not there says so.

use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

use crate::common::{Place, Ran, text};

/// Some 30 ms of a shell that computes.
const BUSY: &str = "i=0; while [ $i -lt 60000 ]; do i=$((i+1)); done";

fn inject(place: &Place, arguments: &[&str]) -> Ran {
    place.run(&[&["inject", "--footprint", "0", "--only-cpu"][..], arguments].concat())
}

/// None where the rights are not there, which is told.
fn injected(place: &Place, arguments: &[&str]) -> Option<Ran> {
    let ran = inject(place, arguments);
    let lacks = ["sched_setscheduler", "PID namespace"].iter().any(|what| ran.stderr.contains(what));
    if lacks {
        println!("skipped: {}", ran.stderr.trim());
    }
    (!lacks).then_some(ran)
}

#[test]
fn what_a_preemption_costs_is_told_recorded_and_told_again() {
    let place = Place::new();
    let record = place.path("run-injection.jsonl");
    let arguments = ["--budget", "2500ms", "--record", text(&record), "--check-output", "--", "sh", "-c", BUSY];
    let Some(ran) = injected(&place, &arguments) else { return };
    assert!(ran.code == 0 || ran.code == 3, "{}", ran.stderr);
    assert!(ran.stderr.contains("of CPU time: 2.50 s has time for about"), "{}", ran.stderr);
    let json = place.run(&["report", "--format", "json", text(&record)]).json();
    assert_eq!((json["schema"].as_str(), json["is_complete"].as_bool()), (Some("switchcost.inject/1"), Some(true)));
    let found = &json["footprints"][0];
    assert!(found["preemptions"].as_u64() > Some(100), "{found}");
    assert!(found["hit"].as_f64() > Some(0.9), "{found}");
    let page = place.path("page.html");
    assert_eq!(place.run(&["report", "-o", text(&page), text(&record)]).code, ran.code);
    let again = inject(&place, &arguments);
    assert!(again.code == 1 && again.stderr.contains("records are never overwritten"), "{}", again.stderr);
}

#[test]
fn what_cannot_be_measured_is_refused_and_said_why() {
    let place = Place::new();
    let refused = |command: &[&str], why: &str| {
        let Some(ran) = injected(&place, &[&["--budget", "3s", "--check-output", "--"][..], command].concat()) else {
            return;
        };
        assert!(ran.stderr.contains(why) && (ran.code == 1 || ran.code == 2), "{} {}", ran.code, ran.stderr);
    };
    refused(&["no-such-program"], "found no-such-program that cannot be run");
    refused(&["true"], "need 20.00 ms or more to preempt it often enough");
    refused(&["sleep", "0.3"], "of its turns and waits for the rest, need one that computes");
    refused(&["ls", "/no/such/file"], "found a command that failed (exit status: 2): ls: ");
    refused(&["sh", "-c", &format!("{BUSY}; echo $$")], "whose outputs differ from byte 0 on");
    refused(&["sh", "-c", &format!("sleep 60 & {BUSY}")], "need one that waits for all of them");
    refused(
        &["setsid", "-w", "sh", "-c", BUSY],
        "found a command that starts processes in a process group of their own",
    );
    refused(&["sh", "-c", "while :; do :; done"], "found a command that had not ended after 3.00 s");
}

/// Numbers of all processes with all of these among their arguments.
fn those_with(words: &[&str]) -> Vec<u32> {
    let numbers = std::fs::read_dir("/proc").expect("/proc").flatten();
    let numbers = numbers.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    let has = |number: &u32| {
        let arguments = std::fs::read(format!("/proc/{number}/cmdline")).unwrap_or_default();
        words.iter().all(|word| arguments.split(|byte| *byte == 0).any(|other| other == word.as_bytes()))
    };
    numbers.filter(has).collect()
}

fn is_gone_soon(words: &[&str]) -> bool {
    let start = Instant::now();
    while !those_with(words).is_empty() && start.elapsed() < Duration::from_secs(20) {
        std::thread::sleep(Duration::from_millis(20));
    }
    those_with(words).is_empty()
}

/// Of the program, of both copies, stopped or not, of what they have started, and of the real-time task.
#[test]
fn a_kill_at_any_moment_leaves_nobody() {
    let place = Place::new();
    // In the arguments of the copies and of their children, and nobody else's.
    let word = format!("twin-of-test-{}", std::process::id());
    let busy = format!("sh -c '{BUSY}' {word} & wait; {BUSY}");
    let Some(_) = injected(&place, &["--budget", "2s", "--", "sh", "-c", &busy, &word]) else { return };
    let mut random = ChaCha8Rng::seed_from_u64(u64::from(std::process::id()));
    let mut has_seen_twins = false;
    for _ in 0..6 {
        let mut child = place
            .command(&["inject", "--footprint", "0", "--only-cpu", "--budget", "20s", "--", "sh", "-c", &busy, &word])
            .spawn()
            .expect("it starts");
        std::thread::sleep(Duration::from_millis(random.random_range(100..900)));
        has_seen_twins |= those_with(&[&word]).len() > 1;
        child.kill().expect("it is ours");
        child.wait().expect("it is ours");
        assert!(is_gone_soon(&[&word]), "{:?}", those_with(&[&word]));
        assert!(is_gone_soon(&["serve-one-injection", &child.id().to_string()]), "a real-time task is left");
    }
    assert!(has_seen_twins, "no copy was there at any kill");
}

#[test]
fn the_only_cpu_is_not_taken_unasked() {
    let place = Place::new();
    let program = env!("CARGO_BIN_EXE_switchcost");
    let mut command = Command::new("taskset");
    let first = std::fs::read_to_string("/proc/self/status").expect("/proc");
    let allowed =
        first.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:")).expect("a list").trim().to_owned();
    let cpu = allowed.split(['-', ',']).next().expect("a CPU");
    command.args(["-c", cpu, program, "inject", "--record", text(&place.path("r.jsonl")), "--", "sh", "-c", BUSY]);
    let out = command.output().expect("taskset");
    let said = String::from_utf8_lossy(&out.stderr).into_owned();
    let told =
        format!("found CPU {cpu} alone, need two or more, since all else waits for the one that the twins run on");
    assert!(said.contains(&told), "{said}");
    assert!(!Path::new(&place.path("r.jsonl")).exists());
}
