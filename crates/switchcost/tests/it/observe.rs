//! Tests `observe` as a user runs it. A test that needs root or BPF reports that it was skipped.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt;
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use crate::common::{
    Arguments, PROGRAM, Place, Ran, conformity, count, ended, finished, in_one_line, items, number,
    processes_with, send, text, wait_until,
};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

/// Script that sleeps a little, now and then.
const SLEEPER: &str = "for i in 1 2 3 4 5 6 7 8 9 10; do sleep 0.01; done";

/// Runs `observe` without measuring the cost of a switch first, and by BPF if possible.
fn observe_by_bpf(place: &Place, arguments: impl Arguments) -> Ran {
    place.run(("observe --no-calibration", arguments))
}

/// Runs `observe` without BPF programs, whose check by the kernel takes a second.
fn observe(place: &Place, arguments: impl Arguments) -> Ran {
    observe_by_bpf(place, ("--no-bpf", arguments))
}

/// Returns true if an observation is from `source`; otherwise prints why it is not.
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
    let ran = observe_by_bpf(&place, format!("--record o.json -- sh -c '{SLEEPER}'"));
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
fn causes_counts_and_stacks_of_a_command_are_reported() {
    let place = Place::new();
    let begun = Instant::now();
    let words = "--folded o.folded --pprof o.pb.gz --record o.json --format json";
    let ran = observe_by_bpf(&place, format!("{words} -- sh -c '{SLEEPER}'"));
    if ran.stderr.contains("stacks") {
        assert!(!place.path("o.json").exists() && !place.path("o.folded").exists());
        println!("skipped: {}", ran.stderr);
        return;
    }
    let json = ran.assert_code(0).json();
    let causes = items(&json["causes"]);
    let switches = |name: &str| -> u64 {
        let of_call = causes
            .iter()
            .filter(|cause| cause["why"] == "blocked" && cause["entry"]["system-call"] == name);
        of_call.map(|cause| count(&cause["switches"])).sum()
    };
    let [sleeps, waits] = ["clock_nanosleep", "wait4"].map(switches);
    assert!((10..=14).contains(&sleeps), "{causes:?}");
    assert!((8..=40).contains(&waits), "{causes:?}");
    // The processes that it started are observed, too.
    assert!(names(&json).contains(&"sleep"), "{json}");
    assert!(json["own_cost"].is_object());
    let lines = place.read("o.folded");
    let slept = lines
        .lines()
        .find_map(|line| line.strip_prefix("sleep;waits;clock_nanosleep "))
        .expect("they slept");
    let slept: u64 = slept.parse().expect("nanoseconds");
    let longest = begun.elapsed().as_nanos() as u64;
    assert!(
        (100_000_000..longest).contains(&slept),
        "{slept} ns of ten sleeps of 10 ms"
    );
    // The record gives the same output again.
    place
        .run("report o.json --folded /dev/stdout")
        .assert_prints(0, &lines);
}

#[test]
fn without_bpf_the_kernels_records_show_a_short_command_exactly_and_no_causes() {
    let place = Place::new();
    let ran = observe(&place, format!("--record o.json -- sh -c '{SLEEPER}'"));
    ran.assert_code(0);
    let text = ran.report().replace('\n', " ");
    assert!(
        text.contains("(causes are unknown)") && text.contains("(--no-bpf)"),
        "{text}"
    );
    assert!(!text.contains("Competitors for the CPU"), "{text}");
    place
        .run("report o.json --folded x")
        .assert_failed(2, "the observation has no causes, which --folded");
    assert!(!place.path("x").exists());
    observe(&place, "--folded x -- true").assert_code(2);
    let json = place.run("report o.json --format json").json();
    if !is_from(&json, "perf") {
        return;
    }
    let sleep = items(&json["names"])
        .iter()
        .find(|found| found["name"] == "sleep");
    let sleep = sleep.expect("ten of them");
    assert_eq!(sleep["tasks"], 10, "{sleep}");
    // Each sleeps, and ends.
    assert!((20..100).contains(&count(&sleep["switches"])), "{sleep}");
    assert!(count(&json["off"]["count"]) >= 20, "{}", json["off"]);
    assert!(items(&json["causes"]).is_empty() && json["wait"].is_null());
    assert_eq!(json["lost"]["records"], 0);
}

#[test]
fn a_process_of_a_container_is_reported_with_both_its_numbers() {
    let place = Place::new();
    let container = "unshare --pid --fork --kill-child";
    let asked = "--format json --record o.json -d 500ms --";
    let command = "sh -c 'while :; do sleep 0.01; done'";
    let ran = observe_by_bpf(&place, format!("{asked} {container} {command}"));
    if ran.stderr.contains("unshare failed") {
        println!("skipped: no PID namespace may be made");
        return;
    }
    let json = ran.json();
    let processes = items(&json["processes"]);
    let named = |name: &str| {
        let is_it = |process: &&Value| process["name"] == name && !process["process"].is_null();
        let found = processes.iter().find(is_it);
        found.unwrap_or_else(|| panic!("{name} was alive at the end: {processes:?}"))
    };
    let [shell, outer] = ["sh", "unshare"].map(named);
    assert!(
        shell["process_inside"] == 1 && shell["process"] != 1,
        "{shell}"
    );
    assert!(outer["process_inside"].is_null(), "{outer}");
    place
        .run("report o.json --details")
        .assert_output(&format!("sh {} = 1 in ", shell["process"]));
}

#[test]
fn in_a_container_no_process_is_taken_for_another_one() {
    let place = Place::new();
    // In the namespace the shell has a small number, which some thread of the machine also has.
    let words = format!("observe --no-calibration --format json -- sh -c '{SLEEPER}'");
    let ran = finished(&mut place.command_behind("unshare --pid --fork --mount-proc", &words));
    let said = &ran.stderr;
    if said.starts_with("unshare:") {
        println!("skipped: {said}");
        return;
    }
    assert!(
        said.contains("this process is in another PID namespace")
            || said.contains("no right to load BPF"),
        "{said}"
    );
    let json = ran.json();
    assert_ne!(json["source"], "bpf");
    assert!(names(&json).contains(&"sh"), "{json}");
}

#[test]
fn without_proc_no_count_is_reported() {
    let place = Place::new();
    let without = r#"umount -l /proc && exec "$@""#;
    let starter = ["unshare", "--mount", "sh", "-c", without, "sh"];
    let ran = finished(&mut place.command_behind(starter, "observe --no-calibration -- true"));
    let said = &ran.stderr;
    if said.starts_with("unshare:") || said.contains("umount:") {
        println!("skipped: {said}");
        return;
    }
    ran.assert_failed(
        1,
        "error: cannot look at processes: /proc is not mounted\nhint: mount it with mount -t proc proc /proc",
    );
}

#[test]
fn where_proc_hides_processes_no_count_of_all_is_reported() {
    let place = Place::new();
    let hidden = r#"mount -t proc -o hidepid=2,gid=65534 proc /proc && setpriv --bounding-set=-all --inh-caps=-all "$@"; exit $?"#;
    let starter = [
        "unshare", "--mount", "--pid", "--fork", "sh", "-c", hidden, "sh",
    ];
    for target in ["--all", "--cgroup /", "--comm sh", "--pid 1"] {
        let words = format!("observe --no-calibration --duration 100ms {target}");
        let ran = finished(&mut place.command_behind(starter, words));
        let said = &ran.stderr;
        if ["unshare:", "mount:", "setpriv:"]
            .iter()
            .any(|program| said.starts_with(program))
        {
            println!("skipped: {said}");
            return;
        }
        ran.assert_failed(
            1,
            "error: cannot look at processes: /proc hides those of other users (hidepid)\nhint: run it as root, or name your own with -p",
        );
    }
}

#[test]
fn a_command_needs_no_dashes_and_keeps_its_standard_output() {
    let place = Place::new();
    for words in ["echo -n x", "-- echo -n x"] {
        let ran = observe(&place, words);
        ran.assert_prints(0, "x");
        ran.assert_message("echo");
    }
    // Output for programs is alone on standard output, unless it is written elsewhere.
    let json = "--format json";
    let ran = observe(&place, format!("{json} echo x"));
    assert_eq!(ran.json()["subject"]["command"][1], "x");
    assert!(ran.stderr.lines().any(|line| line == "x"), "{}", ran.stderr);
    observe(&place, format!("{json} --output o.out echo x")).assert_prints(0, "x\n");
}

#[test]
fn a_target_is_observed_while_a_command_runs() {
    let place = Place::new();
    // The target is not this process, of which other tests start children at the same time.
    let mut target = Command::new("sh");
    target
        .args(["-c", "while kill -0 $PPID; do :; done"])
        .stdout(Stdio::null());
    let mut target = target.spawn().expect("a busy shell");
    let id = target.id();
    let words = format!("--record o.json -p {id}");
    let ran = observe(&place, (words, "-- sh -c 'sleep 0.3; echo x; exit 5'"));
    target
        .kill()
        .and_then(|()| target.wait())
        .expect("our child");
    ran.assert_prints(5, "x\n");
    let json = place.run("report o.json --format json").json();
    assert_eq!(json["subject"]["processes"][0], id);
    let recorded: Value = serde_json::from_str(&place.read("o.json")).expect("JSON");
    assert!(number(&recorded["window_ns"]) >= 0.3e9, "{recorded}");
    // The command is not part of it.
    assert!(!names(&json).contains(&"sleep"), "{json}");
}

#[test]
fn a_line_each_interval_ends_with_the_signal_and_with_its_reader() {
    let place = Place::new();
    let begin = || {
        let mut command = place.command("observe -a --no-bpf --no-calibration --every 100ms");
        command.stdout(Stdio::piped()).stderr(Stdio::null());
        command.spawn().expect("it starts")
    };
    let mut child = begin();
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
    send(&child, Signal::INT);
    while line().is_some() {}
    assert_eq!(child.wait().expect("our child").code(), Some(130));
    let mut child = begin();
    drop(child.stdout.take());
    assert_eq!(child.wait().expect("our child").code(), Some(0));
    let full = std::fs::File::create("/dev/full").expect("Linux has it");
    let mut command = place
        .command("observe -a --no-bpf --no-calibration --every 100ms -d 60s --record full.json");
    let status = command.stdout(full).stderr(Stdio::null()).status();
    assert_eq!(status.expect("it starts").code(), Some(1));
    let record = place.run("report full.json --format json").json();
    assert!(number(&record["seconds"]) > 0.0, "{record}");
}

#[test]
fn a_short_command_is_held_until_observation_has_begun() {
    let place = Place::new();
    for at in 0..5 {
        let words = format!("--format json --record {at}.json -- true");
        let json = observe(&place, words).json();
        if !is_from(&json, "perf") {
            return;
        }
        // Its end is one.
        assert!(count(&json["all"]["switches"]) >= 1, "{json}");
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
    fs::copy(PROGRAM, &program).expect("there is room");
    mode(folder.path(), 0o777);
    mode(&program, 0o755);
    mode(&perl, 0o4755);
    let script = "sleep 0.1; exec ./perl -e 'for (1..50) { select(undef, undef, undef, 0.01) }'";
    let words = "observe --no-bpf --no-calibration --format json --record o.json -- sh -c";
    let mut command = Command::new("setpriv");
    command.args(["--reuid=65534", "--regid=65534", "--clear-groups"]);
    command.arg(&program).args(words.words()).arg(script);
    command.current_dir(folder.path());
    let ran = finished(command.env("XDG_STATE_HOME", folder.path()));
    let Ok(json) = serde_json::from_str::<Value>(&ran.stdout) else {
        println!("skipped: {}", ran.stderr);
        return;
    };
    if !is_from(&json, "perf") {
        return;
    }
    assert!(count(&json["all"]["switches"]) >= 50, "{json}");
    let unfollowed = count(&json["lost"]["unfollowed"]);
    assert!(
        unfollowed > 20,
        "the kernel writes no records of it: {json}"
    );
    let ran = place.run(("report", folder.path().join("o.json")));
    let words = in_one_line(&ran.stdout);
    let reported = "known by the kernel's counters alone: a task gained rights";
    assert!(words.contains(reported), "{words}");
}

#[test]
fn what_a_command_leaves_running_is_reported() {
    let place = Place::new();
    // The process is a daemon: it has its own session, and no process waits for it.
    let script = "setsid sh -c 'for i in 1 2 3 4 5 6 7 8; do sleep 0.1; done' > /dev/null 2>&1 &";
    observe_by_bpf(&place, ["--", "sh", "-c", script])
        .assert_failed(0, "exited, but its children are still running (");
}

#[test]
fn who_forked_before_is_reported_with_how_to_observe_its_children() {
    let place = Place::new();
    let script = "perl -e '$| = 1; print qq(x); select(undef, undef, undef, 0.002) while 1' & read line; kill $!";
    let mut parent = Command::new("sh");
    parent
        .args(["-c", script])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped());
    let mut parent = parent.spawn().expect("a shell");
    let mut ready = parent.stdout.take().expect("a pipe");
    ready.read_exact(&mut [0]).expect("its child runs");
    let number = parent.id();
    let alone = observe(&place, format!("-d 500ms -p {number}"));
    // The command has its own window and machine, as printed.
    let lines = alone.stdout.lines();
    let command = lines
        .filter_map(|line| line.strip_prefix("  switchcost observe -p "))
        .next();
    let with_child = command.map(|command| {
        let command = command.replace("10s", "500ms");
        place.run_as_printed(&format!(
            "switchcost observe --no-bpf --no-calibration -p {command}"
        ))
    });
    drop(parent.stdin.take());
    parent.wait().expect("our child");
    alone
        .assert_output(&format!(
            "1 existing child of process {number} switched more often"
        ))
        .assert_output("but is not included");
    let with_child = with_child.expect("a command");
    with_child.assert_output("2 processes");
    assert!(
        !with_child.stdout.contains("existing child"),
        "{}",
        with_child.stdout
    );
}

#[test]
fn counts_alone_have_causes_and_no_times() {
    let place = Place::new();
    let ran = observe_by_bpf(
        &place,
        format!("--counts-only --record o.json -- sh -c '{SLEEPER}'"),
    );
    ran.assert_code(0);
    let json = place.run("report o.json --format json").json();
    if !is_from(&json, "bpf-counts") {
        return;
    }
    ran.assert_message("waits in clock_nanosleep")
        .assert_message("(--counts-only)");
    // What is not timed is not 0.
    let causes = items(&json["causes"]);
    assert!(
        causes.iter().all(|cause| cause["off_ns"].is_null()),
        "{causes:?}"
    );
    assert!(
        json["off"].is_null() && items(&json["neighbours"]).is_empty(),
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
fn a_record_that_another_run_has_written_meanwhile_is_not_overwritten() {
    let place = Place::new();
    let ran = observe(
        &place,
        "--record other.json -- sh -c 'sleep 0.1; echo other > other.json'",
    );
    ran.assert_failed(2, "already exists");
    ran.assert_message("switches in");
    assert_eq!(place.read("other.json"), "other\n");
}

#[test]
fn a_kill_costs_no_more_than_some_seconds_of_an_observation() {
    let place = Place::new();
    let record = place.path("o.json");
    let mut command = place.command("observe --no-bpf --no-calibration --record o.json -a -d 60s");
    let mut child = command.stdout(Stdio::null()).spawn().expect("it starts");
    wait_until("there is a snapshot", || record.exists());
    child.kill().and_then(|()| child.wait()).expect("our child");
    let ran = place.run("report o.json");
    ran.assert_code(0);
    let words = ran.stdout.replace("\n    ", " ");
    let reported = "The observer was killed: the last few seconds are missing";
    assert!(words.contains(reported), "{words}");
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
            let (before, after) = (&text[..at], &text[at + host.len()..]);
            let is_letter = char::is_alphanumeric;
            !before.ends_with(is_letter) && !after.starts_with(is_letter)
        };
        assert!(!text.match_indices(host).any(is_a_word), "{host} in {text}");
    }
}

#[test]
fn empty_records_of_dead_runs_are_passed_over_and_swept() {
    let place = Place::new();
    observe(&place, "-- true").assert_code(0);
    // No process has this number.
    let dead = place.path("switchcost/runs/2999-01-01T00-00-00-4194305-observation.json");
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
    let arguments = "observe --no-bpf --no-calibration --listen 0 --record o.json -- sleep 30";
    let mut child = place
        .command(arguments)
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .expect("it starts");
    let mut said = BufReader::new(child.stderr.take().expect("piped")).lines();
    let address = said.find_map(|line| {
        let line = line.expect("text");
        let (_, address) = line.split_once("metrics: http://")?;
        Some(address.strip_suffix("/metrics")?.to_owned())
    });
    let address = address.expect("it says where it listens");
    assert!(address.starts_with("127.0.0.1:"), "{address}");
    let mut stream = TcpStream::connect(&address).expect("it listens");
    write!(stream, "GET /metrics HTTP/1.1\r\nHost: {address}\r\n\r\n").expect("it reads");
    let mut metrics = String::new();
    stream.read_to_string(&mut metrics).expect("an answer");
    assert!(metrics.starts_with("HTTP/1.1 200"), "{metrics}");
    // The port is in use.
    observe(&place, format!("--listen {address} -- true"))
        .assert_failed(2, "choose a free port on this machine");
    // Asked to end, the process keeps its data.
    send(&child, Signal::TERM);
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

/// Starts a command of a shell on a new terminal, whose keyboard is the child's standard input.
fn start_on_terminal(place: &Place, command: &str) -> Child {
    let mut script = Command::new("script");
    let command = format!("stty cols 100 rows 40; {command}");
    script.args(["-qec", &command, "/dev/null"]);
    script.current_dir(place.folder()).env("TERM", "xterm");
    script.env("XDG_STATE_HOME", place.folder());
    script.stdin(Stdio::piped()).stdout(Stdio::piped());
    script.spawn().expect("script is on every Debian")
}

/// Returns what a command sends to its terminal.
fn drawn(place: &Place, command: &str) -> String {
    let mut child = start_on_terminal(place, command);
    let keyboard = child.stdin.take();
    let ran = ended(child);
    drop(keyboard);
    ran.stdout
}

/// Codes that begin the program's own screen, and that end it.
const SCREEN: [&str; 2] = ["\u{1b}[?1049h", "\u{1b}[?1049l"];

/// Returns what `observe -a --live` draws on its own screen, and what it prints on the normal
/// screen afterwards.
fn drawn_live(place: &Place, words: &str) -> [String; 2] {
    let words = format!("observe -a --live --no-calibration {words}");
    let all = drawn(place, &format!("{PROGRAM} {words}"));
    let (_, drawn) = all.split_once(SCREEN[0]).expect("another screen");
    let (own, normal) = drawn.rsplit_once(SCREEN[1]).expect("the screen as before");
    [own.to_owned(), in_one_line(normal)]
}

#[test]
fn the_last_second_is_drawn_on_a_terminal_that_is_as_before_afterwards() {
    let place = Place::new();
    let [own, _] = drawn_live(&place, "--no-bpf -d 500ms --record s.json");
    assert!(
        !own.contains("involuntary"),
        "half a second is no frame: {own}"
    );
    let [own, normal] = drawn_live(&place, "-d 2500ms --record o.json");
    assert!(own.contains("involuntary"), "{own}");
    assert!(!normal.contains("observer was killed"), "{normal}");
    // The complete report is on the normal screen.
    let report = "The cost of the switches of this machine's processes";
    assert!(normal.contains(report), "{normal}");
    place.run("report o.json").assert_code(0);
}

#[test]
fn a_terminal_that_cannot_be_drawn_on_is_refused_and_one_of_ascii_gets_letters() {
    let place = Place::new();
    place
        .run("trace walks --size 4KiB --turns 20 -o w.sct")
        .assert_code(0);
    for (locale, line) in [("C.UTF-8", "─"), ("C", "-")] {
        let words = format!("env LC_ALL={locale} {PROGRAM} simulate w.sct --design mogul-1a");
        let drawn = drawn(&place, &words);
        assert_eq!(drawn.is_ascii(), line.is_ascii(), "{locale}: {drawn}");
        let rule = format!("\n{}", line.repeat(5));
        assert!(drawn.contains(&rule), "{locale}: {drawn}");
    }
    let words = format!("env TERM=dumb {PROGRAM} observe -a --live --no-calibration -d 1s");
    let refused = drawn(&place, &words);
    assert!(refused.contains("has no cursor"), "{refused}");
}

#[test]
fn a_kill_while_it_is_shown_live_leaves_the_terminal_as_it_was_and_no_command() {
    let place = Place::new();
    let ready = place.path("ready");
    // The path tells this observer from those of other tests.
    let script = format!("echo $$ > {}; exec sleep 60", ready.display());
    let observe = format!("{PROGRAM} observe --live --no-calibration --no-bpf -- sh -c '{script}'");
    // The remaining modes are read while the terminal still exists.
    let mut child = start_on_terminal(&place, &format!("{observe}; sleep 1; stty -a"));
    let keyboard = child.stdin.take();
    let is_there = || fs::read_to_string(&ready).is_ok_and(|text| text.ends_with('\n'));
    wait_until("the command runs", is_there);
    let command = place.read("ready");
    let [observer] = processes_with("cmdline", &["observe", &script])[..] else {
        panic!("one observer")
    };
    // The program has drawn the screen by then.
    sleep(Duration::from_millis(300));
    let observer = Pid::from_raw(observer).expect("a number");
    kill_process(observer, Signal::KILL).expect("our child's child");
    let drawn = ended(child).stdout;
    drop(keyboard);
    let [begin, end] = SCREEN.map(|code| drawn.rfind(code));
    assert!(begin.is_some() && begin < end, "{drawn}");
    for mode in [" icanon", " echo "] {
        assert!(drawn.contains(mode), "{mode}: {drawn}");
    }
    let left = fs::read_to_string(format!("/proc/{}/cmdline", command.trim()));
    assert!(!left.unwrap_or_default().contains("sleep"));
}

#[test]
fn a_trace_of_each_switch_is_written_whole_or_not_at_all() {
    let place = Place::new();
    let traced = |to: &str| {
        let words = format!("--events {to} --record o.json -- sh -c '{SLEEPER}'");
        observe_by_bpf(&place, words)
    };
    let (record, trace) = (place.path("o.json"), place.path("t.pftrace"));
    let nowhere = traced("/nonexistent/t.pftrace");
    assert_ne!(nowhere.code, 0);
    nowhere.assert_message("/nonexistent/t.pftrace");
    assert!(!record.exists());
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
    assert!(full.code != 0 && record.exists(), "{}", full.stderr);
    assert!(full.report().contains("switches"), "{}", full.stderr);
    observe(&place, "--events t.pftrace -- true").assert_code(2);
}

#[test]
#[ignore = "takes long: make test ARGS=--all"]
fn pprof_of_go_reads_the_stacks() {
    let place = Place::new();
    let pprof = text(&place.path("o.pb.gz")).to_owned();
    let ran = observe_by_bpf(&place, format!("--pprof o.pb.gz -- sh -c '{SLEEPER}'"));
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
fn of_all_tasks_those_of_the_observer_are_none() {
    let place = Place::new();
    for way in ["--record a.json", "--no-bpf --record b.json"] {
        let words = "observe --no-calibration --format json -a -d 500ms";
        let mut command = place.command((words, way));
        let child = command.stdout(Stdio::piped()).spawn().expect("it starts");
        let own = child.id();
        let json = ended(child).json();
        let processes = items(&json["processes"]);
        assert!(!processes.is_empty(), "{json}");
        assert!(
            processes.iter().all(|of| of["process"] != own),
            "{own} in {processes:?}"
        );
        // It is reported separately.
        assert!(number(&json["own_share"]) > 0.0, "{json}");
    }
}

#[test]
fn calls_are_traced_each_with_what_it_switched_and_compared() {
    let place = Place::new();
    // The program waits each time, and then makes three calls that never wait.
    let script = "for (1 .. 1200) { select(undef, undef, undef, 0.002); getppid for 1 .. 3 }";
    let usual = "--calls 1s --record o.json --format json -- perl -e";
    let observed = || {
        let _ = fs::remove_file(place.path("o.json"));
        let json = observe_by_bpf(&place, (usual, [script])).json();
        let recorded: Value = serde_json::from_str(&place.read("o.json")).expect("JSON");
        (json, recorded)
    };
    // On a busy machine the second that is traced may have too few waits.
    let is_enough = |(json, recorded): &(Value, Value)| {
        let first_us = &recorded["calls"]["slices"][0]["threads"][0]["after_us"][0];
        json["matched"][0]["waits"].as_u64() > Some(20) && first_us.as_u64() < Some(100_000)
    };
    let mut found = observed();
    for _ in 0..4 {
        if is_enough(&found) || found.0["source"] != "bpf" {
            break;
        }
        found = observed();
    }
    if !is_from(&found.0, "bpf") {
        return;
    }
    assert!(is_enough(&found), "{}", found.0["matched"]);
    let (json, recorded) = found;
    let calls = &recorded["calls"];
    let sites = items(&calls["sites"]);
    let thread = &calls["slices"][0]["threads"][0];
    let of_call = |name: &str| {
        let all = items(&thread["site"]);
        let is_one = |site: &&Value| sites[count(site) as usize]["call"] == *name;
        all.iter().filter(is_one).count() as u64
    };
    let matched = &json["matched"][0];
    let (parents, waits) = (of_call("getppid"), count(&matched["waits"]));
    // A slice begins and ends between any two waits, and a wait may be over before the task has
    // left its CPU.
    assert!(parents <= 3 * (waits + 1) + waits / 4, "{parents} {waits}");
    assert!(parents + 3 + waits / 4 >= 3 * waits, "{parents} {waits}");
    let voluntary = count(&json["all"]["switches"]) - count(&json["all"]["involuntary"]);
    assert!(waits <= voluntary, "{waits} of {voluntary}");
    assert_eq!(count(&calls["lost"]), 0);
    // Every wait blocks, so there is nothing to compare it with.
    assert!(matched["all_waits"].is_null(), "{matched}");
    assert_eq!(matched["program"], "perl");
}

#[test]
fn the_last_calls_of_processes_that_end_are_traced() {
    let place = Place::new();
    // Six processes wait until calls are traced. Each then makes one call, and ends by the next.
    let script = "use POSIX; for (1 .. 6) { next if fork; select(undef, undef, undef, 2.5); getppid; POSIX::_exit(0) }
                  1 while wait > 0";
    let usual = "--calls 3s --record o.json --format json -- perl -e";
    let parents = || {
        let _ = fs::remove_file(place.path("o.json"));
        let json = observe_by_bpf(&place, (usual, [script])).json();
        if !is_from(&json, "bpf") {
            return 6;
        }
        let recorded: Value = serde_json::from_str(&place.read("o.json")).expect("JSON");
        let calls = &recorded["calls"];
        let sites = items(&calls["sites"]);
        let threads = items(&calls["slices"][0]["threads"]).iter();
        let all = threads.flat_map(|thread| items(&thread["site"]));
        all.filter(|site| sites[count(site) as usize]["call"] == *"getppid")
            .count()
    };
    // On a busy machine the tracing may begin too late.
    assert!((0..5).any(|_| parents() == 6));
}
