//! Tests traces as a user makes them: real programs under the capture tool, inspected, cut and
//! simulated.
//!
//! The tests need Valgrind and the built tool (`make tool`), which `make test` provides.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::common::{Place, Ran, count, text};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

/// Traces a command into `name`.
fn trace(place: &Place, name: &str, arguments: &[&str]) -> Ran {
    let path = place.path(name);
    let ran = place.run(&[&["trace", "-o", text(&path)], arguments].concat());
    assert!(path.exists(), "{}", ran.stderr);
    ran
}

fn json(place: &Place, arguments: &[&str]) -> Value {
    place.run(arguments).json()
}

#[test]
fn the_same_program_gives_the_same_bytes_and_a_sound_trace() {
    let place = Place::new();
    for name in ["one.sct", "two.sct"] {
        assert_eq!(trace(&place, name, &["--", "seq", "100"]).code, 0);
    }
    let bytes = |name| fs::read(place.path(name)).expect("a trace");
    assert!(
        bytes("one.sct") == bytes("two.sct"),
        "two traces of one deterministic program differ"
    );
    let one = place.path("one.sct");
    assert_eq!(place.run(&["trace", "check", text(&one)]).code, 0);
    let info = json(&place, &["trace", "info", text(&one), "--format", "json"]);
    assert!(count(&info["instructions"]) > 10_000, "{info}");
    let bytes_per_instruction = count(&info["bytes"]) as f64 / count(&info["instructions"]) as f64;
    assert!(
        bytes_per_instruction < 1.0,
        "{bytes_per_instruction}: no column is packed"
    );
    let head = place.run(&["trace", "head", text(&one), "-n", "3"]);
    assert_eq!(head.stdout.lines().count(), 3);
    assert!(
        head.stdout.contains("task 1 starts in process 1"),
        "{}",
        head.stdout
    );
    let all = place.run(&["trace", "head", text(&one), "-n", "10000000"]);
    assert!(
        all.stdout.contains("enter syscall write (1)"),
        "no name of a call among {} events",
        all.stdout.lines().count()
    );
}

/// Pipeline whose `sort` has a fixed buffer size: otherwise `sort` asks for the free memory, and
/// works differently if less than an eighth is free.
const PIPELINE: [&str; 4] = [
    "--",
    "sh",
    "-c",
    "seq 300 | sort -S 1M | wc; printf '%s\\n' $$ $PPID; cat /proc/$$/cmdline",
];

#[test]
fn the_same_pipeline_gives_the_same_bytes() {
    let place = Place::new();
    for name in ["one.sct", "two.sct"] {
        let ran = trace(&place, name, &PIPELINE);
        assert_eq!(ran.code, 0, "{}", ran.stderr);
        if ran.stderr.contains(NO_PID_NAMESPACE) {
            eprintln!("skipped: {}", ran.stderr.trim());
            return;
        }
        assert!(ran.stdout.contains("\n2\n1\n"), "{}", ran.stdout);
    }
    let bytes = |name| fs::read(place.path(name)).expect("a trace");
    assert!(
        bytes("one.sct") == bytes("two.sct"),
        "two traces of one deterministic pipeline differ: {}",
        difference(&place)
    );
}

/// Returns the first event that differs, with the event before it.
fn difference(place: &Place) -> String {
    let [one, two] = ["one.sct", "two.sct"].map(|name| {
        place
            .run(&["trace", "head", text(&place.path(name)), "-n", "10000000"])
            .stdout
    });
    let mut pairs = one.lines().zip(two.lines()).enumerate();
    let mut before = "";
    let found = pairs.find(|(_, (one, two))| {
        let is_other = one != two;
        before = if is_other { before } else { one };
        is_other
    });
    format!(
        "of {} and {} events {found:?}, behind {before:?}",
        one.lines().count(),
        two.lines().count()
    )
}

#[test]
fn programs_see_all_processes_where_that_is_wanted() {
    let place = Place::new();
    let ran = trace(
        &place,
        "all.sct",
        &[
            "--processes",
            "all",
            "--",
            "sh",
            "-c",
            "echo $PPID; cat /proc/1/cmdline",
        ],
    );
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert!(!ran.stderr.contains(NO_PID_NAMESPACE), "{}", ran.stderr);
    // Process 1 is that of this machine, or of the container.
    let first = String::from_utf8_lossy(&fs::read("/proc/1/cmdline").expect("a first process"))
        .into_owned();
    assert!(
        ran.stdout.contains(&first) && !ran.stdout.starts_with("1\n"),
        "{}",
        ran.stdout
    );
}

const NO_PID_NAMESPACE: &str = "the traced programs have no PID namespace of their own";

#[test]
fn without_a_pid_namespace_programs_are_traced_all_the_same_and_that_is_said() {
    let place = Place::new();
    let path = place.path("among.sct");
    // The caller is root in a user namespace in which no PID namespace may be created.
    let deny = "echo 0 >/proc/sys/user/max_pid_namespaces && exec \"$@\"";
    let denied = |words: &[&str]| {
        let mut command = Command::new("unshare");
        command
            .args(["--user", "--map-root-user", "sh", "-c", deny, "sh"])
            .args(words);
        crate::common::ran(command.output().expect("unshare runs"))
    };
    if denied(&["true"]).code != 0 {
        eprintln!("skipped: no right to deny anything");
        return;
    }
    let program = env!("CARGO_BIN_EXE_switchcost");
    let ran = denied(&[&[program, "trace", "-o", text(&path)], &PIPELINE[..]].concat());
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let expected = format!(
        "switchcost: {NO_PID_NAMESPACE} (a new PID namespace: No space left on device (os error 28)), so two traces may \
         differ in a few addresses; trace as root outside of a container, or allow user namespaces\n"
    );
    assert!(ran.stderr.contains(&expected), "{}", ran.stderr);
    assert_eq!(place.run(&["trace", "check", text(&path)]).code, 0);
}

#[test]
fn programs_that_take_turns_evict_each_other() {
    let place = Place::new();
    let ran = trace(
        &place,
        "two.sct",
        &[
            "--quantum",
            "20000",
            "--with",
            "seq 2000",
            "--",
            "seq",
            "2000",
        ],
    );
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let path = place.path("two.sct");
    let record = place.path("two.parquet");
    let arguments = [
        "simulate",
        text(&path),
        "--design",
        "mogul-1a",
        "--interval",
        "1000",
        "--record",
        text(&record),
    ];
    let result = json(&place, &[&arguments[..], &["--format", "json"]].concat());
    assert_eq!(result["schema"], "switchcost.simulate/1");
    let design = &result["designs"][0];
    assert_eq!(design["name"], "mogul-1a");
    let cycles = |view: &str| count(&design[view]["cycles"]);
    assert!(count(&design["switches"]["involuntary"]) > 10, "{design}");
    assert!(
        cycles("shared") > cycles("private"),
        "two programs in one direct-mapped cache do not disturb each other"
    );
    assert!(
        cycles("flushed") >= cycles("shared"),
        "a flush costs less than a neighbour"
    );
    assert_eq!(design["shared"]["levels"][0]["name"], "L1I");
    assert_eq!(
        count(&design["shared"]["levels"][0]["accesses"]),
        count(&design["instructions"])
    );
    assert!(count(&design["data_refs"]) > 0);
    assert!(
        !design["average_cost_cycles"].is_null() && !design["overhead_percent"].is_null(),
        "{design}"
    );
    let again = place.run(&["report", text(&record)]);
    assert_eq!(again.code, 0, "{}", again.stderr);
    assert!(again.stdout.contains("mogul-1a"), "{}", again.stdout);
}

#[test]
fn the_kernel_may_order_the_turns() {
    let place = Place::new();
    let ran = trace(
        &place,
        "pipe.sct",
        &["--order", "as-run", "--", "sh", "-c", "seq 2000 | wc -l"],
    );
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let path = place.path("pipe.sct");
    let checked = place.run(&["trace", "check", text(&path)]);
    assert_eq!(checked.code, 0, "{}", checked.stdout);
    let info = place.run(&["trace", "info", text(&path)]);
    assert!(
        info.stdout
            .contains("recorded by valgrind, as scheduled by the kernel"),
        "{}",
        info.stdout
    );
    let usual = [
        "simulate", "live", "--order", "as-run", "--design", "mogul-1a", "--format", "json",
    ];
    let record = place.path("live.parquet");
    let result = json(
        &place,
        &[
            &usual[..],
            &[
                "--record",
                text(&record),
                "--",
                "sh",
                "-c",
                "seq 2000 | wc -l",
            ],
        ]
        .concat(),
    );
    assert!(
        count(&result["designs"][0]["switches"]["voluntary"]) > 0,
        "{result}"
    );
}

/// Design file with a second level that can be swept.
const PLAIN: &str = r#"
schema = "switchcost.design/1"
name = "plain"

[[level]]
name = "L1I"
holds = "instructions"
size = "8KiB"
line = "32B"
ways = 2
miss_cycles = 20

[[level]]
name = "L1D"
holds = "data"
size = "8KiB"
line = "32B"
ways = 2
miss_cycles = 20

[[level]]
name = "L2"
holds = "both"
size = "64KiB"
line = "32B"
ways = 4
miss_cycles = 100

[[tlb]]
name = "DTLB"
holds = "data"
entries = 16
ways = "full"
page = "4KiB"
walk_cycles = 30
"#;

#[test]
fn designs_in_one_pass_cost_what_each_alone_costs() {
    let place = Place::new();
    let ran = trace(
        &place,
        "two.sct",
        &[
            "--quantum",
            "20000",
            "--with",
            "seq 5000",
            "--",
            "sh",
            "-c",
            "seq 5000",
        ],
    );
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let path = place.path("two.sct");
    let design = place.path("plain.toml");
    fs::write(&design, PLAIN).expect("room");
    let designs = |in_full: &str| {
        let record = place.path(&format!("{in_full}.parquet"));
        let vary = [
            "--vary",
            "L2.size=16KiB,32KiB,64KiB,128KiB,256KiB",
            "--vary",
            "L2.ways=1,2,4,8",
        ];
        let usual = [
            "simulate",
            text(&path),
            "--design",
            text(&design),
            "--interval",
            "1000",
            "--in-full",
            in_full,
        ];
        let output = ["--record", text(&record), "--format", "json"];
        json(&place, &[&usual[..], &vary, &output].concat())["designs"]
            .as_array()
            .expect("a list")
            .clone()
    };
    let (swept, full) = (designs("16"), designs("20"));
    assert_eq!((swept.len(), full.len()), (20, 20));
    for (number, (swept, full)) in swept.iter().zip(&full).enumerate() {
        assert_eq!(
            swept["depth"],
            if number == 0 { "full" } else { "counters" }
        );
        assert_eq!(full["depth"], "full");
        assert!(
            full["average_cost_cycles"]["estimate"].is_number(),
            "{full}"
        );
        let same = [
            "name",
            "shared",
            "private",
            "flushed",
            "overhead_percent",
            "excess_cycles",
            "cut",
        ];
        for field in same {
            assert_eq!(swept[field], full[field], "{field} of {}", full["name"]);
        }
        assert_eq!(
            swept["average_cost_cycles"]["estimate"],
            full["average_cost_cycles"]["estimate"]
        );
        assert_eq!(
            swept["average_cost_cycles"]["low"].is_null(),
            number > 0,
            "sums have no interval"
        );
    }
}

#[test]
fn live_and_by_file_are_the_same() {
    let place = Place::new();
    trace(&place, "seq.sct", &["--", "seq", "500"]);
    let path = place.path("seq.sct");
    let of = |source: &[&str], name: &str| {
        let record = place.path(name);
        let usual = [
            "--design",
            "mogul-2a",
            "--format",
            "json",
            "--record",
            text(&record),
        ];
        let result = json(
            &place,
            &[&["simulate", source[0]], &usual[..], &source[1..]].concat(),
        );
        result["designs"][0]["shared"].clone()
    };
    assert_eq!(
        of(&[text(&path)], "file.parquet"),
        of(&["live", "--", "seq", "500"], "live.parquet")
    );
}

#[test]
fn a_cut_trace_is_used_up_to_its_last_whole_chunk_and_said_to_be_cut() {
    let place = Place::new();
    trace(&place, "whole.sct", &["--", "seq", "40000"]);
    let bytes = fs::read(place.path("whole.sct")).expect("a trace");
    let cut = place.path("cut.sct");
    fs::write(&cut, &bytes[..bytes.len() - 100]).expect("room");
    let check = place.run(&["trace", "check", text(&cut)]);
    assert_eq!(check.code, 5, "{}", check.stdout);
    assert!(
        check.stdout.contains("incomplete: the file ends at byte"),
        "{}",
        check.stdout
    );
    let record = place.path("cut.parquet");
    let ran = place.run(&[
        "simulate",
        text(&cut),
        "--design",
        "mogul-1a",
        "--record",
        text(&record),
    ]);
    assert_eq!(ran.code, 5, "{}", ran.stderr);
    assert!(ran.stderr.contains("not all of"), "{}", ran.stderr);
    for stdout in [ran.stdout, place.run(&["report", text(&record)]).stdout] {
        assert!(
            stdout.starts_with("Only a part of the trace was simulated (the file ends at byte"),
            "{stdout}"
        );
    }
    assert_eq!(place.run(&["trace", "info", text(&cut)]).code, 5);
    let several = place.run(&[
        "simulate",
        text(&cut),
        text(&place.path("whole.sct")),
        "--design",
        "mogul-1a",
    ]);
    assert_eq!(several.code, 5, "{}", several.stderr);
    assert!(
        several
            .stdout
            .starts_with("Trial 1: Only a part of the trace was simulated"),
        "{}",
        several.stdout
    );
    // A partial output replaces nothing, and is written elsewhere.
    let good = place.path("good.txt");
    fs::write(&good, "whole").expect("room");
    let export = ["trace", "export", "--to", "din", text(&cut)];
    let into_file = place.run(&[&export[..], &["-o", text(&good)]].concat());
    assert_eq!(
        (
            into_file.code,
            fs::read_to_string(&good).expect("it is there").as_str()
        ),
        (5, "whole")
    );
    let printed = place.run(&export);
    assert_eq!(printed.code, 5, "{}", printed.stderr);
    assert!(printed.stdout.lines().count() > 1000);
}

#[test]
fn what_cannot_be_is_refused_with_a_reason() {
    let place = Place::new();
    let empty = place.path("empty.sct");
    fs::write(&empty, b"").expect("room");
    let design = place.path("bad.toml");
    let bad = include_str!("../../../../designs/mogul-1a.toml").replacen("64KiB", "100B", 1);
    assert!(bad.contains("100B"), "the design has another size");
    fs::write(&design, bad).expect("room");
    let cases: [(&[&str], i32, &str); 18] = [
        (&["trace", "info", text(&empty)], 5, "not a trace"),
        (
            &["trace", "info", "/nonexistent"],
            5,
            "cannot open /nonexistent",
        ),
        (&["simulate", text(&empty)], 5, "not a trace"),
        (&["simulate"], 2, ""),
        (
            &["simulate", text(&empty), "--order", "as-run"],
            2,
            "a command or a flag for tracing cannot be combined with a trace",
        ),
        (
            &["simulate", text(&empty), "--quantum", "5000"],
            5,
            "not a trace",
        ),
        (
            &["simulate", text(&empty), "--quantum", "500"],
            2,
            "neither 1000 instructions or more",
        ),
        (
            &["simulate", "live", "--quantum", "4ms", "--", "true"],
            2,
            "a quantum of 4.00 ms cannot be combined with live",
        ),
        (
            &["simulate", "live", "--quantum", "5000,6000", "--", "true"],
            2,
            "2 quanta cannot be combined with live",
        ),
        (
            &["simulate", "live", "--schedule", "batch:2", "--", "true"],
            2,
            "--schedule and --at-once need a stored trace",
        ),
        (
            &["simulate", text(&empty), "--processes", "all"],
            2,
            "a command or a flag for tracing cannot be combined with a trace",
        ),
        (
            &["simulate", text(&empty), "--cpu", "0"],
            2,
            "a command or a flag for tracing cannot be combined with a trace",
        ),
        (
            &["simulate", text(&empty), "--design", "nothing"],
            5,
            "not a trace",
        ),
        (
            &["simulate", "live", "--design", text(&design), "--", "true"],
            2,
            "size",
        ),
        (
            &["trace", "--", "/nonexistent/program"],
            2,
            "/nonexistent/program",
        ),
        (
            &["trace", "--with", "'open", "--", "true"],
            2,
            "--with is empty or has an unbalanced quote: 'open",
        ),
        (
            &["trace", "--cpu", "4095", "--", "true"],
            2,
            "CPU 4095 does not exist or is not allowed for this process, only",
        ),
        (&["man", "nothing"], 2, "there is no command 'nothing'"),
    ];
    for (arguments, code, words) in cases {
        let ran = place.run(arguments);
        assert_eq!(ran.code, code, "{arguments:?}: {}", ran.stderr);
        assert!(ran.stderr.contains(words), "{arguments:?}: {}", ran.stderr);
        assert!(!ran.stderr.contains("panicked"), "{}", ran.stderr);
    }
}

#[test]
fn a_capture_that_does_not_begin_leaves_no_file_and_takes_no_others_name() {
    let place = Place::new();
    let path = place.path("new.sct");
    for command in ["no-such-program-anywhere", "/etc", "/etc/hostname"] {
        let ran = place.run(&["trace", "-o", text(&path), "--", command]);
        assert_eq!(
            (ran.code, path.exists()),
            (2, false),
            "{command}: {}",
            ran.stderr
        );
    }
    fs::write(&path, "somebody's").expect("written");
    let ran = place.run(&["trace", "-o", text(&path), "--", "true"]);
    assert_eq!(ran.code, 2);
    assert!(ran.stderr.contains("already exists"), "{}", ran.stderr);
    assert_eq!(fs::read(&path).expect("a file"), b"somebody's");
    let foreign = place.path("foreign.sct");
    let ran = place.run(&[
        "trace",
        "import",
        "--from",
        "din",
        text(&path),
        "-o",
        text(&foreign),
    ]);
    assert_eq!((ran.code, foreign.exists()), (5, false), "{}", ran.stderr);
}

#[test]
fn a_trace_cut_before_its_first_chunk_is_said_to_be_cut() {
    let place = Place::new();
    trace(&place, "whole.sct", &["--", "true"]);
    let bytes = fs::read(place.path("whole.sct")).expect("a trace");
    let cut = place.path("cut.sct");
    fs::write(&cut, &bytes[..bytes.len() / 2]).expect("written");
    let ran = place.run(&["simulate", text(&cut)]);
    assert_eq!(ran.code, 5);
    assert!(
        ran.stderr.contains("the file ends at byte"),
        "{}",
        ran.stderr
    );
}

#[test]
fn without_the_tool_the_line_that_builds_it_is_named() {
    let place = Place::new();
    let nowhere = place.path("nowhere");
    let ran = crate::common::ran(
        place
            .command(&["trace", "--", "true"])
            .env("SWITCHCOST_TOOL_DIR", nowhere)
            .output()
            .expect("starts"),
    );
    assert_eq!(ran.code, 1, "{}", ran.stderr);
    assert!(
        ran.stderr
            .contains("install Valgrind with its headers and run `make build`"),
        "{}",
        ran.stderr
    );
}

/// Shows that Valgrind need not be installed: the tool contains everything that it needs from
/// Valgrind.
#[test]
fn no_valgrind_has_to_be_installed_to_capture() {
    let place = Place::new();
    let ran = crate::common::ran(
        place
            .command(&["trace", "--", "/bin/true"])
            .env("PATH", "")
            .output()
            .expect("starts"),
    );
    assert_eq!(ran.code, 0, "{}", ran.stderr);
}

#[test]
fn files_of_another_build_beside_the_tool_are_refused() {
    let place = Place::new();
    let mixed = place.path("mixed");
    fs::create_dir(&mixed).expect("a folder");
    for file in fs::read_dir(switchcost_capture::Tool::find().expect("a tool").folder)
        .expect("its folder")
        .flatten()
    {
        if file.file_type().expect("a file").is_file() {
            fs::copy(file.path(), mixed.join(file.file_name())).expect("a copy");
        }
    }
    let traced = || {
        crate::common::ran(
            place
                .command(&["trace", "--", "true"])
                .env("SWITCHCOST_TOOL_DIR", &mixed)
                .output()
                .expect("starts"),
        )
    };
    let ran = traced();
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    fs::write(mixed.join("built-with"), "Valgrind 3.1 of /usr\n").expect("written");
    let ran = traced();
    assert_ne!(ran.code, 0, "{}", ran.stderr);
    let expected = format!(
        "switchcost: found files of 'Valgrind 3.1 of /usr' in {}, need those that the tool was built with: 'Valgrind ",
        mixed.display()
    );
    assert!(ran.stderr.contains(&expected), "{}", ran.stderr);
    assert!(
        ran.stderr
            .contains("'; run `make build` or `make install` again"),
        "{}",
        ran.stderr
    );
}

#[test]
fn designs_that_cannot_go_in_one_pass_are_said_to_take_longer() {
    let place = Place::new();
    assert_eq!(trace(&place, "one.sct", &["--", "true"]).code, 0);
    let path = place.path("one.sct");
    let words = |design: &str, vary: &str| {
        let ran = place.run(&[
            "simulate",
            text(&path),
            "--design",
            design,
            "--vary",
            vary,
            "--in-full",
            "2",
        ]);
        assert_eq!(ran.code, 0, "{}", ran.stderr);
        ran.stderr
    };
    let sizes = "size=64KiB,128KiB,256KiB,512KiB,1MiB,2MiB";
    let slow = words("mogul-1a", &format!("L1D.{sizes}"));
    assert!(
        slow.contains("6 designs are simulated separately"),
        "{slow}"
    );
    let fast = words("plain-lru", &format!("L2.{sizes}"));
    assert!(!fast.contains("one by one"), "{fast}");
}

#[test]
fn the_pair_of_the_paper_switches_by_will() {
    let place = Place::new();
    let record = place.path("pair.parquet");
    let result = json(
        &place,
        &[
            "workload",
            "client-server",
            "--switches",
            "300",
            "--design",
            "mogul-1a",
            "--format",
            "json",
            "--record",
            text(&record),
        ],
    );
    let switches = &result["designs"][0]["switches"];
    let (voluntary, involuntary) = (
        count(&switches["voluntary"]),
        count(&switches["involuntary"]),
    );
    assert!(voluntary > 10 * involuntary.max(1), "{switches}");
    assert!(
        (290..=310).contains(&(voluntary + involuntary)),
        "{switches}"
    );
}

fn await_that(what: &str, mut is_so: impl FnMut() -> bool) {
    let start = Instant::now();
    while !is_so() {
        assert!(
            start.elapsed() < Duration::from_secs(600),
            "waited in vain until {what}"
        );
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// Whether any process has this text among its arguments.
fn is_running(argument: &str) -> bool {
    let entries = fs::read_dir("/proc")
        .expect("a list of processes")
        .flatten();
    let mut lines = entries.filter_map(|entry| fs::read(entry.path().join("cmdline")).ok());
    lines.any(|line| {
        line.split(|&byte| byte == 0)
            .any(|word| word == argument.as_bytes())
    })
}

#[test]
fn an_interrupted_trace_is_sound_and_nothing_keeps_running() {
    for (signal, code) in [
        (Signal::HUP, 129),
        (Signal::INT, 130),
        (Signal::QUIT, 131),
        (Signal::TERM, 143),
    ] {
        let place = Place::new();
        let (path, begun) = (place.path("cut.sct"), place.path("begun"));
        let script = "echo begun >\"$0\"; while :; do :; done";
        let child = place
            .command_with_signals(
                &["--default-signal"],
                &[
                    "trace",
                    "-o",
                    text(&path),
                    "--",
                    "sh",
                    "-c",
                    script,
                    text(&begun),
                ],
            )
            .stderr(Stdio::piped())
            .spawn()
            .expect("the program starts");
        await_that("the loop began", || begun.exists());
        kill_process(Pid::from_child(&child), signal).expect("our own child");
        let ran = crate::common::ran(child.wait_with_output().expect("it ends"));
        assert_eq!(ran.code, code, "{}", ran.stderr);
        assert!(
            ran.stderr
                .contains("interrupted; the trace up to here is kept"),
            "{}",
            ran.stderr
        );
        assert!(!is_running(text(&begun)), "the loop goes on");
        let checked = place.run(&["trace", "check", text(&path)]);
        assert_eq!(checked.code, 0, "{} {}", checked.stdout, checked.stderr);
        let info = json(&place, &["trace", "info", text(&path), "--format", "json"]);
        assert!(count(&info["instructions"]) > 10_000, "{info}");
    }
}

#[test]
fn a_full_disk_ends_a_trace_and_costs_no_whole_chunk() {
    let place = Place::new();
    let (disk, copy) = (place.path("disk"), place.path("copy.sct"));
    fs::create_dir(&disk).expect("a folder");
    let mount = ["--mount", "mount", "-t", "tmpfs", "none", text(&disk)];
    if !Command::new("unshare")
        .args(mount)
        .output()
        .is_ok_and(|output| output.status.success())
    {
        eprintln!("skipped: no right to mount a small disk");
        return;
    }
    let script = format!(
        "mount -t tmpfs -o size=256k none '{disk}' && {{ '{program}' trace -o '{disk}/full.sct' -- \
         sh -c 'while :; do :; done' '{disk}'; code=$?; cp '{disk}/full.sct' '{copy}'; exit $code; }}",
        disk = text(&disk),
        copy = text(&copy),
        program = env!("CARGO_BIN_EXE_switchcost"),
    );
    // The mount is visible only in the namespace of this shell, and disappears with it.
    let output = Command::new("unshare")
        .args(["--mount", "sh", "-c", &script])
        .output()
        .expect("unshare runs");
    let ran = crate::common::ran(output);
    assert_eq!(ran.code, 1, "{}", ran.stderr);
    assert!(
        ran.stderr.contains("No space left on device"),
        "{}",
        ran.stderr
    );
    assert!(!is_running(text(&disk)), "the loop goes on");
    assert_eq!(place.run(&["trace", "info", text(&copy)]).code, 5);
    let info = json(&place, &["trace", "info", text(&copy), "--format", "json"]);
    let kept = format!("chunks of {} instructions", count(&info["instructions"]));
    assert!(
        ran.stderr.contains(&kept),
        "found {}, need {kept}",
        ran.stderr
    );
}

#[test]
fn a_program_reads_and_writes_as_without_us() {
    let place = Place::new();
    fs::write(place.path("in"), "one\ntwo\n").expect("written");
    let run = |name: &str, more: &[&str], words: &[&str]| {
        let trace = place.path(name);
        let usual = ["trace", "-o", text(&trace)];
        let mut command = place.command(&[&usual[..], more, &["--"], words].concat());
        command.stdin(fs::File::open(place.path("in")).expect("a file"));
        crate::common::ran(command.output().expect("it starts"))
    };
    let ran = run("a.sct", &[], &["sh", "-c", "cat; echo three >&2"]);
    assert_eq!(
        (ran.code, ran.stdout.as_str()),
        (0, "one\ntwo\n"),
        "{}",
        ran.stderr
    );
    assert!(
        ran.stderr.starts_with("three\n") && ran.stderr.contains("instructions"),
        "{}",
        ran.stderr
    );
    let ran = run("b.sct", &["--with", "cat"], &["cat"]);
    assert_eq!(
        (ran.code, ran.stdout.as_str()),
        (0, ""),
        "two would take it from each other: {}",
        ran.stderr
    );
}

#[test]
fn what_the_user_has_for_other_runs_of_valgrind_has_no_effect() {
    let place = Place::new();
    let (home, here) = (place.path("home"), place.path("here"));
    let logs = ["of-variable", "of-home", "of-folder"].map(|name| place.path(name));
    let option = |log: &Path| format!("--log-file={}", text(log));
    for (folder, log) in [(&home, &logs[1]), (&here, &logs[2])] {
        fs::create_dir(folder).expect("a folder");
        fs::write(folder.join(".valgrindrc"), option(log)).expect("written");
    }
    let trace = place.path("a.sct");
    let mut command = place.command(&[
        "trace",
        "-o",
        text(&trace),
        "--",
        "sh",
        "-c",
        "echo $VALGRIND_OPTS; ls /",
    ]);
    command
        .current_dir(&here)
        .env("HOME", &home)
        .env("VALGRIND_OPTS", option(&logs[0]));
    let ran = crate::common::ran(
        command
            .env("VALGRIND_LAUNCHER", "/bin/false")
            .output()
            .expect("it starts"),
    );
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert!(
        ran.stdout.starts_with(&format!("{}\n", option(&logs[0]))),
        "as without us: {}",
        ran.stdout
    );
    assert!(
        ran.stdout.lines().any(|line| line == "proc"),
        "what it executes runs, too: {}",
        ran.stdout
    );
    assert!(logs.iter().all(|log| !log.exists()));
}
