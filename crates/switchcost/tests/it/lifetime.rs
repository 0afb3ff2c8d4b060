//! Tests the ends of a run: by itself, by a signal, by SIGKILL, by a full disk. No data may be
//! lost, and no process left.

use std::process::{Child, Command, Stdio};
use std::time::Duration;

use crate::common::{
    Arguments, PROGRAM, Place, Ran, ended, finished, in_one_line, is_root, items, running, send,
    status_field, wait_until,
};
use rustix::process::Signal;

/// Starts a long run, and returns once its record has samples.
fn start(place: &Place) -> Child {
    let child = begin(place, "--default-signal");
    wait_until("samples are on disk", || {
        lines(place, "\"line\":\"cycles\"") > 2
    });
    child
}

/// Starts a long run with signal actions set by `env`, and returns once its record has begun.
fn begin(place: &Place, settled: impl Arguments) -> Child {
    // Without a working set, sampling begins at once.
    let long = "measure --mechanism pipe --budget 60s --precision 0.1%";
    let child = place
        .command_with_signals(settled, format!("{long} --no-counters --record run.jsonl"))
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("env is part of coreutils");
    wait_until("the record has begun", || {
        lines(place, "\"line\":\"header\"") == 1
    });
    child
}

fn lines(place: &Place, of_kind: &str) -> usize {
    std::fs::read_to_string(place.record())
        .unwrap_or_default()
        .matches(of_kind)
        .count()
}

/// Returns the signals that a process ignores or catches, as a mask: signal 1 is the lowest bit.
fn signals(child: &Child, name: &str) -> u64 {
    u64::from_str_radix(&status_field(child.id(), name), 16).expect("hexadecimal")
}

#[test]
fn after_a_kill_nothing_keeps_running_and_the_record_is_readable() {
    let place = Place::new();
    let mut child = start(&place);
    wait_until("tasks are running", || running(&place).len() >= 2);
    send(&child, Signal::KILL);
    child.wait().expect("it ended");
    wait_until("every task has ended", || running(&place).is_empty());
    place.run("report run.jsonl").assert_output("cut off");
    place
        .run("report run.jsonl --format json")
        .assert_output("\"cut-off\"");
}

#[test]
fn an_interrupt_keeps_what_there_is_and_says_so() {
    for (signal, code) in [(Signal::INT, 130), (Signal::TERM, 143)] {
        let place = Place::new();
        let child = start(&place);
        send(&child, signal);
        let ran = ended(child);
        ran.assert_code(code);
        let is_shown = ran.stdout.contains("interrupted");
        assert!(is_shown || is_unfinished(&ran), "{}", ran.stdout);
        wait_until("every task has ended", || running(&place).is_empty());
        let record = place.read("run.jsonl");
        assert!(is_told(&record, &ran), "{}", ran.stderr);
    }
}

/// A simulation is recorded only at its end, and one chunk of the trace may take a second.
#[test]
fn an_interrupted_simulation_keeps_what_it_has_simulated() {
    let place = Place::new();
    place
        .run("trace walks --size 64KiB --turns 24 -o walks.sct")
        .assert_code(0);
    let designs = "--design mogul-2a --vary L1D.size=4KiB,8KiB,16KiB,32KiB --vary L1I.size=8KiB,16KiB --vary L1D.ways=1,2,4,8";
    let child = place
        .command_with_signals(
            "--default-signal",
            format!("simulate walks.sct {designs} --in-full 64 --record run.parquet"),
        )
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("env is part of coreutils");
    wait_until("it simulates", || {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", child.id()));
        let ticks = stat.expect("it runs").split(' ').nth(13).map(str::parse);
        ticks.expect("a field").is_ok_and(|ticks: u64| ticks > 20)
    });
    send(&child, Signal::INT);
    let ran = ended(child);
    ran.assert_code(130);
    place.run("report run.parquet").assert_code(0);
}

/// Returns true if a record says that its run was interrupted, or if stderr says that the program
/// had no time to write this. On a busy machine there may be no time.
fn is_told(record: &str, ran: &Ran) -> bool {
    let last = record.lines().last().unwrap_or_default();
    last.contains("\"reason\":\"interrupted\"") || is_unfinished(ran)
}

fn is_unfinished(ran: &Ran) -> bool {
    ran.stderr.contains("the unfinished part is not recorded")
}

/// When a terminal closes, both the shell and the kernel send SIGHUP to its jobs.
#[test]
fn a_terminal_that_closes_may_say_so_twice() {
    let place = Place::new();
    let child = begin(&place, "--default-signal");
    for _ in 0..2 {
        send(&child, Signal::HUP);
        std::thread::sleep(Duration::from_millis(1));
    }
    let ran = ended(child);
    ran.assert_code(129);
    let record = place.read("run.jsonl");
    assert!(is_told(&record, &ran), "{}", ran.stderr);
}

#[test]
fn what_is_ignored_at_the_start_stays_ignored() {
    let place = Place::new();
    let child = begin(
        &place,
        "--default-signal --ignore-signal=HUP --ignore-signal=QUIT",
    );
    let bit = |signal: Signal| 1 << (signal.as_raw() - 1);
    let (ignored, caught) = (
        bit(Signal::HUP) | bit(Signal::QUIT),
        bit(Signal::INT) | bit(Signal::TERM),
    );
    assert_eq!(signals(&child, "SigIgn:") & (ignored | caught), ignored);
    assert_eq!(signals(&child, "SigCgt:") & (ignored | caught), caught);
    for signal in [Signal::HUP, Signal::QUIT, Signal::TERM] {
        send(&child, signal);
    }
    let ran = ended(child);
    ran.assert_code(143);
}

#[test]
fn a_full_disk_ends_the_run_and_costs_no_sample_already_written() {
    let place = Place::new();
    let words = "measure --mechanism pipe --precision 0.1% --no-counters --record \"$DISK/run.jsonl\"; code=$?; \
                 cp \"$DISK/run.jsonl\" .; exit $code";
    let Some(ran) = on_a_full_disk(&place, [128 << 10; 2], words) else {
        return;
    };
    ran.assert_failed(1, "free some space, or choose another place");
    let record = place.read("run.jsonl");
    assert!(
        record.ends_with('\n') && record.matches("\"line\":\"cycles\"").count() > 2,
        "whole lines only"
    );
    assert!(place.run("report run.jsonl").stdout.contains("cut off"));
}

const SMALL_DISK_BYTES: usize = 64 << 10;

/// Runs a command in which DISK names a disk of `size` bytes that has room for `left`; returns
/// nothing without the right to mount one.
pub(crate) fn on_a_full_disk(place: &Place, [left, size]: [usize; 2], words: &str) -> Option<Ran> {
    if !is_root() {
        eprintln!("skipped: no right to mount a small disk");
        return None;
    }
    let disk = place.path("disk");
    let _ = std::fs::create_dir(&disk);
    let script = format!(
        "export DISK='{disk}' && mount -t tmpfs -o size={size} none \"$DISK\" && head -c {} /dev/zero > \"$DISK/other\" && '{PROGRAM}' {words}",
        size - left,
        disk = disk.display(),
    );
    // The mount is visible only in the namespace of this shell, and disappears with it.
    let mut command = Command::new("unshare");
    command.args(["--mount", "sh", "-c", &script]);
    command.current_dir(place.folder());
    let ran = finished(command.env("XDG_STATE_HOME", place.folder()));
    if ran.stderr.contains("unshare failed") || ran.stderr.contains("mount:") {
        eprintln!("skipped: no right to mount a small disk ({})", ran.stderr);
        return None;
    }
    Some(ran)
}

#[test]
fn what_was_observed_is_shown_though_there_is_no_room_for_its_record() {
    let place = Place::new();
    let words = "observe --no-bpf --no-calibration --record \"$DISK/o.json\" -- sh -c 'for i in 1 2 3 4 5 6 7 8 9 10; do sleep 0.01; done'";
    let Some(ran) = on_a_full_disk(&place, [0, SMALL_DISK_BYTES], words) else {
        return;
    };
    ran.assert_failed(1, "No space left on device");
    let report = ran.report();
    assert!(
        report.starts_with("The cost of the switches of sh is unknown"),
        "{report}"
    );
    assert!(report.contains("Cost by program"), "{report}");
    // There is no record.
    assert!(!report.contains("switchcost report"), "{report}");
}

#[test]
fn what_was_simulated_is_shown_though_there_is_no_room_for_its_record() {
    let place = Place::new();
    place
        .run("trace walks --size 16KiB --turns 60 -o walks.sct")
        .assert_code(0);
    let simulate = "simulate walks.sct --design mogul-1a --format json";
    let kept = place.run(simulate);
    kept.assert_code(0);
    // The disk has no room for the data that are written at the end, room for a part of them, and
    // room for all of them but not for the record.
    for left in [0, 4 << 10, 12 << 10] {
        let words = format!("{simulate} --record \"$DISK/s.parquet\"");
        let Some(ran) = on_a_full_disk(&place, [left, SMALL_DISK_BYTES], &words) else {
            return;
        };
        ran.assert_failed(1, "so the record was not kept: No space left on device");
        let designs = |ran: &Ran| items(&ran.json()["designs"]).clone();
        assert_eq!(designs(&ran), designs(&kept), "{left}");
    }
}

#[test]
fn the_program_leaves_its_own_affinity_and_policy_as_they_were() {
    // A shell runs the program and then examines its own state: controls of the run apply only to
    // the run's processes.
    let place = Place::new();
    let script = "state() { grep Cpus_allowed_list /proc/$$/status; chrt -p $$; }; before=$(state); \
                  \"$@\" > /dev/null 2>&1; test \"$before\" = \"$(state)\"";
    let words = "measure --mechanism fiber --max-repetitions 5 --no-counters";
    finished(&mut place.command_behind(["sh", "-c", script, "sh"], words)).assert_code(0);
}

#[test]
fn a_repetition_that_lasts_long_after_the_budget_is_ended() {
    let place = Place::new();
    // With two hand-offs per round and two rounds to warm up, the first cycle alone would take ten
    // seconds.
    let slow = "--mechanism synthetic --synthetic-switch 500ms --no-rt --budget 100ms";
    let ran = place.measure(slow);
    ran.assert_code(3);
    let printed = in_one_line(&ran.stdout);
    let why = "the budget ended before the first rounds; raise --budget, or use a smaller --size, fewer --tasks or a \
               shorter --pause";
    assert!(printed.contains(why), "{printed}");
    let record = place.read("run.jsonl");
    assert_eq!(lines(&place, "\"line\":\"refusal\""), 1, "{record}");
    assert!(record.contains("\"line\":\"end\",\"reason\":\"complete\""));
    wait_until("the repetition has ended", || running(&place).is_empty());
}
