//! Tests `observe` as a user runs it. A test that needs root or BPF reports that it was skipped.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt;
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use crate::common::{Arguments, Place, Ran, conformity, count, items, number, text};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

const PROGRAM: &str = env!("CARGO_BIN_EXE_switchcost");

/// Script that sleeps a little, now and then.
const SLEEPER: &str = "for i in 1 2 3 4 5 6 7 8 9 10; do sleep 0.01; done";

/// Runs `observe` without measuring the cost of a switch first.
fn observe(place: &Place, arguments: impl Arguments) -> Ran {
    place.run(("observe --no-calibration", arguments))
}

/// Returns the observation of a command by BPF; nothing, with a message, if the kernel accepts no
/// BPF programs.
fn found(place: &Place, command: impl Arguments) -> Option<Value> {
    let json = observe(place, ("--format json --record o.json --", command)).json();
    is_from(&json, "bpf").then_some(json)
}

/// Whether an observation is from this source; prints why it is from another one.
fn is_from(json: &Value, source: &str) -> bool {
    let is = json["source"] == source;
    if !is {
        println!("skipped: {}", json["not_counted_by"]);
    }
    is
}

/// Returns the names of the observed processes.
fn names(json: &Value) -> Vec<&str> {
    let processes = items(&json["processes"]).iter();
    processes
        .filter_map(|process| process["name"].as_str())
        .collect()
}

#[test]
fn one_screen_answers_and_the_record_says_the_same_again() {
    let place = Place::new();
    let ran = observe(&place, format!("--record o.json -- sh -c '{SLEEPER}'"));
    ran.assert_code(0);
    let report = ran.report();
    assert!(report.lines().count() <= 50, "{report}");
    // On a busy machine the wait for a CPU may come first.
    assert!(
        report
            .replace('\n', " ")
            .contains("The cost of the switches of sh is unknown"),
        "{report}"
    );
    let again = place.run("report o.json");
    let before_the_files = |text: &str| text.split("\nfull report:").next().map(str::to_owned);
    assert_eq!(before_the_files(&again.stdout), before_the_files(&report));
    for format in ["json", "csv"] {
        place
            .run(format!("report o.json --format {format}"))
            .assert_code(0);
    }
    place.run("report o.json -o page.html").assert_code(0);
    assert!(place.read("page.html").contains("observed"));
}

#[test]
fn causes_and_counts_of_a_command_are_reported() {
    let place = Place::new();
    let Some(json) = found(&place, format!("sh -c '{SLEEPER}'")) else {
        return;
    };
    let causes = items(&json["causes"]);
    let of = |name: &str| -> u64 {
        let is_it =
            |cause: &&Value| cause["why"] == "blocked" && cause["entry"]["system-call"] == name;
        causes
            .iter()
            .filter(is_it)
            .map(|cause| count(&cause["switches"]))
            .sum()
    };
    assert!((10..=14).contains(&of("clock_nanosleep")), "{causes:?}");
    assert!((8..=40).contains(&of("wait4")), "{causes:?}");
    assert!(
        names(&json).contains(&"sleep"),
        "those that it started are observed: {json}"
    );
    assert!(json["own_cost"].is_object());
}

#[test]
fn a_process_of_a_container_is_reported_with_both_its_numbers() {
    let place = Place::new();
    let container = ["--pid", "--fork", "--kill-child"];
    if !Command::new("unshare")
        .args(container)
        .arg("true")
        .status()
        .is_ok_and(|s| s.success())
    {
        println!("skipped: no PID namespace may be made");
        return;
    }
    let asked = "--format json --record o.json -d 500ms -- unshare";
    let command = "sh -c 'while :; do sleep 0.01; done'";
    let json = observe(&place, (asked, (&container, command))).json();
    let processes = items(&json["processes"]);
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
    let details = place.run("report o.json --details").stdout;
    assert!(
        details.contains(&format!("sh {} = 1 in ", shell["process"])),
        "{details}"
    );
}

#[test]
fn in_a_container_no_process_is_taken_for_another_one() {
    let place = Place::new();
    // In the namespace the shell has a small number, which some thread of the machine also has.
    let words = format!("observe --no-calibration --format json -- sh -c '{SLEEPER}'");
    let mut inside = place.command_behind("unshare --pid --fork --mount-proc", &words);
    let output = inside.output().expect("unshare is on every Debian");
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
    assert!(names(&json).contains(&"sh"), "{json}");
}

#[test]
fn names_of_anybody_command_no_terminal() {
    let place = Place::new();
    // Perl hands $0 to the kernel as the task's name.
    let script = r#"$0 = "\e[31m<b>\n,\"="; for (1..20) { select(undef, undef, undef, 0.005) }"#;
    let Some(_) = found(&place, format!("perl -e '{script}'")) else {
        return;
    };
    for format in ["--details", "--format json", "--format csv"] {
        let ran = place.run(("report o.json", format));
        ran.assert_code(0);
        assert!(!ran.stdout.contains('\u{1b}'), "{}", ran.stdout);
    }

    place.run("report o.json -o page.html");
    assert!(
        !place.read("page.html").contains("<b>"),
        "a name is text, not HTML"
    );
}

#[test]
fn a_command_needs_no_dashes_and_keeps_its_standard_output() {
    let place = Place::new();
    let counted = &["--no-bpf"][..];
    for words in ["echo -n x", "-- echo -n x"] {
        let ran = observe(&place, (counted, words));
        assert_eq!((ran.code, &*ran.stdout), (0, "x"), "{}", ran.stderr);
        ran.assert_message("echo");
    }
    // Output for programs is alone on standard output, unless it is written elsewhere.
    let json = "--format json --no-bpf";
    let ran = observe(&place, format!("{json} echo x"));
    assert_eq!(ran.json()["subject"]["command"][1], "x");
    assert!(ran.stderr.lines().any(|line| line == "x"), "{}", ran.stderr);
    let ran = observe(&place, format!("{json} --output o.out echo x"));
    assert_eq!((ran.code, &*ran.stdout), (0, "x\n"), "{}", ran.stderr);
}

#[test]
fn a_target_is_observed_while_a_command_runs() {
    let place = Place::new();
    // The target is not this process, of which other tests start children at the same time.
    let mut target = Command::new("sh")
        .args(["-c", "while kill -0 $PPID; do :; done"])
        .stdout(Stdio::null())
        .spawn()
        .expect("a busy shell");
    let id = target.id().to_string();
    let words = format!("--no-bpf --record o.json -p {id}");
    let ran = observe(&place, (words, "-- sh -c 'sleep 0.3; echo x; exit 5'"));
    target.kill().expect("a process of this test's");
    target.wait().expect("a child");
    assert_eq!((ran.code, &*ran.stdout), (5, "x\n"), "{}", ran.stderr);
    let json = place.run("report o.json --format json").json();
    assert_eq!(json["subject"]["processes"][0].to_string(), id);
    let recorded: Value = serde_json::from_str(&place.read("o.json")).expect("JSON");
    assert!(number(&recorded["window_ns"]) >= 0.3e9, "{recorded}");
    assert!(
        !names(&json).contains(&"sleep"),
        "the command is not part of it: {json}"
    );
}

#[test]
fn a_line_each_interval_ends_with_the_signal_and_with_its_reader() {
    let place = Place::new();
    let words = "observe -a --no-bpf --no-calibration --every 100ms";
    let mut child = place
        .command(words)
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
        .command(words)
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("it starts");
    drop(child.stdout.take());
    assert_eq!(child.wait().expect("our child").code(), Some(0));
}

#[test]
fn without_bpf_switches_are_counted_and_the_reason_is_reported() {
    let place = Place::new();
    let ran = observe(&place, format!("--no-bpf -- sh -c '{SLEEPER}'"));
    ran.assert_code(0);
    let text = ran.report().replace('\n', " ");
    assert!(text.contains("(causes are unknown)"), "{text}");
    assert!(text.contains("(--no-bpf)"), "{text}");
    assert!(!text.contains("Competitors for the CPU"));
}

#[test]
fn a_short_command_is_held_until_observation_has_begun() {
    let place = Place::new();
    for at in 0..5 {
        let words = format!("--no-bpf --format json --record {at}.json -- true");
        let json = observe(&place, words).json();
        if !is_from(&json, "perf") {
            return;
        }
        assert!(
            json["all"]["switches"].as_u64() >= Some(1),
            "its end is one: {json}"
        );
        assert!(names(&json).contains(&"true"), "{json}");
    }
}

#[test]
fn a_task_that_gains_rights_is_counted_and_that_it_could_not_be_followed_is_reported() {
    let place = Place::new();
    // Every user can reach the folder, as for a program that any user may execute with root's
    // rights.
    let folder = tempfile::tempdir_in("/var/tmp").expect("a folder");
    let mode = |path: &std::path::Path, mode| {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).expect("it is ours");
    };
    let [perl, program] = ["perl", "switchcost"].map(|name| folder.path().join(name));
    fs::copy("/usr/bin/perl", &perl).expect("perl is on every Debian");
    fs::copy(env!("CARGO_BIN_EXE_switchcost"), &program).expect("there is room");
    mode(folder.path(), 0o777);
    mode(&program, 0o755);
    mode(&perl, 0o4755);
    let record = folder.path().join("o.json");
    let script = format!(
        "sleep 0.1; exec {} -e 'for (1..50) {{ select(undef, undef, undef, 0.01) }}'",
        text(&perl)
    );
    let words = format!(
        "observe --no-bpf --no-calibration --format json --record {}",
        text(&record)
    );
    let output = Command::new("setpriv")
        .args(["--reuid=65534", "--regid=65534", "--clear-groups"])
        .arg(&program)
        .args((words, ["--", "sh", "-c", &script]).words())
        .env("XDG_STATE_HOME", folder.path())
        .output()
        .expect("setpriv is on every Debian");
    let said = String::from_utf8_lossy(&output.stderr);
    let Ok(json) = serde_json::from_slice::<Value>(&output.stdout) else {
        println!("skipped: {said}");
        return;
    };
    if !is_from(&json, "perf") {
        return;
    }
    assert!(
        json["all"]["switches"].as_u64() >= Some(50),
        "{}",
        json["all"]
    );
    let unfollowed = count(&json["lost"]["unfollowed"]);
    let ran = place.run(["report", text(&record)]);
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
    let mut python = Command::new("python3")
        .args(["-c", script])
        .spawn()
        .expect("python3");
    let process = python.id();
    let thread = || {
        let tasks = fs::read_dir(format!("/proc/{process}/task"))
            .into_iter()
            .flatten()
            .flatten();
        let mut numbers = tasks.filter_map(|task| task.file_name().to_str()?.parse::<u32>().ok());
        numbers.find(|&number| number != process)
    };
    let found = (0..1000).find_map(|_| {
        thread().or_else(|| {
            sleep(Duration::from_millis(10));
            None
        })
    });
    let thread = found.expect("it starts a thread");
    let ran = observe(&place, ["-p", &thread.to_string(), "-d", "100ms"]);
    python
        .kill()
        .and_then(|()| python.wait())
        .expect("our child");
    ran.assert_code(2);
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
    observe(&place, ["--", "sh", "-c", script])
        .assert_code(0)
        .assert_message("exited, but its children are still running (");
    observe(&place, ["-d", "20s", "--", "sh", "-c", script])
        .assert_message("and is observed further");
}

#[test]
fn who_forked_before_is_reported_with_how_to_observe_its_children() {
    let place = Place::new();
    let script = "perl -e '$| = 1; print qq(x); select(undef, undef, undef, 0.002) while 1' & read line; kill $!";
    let mut parent = Command::new("sh");
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
    let usual = format!("observe --no-calibration -d 500ms -p {number}");
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
    alone.assert_output(&format!(
        "1 existing child of process {number} switched more often"
    ));
    alone.assert_output("but is not included");
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
    let ran = observe(
        &place,
        format!("--counts-only --record o.json -- sh -c '{SLEEPER}'"),
    );
    ran.assert_code(0);
    let json = place.run("report o.json --format json").json();
    if !is_from(&json, "bpf-counts") {
        return;
    }
    let report = ran.report();
    assert!(
        report.contains("waits in clock_nanosleep") && report.contains("(--counts-only)"),
        "{report}"
    );
    let causes = items(&json["causes"]);
    assert!(
        causes.iter().all(|cause| cause["off_ns"].is_null()),
        "what is not timed is not 0: {causes:?}"
    );
    assert!(
        json["off"].is_null() && json["neighbours"].as_array().is_some_and(Vec::is_empty),
        "{json}"
    );
    assert!(number(&json["all"]["cpu_ns"]) > 0.0);
}

#[test]
fn a_command_that_outlasts_the_time_is_asked_to_end() {
    let place = Place::new();
    let begun = Instant::now();
    observe(
        &place,
        "-d 300ms -- sh -c \"trap 'echo asked >&2; exit' TERM; while :; do sleep 0.05; done\"",
    )
    .assert_code(0)
    .assert_message("asked");
    assert!(begun.elapsed() < Duration::from_secs(20));
}

#[test]
fn a_record_is_not_overwritten_and_a_damaged_one_is_refused() {
    let place = Place::new();
    let record = text(&place.path("o.json")).to_owned();
    observe(&place, "--record o.json -- true").assert_code(0);
    observe(&place, "--record o.json -- true").assert_failed(2, "already exists");
    // A record that another run has written in the meantime is not used either.
    let other = text(&place.path("other.json")).to_owned();
    let command = format!("sleep 0.1; echo other > {other}");
    let ran = observe(&place, format!("--record other.json -- sh -c '{command}'"));
    assert!(
        ran.code == 2
            && ran.stderr.contains("already exists")
            && ran.stderr.contains("switches in"),
        "{}: {}",
        ran.code,
        ran.stderr
    );
    assert_eq!(place.read("other.json"), "other\n");
    let whole = place.read("o.json");
    fs::write(&record, &whole[..whole.len() / 2]).expect("it may be written");
    place.run("report o.json").assert_failed(5, "damaged");
    fs::write(&record, whole.replacen("/2\"", "/99\"", 1)).expect("it may be written");
    place
        .run("report o.json")
        .assert_failed(5, "observation/99");
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
        .command("observe --no-calibration --record o.json -a -d 60s")
        .stdout(Stdio::null())
        .spawn()
        .expect("it starts");
    let has_snapshot = (0..1500).any(|_| {
        sleep(Duration::from_millis(20));
        record.exists()
    });
    child.kill().and_then(|()| child.wait()).expect("our child");
    assert!(has_snapshot, "no snapshot within 30 s");
    let ran = place.run("report o.json");
    ran.assert_code(0);
    let words = ran.stdout.replace("\n    ", " ");
    assert!(
        words.contains("The observer was killed: the last few seconds are missing"),
        "{words}"
    );
}

#[test]
fn a_command_that_fails_ends_every_verb_that_runs_one_with_its_own_code() {
    let place = Place::new();
    let observe = "observe --no-calibration --no-bpf --";
    let live = "simulate live --design mogul-1a --record s.parquet --";
    for (verb, command, code) in [
        (observe, "false", 1),
        (observe, "sh -c 'exit 5'", 5),
        (observe, "sh -c 'kill -KILL $$'", 137),
        (observe, "true", 0),
        ("trace -o t.sct --", "false", 1),
        (live, "sh -c 'kill -KILL $$'", 137),
    ] {
        let ran = place.run((verb, command));
        ran.assert_code(code);
        assert_eq!(
            ran.stderr.contains("' ended with "),
            code != 0,
            "{}",
            ran.stderr
        );
    }
    // The test itself ended the process.
    place
        .run("observe --no-calibration --no-bpf -d 0.1s -- sleep 30")
        .assert_code(0);
}

#[test]
fn arguments_and_host_name_are_left_out_of_every_record_where_that_is_asked_for() {
    let place = Place::new();
    let host = fs::read_to_string("/proc/sys/kernel/hostname").expect("the kernel reports it");
    let host = host.trim();
    let secret = "password-in-an-argument";
    let command = format!("-- sh -c 'exit 1' {secret}");
    let measure = "measure --redact --mechanism fiber --max-repetitions 5 --no-counters";
    let simulate = "--redact --design mogul-1a --record";
    let run = |words: String| {
        let ran = place.run(words);
        [ran.stdout, ran.stderr]
    };
    let runs = [
        format!("{measure} --record m.jsonl --output {secret}"),
        format!(
            "observe --redact --no-calibration --no-bpf --record o.json --format json {command}"
        ),
        format!("trace --redact -o t.sct {command}"),
        format!("simulate live {simulate} s.parquet --format json {command}"),
    ];
    let mut reported: Vec<String> = runs.into_iter().flat_map(run).collect();
    let named = format!("{secret}.sct");
    fs::copy(place.path("t.sct"), place.path(&named)).expect("room");
    reported.extend(run(format!("simulate {named} {simulate} a.parquet")));
    reported.push(place.run("trace info t.sct").stdout);
    for record in ["m.jsonl", "o.json", "s.parquet", "a.parquet"] {
        reported.push(place.run(format!("report --details {record}")).stdout);
        // Packed parts of a Parquet file contain numbers.
        let bytes = fs::read(place.path(record)).expect("a record");
        reported.push(String::from_utf8_lossy(&bytes).into_owned());
    }
    for text in reported {
        let text = text.replace("\n    ", " ");
        assert!(!text.contains(secret), "{text}");
        let is_a_word = |(at, _): (usize, &str)| {
            let before = text[..at].chars().next_back();
            let after = text[at + host.len()..].chars().next();
            ![before, after]
                .iter()
                .flatten()
                .any(|letter| letter.is_alphanumeric())
        };
        assert!(!text.match_indices(host).any(is_a_word), "{host} in {text}");
    }
}

#[test]
fn empty_records_of_dead_runs_are_passed_over_and_swept() {
    let place = Place::new();
    observe(&place, "-- true").assert_code(0);
    let folder = place.folder().join("switchcost/runs");
    let mode = |path: &std::path::Path| {
        fs::metadata(path)
            .expect("it is there")
            .permissions()
            .mode()
            & 0o777
    };
    assert_eq!(mode(&folder), 0o700);
    let records = || -> Vec<_> {
        let entries = fs::read_dir(&folder)
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
    fs::write(&dead, "").expect("it can be written");
    // The newest that has something in it is shown; the same run is compared, and nothing empty.
    place.run("report").assert_code(0);
    place
        .run("compare switchcost/runs switchcost/runs")
        .assert_code(2);
    observe(&place, "-- true");
    assert!(!dead.exists());
}

#[test]
fn metrics_are_served_while_a_command_runs() {
    let place = Place::new();
    let arguments = "observe --no-calibration --listen 0 --record o.json -- sleep 30";
    let mut child = place
        .command(arguments)
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
    observe(&place, format!("--listen {address} -- true"))
        .assert_failed(2, "choose a free port on this machine");
    // Asked to end, the process keeps its data.
    let process = Pid::from_child(&child);
    kill_process(process, Signal::TERM).expect("it runs");
    assert_eq!(child.wait().expect("our child").code(), Some(143));
    place.run("report o.json").assert_code(0);
}

#[test]
fn the_cost_of_a_request_is_reported() {
    let place = Place::new();
    fs::write(place.path("served"), "0\n").expect("a new file");
    let script = "for i in 1 2 3 4 5; do sleep 0.01; echo $i > served; done";
    let words = format!("--rate-cmd 'cat served' --format json -- sh -c '{script}'");
    assert_eq!(observe(&place, words).json()["requests"], 5);
    for (words, reported) in [
        ("--requests 7", "Each of 7 requests took"),
        (
            "--rate-cmd 'cat served'",
            "No request was counted during the observation",
        ),
    ] {
        let ran = observe(&place, (words, "-- sh -c 'sleep 0.1'"));
        let report = ran.report().replace('\n', " ");
        assert!(report.contains(reported), "{words}: {report}");
    }
    observe(&place, "--rate-cmd 'echo many' -- true").assert_failed(
        2,
        "'echo many' does not print a whole number (it printed 'many')",
    );
}

#[test]
fn a_count_of_requests_that_fails_loses_no_observation() {
    let place = Place::new();
    let fails_once = "cat served; ! test -s once; e=$?; echo > once; exit $e";
    for (counter, script, reported) in [
        // The count fails at the end.
        (
            "rm served && echo 3",
            "sleep 0.1",
            "does not print a whole number",
        ),
        // The count fails after it has printed a number, the same one as before.
        (
            fails_once,
            "sleep 0.1",
            "does not print a whole number (it ended with exit status: 1)",
        ),
        (
            "cat served",
            "sleep 0.1; echo 2 > served",
            "printed 2 after 7, but the number must grow",
        ),
    ] {
        fs::write(place.path("served"), "7\n").expect("a file");
        let words = format!("--rate-cmd '{counter}' --format json -- sh -c '{script}'");
        let ran = observe(&place, words);
        let json = ran.assert_code(0).json();
        assert!(json["requests"].is_null(), "{counter}: {json}");
        assert_ne!(json["all"]["switches"], 0, "{counter}");
        ran.assert_message(reported);
    }
}

/// A keyboard without input, and without an end.
struct Keyboard(Child);

impl Keyboard {
    fn new() -> Keyboard {
        let mut sleep = Command::new("sleep");
        Keyboard(
            sleep
                .arg("60")
                .stdout(Stdio::piped())
                .spawn()
                .expect("it starts"),
        )
    }
}

impl Drop for Keyboard {
    fn drop(&mut self) {
        let ended = self.0.kill().and_then(|()| self.0.wait());
        ended.expect("our child");
    }
}

/// Returns a command of a shell on a terminal of its own.
fn on_terminal(place: &Place, command: &str) -> Command {
    let mut script = Command::new("script");
    script
        .arg("-qec")
        .arg(format!("stty cols 100 rows 40; {command}"))
        .arg("/dev/null")
        .current_dir(place.folder())
        .env("XDG_STATE_HOME", place.folder())
        .env("TERM", "xterm");
    script
}

/// Returns what `observe -a --live` sends to a terminal after the start of its own screen, and
/// where that screen ends.
fn drawn_live(place: &Place, duration: &str, record: &str) -> (String, usize) {
    let words = "observe -a --live --no-calibration";
    let command = format!("{PROGRAM} {words} -d {duration} --record {record}");
    let mut keyboard = Keyboard::new();
    let output = on_terminal(place, &command)
        .stdin(keyboard.0.stdout.take().expect("piped"))
        .output()
        .expect("script is on every Debian");
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
    let (drawn, to) = drawn_live(&place, "500ms", "s.json");
    assert!(
        !drawn[..to].contains("involuntary"),
        "half a second is no frame: {drawn}"
    );
    let (drawn, to) = drawn_live(&place, "2500ms", "o.json");
    assert!(drawn[..to].contains("involuntary"), "{drawn}");
    assert!(!drawn.contains("killed"), "{drawn}");
    // The complete report is on the normal screen.
    let report: Vec<&str> = drawn[to..].split_whitespace().collect();
    assert!(
        report
            .join(" ")
            .contains("The cost of the switches of this machine's processes"),
        "{drawn}"
    );
    place.run("report o.json").assert_code(0);
    // Without a terminal there is nothing to draw on, and no calibration.
    place.run("observe -a --live").assert_failed(
        2,
        "--live needs a terminal, but standard output is not one\nhint: use --every 1s",
    );
}

#[test]
fn a_terminal_that_cannot_be_drawn_on_is_refused_and_one_of_ascii_gets_letters() {
    let place = Place::new();
    let drawn = |variables: &str, words: &str| {
        let output = on_terminal(&place, &format!("env {variables} {PROGRAM} {words}")).output();
        String::from_utf8_lossy(&output.expect("script is on every Debian").stdout).into_owned()
    };
    place
        .run("trace walks --size 4KiB --turns 200 -o w.sct")
        .assert_code(0);
    for (variables, is_ascii) in [
        ("TERM=xterm LC_ALL=C.UTF-8", false),
        ("TERM=xterm LC_ALL=C", true),
        ("TERM=dumb LC_ALL=C.UTF-8", true),
        ("-u TERM LC_ALL=C.UTF-8", true),
    ] {
        let drawn = drawn(variables, "simulate w.sct --design mogul-1a");
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
        let refused = drawn(variables, "observe -a --live --no-calibration -d 1s");
        assert!(refused.contains("has no cursor"), "{refused}");
    }
}

#[test]
fn a_kill_while_it_is_shown_live_leaves_the_terminal_as_it_was_and_no_command() {
    let place = Place::new();
    let ready = place.path("ready");
    let script = "echo $$ > ready; exec sleep 60";
    let observe = format!("{PROGRAM} observe --live --no-calibration --no-bpf -- sh -c '{script}'");
    let mut keyboard = Keyboard::new();
    // The remaining modes are read while the terminal still exists.
    let on_terminal = on_terminal(&place, &format!("{observe}; sleep 1; stty -a"))
        .stdin(keyboard.0.stdout.take().expect("piped"))
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("script is on every Debian");
    let number = || {
        fs::read_to_string(&ready)
            .ok()
            .and_then(|text| text.trim().parse::<i32>().ok())
    };
    crate::common::wait_until("the command runs", || number().is_some());
    let command = number().expect("just seen");
    let stat = fs::read_to_string(format!("/proc/{command}/stat")).expect("it runs");
    let (_, fields) = stat.rsplit_once(") ").expect("a name");
    let observer: i32 = fields
        .split(' ')
        .nth(1)
        .expect("a parent")
        .parse()
        .expect("a number");
    // The program has drawn the screen by then.
    sleep(Duration::from_millis(300));
    let observer = Pid::from_raw(observer).expect("a number");
    kill_process(observer, Signal::KILL).expect("our child's child");
    let output = on_terminal.wait_with_output().expect("our child");
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
    let left = fs::read_to_string(format!("/proc/{command}/cmdline")).unwrap_or_default();
    assert!(!left.contains("sleep"), "{left}");
}

#[test]
fn a_trace_of_each_switch_is_written_whole_or_not_at_all() {
    let place = Place::new();
    let traced = |to: &str| {
        let words = format!("--events {to} --record o.json -- sh -c '{SLEEPER}'");
        observe(&place, words)
    };
    let (record, trace) = (place.path("o.json"), place.path("t.pftrace"));
    let nowhere = traced("/nonexistent/t.pftrace");
    assert_ne!(nowhere.code, 0);
    assert!(
        nowhere.stderr.contains("/nonexistent/t.pftrace") && !place.path("o.json").exists(),
        "{}",
        nowhere.stderr
    );
    let ran = traced("t.pftrace");
    if ran.stderr.contains("switches cannot be traced one by one") {
        assert!(!trace.exists() && !record.exists());
        println!("skipped: {}", ran.stderr);
        return;
    }
    ran.assert_code(0);
    let bytes = fs::read(&trace).expect("a trace");
    // The packet has the names of threads that were seen.
    let has = |name: &[u8]| bytes.windows(name.len()).any(|window| window == name);
    assert!(bytes[0] == 0x0a && has(b"sleep"), "{} bytes", bytes.len());
    // On a full disk the trace is lost, but not the observation.
    fs::remove_file(&record).expect("our own");
    let full = traced("/dev/full");
    assert!(
        full.code != 0 && full.report().contains("switches") && place.path("o.json").exists(),
        "{}",
        full.stderr
    );
    observe(&place, "--events t.pftrace --no-bpf -- true").assert_code(2);
}

#[test]
fn stacks_are_written_for_other_tools() {
    let place = Place::new();

    let files = "--folded o.folded --pprof o.pb.gz";
    let begun = Instant::now();
    let ran = observe(
        &place,
        format!("--record o.json {files} -- sh -c '{SLEEPER}'"),
    );
    if ran.stderr.contains("stacks") {
        assert!(!place.path("o.json").exists() && !place.path("o.folded").exists());
        println!("skipped: {}", ran.stderr);
        return;
    }
    ran.assert_code(0);
    let lines = place.read("o.folded");
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
    let again = place.run("report o.json --folded /dev/stdout");
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
    let ran = observe(&place, format!("--pprof o.pb.gz -- sh -c '{SLEEPER}'"));
    if ran.stderr.contains("failed to write stacks") {
        println!("skipped: {}", ran.stderr);
        return;
    }
    ran.assert_code(0);
    let mut go = Command::new("go");
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
    observe(
        &place,
        format!("--no-bpf --record o.json -- sh -c '{SLEEPER}'"),
    )
    .assert_code(0);
    place
        .run("report o.json --folded x")
        .assert_failed(2, "this is an observation without causes");
    assert!(!place.path("x").exists());
    place
        .run("report o.json o.json --pprof x")
        .assert_failed(2, "2 records");
    observe(&place, "--no-bpf --folded x -- true").assert_code(2);
}

#[test]
fn without_bpf_the_kernels_records_show_a_short_command_exactly() {
    let place = Place::new();
    let json = observe(
        &place,
        format!("--no-bpf --format json --record o.json -- sh -c '{SLEEPER}'"),
    )
    .json();
    if !is_from(&json, "perf") {
        return;
    }
    let of = |name: &str| {
        items(&json["names"])
            .iter()
            .find(|found| found["name"] == name)
            .cloned()
    };
    let sleep = of("sleep").expect("ten of them");
    assert_eq!(sleep["tasks"], 10, "{sleep}");
    let switches = count(&sleep["switches"]);
    assert!(
        (20..100).contains(&switches),
        "each sleeps, and ends: {sleep}"
    );
    assert!(count(&json["off"]["count"]) >= 20, "{}", json["off"]);
    assert!(items(&json["causes"]).is_empty() && json["wait"].is_null());
    assert_eq!(json["lost"]["records"], 0);
}

#[test]
fn of_all_tasks_those_of_the_observer_are_none() {
    let place = Place::new();
    for way in ["--record a.json", "--no-bpf --record b.json"] {
        let words = "observe --no-calibration --format json -a -d 500ms";
        let child = place
            .command((words, way))
            .stdout(Stdio::piped())
            .spawn()
            .expect("it starts");
        let own = child.id();
        let output = child.wait_with_output().expect("our child");
        let json: Value = serde_json::from_slice(&output.stdout).expect("it is JSON");
        let processes: Vec<u64> = items(&json["processes"])
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
    // The program waits each time, and then makes three calls that never wait.
    let script = "for (1 .. 1200) { select(undef, undef, undef, 0.002); getppid for 1 .. 3 }";
    let ran = observe(
        &place,
        format!("--calls 1s --record o.json --format json -- perl -e '{script}'"),
    );
    let json = ran.json();
    if !is_from(&json, "bpf") {
        return;
    }
    let recorded: Value = serde_json::from_str(&place.read("o.json")).expect("JSON");
    let calls = &recorded["calls"];
    let sites = items(&calls["sites"]);
    let thread = &calls["slices"][0]["threads"][0];
    let of_call = |name: &str| {
        let all = items(&thread["site"]);
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
