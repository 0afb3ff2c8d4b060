//! Tests messages on stderr: no result is lost if stderr cannot be written, and no name sends
//! commands to a terminal.

use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::OpenOptionsExt;
use std::process::{Command, Stdio};

use crate::common::{Place, Ran, is_root, ran, text, wait_until};
use rustix::fs::{CWD, FileType, Mode, OFlags, makedev, mknodat};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};

const PROGRAM: &str = env!("CARGO_BIN_EXE_switchcost");

/// Returns ways to make stderr unwritable, each as the shell text before `exec "$@"`.
fn deaf(place: &Place) -> Vec<String> {
    let mut ways = vec!["exec 2>&-".to_owned()];
    let full = place.path("full");
    let made = is_root()
        && mknodat(
            CWD,
            &full,
            FileType::CharacterDevice,
            Mode::from_raw_mode(0o600),
            makedev(1, 7),
        )
        .is_ok();
    if made && File::options().write(true).open(&full).is_ok() {
        ways.push(format!("exec 2>'{}'", full.display()));
    } else {
        eprintln!(
            "skipped: no right to make devices in {}",
            place.folder().display()
        );
    }
    ways
}

fn run_in_shell(place: &Place, way: &str, words: &str) -> Ran {
    let script = format!("{way}; exec \"$@\"");
    let mut command = place.command_behind(["sh", "-c", &script, "sh"], words);
    ran(command.output().expect("a shell"))
}

#[test]
fn a_limit_that_bites_is_named() {
    let place = Place::new();
    let walks = "trace walks --size 1MiB -o w.sct";
    for (limit, words, code, reported) in [
        (
            "-v 100000",
            &format!("{walks} --turns 10")[..],
            1,
            "with the address space limited to 100000 KiB (ulimit -v)",
        ),
        (
            "-d 60000",
            &format!("{walks} --turns 10"),
            1,
            "with memory for data limited to 60000 KiB (ulimit -d)",
        ),
        ("-s 128", "man", 1, "a stack of 128 KiB"),
        (
            "-t 1",
            &format!("{walks} --turns 1000000"),
            152,
            "the limit on CPU time is reached (ulimit -t)",
        ),
        (
            "-n 8",
            "observe -d 1s --no-calibration -- true",
            2,
            "true\": Too many open files\nhint: raise the limit on this process's open files: ulimit -n",
        ),
        ("-n 40", "doctor --details", 3, "open files of 40"),
        (
            "-c 0",
            "trace walks --size 4KiB -o run.jsonl",
            0,
            "instructions",
        ),
    ] {
        let ran = run_in_shell(&place, &format!("ulimit {limit}"), words);
        let is_code = ran.code == code || words.starts_with("doctor");
        assert!(is_code, "{limit} {words:?}: {} {}", ran.code, ran.stderr);
        assert!(
            [&ran.stdout, &ran.stderr]
                .iter()
                .any(|said| said.contains(reported)),
            "{limit}: {} {}",
            ran.stdout,
            ran.stderr
        );
        let _ = fs::remove_file(place.path("w.sct"));
    }
}

#[test]
fn a_proc_in_which_processes_have_other_numbers_is_refused() {
    if !is_root() {
        eprintln!("skipped: no right to make a PID namespace");
        return;
    }
    let place = Place::new();
    for words in [
        "measure",
        "observe --no-calibration -- true",
        "trace -o a.sct -- true",
    ] {
        let mut command = place.command_behind("unshare --pid --fork --kill-child=KILL", words);
        let ran = ran(command.output().expect("unshare is part of util-linux"));
        let is_reported = ran
            .stderr
            .contains("/proc belongs to another PID namespace")
            && ran.stderr.contains("--mount-proc");
        assert!(
            ran.code == 1 && is_reported,
            "{words:?}: {} {}",
            ran.code,
            ran.stderr
        );
    }
}

#[test]
fn without_proc_it_is_said_to_be_mounted() {
    let place = Place::new();
    let hidden = "mount -t tmpfs none /proc && exec \"$@\"";
    let mut command = Command::new("unshare");
    command
        .args(["--mount", "sh", "-c", hidden, "sh", PROGRAM, "measure"])
        .env("XDG_STATE_HOME", place.folder());
    let ran = ran(command.output().expect("unshare is part of util-linux"));
    if ran.stderr.contains("unshare: ") || ran.stderr.contains("mount: ") {
        eprintln!("skipped: no right to hide /proc");
        return;
    }
    let remedy = "no CPU is allowed to this process in /proc/self/status\nhint: mount /proc if it is not there";
    ran.assert_failed(2, remedy);
}

#[test]
fn a_stderr_that_takes_nothing_costs_no_result() {
    let place = Place::new();
    for (turn, way) in deaf(&place).iter().enumerate() {
        let at = |name: &str| format!("{turn}-{name}");
        let [trace, walks, live, set, run, out, kept] = [
            "trace.sct",
            "walks.sct",
            "live.parquet",
            "set.parquet",
            "run.jsonl",
            "out.txt",
            "set.sct",
        ]
        .map(at);
        let workload = "workload client-server --switches 20";
        let quick = "measure --mechanism fiber --max-repetitions 6 --no-counters";
        for (words, made) in [
            (&format!("trace -o {trace} -- true"), &[&trace][..]),
            (&format!("trace walks --size 4KiB -o {walks}"), &[&walks]),
            (&format!("simulate live --record {live} -- true"), &[&live]),
            (
                &format!("{workload} --record {set} --trace {kept}"),
                &[&set, &kept],
            ),
            (
                &format!("{quick} --record {run} --output {out}"),
                &[&run, &out],
            ),
        ] {
            let ran = run_in_shell(&place, way, words);
            ran.assert_result();
            assert!(
                made.iter()
                    .all(|name| fs::metadata(place.path(name)).is_ok_and(|facts| facts.len() > 0)),
                "{way}: {words:?}"
            );
        }
        for trace in [&trace, &walks, &kept] {
            assert_eq!(
                place.run(format!("trace check {trace}")).code,
                0,
                "{way}: {trace} has no index"
            );
        }
        for record in [&run, &live, &set] {
            assert!(
                matches!(place.run(format!("report {record}")).code, 0 | 3),
                "{way}: {record}"
            );
        }
        for (words, code) in [
            ("report none.jsonl", 5),
            ("report --none", 2),
            ("man none", 2),
        ] {
            assert_eq!(
                run_in_shell(&place, way, words).code,
                code,
                "{way}: {words:?}"
            );
        }
    }
}

/// Opens a terminal, with the file to which a program in it writes.
fn terminal() -> (OwnedFd, File) {
    let terminal = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).expect("a terminal");
    grantpt(&terminal).expect("a terminal of ours");
    unlockpt(&terminal).expect("a terminal of ours");
    let name = ptsname(&terminal, Vec::new()).expect("a name").into_bytes();
    let mut options = File::options();
    options
        .read(true)
        .write(true)
        .custom_flags(OFlags::NOCTTY.bits() as i32);
    (
        terminal,
        options
            .open(OsStr::from_bytes(&name))
            .expect("its other end"),
    )
}

/// Tests a terminal that exists when the program begins and is gone when it ends, as after a lost
/// connection; bars are drawn on it.
#[test]
fn a_terminal_that_goes_away_costs_no_result_where_its_signal_is_ignored() {
    let place = Place::new();
    let (terminal, end) = terminal();
    let (record, out) = (place.record(), place.path("out.txt"));
    let mut command = Command::new("nohup");
    command.args([
        PROGRAM,
        "measure",
        "--mechanism",
        "pipe",
        "--max-repetitions",
        "40",
        "--precision",
        "0.1%",
    ]);
    command
        .args(["--no-counters", "--record", &record, "--output", text(&out)])
        .env("XDG_STATE_HOME", place.folder());
    command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(end);
    let mut child = command.spawn().expect("nohup is part of coreutils");
    drop(command);
    wait_until("samples are on disk", || {
        fs::read_to_string(&record)
            .unwrap_or_default()
            .contains("\"line\":\"sample\"")
    });
    drop(terminal);
    let code = child.wait().expect("it ends").code();
    assert!(matches!(code, Some(0 | 3)), "{code:?}");
    assert!(
        place
            .read("run.jsonl")
            .lines()
            .last()
            .is_some_and(|line| line.contains("\"end\""))
    );
    assert!(
        fs::metadata(&out).is_ok_and(|facts| facts.len() > 0),
        "no result"
    );
}

/// Returns a name that clears the screen, changes colours, reverses text, forges a line, and is not
/// valid text.
fn hostile(ending: &str) -> OsString {
    let mut name =
        b"\x1b[2J\xc2\x9b31m\xe2\x80\xae\nerror: all is well; all is well\r\x07\xff".to_vec();
    name.extend_from_slice(ending.as_bytes());
    OsString::from_vec(name)
}

/// Returns the lines on stderr, and asserts that none contains terminal control characters.
fn lines(place: &Place, line: &str, words: &[&OsString]) -> Vec<String> {
    let output = place
        .command(line)
        .args(words)
        .output()
        .expect("the program starts");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(!said.is_empty(), "{words:?}");
    let is_bare = |c: char| c != '\n' && (c.is_control() || c == '\u{202e}');
    assert!(!said.contains(is_bare), "{words:?}: {said:?}");
    assert!(
        !said.contains("\nerror: all is well") && !said.contains("\nhint: all is well"),
        "{words:?}: {said:?}"
    );
    let shown = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(!shown.contains(is_bare), "{words:?}: {shown:?}");
    said.lines().map(str::to_owned).collect()
}

/// Counts the stderr lines that are an error or its hint.
fn error_lines(place: &Place, line: &str, words: &[&OsString]) -> usize {
    let is_of_error = |line: &&String| line.starts_with("error: ") || line.starts_with("hint: ");
    lines(place, line, words).iter().filter(is_of_error).count()
}

fn generate_walks(place: &Place) {
    place
        .run("trace walks --size 4KiB --turns 2 -o walks.sct")
        .assert_code(0);
}

#[test]
fn names_command_no_terminal_and_forge_no_line() {
    let place = Place::new();
    let at = |name: &OsStr| place.folder().join(name).into_os_string();
    // The files, all with hostile names, are an empty trace, an empty record, and an invalid
    // design.
    let (empty, absent, design) = (hostile(".sct"), hostile(".jsonl"), hostile(".toml"));
    fs::write(at(&empty), "").expect("a file");
    fs::write(at(&design), "name = \"\x1b[2J\"").expect("a file");
    generate_walks(&place);
    let taken = hostile(".taken");
    fs::write(at(&taken), "").expect("a file");
    let nowhere = OsString::from_vec([hostile("").into_vec(), b"/file".to_vec()].concat());
    let vary = OsString::from("L1\x1b[2J.size=4KiB");
    for (line, names) in [
        ("report", &[&absent][..]),
        ("report", &[&empty]),
        ("report", &[&hostile(".parquet")]),
        ("compare", &[&absent, &absent]),
        ("doctor --output", &[&nowhere]),
        ("trace info", &[&absent]),
        ("trace info", &[&empty]),
        ("trace export --to din walks.sct -o", &[&nowhere]),
        ("trace import --from din -o new.sct", &[&empty]),
        ("trace walks --size 4KiB -o", &[&taken]),
        ("simulate", &[&absent]),
        ("simulate walks.sct --record", &[&taken]),
        ("simulate walks.sct --record", &[&nowhere]),
        ("measure --mechanism fiber --record", &[&taken]),
        ("reproduce lmbench -o", &[&taken]),
    ] {
        assert_eq!(error_lines(&place, line, names), 2, "{line} {names:?}");
    }
    for (line, name) in [
        ("simulate walks.sct --design", &design),
        ("simulate walks.sct --vary", &vary),
        ("report --none", &absent),
    ] {
        assert!(!lines(&place, line, &[name]).is_empty());
    }
}

#[test]
fn arguments_command_no_terminal_and_forge_no_line() {
    let place = Place::new();
    generate_walks(&place);
    for name in ["\x1b[2J\nerror: all is well", "\u{202e}\r\u{9b}31m"] {
        for (line, word) in [
            ("man", name),
            ("measure --cpu", name),
            ("simulate walks.sct --design", name),
            ("simulate walks.sct --vary", name),
            ("trace --with", &format!("{name} '")),
            ("simulate live --", name),
            ("trace -o no.sct --", name),
            ("", name),
            ("report --format", name),
            ("measure --size", name),
            ("", &format!("--{name}")),
        ] {
            let names = [&OsString::from(word)];
            assert_eq!(error_lines(&place, line, &names), 2, "{line} {word:?}");
        }
    }
}

#[test]
fn an_escaped_name_is_still_reported() {
    let place = Place::new();
    let path = place.path("a\u{1b}b\n.jsonl");
    let ran = place.run(["report", text(&path)]);
    let expected = format!(
        "error: cannot read {}/a\\u{{1b}}b\\n.jsonl: No such file or directory\nhint: name a file written by switchcost\n",
        place.folder().display()
    );
    ran.assert_messages(5, &expected);
}

/// A committed sample record.
const SAMPLE: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../record/tests/samples/observation-2.json"
);

#[test]
fn a_quiet_run_prints_only_its_result() {
    let place = Place::new();
    generate_walks(&place);
    let loud = place.run("simulate walks.sct --redact --record a.parquet");
    let quiet = place.run("simulate walks.sct --redact -q --record b.parquet");
    assert!(loud.stderr.starts_with("switchcost: "), "{}", loud.stderr);
    assert_eq!(quiet.stderr, "");
    assert!(!quiet.stdout.is_empty());
    let mistake = place.run("report none.jsonl --quiet");
    assert!(mistake.stderr.starts_with("error: "), "{}", mistake.stderr);
}

#[test]
fn colour_is_used_as_asked() {
    let place = Place::new();
    for (flag, is_coloured) in [("always", true), ("never", false), ("auto", false)] {
        for words in [&format!("report {SAMPLE}")[..], "report none.jsonl"] {
            let ran = place.run((words, ["--color", flag]));
            let has_colour = [&ran.stdout, &ran.stderr]
                .iter()
                .any(|said| said.contains('\x1b'));
            assert_eq!(
                has_colour, is_coloured,
                "{words:?} {flag}: {}{}",
                ran.stdout, ran.stderr
            );
        }
    }
}

#[test]
fn a_page_to_be_opened_is_named_without_a_display() {
    let place = Place::new();
    let mut command = place.command(format!("report {SAMPLE} --open"));
    command.env_remove("DISPLAY").env_remove("WAYLAND_DISPLAY");
    let ran = ran(command
        .env("TMPDIR", place.folder())
        .output()
        .expect("it starts"));
    let page = ran.stderr.trim_end().strip_prefix("switchcost: page: ");
    let page = fs::read_to_string(page.expect("where it is")).expect("a page");
    assert!(page.starts_with("<!DOCTYPE html>"), "{page:.80}");
    place.run("doctor --open").assert_code(2);
}
