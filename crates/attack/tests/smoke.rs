//! Tests the attacks: one second of each kind; programs that do not withstand an attack must be
//! reported.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

const ATTACK: &str = env!("CARGO_BIN_EXE_switchcost-attack");

/// Returns the program to attack; `None` if it has not been built. This test does not build it.
fn program() -> Option<PathBuf> {
    let program = Path::new(ATTACK).with_file_name("switchcost");
    if program.is_file() {
        return Some(program);
    }
    eprintln!(
        "skipped: found no {}, need it built first",
        program.display()
    );
    None
}

fn attack(program: &Path, words: &[&str]) -> Output {
    let mut command = Command::new(ATTACK);
    command
        .args(words)
        .arg("--program")
        .arg(program)
        .output()
        .expect("it starts")
}

fn for_a_second<'a>(kind: &'a str, matching: &'a str) -> [&'a str; 8] {
    [
        "--only",
        kind,
        "--matching",
        matching,
        "--seconds",
        "1",
        "--seed",
        "11",
    ]
}

fn withstands(kind: &str, matching: &str) {
    let Some(program) = program() else { return };
    let output = attack(&program, &for_a_second(kind, matching));
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(
        output.status.success(),
        "{said}{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let counts = said.lines().last().expect("counts");
    assert!(
        counts.starts_with(&format!("{kind}: ")) && counts.contains(" 0 failed"),
        "{said}"
    );
    if counts.contains(": 0 tried") {
        eprintln!("skipped: {counts}");
    }
}

#[test]
fn kills_are_withstood() {
    withstands("kills", "kills/report");
}

#[test]
fn failing_system_calls_are_withstood() {
    withstands("injections", "injections/report/");
}

#[test]
fn mutants_are_withstood() {
    withstands("mutants", "");
}

#[test]
fn clients_are_withstood() {
    withstands("clients", "length-2-to-the-64");
}

#[test]
fn environments_are_withstood() {
    withstands("environments", "/report");
}

#[test]
fn planted_files_are_withstood() {
    withstands("planted", "planted/read/newest-record");
}

/// Makes a program that prepares inputs like the real program, but runs a faulty script when a
/// report is requested.
fn spoilt(folder: &Path, program: &Path, report: &str) -> PathBuf {
    let path = folder.join("spoilt");
    let script = format!(
        "#!/bin/sh\nif [ \"$1\" = report ]; then\n{report}\nfi\nexec '{}' \"$@\"\n",
        program.display()
    );
    fs::write(&path, script).expect("room");
    fs::set_permissions(&path, Permissions::from_mode(0o755)).expect("our own file");
    path
}

fn is_reported(words: &[&str], report: &str, why: &str) {
    let Some(program) = program() else { return };
    let folder = tempfile::tempdir().expect("a folder");
    let output = attack(&spoilt(folder.path(), &program, report), words);
    let said = String::from_utf8_lossy(&output.stdout);
    let failed: Vec<&str> = said
        .lines()
        .filter(|line| line.starts_with("failed: "))
        .collect();
    assert!(
        output.status.code() == Some(1) && failed.iter().any(|line| line.contains(why)),
        "{said}"
    );
    assert!(
        said.contains("  again: make attack ARGS=\"--trial "),
        "{said}"
    );
}

#[test]
fn a_program_that_panics_is_reported() {
    let report = "echo \"thread 'main' panicked at src/main.rs:1:1:\" >&2; exit 101";
    is_reported(
        &["--trial", "mutants/observation/number/1"],
        report,
        "panicked at",
    );
}

#[test]
fn a_program_whose_results_appear_before_they_are_whole_is_reported() {
    // report FILE --output FILE
    let report = "printf half > \"$4\"; sleep 1; echo ' and half' >> \"$4\"; exit 0";
    is_reported(
        &["--trial", "kills/report/KILL/500000us"],
        report,
        "half a result of 4 bytes",
    );
}

#[test]
fn a_program_that_succeeds_without_a_result_is_reported() {
    let report = "[ \"$TERM\" = dumb ] || echo result > \"$4\"; exit 0";
    is_reported(
        &["--trial", "environments/terminal-dumb/report"],
        report,
        "it succeeded, and there is no table.txt",
    );
}
