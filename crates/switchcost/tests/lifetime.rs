//! How a run ends: by itself, by a signal, by SIGKILL, by a full disk. Nothing is lost, nothing keeps running.

mod common;

use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use common::{Place, is_root};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

/// A run that would take long, started and left until its record holds samples.
fn start(place: &Place) -> Child {
    let record = place.record();
    let child = place
        .command(&["measure", "--mechanism", "pipe", "--size", "1MiB", "--budget", "60s", "--precision", "0.1%"])
        .args(["--no-counters", "--record", &record])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program starts");
    wait_until("samples are on disk", || {
        std::fs::read_to_string(&record).unwrap_or_default().matches("\"line\":\"sample\"").count() > 20
    });
    child
}

fn wait_until(what: &str, mut is_so: impl FnMut() -> bool) {
    let start = Instant::now();
    while !is_so() {
        assert!(start.elapsed() < Duration::from_secs(30), "waited in vain until {what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Processes whose state folder is this place's: the program, and all that it started.
fn running(place: &Place) -> Vec<i32> {
    let mark = format!("XDG_STATE_HOME={}", place.folder().display());
    let entries = std::fs::read_dir("/proc").expect("a list of processes").flatten();
    let numbers = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
    numbers.filter(|pid| has_environment(*pid, &mark)).collect()
}

fn has_environment(pid: i32, mark: &str) -> bool {
    let environment = std::fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
    environment.split(|byte| *byte == 0).any(|entry| entry == mark.as_bytes())
}

#[test]
fn after_a_kill_nothing_keeps_running_and_the_record_is_readable() {
    let place = Place::new();
    let mut child = start(&place);
    wait_until("tasks are running", || running(&place).len() >= 2);
    kill(Pid::from_raw(child.id() as i32), Signal::SIGKILL).expect("our own child");
    child.wait().expect("it ended");
    wait_until("every task has ended", || running(&place).is_empty());
    let report = place.run(&["report", &place.record()]);
    assert!(report.stdout.contains("cut off"), "{}", report.stdout);
    let json = place.run(&["report", &place.record(), "--format", "json"]).stdout;
    assert!(json.contains("\"cut-off\""), "{json}");
}

#[test]
fn an_interrupt_keeps_what_there_is_and_says_so() {
    for (signal, code) in [(Signal::SIGINT, 130), (Signal::SIGTERM, 143)] {
        let place = Place::new();
        let child = start(&place);
        kill(Pid::from_raw(child.id() as i32), signal).expect("our own child");
        let ran = common::ran(child.wait_with_output().expect("it ends"));
        assert_eq!(ran.code, code, "{}", ran.stderr);
        assert!(ran.stdout.contains("interrupted"), "{}", ran.stdout);
        wait_until("every task has ended", || running(&place).is_empty());
        let record = std::fs::read_to_string(place.record()).expect("a record");
        assert!(record.lines().last().is_some_and(|line| line.contains("\"reason\":\"interrupted\"")));
    }
}

#[test]
fn a_full_disk_ends_the_run_and_costs_no_sample_already_written() {
    if !is_root() {
        eprintln!("skipped: no right to mount a small disk");
        return;
    }
    let place = Place::new();
    let disk = place.path("disk");
    std::fs::create_dir(&disk).expect("a folder");
    let script = format!(
        "mount -t tmpfs -o size=128k none '{disk}' && {{ '{program}' measure --mechanism pipe --precision 0.1% \
         --no-counters --record '{disk}/run.jsonl'; code=$?; cp '{disk}/run.jsonl' '{copy}'; exit $code; }}",
        disk = disk.display(),
        program = env!("CARGO_BIN_EXE_switchcost"),
        copy = place.record(),
    );
    // The mount is visible in this one shell's namespace, and gone with it.
    let output = std::process::Command::new("unshare")
        .args(["--mount", "sh", "-c", &script])
        .env("XDG_STATE_HOME", place.folder())
        .output()
        .expect("unshare is part of util-linux");
    let ran = common::ran(output);
    if ran.stderr.contains("unshare failed") || ran.stderr.contains("mount:") {
        eprintln!("skipped: no right to mount a small disk ({})", ran.stderr);
        return;
    }
    assert_eq!(ran.code, 1, "{}", ran.stderr);
    assert!(ran.stderr.contains("need room for the rest; free some space or choose another place"), "{}", ran.stderr);
    let record = std::fs::read_to_string(place.record()).expect("what was written");
    assert!(record.ends_with('\n') && record.matches("\"line\":\"sample\"").count() > 10, "whole lines only");
    assert!(place.run(&["report", &place.record()]).stdout.contains("cut off"));
}

#[test]
fn the_program_leaves_its_own_affinity_and_policy_as_they_were() {
    // A shell that runs the program and then looks at itself: controls of the run are its processes' own.
    let place = Place::new();
    let script = format!(
        "before=$(grep Cpus_allowed_list /proc/$$/status; chrt -p $$); '{program}' measure --mechanism fiber \
         --max-repetitions 6 --no-counters --record '{record}' > /dev/null 2>&1; \
         after=$(grep Cpus_allowed_list /proc/$$/status; chrt -p $$); test \"$before\" = \"$after\"",
        program = env!("CARGO_BIN_EXE_switchcost"),
        record = place.record(),
    );
    let status = std::process::Command::new("sh").args(["-c", &script]).status().expect("a shell");
    assert!(status.success());
}
