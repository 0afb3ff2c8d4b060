//! Tests that a set-up is in force for the measured program, and is completely undone, however the
//! program ends.

use std::path::Path;
use std::process::{Child, Command, Stdio};

use rustix::process::Signal;

use crate::common::{PROGRAM, Place, ended, finished, send, text, wait_until};

/// Starts the process that holds a set-up, as `ab` does for each run; it undoes the set-up when its
/// standard input ends.
fn kept(place: &Place, [commands, wrapper, undo]: [&str; 3], program: &[&str]) -> Child {
    let mut command = place.command((["keep-one-setup", commands, wrapper, undo], program));
    command.stdin(Stdio::piped()).stdout(Stdio::piped());
    command.stderr(Stdio::piped()).spawn().expect("it starts")
}

/// Runs a program in a set-up, and returns the report of the process that holds the set-up, after
/// the program has ended by itself.
pub(crate) fn reported(place: &Place, setup: [&str; 3], program: &[&str]) -> String {
    let mut keeper = kept(place, setup, program);
    let stdin = keeper.stdin.take();
    let report = ended(keeper).stdout;
    drop(stdin);
    report
}

pub(crate) fn read(place: &Place, name: &str) -> String {
    std::fs::read_to_string(place.path(name))
        .unwrap_or_default()
        .trim()
        .to_owned()
}

fn is_running(process: &str) -> bool {
    assert!(!process.is_empty(), "it has started");
    Path::new(&format!("/proc/{process}")).exists()
}

#[test]
fn a_program_has_its_set_up_and_what_that_started_is_ended() {
    let place = Place::new();
    let setup = "umask 077; (trap '' TERM; sleep 1000) & echo $! > stubborn; setsid sleep 1000 & echo $! > apart";
    let report = reported(
        &place,
        [setup, "env WRAPPED=yes", "echo done > undone"],
        &["sh", "-c", "umask > mask; echo $WRAPPED > env"],
    );
    assert_eq!(report, "0\n");
    assert_eq!(
        ["mask", "env", "undone"].map(|name| read(&place, name)),
        ["0077", "yes", "done"]
    );
    assert!(!is_running(&read(&place, "stubborn")) && !is_running(&read(&place, "apart")));
}

#[test]
fn a_set_up_that_fails_starts_nothing_and_is_undone() {
    let place = Place::new();
    let report = reported(
        &place,
        ["(exit 7)", "", "echo done > undone; exit 3"],
        &["touch", "started"],
    );
    let (code, complaint) = report.split_once('\n').expect("two lines");
    assert_eq!((code, &*read(&place, "undone")), ("7", "done"));
    assert!(!place.path("started").exists());
    let said = "the undo command 'echo done > undone; exit 3' failed (exit status: 3)";
    assert!(complaint.starts_with(said), "{complaint}");
    assert_eq!(reported(&place, [""; 3], &["sh", "-c", "exit 3"]), "3\n");
}

#[test]
fn when_the_run_is_gone_its_set_up_is_undone() {
    let place = Place::new();
    let program = ["sh", "-c", "echo $$ > program; sleep 1000"];
    let mut keeper = kept(
        &place,
        ["sleep 1000 & echo $! > left", "", "echo done > undone"],
        &program,
    );
    wait_until("the program runs", || !read(&place, "program").is_empty());
    drop(keeper.stdin.take());
    let report = ended(keeper).stdout;
    assert_eq!((&*report, &*read(&place, "undone")), ("stopped\n", "done"));
    assert!(!is_running(&read(&place, "program")) && !is_running(&read(&place, "left")));
}

#[test]
fn flags_of_a_run_and_a_set_up_that_fails_are_refused_in_words() {
    let place = Place::new();
    let run = |words: &str| place.run(("ab --new-with '' --record runs", words));
    let fails = "\"echo 'no such thing; run this' >&2; exit 9\"";
    run(&format!("--base {fails} --new {fails} -- --no-rt"))
        .assert_code(1)
        .assert_message("its set-up or its run exited with code 9")
        .assert_message("it printed: no such thing; run this\nhint: read all of it in ");
    place
        .run("ab --record others --base 'exit 0' --new 'exit 0' -- --no-rt")
        .assert_failed(1, "do not call exit in it");
}

#[test]
fn an_upgrade_in_the_middle_changes_nothing() {
    let place = Place::new();
    let program = place.path("switchcost");
    std::fs::copy(PROGRAM, &program).expect("room");
    let replaced = format!(
        "rm -f '{0}'; printf '#!/bin/sh\nexit 9\n' > '{0}'; chmod +x '{0}'",
        text(&program)
    );
    let runs = place.path("runs");
    let mut command = Command::new(&program);
    command
        .args(["ab", "--runs", "2", "--budget", "1s", "--base", &replaced])
        .args(["--record", text(&runs), "--", "--mechanism", "pipe"])
        .args(["--max-repetitions", "5", "--no-counters"])
        .env("XDG_STATE_HOME", place.folder());
    let ran = finished(&mut command);
    let records = |side: &str| std::fs::read_dir(runs.join(side)).map_or(0, Iterator::count);
    assert!(
        records("base") >= 2 && records("new") >= 2,
        "{}",
        ran.stderr
    );
}

#[test]
fn who_stops_does_not_wait_for_what_takes_long_to_undo() {
    let place = Place::new();
    // The set-up runs in any folder.
    let undo = format!(
        "while [ ! -e {0}/go-on ]; do sleep 0.01; done; : > {0}/undone",
        text(place.folder())
    );
    let runs = place.path("runs");
    let usual = "ab --new '' --record runs";
    let words = format!("--base-undo '{undo}' --new-undo '{undo}' -- --mechanism pipe");
    let mut command = place.command_with_signals("--default-signal", (usual, words));
    let command = command.stdout(Stdio::null()).stderr(Stdio::null());
    let mut child = command.spawn().expect("it starts");
    let has_begun = |side: &&str| runs.join(side).join("001.jsonl").exists();
    wait_until("a run has begun", || ["base", "new"].iter().any(has_begun));
    send(&child, Signal::TERM);
    assert_eq!(child.wait().expect("it ends").code(), Some(143));
    assert!(!place.path("undone").exists());
    std::fs::write(place.path("go-on"), "").expect("room");
    wait_until("it is undone", || place.path("undone").exists());
}
