//! Tests messages on stderr: no result is lost if stderr cannot be written, and no name sends
//! commands to a terminal.

use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::os::unix::ffi::OsStringExt;
use std::process::Stdio;

use crate::common::{OBSERVATION, Place, Ran, finished, is_root, repository, text, wait_until};
use rustix::pty::{OpenptFlags, grantpt, ioctl_tiocgptpeer, openpt, unlockpt};

/// Ways to make stderr unwritable, each as the shell text before `exec "$@"`.
const DEAF: [&str; 2] = ["exec 2>&-", "exec 2>/dev/full"];

fn run_in_shell(place: &Place, way: &str, words: &str) -> Ran {
    let script = format!("{way}; exec \"$@\"");
    finished(&mut place.command_behind(["sh", "-c", &script, "sh"], words))
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
            "trace walks --size 4KiB --turns 2 -o run.jsonl",
            0,
            "instructions",
        ),
    ] {
        let ran = run_in_shell(&place, &format!("ulimit {limit}"), words);
        let is_code = ran.code == code || words.starts_with("doctor");
        assert!(is_code, "{limit} {words:?}: {} {}", ran.code, ran.stderr);
        let said = ran.stdout + &ran.stderr;
        assert!(said.contains(reported), "{limit}: {said}");
        let _ = fs::remove_file(place.path("w.sct"));
    }
}

#[test]
fn threads_beyond_the_limit_on_open_files_are_counted_and_the_others_observed() {
    let script = "import threading, time\nfor _ in range(200): threading.Thread(target=time.sleep, args=(60,)).start()\n\
                  print(flush=True)";
    let mut child = std::process::Command::new("python3")
        .args(["-c", script])
        .stdout(Stdio::piped())
        .spawn()
        .expect("python3 is there");
    let mut line = [0];
    let stdout = child.stdout.as_mut().expect("a pipe");
    std::io::Read::read_exact(stdout, &mut line).expect("it has its threads");
    let place = Place::new();
    let words = format!(
        "observe --no-bpf --no-calibration -d 500ms --format json -p {}",
        child.id()
    );
    let ran = run_in_shell(&place, "ulimit -n 100", &words);
    child.kill().and_then(|()| child.wait()).expect("our child");
    ran.assert_code(0);
    let json = ran.json();
    if json["source"] != "perf" {
        return println!("skipped: {}", json["not_counted_by"]);
    }
    let [all, lost] = ["all", "lost"].map(|of| json[of]["tasks"].as_u64().expect("a number"));
    assert!(all > 1 && all + lost == 201, "{all} observed, {lost} lost");
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
        finished(&mut command)
            .assert_code(1)
            .assert_message("/proc belongs to another PID namespace")
            .assert_message("--mount-proc");
    }
}

#[test]
fn without_proc_it_is_said_to_be_mounted() {
    let place = Place::new();
    let hidden = "mount -t tmpfs none /proc && exec \"$@\"";
    let starter = ["unshare", "--mount", "sh", "-c", hidden, "sh"];
    let remedy = "no CPU is allowed to this process in /proc/self/status\nhint: mount /proc if it is not there";
    for words in ["measure", "measure --cpu 0", "measure --placement pair"] {
        let ran = finished(&mut place.command_behind(starter, words));
        if ran.stderr.contains("unshare: ") || ran.stderr.contains("mount: ") {
            eprintln!("skipped: no right to hide /proc");
            return;
        }
        ran.assert_failed(2, remedy);
    }
}

#[test]
fn a_stderr_that_takes_nothing_costs_no_result() {
    for way in DEAF {
        let place = Place::new();
        for (words, made) in [
            (
                "trace walks --size 4KiB --turns 2 -o walks.sct",
                &["walks.sct"][..],
            ),
            (
                "workload client-server --switches 20 --record set.parquet --trace set.sct",
                &["set.parquet", "set.sct"],
            ),
            (
                "measure --mechanism fiber --max-repetitions 6 --no-counters --record run.jsonl --output out.txt",
                &["run.jsonl", "out.txt"],
            ),
        ] {
            run_in_shell(&place, way, words).assert_result();
            for name in made {
                let is_there = fs::metadata(place.path(name)).is_ok_and(|facts| facts.len() > 0);
                assert!(is_there, "{way}: {words}: {name}");
            }
        }
        for trace in ["walks.sct", "set.sct"] {
            place.run(["trace", "check", trace]).assert_code(0);
        }
        for record in ["run.jsonl", "set.parquet"] {
            place.run(["report", record]).assert_result();
        }
        for (words, code) in [("report none.jsonl", 5), ("man none", 2)] {
            let ran = run_in_shell(&place, way, words);
            assert_eq!(ran.code, code, "{way}: {words}");
        }
    }
}

/// Tests a terminal that exists when the program begins and is gone when it ends, as after a lost
/// connection; bars are drawn on it.
#[test]
fn a_terminal_that_goes_away_costs_no_result_where_its_signal_is_ignored() {
    let place = Place::new();
    let terminal = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).expect("a terminal");
    grantpt(&terminal).expect("a terminal of ours");
    unlockpt(&terminal).expect("a terminal of ours");
    let end = ioctl_tiocgptpeer(&terminal, OpenptFlags::RDWR | OpenptFlags::NOCTTY);
    let usual = "measure --mechanism pipe --max-repetitions 40 --precision 0.1% --no-counters";
    let files = "--record run.jsonl --output out.txt";
    let mut command = place.command_behind("nohup", (usual, files));
    command.stdin(Stdio::null()).stdout(Stdio::null());
    command.stderr(File::from(end.expect("its other end")));
    let mut child = command.spawn().expect("nohup is part of coreutils");
    drop(command);
    let record = place.record();
    wait_until("samples are on disk", || {
        fs::read_to_string(&record).is_ok_and(|text| text.contains("\"line\":\"sample\""))
    });
    drop(terminal);
    let code = child.wait().expect("it ends").code();
    assert!(matches!(code, Some(0 | 3)), "{code:?}");
    let last = place.read("run.jsonl").lines().last().map(str::to_owned);
    assert!(last.is_some_and(|line| line.contains("\"end\"")));
    assert!(!place.read("out.txt").is_empty(), "no result");
}

/// Returns a name that clears the screen, changes colours, reverses text, forges a line, and is not
/// valid text.
fn hostile(ending: &str) -> OsString {
    let mut name =
        b"\x1b[2J\xc2\x9b31m\xe2\x80\xae\nerror: all is well; all is well\r\x07\xff".to_vec();
    name.extend_from_slice(ending.as_bytes());
    OsString::from_vec(name)
}

/// Counts the stderr lines that are an error or its hint; none may be forged or contain terminal
/// control characters.
fn error_lines(place: &Place, line: &str, words: &[&OsString]) -> usize {
    let ran = finished(place.command(line).args(words));
    let is_bare = |c: char| c != '\n' && (c.is_control() || c == '\u{202e}');
    for said in [&ran.stdout, &ran.stderr] {
        assert!(!said.contains(is_bare), "{words:?}: {said:?}");
    }
    let lines = ["error: ", "hint: "].map(|start| {
        let lines = ran
            .stderr
            .lines()
            .filter_map(|line| line.strip_prefix(start));
        lines
            .inspect(|said| assert!(!said.starts_with("all is well"), "{line}: {said}"))
            .count()
    });
    lines.iter().sum()
}

fn generate_walks(place: &Place) {
    place
        .run("trace walks --size 4KiB --turns 2 -o walks.sct")
        .assert_code(0);
}

#[test]
fn names_and_arguments_command_no_terminal_and_forge_no_line() {
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
    let words = ["\x1b[2J\nerror: all is well", "\u{202e}\r\u{9b}31m"].map(OsString::from);
    let quoted = OsString::from("\x1b[2J\nerror: all is well '");
    let both = [&words[0], &words[1]];
    for (line, names) in [
        ("report", &[&absent, &empty, &hostile(".parquet")][..]),
        ("doctor --output", &[&nowhere]),
        ("trace info", &[&absent, &empty]),
        ("trace export --to din walks.sct -o", &[&nowhere]),
        ("trace import --from din -o new.sct", &[&empty]),
        ("trace walks --size 4KiB -o", &[&taken]),
        ("simulate", &[&absent]),
        ("simulate walks.sct --record", &[&taken, &nowhere]),
        ("measure --mechanism fiber --record", &[&taken]),
        ("reproduce lmbench -o", &[&taken]),
        ("man", &both),
        ("measure --cpu", &both),
        ("simulate walks.sct --design", &both),
        ("simulate walks.sct --vary", &both),
        ("trace --with", &[&quoted]),
        ("simulate live --", &both),
        ("trace -o no.sct --", &both),
    ] {
        for name in names {
            assert_eq!(error_lines(&place, line, &[name]), 2, "{line} {name:?}");
        }
    }
    assert_eq!(error_lines(&place, "compare", &[&absent, &absent]), 2);
    let vary = OsString::from("L1\x1b[2J.size=4KiB");
    for (line, name) in [
        ("simulate walks.sct --design", &design),
        ("simulate walks.sct --vary", &vary),
        ("report --none", &absent),
    ] {
        assert_ne!(error_lines(&place, line, &[name]), 0, "{line}");
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
    place.copy(OBSERVATION, "o.json");
    for (flag, is_coloured) in [("always", true), ("never", false), ("auto", false)] {
        for words in ["report o.json", "report none.jsonl"] {
            let ran = place.run((words, ["--color", flag]));
            let said = ran.stdout + &ran.stderr;
            assert_eq!(said.contains('\x1b'), is_coloured, "{words} {flag}: {said}");
        }
    }
}

#[test]
fn a_page_to_be_opened_is_named_without_a_display() {
    let place = Place::new();
    let mut command = place.command((["report", "--open"], repository(OBSERVATION)));
    command.env_remove("DISPLAY").env_remove("WAYLAND_DISPLAY");
    let ran = finished(command.env("TMPDIR", place.folder()));
    let page = ran.stderr.trim_end().strip_prefix("switchcost: page: ");
    let page = fs::read_to_string(page.expect("where it is")).expect("a page");
    assert!(page.starts_with("<!DOCTYPE html>"), "{page:.80}");
}
