//! Every verb, refused something by the kernel at instants that nobody chose: it says what, does not panic, and leaves nothing
//! half-written. Needs strace, which does the refusing.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::common::verbs::{Verb, verbs};
use crate::common::{Place, Ran, ran, text};
use rand::SeedableRng;
use rand::seq::IteratorRandom;
use rand_chacha::ChaCha8Rng;

/// What is refused, and how the kernel might say so.
const REFUSALS: [(&str, &[&str]); 6] = [
    ("openat", &["EMFILE", "EIO"]),
    ("write", &["ENOSPC", "EIO"]),
    ("fsync", &["EIO", "ENOSPC"]),
    ("linkat", &["EMFILE", "ENOSPC"]),
    ("rename", &["EIO", "ENOSPC"]),
    ("mmap", &["ENOMEM", "EMFILE"]),
];

/// Calls of each kind that are refused, each in a run of its own.
const RUNS: usize = 2;

/// Why calls cannot be refused here.
fn missing_strace() -> Option<String> {
    let traced = Command::new("strace").args(["-qq", "-e", "trace=none", "true"]).stderr(Stdio::null()).status();
    match traced {
        Ok(status) if status.success() => None,
        Ok(status) => Some(format!("strace may not trace here ({status})")),
        Err(error) => Some(format!("no strace ({error})")),
    }
}

fn run_traced(place: &Place, verb: &Verb, log: &Path, expression: &[&str]) -> Ran {
    let mut command = Command::new("strace");
    command.args(["-f", "-qq", "--seccomp-bpf", "-o", text(log)]).args(expression);
    command.arg(env!("CARGO_BIN_EXE_switchcost")).args(&verb.words).stdin(Stdio::null());
    ran(verb.settled(place, command).output().expect("strace starts"))
}

/// How often the program's first thread makes this call: before its own code runs, and in all.
fn calls(log: &str, name: &str) -> (usize, usize) {
    let first = log.split_whitespace().next().expect("a line of strace");
    let own: Vec<&str> = log.lines().filter_map(|line| line.strip_prefix(first)).map(str::trim_start).collect();
    let begun = own.iter().position(|call| call.starts_with("sigaltstack({")).expect("the runtime's stack for signals");
    let count = |calls: &[&str]| calls.iter().filter(|call| call.split('(').next() == Some(name)).count();
    (count(&own[..begun]), count(&own))
}

#[test]
fn a_verb_that_is_refused_something_says_so_and_leaves_nothing_half() {
    if let Some(why) = missing_strace() {
        eprintln!("skipped: {why}");
        return;
    }
    let place = Place::new();
    let mut random = ChaCha8Rng::seed_from_u64(9);
    let (log, mut failed) = (place.path("log"), 0);
    for mut verb in verbs(&place) {
        verb.run_whole(&place);
        let names = REFUSALS.map(|(name, _)| name).join(",");
        run_traced(&place, &verb, &log, &["-e", &format!("trace={names},sigaltstack")]);
        let made = fs::read_to_string(&log).expect("a log");
        verb.clear();
        // Of a capture Valgrind would be refused its memory, too, and has words of its own for that.
        for (name, errors) in REFUSALS.into_iter().filter(|(name, _)| !verb.is_capture() || *name != "mmap") {
            let (before, all) = calls(&made, name);
            let numbers = (before + 1..=all).choose_multiple(&mut random, RUNS);
            for (number, error) in numbers.into_iter().zip(errors.iter().cycle()) {
                let refusal = format!("inject={name}:error={error}:when={number}");
                let ran = run_traced(&place, &verb, &log, &["-e", &format!("trace={name}"), "-e", &refusal]);
                let told = format!("{} with {refusal}: {} {}", verb.words.join(" "), ran.code, ran.stderr);
                failed += usize::from(check(&ran, &told));
                verb.check_rest(&place, &told);
                verb.clear();
            }
        }
    }
    assert!(failed > 10, "found {failed} failures, need more to say anything");
}

/// Longest files, in the blocks of `ulimit -f`: of 512 bytes, or of 1024 where the shell counts so.
const LONGEST: [&str; 2] = ["0", "8"];

#[test]
fn a_verb_whose_file_may_not_be_as_long_says_so_and_leaves_nothing_half() {
    let place = Place::new();
    let mut failed = 0;
    for mut verb in verbs(&place) {
        verb.run_whole(&place);
        for longest in LONGEST {
            let mut command = Command::new("sh");
            command.args(["-c", &format!("ulimit -f {longest}; exec \"$@\""), "sh", env!("CARGO_BIN_EXE_switchcost")]);
            command.args(&verb.words).stdin(Stdio::null());
            let ran = ran(verb.settled(&place, command).output().expect("a shell"));
            let told = format!("{} with ulimit -f {longest}: {} {}", verb.words.join(" "), ran.code, ran.stderr);
            let is_failed = check(&ran, &told);
            // Of a result that is short enough there is nothing to say.
            let is_told = ran.stderr.contains("File too large") && ran.stderr.contains("raise the limit");
            assert_eq!((is_told, ran.code == 1), (is_failed, is_failed), "{told}");
            assert!(is_failed || longest != "0", "{told}");
            failed += usize::from(is_failed);
            verb.check_rest(&place, &told);
            verb.clear();
        }
    }
    assert!(failed > 13, "found {failed} failures, need more to say anything");
}

/// Whether it failed, and then said so as it should.
fn check(ran: &Ran, told: &str) -> bool {
    assert!(ran.code != 101 && ran.code != -1 && !ran.stderr.contains("panicked"), "{told}");
    let has_failed = !matches!(ran.code, 0 | 3 | 4);
    // It may have been the message that was refused.
    if has_failed && !ran.stderr.is_empty() {
        let is_told = |line: &str| line.starts_with("switchcost: failed to ") && line.contains("need ");
        assert!(ran.stderr.lines().any(is_told), "{told}");
    }
    has_failed
}
