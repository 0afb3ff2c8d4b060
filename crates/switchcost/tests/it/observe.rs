//! Tests `observe` as a user runs it. A test that needs root or BPF reports that it was skipped.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt;
use std::process::Stdio;

use crate::common::{Place, Ran, conformity, count, number, text};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

/// Script that sleeps a little, now and then.
const SLEEPER: &str = "for i in 1 2 3 4 5 6 7 8 9 10; do sleep 0.01; done";

/// Runs `observe` without measuring the cost of a switch first.
fn observe(place: &Place, arguments: &[&str]) -> Ran {
    place.run(&[&["observe", "--no-calibration"][..], arguments].concat())
}

/// Returns the observation of a command by BPF; nothing, with a message, if the kernel accepts no
/// BPF programs.
fn found(place: &Place, command: &[&str]) -> Option<Value> {
    let record = text(&place.path("o.json")).to_owned();
    let json = observe(
        place,
        &[
            &["--format", "json", "--record", &record, "--"][..],
            command,
        ]
        .concat(),
    )
    .json();
    if json["source"] == "bpf" {
        return Some(json);
    }
    println!("skipped: {}", json["not_counted_by"]);
    None
}

#[test]
fn one_screen_answers_and_the_record_says_the_same_again() {
    let place = Place::new();
    let record = text(&place.path("o.json")).to_owned();
    let ran = observe(&place, &["--record", &record, "--", "sh", "-c", SLEEPER]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let report = ran.report();
    assert!(report.lines().count() <= 50, "{report}");
    // On a busy machine the wait for a CPU may come first.
    assert!(
        report
            .replace('\n', " ")
            .contains("The switches of sh were counted but not priced"),
        "{report}"
    );
    let again = place.run(&["report", &record]);
    let before_the_files = |text: &str| text.split("\nfull report:").next().map(str::to_owned);
    assert_eq!(before_the_files(&again.stdout), before_the_files(&report));
    for format in ["json", "csv"] {
        assert_eq!(place.run(&["report", &record, "--format", format]).code, 0);
    }
    let page = text(&place.path("page.html")).to_owned();
    assert_eq!(place.run(&["report", &record, "-o", &page]).code, 0);
    assert!(
        std::fs::read_to_string(&page)
            .expect("a page")
            .contains("observed")
    );
}

#[test]
fn causes_and_counts_of_a_command_are_reported() {
    let place = Place::new();
    let Some(json) = found(&place, &["sh", "-c", SLEEPER]) else {
        return;
    };
    let causes = json["causes"].as_array().expect("causes");
    let of = |name: &str| -> u64 {
        let is_it =
            |cause: &&Value| cause["why"] == "blocked" && cause["entry"]["system-call"] == name;
        causes
            .iter()
            .filter(is_it)
            .map(|cause| cause["switches"].as_u64().expect("a count"))
            .sum()
    };
    assert!((10..=14).contains(&of("clock_nanosleep")), "{causes:?}");
    assert!((8..=40).contains(&of("wait4")), "{causes:?}");
    let names: Vec<&str> = json["processes"]
        .as_array()
        .expect("processes")
        .iter()
        .filter_map(|p| p["name"].as_str())
        .collect();
    assert!(
        names.contains(&"sleep"),
        "those that it started are observed: {names:?}"
    );
    assert!(json["own_cost"].is_object());
}

#[test]
fn a_process_of_a_container_is_reported_with_both_its_numbers() {
    let place = Place::new();
    let record = text(&place.path("o.json")).to_owned();
    let container = ["unshare", "--pid", "--fork", "--kill-child"];
    if !std::process::Command::new(container[0])
        .args(&container[1..])
        .arg("true")
        .status()
        .is_ok_and(|s| s.success())
    {
        println!("skipped: no PID namespace may be made");
        return;
    }
    let command = [
        &container[..],
        &["sh", "-c", "while :; do sleep 0.01; done"],
    ]
    .concat();
    let asked = ["--format", "json", "--record", &record, "-d", "500ms", "--"];
    let json = observe(&place, &[&asked[..], &command].concat()).json();
    let processes = json["processes"].as_array().expect("processes");
    let shell = processes
        .iter()
        .find(|process| process["name"] == "sh" && !process["process"].is_null());
    let shell = shell.unwrap_or_else(|| panic!("it was alive at the end: {processes:?}"));
    assert!(
        shell["process_inside"] == 1 && shell["process"] != 1,
        "{shell}"
    );
    let outer = processes
        .iter()
        .find(|process| process["name"] == "unshare")
        .expect("it waited");
    assert!(outer["process_inside"].is_null(), "{outer}");
    let details = place.run(&["report", &record, "--details"]).stdout;
    assert!(
        details.contains(&format!("sh {} = 1 in ", shell["process"])),
        "{details}"
    );
}

#[test]
fn in_a_container_no_process_is_taken_for_another_one() {
    let place = Place::new();
    let record = text(&place.path("o.json")).to_owned();
    // In the namespace the shell has a small number, which some thread of the machine also has.
    let mut inside = std::process::Command::new("unshare");
    inside.args([
        "--pid",
        "--fork",
        "--mount-proc",
        env!("CARGO_BIN_EXE_switchcost"),
        "observe",
        "--no-calibration",
    ]);
    inside.args([
        "--format", "json", "--record", &record, "--", "sh", "-c", SLEEPER,
    ]);
    let output = inside
        .env("XDG_STATE_HOME", place.folder())
        .output()
        .expect("unshare is on every Debian");
    let said = String::from_utf8_lossy(&output.stderr);
    if said.starts_with("unshare:") {
        println!("skipped: {said}");
        return;
    }
    assert!(
        said.contains("this is not the machine's PID namespace")
            || said.contains("no right to load BPF"),
        "{said}"
    );
    let json = conformity::read(&output.stdout);
    assert_ne!(json["source"], "bpf");
    let names: Vec<&str> = json["processes"]
        .as_array()
        .expect("processes")
        .iter()
        .filter_map(|p| p["name"].as_str())
        .collect();
    assert!(names.contains(&"sh"), "{names:?}");
}

#[test]
fn names_of_anybody_command_no_terminal() {
    let place = Place::new();
    // Perl hands $0 to the kernel as the task's name.
    let script = r#"$0 = "\e[31m<b>\n,\"="; for (1..20) { select(undef, undef, undef, 0.005) }"#;
    let Some(_) = found(&place, &["perl", "-e", script]) else {
        return;
    };
    let record = text(&place.path("o.json")).to_owned();
    for format in [
        &["--details"][..],
        &["--format", "json"],
        &["--format", "csv"],
    ] {
        let ran = place.run(&[&["report", &record][..], format].concat());
        assert_eq!(ran.code, 0);
        assert!(!ran.stdout.contains('\u{1b}'), "{}", ran.stdout);
    }
    let page = text(&place.path("page.html")).to_owned();
    place.run(&["report", &record, "-o", &page]);
    assert!(
        !std::fs::read_to_string(&page)
            .expect("a page")
            .contains("<b>"),
        "a name is text, not HTML"
    );
}

#[test]
fn a_command_needs_no_dashes_and_keeps_its_standard_output() {
    let place = Place::new();
    let counted = &["--no-bpf"][..];
    for words in [&["echo", "-n", "x"][..], &["--", "echo", "-n", "x"]] {
        let ran = observe(&place, &[counted, words].concat());
        assert_eq!((ran.code, &*ran.stdout), (0, "x"), "{}", ran.stderr);
        assert!(ran.stderr.contains("echo"), "{}", ran.stderr);
    }
    // Output for programs is alone on standard output, unless it is written elsewhere.
    let json = ["--format", "json", "--no-bpf"];
    let ran = observe(&place, &[&json[..], &["echo", "x"]].concat());
    assert_eq!(ran.json()["subject"]["command"][1], "x");
    assert!(ran.stderr.lines().any(|line| line == "x"), "{}", ran.stderr);
    let out = text(&place.path("o.out")).to_owned();
    let ran = observe(
        &place,
        &[&json[..], &["--output", &out, "echo", "x"]].concat(),
    );
    assert_eq!((ran.code, &*ran.stdout), (0, "x\n"), "{}", ran.stderr);
}

#[test]
fn a_target_is_observed_while_a_command_runs() {
    let place = Place::new();
    // The target is not this process, of which other tests start children at the same time.
    let mut target = std::process::Command::new("sh")
        .args(["-c", "while kill -0 $PPID; do :; done"])
        .stdout(Stdio::null())
        .spawn()
        .expect("a busy shell");
    let id = target.id().to_string();
    let record = text(&place.path("o.json")).to_owned();
    let words = ["--no-bpf", "--record", &record, "-p", &id];
    let ran = observe(
        &place,
        &[&words[..], &["--", "sh", "-c", "sleep 0.3; echo x; exit 5"]].concat(),
    );
    target.kill().expect("a process of this test's");
    target.wait().expect("a child");
    assert_eq!((ran.code, &*ran.stdout), (5, "x\n"), "{}", ran.stderr);
    let json = place.run(&["report", &record, "--format", "json"]).json();
    assert_eq!(json["subject"]["processes"][0].to_string(), id);
    let recorded: Value =
        serde_json::from_slice(&std::fs::read(&record).expect("a record")).expect("JSON");
    assert!(number(&recorded["window_ns"]) >= 0.3e9, "{recorded}");
    let names = json["processes"].as_array().expect("processes").iter();
    assert!(
        names.clone().all(|process| process["name"] != "sleep"),
        "the command is not part of it: {json}"
    );
}

#[test]
fn a_line_each_interval_ends_with_the_signal_and_with_its_reader() {
    let place = Place::new();
    let words = [
        "observe",
        "-a",
        "--no-bpf",
        "--no-calibration",
        "--every",
        "100ms",
    ];
    let mut child = place
        .command(&words)
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("it starts");
    let mut lines = BufReader::new(child.stdout.take().expect("piped")).lines();
    let mut line = || Some(conformity::read(lines.next()?.expect("text")));
    // Each line is printed when its reporting period has ended.
    let [first, second] = [line(), line()].map(|line| line.expect("a line"));
    // A period that ends late is longer, and the next one shorter, because both end by the clock.
    let windows = [&first, &second].map(|line| number(&line["window_ns"]));
    assert!(windows.iter().sum::<f64>() >= 0.19e9, "{first}\n{second}");
    let at = |line: &Value| line["at"].as_str().expect("a time").to_owned();
    assert!(
        at(&first) < at(&second) && at(&first).ends_with('Z'),
        "{first}"
    );
    kill_process(Pid::from_child(&child), Signal::INT).expect("our child");
    while line().is_some() {}
    assert_eq!(child.wait().expect("our child").code(), Some(130));
    let mut child = place
        .command(&words)
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("it starts");
    drop(child.stdout.take());
    assert_eq!(child.wait().expect("our child").code(), Some(0));
    let refused = observe(&place, &["-a", "--every", "1s", "--format", "csv"]);
    assert!(
        refused.code == 2
            && refused
                .stderr
                .contains("--every prints lines of JSON, not --format csv"),
        "{}",
        refused.stderr
    );
}

#[test]
fn without_bpf_switches_are_counted_and_the_reason_is_reported() {
    let place = Place::new();
    let ran = observe(&place, &["--no-bpf", "--", "sh", "-c", SLEEPER]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let text = ran.report().replace('\n', " ");
    assert!(text.contains("(causes and tasks are unknown)"), "{text}");
    assert!(text.contains("(--no-bpf)"), "{text}");
    assert!(!text.contains("Who ran in between"));
}

#[test]
fn a_short_command_is_held_until_observation_has_begun() {
    let place = Place::new();
    for at in 0..5 {
        let record = text(&place.path(&format!("{at}.json"))).to_owned();
        let json = observe(
            &place,
            &[
                "--no-bpf", "--format", "json", "--record", &record, "--", "true",
            ],
        )
        .json();
        if json["source"] != "perf" {
            println!("skipped: {}", json["not_counted_by"]);
            return;
        }
        let processes = json["processes"].as_array().expect("processes");
        assert!(
            json["all"]["switches"].as_u64() >= Some(1),
            "its end is one: {json}"
        );
        assert!(
            processes.iter().any(|process| process["name"] == "true"),
            "{processes:?}"
        );
    }
}

#[test]
fn a_task_that_gains_rights_is_counted_and_that_it_could_not_be_followed_is_reported() {
    let place = Place::new();
    // Every user can reach the folder, as for a program that any user may execute with root's
    // rights.
    let folder = tempfile::tempdir_in("/var/tmp").expect("a folder");
    let mode = |path: &std::path::Path, mode| {
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).expect("it is ours");
    };
    let [perl, program] = ["perl", "switchcost"].map(|name| folder.path().join(name));
    std::fs::copy("/usr/bin/perl", &perl).expect("perl is on every Debian");
    std::fs::copy(env!("CARGO_BIN_EXE_switchcost"), &program).expect("there is room");
    mode(folder.path(), 0o777);
    mode(&program, 0o755);
    mode(&perl, 0o4755);
    let record = folder.path().join("o.json");
    let script = format!(
        "sleep 0.1; exec {} -e 'for (1..50) {{ select(undef, undef, undef, 0.01) }}'",
        text(&perl)
    );
    let mut command = std::process::Command::new("setpriv");
    command
        .args(["--reuid=65534", "--regid=65534", "--clear-groups"])
        .arg(&program)
        .args(["observe", "--no-bpf"]);
    command.args([
        "--no-calibration",
        "--format",
        "json",
        "--record",
        text(&record),
        "--",
        "sh",
        "-c",
        &script,
    ]);
    let output = command
        .env("XDG_STATE_HOME", folder.path())
        .output()
        .expect("setpriv is on every Debian");
    let said = String::from_utf8_lossy(&output.stderr);
    let Ok(json) = serde_json::from_slice::<Value>(&output.stdout) else {
        println!("skipped: {said}");
        return;
    };
    if json["source"] != "perf" {
        println!("skipped: {}", json["not_counted_by"]);
        return;
    }
    assert!(
        json["all"]["switches"].as_u64() >= Some(50),
        "{}",
        json["all"]
    );
    let unfollowed = json["lost"]["unfollowed"].as_u64().expect("a count");
    let ran = place.run(&["report", text(&record)]);
    let words = ran.stdout.replace("\n    ", " ");
    assert_eq!(
        unfollowed > 0,
        words.contains("known by the kernel's counters alone: a task gained rights"),
        "{words}"
    );
    assert!(
        unfollowed > 20,
        "the kernel writes no records of it: {json}"
    );
}

#[test]
fn the_number_of_a_thread_is_refused_with_that_of_its_process() {
    let place = Place::new();
    let script = "import threading, time\nthreading.Thread(target=time.sleep, args=(60,), daemon=True).start()\ntime.sleep(60)";
    let mut python = std::process::Command::new("python3")
        .args(["-c", script])
        .spawn()
        .expect("python3");
    let process = python.id();
    let thread = || {
        let tasks = std::fs::read_dir(format!("/proc/{process}/task"))
            .into_iter()
            .flatten()
            .flatten();
        let mut numbers = tasks.filter_map(|task| task.file_name().to_str()?.parse::<u32>().ok());
        numbers.find(|&number| number != process)
    };
    let found = (0..1000).find_map(|_| {
        thread().or_else(|| {
            std::thread::sleep(std::time::Duration::from_millis(10));
            None
        })
    });
    let thread = found.expect("it starts a thread");
    let ran = observe(&place, &["-p", &thread.to_string(), "-d", "100ms"]);
    python
        .kill()
        .and_then(|()| python.wait())
        .expect("our child");
    assert_eq!(ran.code, 2);
    assert_eq!(
        ran.stderr,
        format!(
            "error: {thread} is a thread of process {process} (python3), not a process\nhint: use -p {process}\n"
        )
    );
}

#[test]
fn what_a_command_leaves_running_is_reported() {
    let place = Place::new();
    // The process is a daemon: it has its own session, and no process waits for it.
    let script = "setsid sh -c 'for i in 1 2 3 4 5 6 7 8; do sleep 0.1; done' > /dev/null 2>&1 &";
    let ran = observe(&place, &["--", "sh", "-c", script]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert!(
        ran.stderr
            .contains("exited, but its children are still running ("),
        "{}",
        ran.stderr
    );
    let ran = observe(&place, &["-d", "20s", "--", "sh", "-c", script]);
    assert!(
        ran.stderr.contains("and is observed further"),
        "{}",
        ran.stderr
    );
}

#[test]
fn who_forked_before_is_reported_with_how_to_observe_its_children() {
    let place = Place::new();
    let script = "perl -e '$| = 1; print qq(x); select(undef, undef, undef, 0.002) while 1' & read line; kill $!";
    let mut parent = std::process::Command::new("sh");
    let mut parent = parent
        .args(["-c", script])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("a shell");
    parent
        .stdout
        .as_mut()
        .expect("a pipe")
        .read_exact(&mut [0])
        .expect("its child runs");
    let number = parent.id().to_string();
    let usual = ["observe", "--no-calibration", "-d", "500ms", "-p", &number];
    let alone = place.run(&usual);
    // The command has its own window and machine, as printed.
    let command = alone
        .stdout
        .lines()
        .find_map(|line| line.strip_prefix("  switchcost observe -p "))
        .map(str::to_owned);
    let with_child = command.as_ref().map(|command| {
        place.run_as_printed(&format!(
            "switchcost observe --no-calibration -p {}",
            command.replace("10s", "500ms")
        ))
    });
    drop(parent.stdin.take());
    parent.wait().expect("our child");
    assert!(
        alone.stdout.contains(&format!(
            "1 existing child of process {number} is not included"
        )),
        "{}",
        alone.stdout
    );
    let with_child = with_child.expect("a command");
    assert!(
        with_child.stdout.contains("2 processes"),
        "{command:?}: {} {}",
        with_child.stdout,
        with_child.stderr
    );
    assert!(
        !with_child.stdout.contains("existing child"),
        "{}",
        with_child.stdout
    );
}

#[test]
fn counts_alone_have_causes_and_no_times() {
    let place = Place::new();
    let record = text(&place.path("o.json")).to_owned();
    let ran = observe(
        &place,
        &[
            "--counts-only",
            "--record",
            &record,
            "--",
            "sh",
            "-c",
            SLEEPER,
        ],
    );
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let json = place.run(&["report", &record, "--format", "json"]).json();
    if json["source"] != "bpf-counts" {
        println!("skipped: {}", json["not_counted_by"]);
        return;
    }
    let report = ran.report();
    assert!(
        report.contains("waits in clock_nanosleep") && report.contains("(--counts-only)"),
        "{report}"
    );
    let causes = json["causes"].as_array().expect("causes");
    assert!(
        causes.iter().all(|cause| cause["off_ns"].is_null()),
        "what is not timed is not 0: {causes:?}"
    );
    assert!(
        json["off"].is_null() && json["neighbours"].as_array().is_some_and(Vec::is_empty),
        "{json}"
    );
    assert!(json["all"]["cpu_ns"].as_f64().expect("CPU time") > 0.0);
}

#[test]
fn a_command_that_outlasts_the_time_is_asked_to_end() {
    let place = Place::new();
    let begun = std::time::Instant::now();
    let ran = observe(
        &place,
        &[
            "-d",
            "300ms",
            "--",
            "sh",
            "-c",
            "trap 'echo asked >&2; exit' TERM; while :; do sleep 0.05; done",
        ],
    );
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert!(ran.stderr.contains("asked"), "{}", ran.stderr);
    assert!(begun.elapsed() < std::time::Duration::from_secs(20));
}

#[test]
fn who_cannot_be_observed_is_reported() {
    let place = Place::new();
    for (arguments, code, words) in [
        (&["-p", "4194305"][..], 2, "no process with PID 4194305"),
        (&["-p", "0"], 2, "'0' is not a PID"),
        (&["-p", "1 x"], 2, "'x' is not a PID"),
        (&["-p", ""], 2, "no PID is given"),
        (
            &["--comm", "no such name"],
            2,
            "no process named 'no such name'",
        ),
        (
            &["--cgroup", "no/such/group"],
            2,
            "no control group no/such/group",
        ),
        (
            &["--", "/no/such/program"],
            2,
            "cannot run \"/no/such/program\"",
        ),
        (&[], 2, "is missing"),
        (&["-a", "-p", "1"], 2, "cannot be used with"),
    ] {
        let ran = observe(&place, arguments);
        assert_eq!(ran.code, code, "{arguments:?}: {}", ran.stderr);
        assert!(ran.stderr.contains(words), "{arguments:?}: {}", ran.stderr);
    }
    // Nothing remains of a run that observed nothing.
    let records = std::fs::read_dir(place.path("switchcost/runs"))
        .map(|entries| entries.count())
        .unwrap_or(0);
    assert_eq!(records, 0);
}

#[test]
fn a_record_is_not_overwritten_and_a_damaged_one_is_refused() {
    let place = Place::new();
    let record = text(&place.path("o.json")).to_owned();
    assert_eq!(
        observe(&place, &["--record", &record, "--", "true"]).code,
        0
    );
    let again = observe(&place, &["--record", &record, "--", "true"]);
    assert!(
        again.code == 2 && again.stderr.contains("already exists"),
        "{}: {}",
        again.code,
        again.stderr
    );
    // A record that another run has written in the meantime is not used either.
    let other = text(&place.path("other.json")).to_owned();
    let command = format!("sleep 0.1; echo other > {other}");
    let ran = observe(&place, &["--record", &other, "--", "sh", "-c", &command]);
    assert!(
        ran.code == 2
            && ran.stderr.contains("already exists")
            && ran.stderr.contains("switches in"),
        "{}: {}",
        ran.code,
        ran.stderr
    );
    assert_eq!(
        std::fs::read_to_string(&other).expect("it is there"),
        "other\n"
    );
    let whole = std::fs::read_to_string(&record).expect("a record");
    std::fs::write(&record, &whole[..whole.len() / 2]).expect("it may be written");
    let damaged = place.run(&["report", &record]);
    assert!(
        damaged.code == 5 && damaged.stderr.contains("damaged"),
        "{}: {}",
        damaged.code,
        damaged.stderr
    );
    std::fs::write(&record, whole.replacen("/2\"", "/99\"", 1)).expect("it may be written");
    let newer = place.run(&["report", &record]);
    assert!(
        newer.code == 5 && newer.stderr.contains("observation/99"),
        "{}: {}",
        newer.code,
        newer.stderr
    );
}

/// Returns the whole answer to one request.
fn asked(address: &str, request: &str) -> String {
    let mut stream = TcpStream::connect(address).expect("it listens");
    let fields = format!("Host: {address}\r\nAccept: application/openmetrics-text\r\n");
    write!(stream, "{request} HTTP/1.1\r\n{fields}\r\n").expect("it reads");
    let mut answer = String::new();
    stream
        .read_to_string(&mut answer)
        .expect("it answers with text");
    answer
}

#[test]
fn a_kill_costs_no_more_than_some_seconds_of_an_observation() {
    let place = Place::new();
    let record = place.path("o.json");
    let mut child = place
        .command(&[
            "observe",
            "--no-calibration",
            "--record",
            text(&record),
            "-a",
            "-d",
            "60s",
        ])
        .stdout(Stdio::null())
        .spawn()
        .expect("it starts");
    let has_snapshot = (0..1500).any(|_| {
        std::thread::sleep(std::time::Duration::from_millis(20));
        record.exists()
    });
    child.kill().and_then(|()| child.wait()).expect("our child");
    assert!(has_snapshot, "no snapshot within 30 s");
    let ran = place.run(&["report", text(&record)]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let words = ran.stdout.replace("\n    ", " ");
    assert!(
        words.contains("The observer was killed: the last few seconds are missing"),
        "{words}"
    );
}

#[test]
fn a_command_that_fails_ends_every_verb_that_runs_one_with_its_own_code() {
    let place = Place::new();
    let [trace, record] = ["t.sct", "s.parquet"].map(|name| text(&place.path(name)).to_owned());
    let observe = ["observe", "--no-calibration", "--no-bpf", "--"];
    for (verb, command, code) in [
        (&observe[..], &["false"][..], 1),
        (&observe, &["sh", "-c", "exit 5"], 5),
        (&observe, &["sh", "-c", "kill -KILL $$"], 137),
        (&observe, &["true"], 0),
        (&["trace", "-o", &trace, "--"], &["false"], 1),
        (
            &[
                "simulate", "live", "--design", "mogul-1a", "--record", &record, "--",
            ],
            &["sh", "-c", "kill -KILL $$"],
            137,
        ),
    ] {
        let ran = place.run(&[verb, command].concat());
        assert_eq!(ran.code, code, "{verb:?} {command:?}: {}", ran.stderr);
        assert_eq!(
            ran.stderr.contains("' ended with "),
            code != 0,
            "{}",
            ran.stderr
        );
    }
    // The test itself ended the process.
    let ran = place.run(
        &[
            &[
                "observe",
                "--no-calibration",
                "--no-bpf",
                "-d",
                "0.1s",
                "--",
            ][..],
            &["sleep", "30"],
        ]
        .concat(),
    );
    assert_eq!(ran.code, 0, "{}", ran.stderr);
}

#[test]
fn arguments_and_host_name_are_left_out_of_every_record_where_that_is_asked_for() {
    let place = Place::new();
    let host = std::fs::read_to_string("/proc/sys/kernel/hostname").expect("the kernel reports it");
    let host = host.trim();
    let at = |name: &str| text(&place.path(name)).to_owned();
    let secret = "password-in-an-argument";
    let (trace, named) = (at("t.sct"), at(&format!("{secret}.sct")));
    let measure = [
        "measure",
        "--redact",
        "--mechanism",
        "fiber",
        "--max-repetitions",
        "5",
        "--no-counters",
        "--output",
    ];
    let json = ["--format", "json"];
    let runs = [
        [&measure[..], &[&at(secret), "--record", &at("m.jsonl")]].concat(),
        [
            &[
                "observe",
                "--redact",
                "--no-calibration",
                "--no-bpf",
                "--record",
                &at("o.json"),
            ][..],
            &json,
            &["--"],
        ]
        .concat(),
        vec!["trace", "--redact", "-o", &trace, "--"],
        [
            &[
                "simulate",
                "live",
                "--redact",
                "--design",
                "mogul-1a",
                "--record",
                &at("s.parquet"),
            ][..],
            &json,
            &["--"],
        ]
        .concat(),
    ]
    .map(|verb| {
        let command: &[&str] = if verb.ends_with(&["--"]) {
            &["sh", "-c", "exit 1", secret]
        } else {
            &[]
        };
        place.run(&[&verb[..], command].concat())
    });
    std::fs::copy(&trace, &named).expect("room");
    let again = place.run(&[
        "simulate",
        &named,
        "--redact",
        "--design",
        "mogul-1a",
        "--record",
        &at("a.parquet"),
    ]);
    let mut reported: Vec<String> = runs
        .into_iter()
        .chain([again])
        .flat_map(|ran| [ran.stdout, ran.stderr])
        .collect();
    reported.push(place.run(&["trace", "info", &trace]).stdout);
    for record in ["m.jsonl", "o.json", "s.parquet", "a.parquet"] {
        reported.push(place.run(&["report", "--details", &at(record)]).stdout);
        // Packed parts of a Parquet file contain numbers.
        reported.push(
            String::from_utf8_lossy(&std::fs::read(place.path(record)).expect("a record"))
                .into_owned(),
        );
    }
    for text in reported {
        let text = text.replace("\n    ", " ");
        assert!(!text.contains(secret), "{text}");
        let is_a_word = |(at, _): (usize, &str)| {
            let around = [
                text[..at].chars().next_back(),
                text[at + host.len()..].chars().next(),
            ];
            around
                .into_iter()
                .flatten()
                .all(|letter| !letter.is_alphanumeric())
        };
        assert!(!text.match_indices(host).any(is_a_word), "{host} in {text}");
    }
}

#[test]
fn empty_records_of_dead_runs_are_passed_over_and_swept() {
    let place = Place::new();
    let ran = observe(&place, &["--", "true"]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let folder = place.folder().join("switchcost/runs");
    let mode = |path: &std::path::Path| {
        std::fs::metadata(path)
            .expect("it is there")
            .permissions()
            .mode()
            & 0o777
    };
    assert_eq!(mode(&folder), 0o700);
    let records = || -> Vec<_> {
        let entries = std::fs::read_dir(&folder)
            .expect("a folder")
            .flatten()
            .map(|entry| entry.path());
        entries
            .filter(|path| text(path).ends_with("-observation.json"))
            .collect()
    };
    let [record] = &records()[..] else {
        panic!("{:?}", records())
    };
    assert_eq!(mode(record), 0o600, "a command line may hold secrets");
    // No process has this number.
    let dead = folder.join("2999-01-01T00-00-00-4194305-observation.json");
    std::fs::write(&dead, "").expect("it can be written");
    assert_eq!(
        place.run(&["report"]).code,
        0,
        "the newest that has something in it"
    );
    assert_eq!(
        place.run(&["compare", text(&folder), text(&folder)]).code,
        2,
        "the same run, and nothing empty"
    );
    observe(&place, &["--", "true"]);
    assert!(!dead.exists());
}

#[test]
fn metrics_are_served_while_a_command_runs() {
    let place = Place::new();
    let record = text(&place.path("o.json")).to_owned();
    let arguments = [
        "observe",
        "--no-calibration",
        "--listen",
        "0",
        "--record",
        &record,
        "--",
        "sleep",
        "30",
    ];
    let mut child = place
        .command(&arguments)
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .expect("it starts");
    let mut said = BufReader::new(child.stderr.take().expect("piped")).lines();
    let address = said.find_map(|line| {
        let line = line.expect("text");
        Some(
            line.split_once("metrics: http://")?
                .1
                .strip_suffix("/metrics")?
                .to_owned(),
        )
    });
    let address = address.expect("it says where it listens");
    assert!(address.starts_with("127.0.0.1:"), "{address}");
    let metrics = asked(&address, "GET /metrics");
    assert!(
        metrics.starts_with("HTTP/1.1 200") && metrics.contains("application/openmetrics-text"),
        "{metrics}"
    );
    assert!(metrics.trim_end().ends_with("# EOF"), "{metrics}");
    assert!(asked(&address, "GET /").starts_with("HTTP/1.1 404"));
    assert!(asked(&address, "POST /metrics").starts_with("HTTP/1.1 405"));
    // The port is in use.
    let second = observe(&place, &["--listen", &address, "--", "true"]);
    assert!(
        second.code == 2 && second.stderr.contains("choose a free port on this machine"),
        "{}",
        second.stderr
    );
    // Asked to end, the process keeps its data.
    let process = rustix::process::Pid::from_child(&child);
    rustix::process::kill_process(process, rustix::process::Signal::TERM).expect("it runs");
    assert_eq!(child.wait().expect("our child").code(), Some(143));
    assert_eq!(place.run(&["report", &record]).code, 0);
}

#[test]
fn the_cost_of_a_request_is_reported() {
    let place = Place::new();
    let counter = text(&place.path("served")).to_owned();
    let script = format!("for i in 1 2 3 4 5; do sleep 0.01; echo $i > {counter}; done");
    std::fs::write(&counter, "0\n").expect("a new file");
    let command = format!("cat {counter}");
    let ran = observe(
        &place,
        &[
            "--rate-cmd",
            &command,
            "--format",
            "json",
            "--",
            "sh",
            "-c",
            &script,
        ],
    );
    assert_eq!(ran.json()["requests"], 5, "{}", ran.stderr);
    let ran = observe(&place, &["--requests", "7", "--", "sh", "-c", "sleep 0.1"]);
    assert!(
        ran.stderr
            .replace('\n', " ")
            .contains("Each of 7 requests took"),
        "{}",
        ran.stderr
    );
    let ran = observe(
        &place,
        &["--rate-cmd", &command, "--", "sh", "-c", "sleep 0.1"],
    );
    assert!(
        ran.report()
            .replace('\n', " ")
            .contains("No request was counted during the observation"),
        "{}",
        ran.stderr
    );
    let ran = observe(&place, &["--rate-cmd", "echo many", "--", "true"]);
    assert!(
        ran.code == 2
            && ran
                .stderr
                .contains("'echo many' does not print a whole number (it printed 'many')"),
        "{}",
        ran.stderr
    );
}

#[test]
fn a_count_of_requests_that_fails_loses_no_observation() {
    let place = Place::new();
    let counter = text(&place.path("served")).to_owned();
    let command = format!("cat {counter}");
    // The count fails at the end.
    let fails = format!("rm {counter} && echo 3");
    std::fs::write(&counter, "0\n").expect("a new file");
    let ran = observe(
        &place,
        &[
            "--rate-cmd",
            &fails,
            "--format",
            "json",
            "--",
            "sh",
            "-c",
            "sleep 0.1",
        ],
    );
    assert_eq!(
        (ran.code, ran.json()["requests"].is_null()),
        (0, true),
        "{}",
        ran.stderr
    );
    assert!(
        ran.stderr.contains("does not print a whole number") && ran.json()["all"]["switches"] != 0,
        "{}",
        ran.stderr
    );
    // A count that fails after printing a number, or decreases, does not fail the observation either.
    // A constant count is reported.
    let fails =
        format!("cat {counter}; ! test -s {counter}.once; e=$?; echo > {counter}.once; exit $e");
    std::fs::write(&counter, "7\n").expect("a new file");
    let ran = observe(
        &place,
        &[
            "--rate-cmd",
            &fails,
            "--format",
            "json",
            "--",
            "sh",
            "-c",
            "sleep 0.1",
        ],
    );
    assert_eq!(
        (ran.code, ran.json()["requests"].is_null()),
        (0, true),
        "{}",
        ran.stderr
    );
    assert!(
        ran.stderr
            .contains("does not print a whole number (it ended with exit status: 1)"),
        "{}",
        ran.stderr
    );
    let restarts = format!("sleep 0.1; echo 2 > {counter}");
    let ran = observe(
        &place,
        &[
            "--rate-cmd",
            &command,
            "--format",
            "json",
            "--",
            "sh",
            "-c",
            &restarts,
        ],
    );
    assert_eq!(
        (ran.code, ran.json()["requests"].is_null()),
        (0, true),
        "{}",
        ran.stderr
    );
    assert!(
        ran.stderr.contains("printed 2")
            && ran.stderr.contains("after 7, but the number must grow"),
        "{}",
        ran.stderr
    );
}

/// Returns what `observe -a --live` sends to a terminal after the start of its own screen, and
/// where that screen ends.
fn drawn_live(place: &Place, duration: &str, record: &str) -> (String, usize) {
    let command = format!(
        "stty cols 100 rows 40; {} observe -a --live --no-calibration -d {duration} --record {record}",
        env!("CARGO_BIN_EXE_switchcost")
    );
    let mut on_terminal = std::process::Command::new("script");
    on_terminal
        .args(["-qec", &command, "/dev/null"])
        .env("XDG_STATE_HOME", place.folder())
        .env("TERM", "xterm");
    // The keyboard has no input, and no end.
    let mut keyboard = std::process::Command::new("sleep")
        .arg("60")
        .stdout(Stdio::piped())
        .spawn()
        .expect("it starts");
    let keys = keyboard.stdout.take().expect("piped");
    let output = on_terminal
        .stdin(keys)
        .output()
        .expect("script is on every Debian");
    keyboard
        .kill()
        .and_then(|()| keyboard.wait())
        .expect("our child");
    assert!(output.status.success(), "{output:?}");
    let all = String::from_utf8_lossy(&output.stdout);
    let from = all.find("\u{1b}[?1049h").expect("another screen");
    let drawn = all[from..].to_owned();
    let to = drawn.rfind("\u{1b}[?1049l").expect("the screen as before");
    (drawn, to)
}

#[test]
fn the_last_second_is_drawn_on_a_terminal_that_is_as_before_afterwards() {
    let place = Place::new();
    let [short, record] = ["s.json", "o.json"].map(|name| text(&place.path(name)).to_owned());
    let (drawn, to) = drawn_live(&place, "500ms", &short);
    assert!(
        !drawn[..to].contains("involuntary"),
        "half a second is no frame: {drawn}"
    );
    let (drawn, to) = drawn_live(&place, "2500ms", &record);
    assert!(drawn[..to].contains("involuntary"), "{drawn}");
    assert!(!drawn.contains("killed"), "{drawn}");
    // The complete report is on the normal screen.
    assert!(
        drawn[to..].contains("The switches of this machine's processes"),
        "{drawn}"
    );
    assert_eq!(place.run(&["report", &record]).code, 0);
    // Without a terminal there is nothing to draw on, and no calibration.
    let ran = place.run(&["observe", "-a", "--live"]);
    assert!(
        ran.code == 2
            && ran.stderr.contains(
                "--live needs a terminal, but standard output is not one\nhint: use --every 1s"
            ),
        "{}",
        ran.stderr
    );
}

#[test]
fn a_terminal_that_cannot_be_drawn_on_is_refused_and_one_of_ascii_gets_letters() {
    let place = Place::new();
    let on_terminal = |variables: &str, words: &str| {
        let command = format!(
            "stty cols 100 rows 40; env {variables} {} {words}",
            env!("CARGO_BIN_EXE_switchcost")
        );
        let mut script = std::process::Command::new("script");
        let output = script
            .args(["-qec", &command, "/dev/null"])
            .env("XDG_STATE_HOME", place.folder())
            .output();
        String::from_utf8_lossy(&output.expect("script is on every Debian").stdout).into_owned()
    };
    let record = text(&place.path("w.sct")).to_owned();
    assert_eq!(
        place
            .run(&[
                "trace", "walks", "--size", "4KiB", "--turns", "200", "-o", &record
            ])
            .code,
        0
    );
    let simulate = format!("simulate {record} --design mogul-1a");
    for (variables, is_ascii) in [
        ("TERM=xterm LC_ALL=C.UTF-8", false),
        ("TERM=xterm LC_ALL=C", true),
        ("TERM=dumb LC_ALL=C.UTF-8", true),
        ("-u TERM LC_ALL=C.UTF-8", true),
    ] {
        let drawn = on_terminal(variables, &simulate);
        assert_eq!(drawn.is_ascii(), is_ascii, "{variables}: {drawn}");
        assert!(
            drawn.contains(if is_ascii {
                "\n-----"
            } else {
                "\n─────"
            }),
            "{variables}: {drawn}"
        );
    }
    for variables in ["TERM=dumb", "-u TERM"] {
        let refused = on_terminal(variables, "observe -a --live --no-calibration -d 1s");
        assert!(refused.contains("has no cursor"), "{refused}");
    }
}

#[test]
fn a_kill_while_it_is_shown_live_leaves_the_terminal_as_it_was_and_no_command() {
    let place = Place::new();
    let ready = place.path("ready");
    let observe = format!(
        "{} observe --live --no-calibration --no-bpf -- sh -c 'echo $$ > {}; exec sleep 60'",
        env!("CARGO_BIN_EXE_switchcost"),
        ready.display()
    );
    // The remaining modes are read while the terminal still exists.
    let command = format!("stty cols 100 rows 40; {observe}; sleep 1; stty -a");
    let mut script = std::process::Command::new("script");
    script
        .args(["-qec", &command, "/dev/null"])
        .env("XDG_STATE_HOME", place.folder())
        .env("TERM", "xterm");
    let mut keyboard = std::process::Command::new("sleep")
        .arg("60")
        .stdout(Stdio::piped())
        .spawn()
        .expect("it starts");
    script
        .stdin(keyboard.stdout.take().expect("piped"))
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let on_terminal = script.spawn().expect("script is on every Debian");
    let number = || {
        std::fs::read_to_string(&ready)
            .ok()
            .and_then(|text| text.trim().parse::<i32>().ok())
    };
    crate::common::wait_until("the command runs", || number().is_some());
    let command = number().expect("just seen");
    let parent = std::fs::read_to_string(format!("/proc/{command}/stat")).expect("it runs");
    let observer: i32 = parent
        .rsplit_once(") ")
        .expect("a name")
        .1
        .split(' ')
        .nth(1)
        .expect("a parent")
        .parse()
        .expect("a number");
    // The program has drawn the screen by then.
    std::thread::sleep(std::time::Duration::from_millis(300));
    let observer = rustix::process::Pid::from_raw(observer).expect("a number");
    rustix::process::kill_process(observer, rustix::process::Signal::KILL)
        .expect("our child's child");
    let output = on_terminal.wait_with_output().expect("our child");
    keyboard
        .kill()
        .and_then(|()| keyboard.wait())
        .expect("our child");
    let drawn = String::from_utf8_lossy(&output.stdout);
    let (begin, end) = (
        drawn.find("\u{1b}[?1049h").expect("another screen"),
        drawn.rfind("\u{1b}[?1049l"),
    );
    assert!(end.is_some_and(|end| begin < end), "{drawn}");
    assert!(
        drawn.contains(" icanon") && drawn.contains(" echo "),
        "{drawn}"
    );
    let left = std::fs::read_to_string(format!("/proc/{command}/cmdline")).unwrap_or_default();
    assert!(!left.contains("sleep"), "{left}");
}

#[test]
fn a_trace_of_each_switch_is_written_whole_or_not_at_all() {
    let place = Place::new();
    let [record, trace] = ["o.json", "t.pftrace"].map(|name| text(&place.path(name)).to_owned());
    let traced = |to: &str| {
        observe(
            &place,
            &[
                "--events", to, "--record", &record, "--", "sh", "-c", SLEEPER,
            ],
        )
    };
    let nowhere = traced("/nonexistent/t.pftrace");
    assert_ne!(nowhere.code, 0);
    assert!(
        nowhere.stderr.contains("/nonexistent/t.pftrace") && !place.path("o.json").exists(),
        "{}",
        nowhere.stderr
    );
    let ran = traced(&trace);
    if ran.stderr.contains("switches cannot be traced one by one") {
        assert!(!place.path("t.pftrace").exists() && !place.path("o.json").exists());
        println!("skipped: {}", ran.stderr);
        return;
    }
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let bytes = std::fs::read(&trace).expect("a trace");
    // The packet has the names of threads that were seen.
    let has = |name: &[u8]| bytes.windows(name.len()).any(|window| window == name);
    assert!(bytes[0] == 0x0a && has(b"sleep"), "{} bytes", bytes.len());
    // On a full disk the trace is lost, but not the observation.
    std::fs::remove_file(&record).expect("our own");
    let full = traced("/dev/full");
    assert!(
        full.code != 0 && full.report().contains("switches") && place.path("o.json").exists(),
        "{}",
        full.stderr
    );
    let neither = observe(&place, &["--events", &trace, "--no-bpf", "--", "true"]);
    assert_eq!(neither.code, 2, "{}", neither.stderr);
}

#[test]
fn stacks_are_written_for_other_tools() {
    let place = Place::new();
    let [record, folded, pprof] =
        ["o.json", "o.folded", "o.pb.gz"].map(|name| text(&place.path(name)).to_owned());
    let files = ["--folded", &folded, "--pprof", &pprof];
    let begun = std::time::Instant::now();
    let ran = observe(
        &place,
        &[
            &["--record", &record][..],
            &files,
            &["--", "sh", "-c", SLEEPER],
        ]
        .concat(),
    );
    if ran.stderr.contains("stacks") {
        assert!(!place.path("o.json").exists() && !place.path("o.folded").exists());
        println!("skipped: {}", ran.stderr);
        return;
    }
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let lines = std::fs::read_to_string(&folded).expect("stacks");
    let sleeps = lines
        .lines()
        .find_map(|line| line.strip_prefix("sleep;waits;clock_nanosleep "))
        .expect("they slept");
    let slept: u64 = sleeps.parse().expect("nanoseconds");
    assert!(
        (100_000_000..begun.elapsed().as_nanos() as u64).contains(&slept),
        "{slept} ns of ten sleeps of 10 ms"
    );
    // The record gives the same output again.
    let again = place.run(&["report", &record, "--folded", "/dev/stdout"]);
    assert_eq!(
        (again.code, again.stdout.as_str()),
        (0, lines.as_str()),
        "{}",
        again.stderr
    );
}

#[test]
#[ignore = "takes long: make test ARGS=--all"]
fn pprof_of_go_reads_the_stacks() {
    let place = Place::new();
    let pprof = text(&place.path("o.pb.gz")).to_owned();
    let ran = observe(&place, &["--pprof", &pprof, "--", "sh", "-c", SLEEPER]);
    if ran.stderr.contains("failed to write stacks") {
        println!("skipped: {}", ran.stderr);
        return;
    }
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let mut go = std::process::Command::new("go");
    go.args(["tool", "pprof", "-sample_index=switches", "-top", &pprof]);
    // Go builds the tool when it is first used, which takes a minute.
    go.env("HOME", place.folder())
        .env("GOCACHE", concat!(env!("CARGO_TARGET_TMPDIR"), "/go"))
        .env("GOTOOLCHAIN", "local");
    match go.output() {
        Err(error) => println!("skipped: pprof of Go cannot be run ({error})"),
        Ok(output) => {
            let top = String::from_utf8_lossy(&output.stdout).into_owned();
            assert!(
                output.status.success(),
                "{}",
                String::from_utf8_lossy(&output.stderr)
            );
            assert!(
                top.contains("Type: switches") && top.contains("clock_nanosleep"),
                "{top}"
            );
        }
    }
}

#[test]
fn stacks_need_an_observation_with_causes() {
    let place = Place::new();
    let record = text(&place.path("o.json")).to_owned();
    assert_eq!(
        observe(
            &place,
            &["--no-bpf", "--record", &record, "--", "sh", "-c", SLEEPER]
        )
        .code,
        0
    );
    let ran = place.run(&["report", &record, "--folded", text(&place.path("x"))]);
    assert!(
        ran.code == 2 && ran.stderr.contains("this is an observation without causes"),
        "{}",
        ran.stderr
    );
    assert!(!place.path("x").exists());
    let ran = place.run(&[
        "report",
        &record,
        &record,
        "--pprof",
        text(&place.path("x")),
    ]);
    assert!(
        ran.code == 2 && ran.stderr.contains("2 records"),
        "{}",
        ran.stderr
    );
    let ran = observe(
        &place,
        &["--no-bpf", "--folded", text(&place.path("x")), "--", "true"],
    );
    assert_eq!(ran.code, 2, "{}", ran.stderr);
}

#[test]
fn without_bpf_the_kernels_records_show_a_short_command_exactly() {
    let place = Place::new();
    let record = text(&place.path("o.json")).to_owned();
    let json = observe(
        &place,
        &[
            "--no-bpf", "--format", "json", "--record", &record, "--", "sh", "-c", SLEEPER,
        ],
    )
    .json();
    if json["source"] != "perf" {
        println!("skipped: {}", json["not_counted_by"]);
        return;
    }
    let of = |name: &str| {
        json["names"]
            .as_array()
            .expect("names")
            .iter()
            .find(|found| found["name"] == name)
            .cloned()
    };
    let sleep = of("sleep").expect("ten of them");
    assert_eq!(sleep["tasks"], 10, "{sleep}");
    let switches = sleep["switches"].as_u64().expect("a count");
    assert!(
        (20..100).contains(&switches),
        "each sleeps, and ends: {sleep}"
    );
    assert!(
        json["off"]["count"].as_u64().expect("a count") >= 20,
        "{}",
        json["off"]
    );
    assert!(json["causes"].as_array().expect("causes").is_empty() && json["wait"].is_null());
    assert_eq!(json["lost"]["records"], 0);
}

#[test]
fn of_all_tasks_those_of_the_observer_are_none() {
    let place = Place::new();
    for (way, record) in [(&[][..], "a.json"), (&["--no-bpf"], "b.json")] {
        let record = place.path(record);
        let words = [
            "observe",
            "--no-calibration",
            "--format",
            "json",
            "--record",
            text(&record),
            "-a",
            "-d",
            "500ms",
        ];
        let child = place
            .command(&[&words[..], way].concat())
            .stdout(Stdio::piped())
            .spawn()
            .expect("it starts");
        let own = child.id();
        let output = child.wait_with_output().expect("our child");
        let json: Value = serde_json::from_slice(&output.stdout).expect("it is JSON");
        let processes: Vec<u64> = json["processes"]
            .as_array()
            .expect("processes")
            .iter()
            .filter_map(|of| of["process"].as_u64())
            .collect();
        assert!(
            !processes.is_empty() && !processes.contains(&u64::from(own)),
            "{own} in {processes:?}"
        );
        assert!(
            json["own_share"].as_f64().is_some_and(|share| share > 0.0),
            "it says so beside: {json}"
        );
    }
}

#[test]
fn calls_are_traced_each_with_what_it_switched_and_compared() {
    let place = Place::new();
    let record = place.path("o.json");
    // The program waits each time, and then makes three calls that never wait.
    let script = "for (1 .. 1200) { select(undef, undef, undef, 0.002); getppid for 1 .. 3 }";
    let ran = observe(
        &place,
        &[
            "--calls",
            "1s",
            "--record",
            text(&record),
            "--format",
            "json",
            "--",
            "perl",
            "-e",
            script,
        ],
    );
    let json = ran.json();
    if json["source"] != "bpf" {
        println!("skipped: {}", json["not_counted_by"]);
        return;
    }
    let recorded: Value =
        serde_json::from_slice(&std::fs::read(&record).expect("a record")).expect("of JSON");
    let calls = &recorded["calls"];
    let sites = calls["sites"].as_array().expect("sites");
    let thread = &calls["slices"][0]["threads"][0];
    let of_call = |name: &str| {
        let all = thread["site"].as_array().expect("calls");
        let is_one = |site: &&Value| sites[count(site) as usize]["call"] == *name;
        all.iter().filter(is_one).count() as u64
    };
    let (parents, waits) = (of_call("getppid"), count(&json["matched"][0]["waits"]));
    assert!(waits > 20, "{}", json["matched"]);
    // A slice begins and ends between any two waits, and a wait may be over before the task has
    // left its CPU.
    assert!(parents <= 3 * (waits + 1) + waits / 4, "{parents} {waits}");
    assert!(parents + 3 + waits / 4 >= 3 * waits, "{parents} {waits}");
    let voluntary = count(&json["all"]["switches"]) - count(&json["all"]["involuntary"]);
    assert!(waits <= voluntary, "{waits} of {voluntary}");
    assert_eq!(count(&calls["lost"]), 0);
    // Every wait blocks, so there is nothing to compare it with.
    assert!(
        json["matched"][0]["all_waits"].is_null(),
        "{}",
        json["matched"]
    );
    assert_eq!(json["matched"][0]["program"], "perl");
}
