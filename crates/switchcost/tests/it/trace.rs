//! Tests traces as a user makes them: real programs under the capture tool, inspected, cut and
//! simulated.
//!
//! The tests need Valgrind and the built tool (`make tool`), which `make test` provides.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::common::{Arguments, Place, Ran, count, processes_with, text};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

/// Traces a command into `name`.
fn trace(place: &Place, name: &str, arguments: impl Arguments) -> Ran {
    let ran = place.run((["trace", "-o", name], arguments));
    assert!(place.path(name).exists(), "{}", ran.stderr);
    ran
}

fn json(place: &Place, arguments: impl Arguments) -> Value {
    place.run(arguments).json()
}

#[test]
fn the_same_program_gives_the_same_bytes_and_a_sound_trace() {
    let place = Place::new();
    for name in ["one.sct", "two.sct"] {
        trace(&place, name, "-- seq 100").assert_code(0);
    }
    let bytes = |name| fs::read(place.path(name)).expect("a trace");
    assert!(
        bytes("one.sct") == bytes("two.sct"),
        "two traces of one deterministic program differ"
    );
    place.run("trace check one.sct").assert_code(0);
    let info = json(&place, "trace info one.sct --format json");
    assert!(count(&info["instructions"]) > 10_000, "{info}");
    let bytes_per_instruction = count(&info["bytes"]) as f64 / count(&info["instructions"]) as f64;
    assert!(
        bytes_per_instruction < 1.0,
        "{bytes_per_instruction}: no column is packed"
    );
    let head = place.run("trace head one.sct -n 3");
    assert_eq!(head.stdout.lines().count(), 3);
    head.assert_output("task 1 starts in process 1");
    let all = place.run("trace head one.sct -n 10000000");
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
        let ran = trace(&place, name, PIPELINE);
        ran.assert_code(0);
        if ran.stderr.contains(NO_PID_NAMESPACE) {
            eprintln!("skipped: {}", ran.stderr.trim());
            return;
        }
        ran.assert_output("\n2\n1\n");
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
    let [one, two] = ["one.sct", "two.sct"]
        .map(|name| place.run(["trace", "head", name, "-n", "10000000"]).stdout);
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
        "--processes all -- sh -c 'echo $PPID; cat /proc/1/cmdline'",
    );
    ran.assert_code(0);
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
    // The caller is root in a user namespace in which no PID namespace may be created.
    let deny = "echo 0 >/proc/sys/user/max_pid_namespaces && exec \"$@\"";
    let denied = |words: Vec<String>| {
        let mut command = Command::new("unshare");
        command
            .args(["--user", "--map-root-user", "sh", "-c", deny, "sh"])
            .args(words);
        crate::common::ran(command.output().expect("unshare runs"))
    };
    if denied("true".words()).code != 0 {
        eprintln!("skipped: no right to deny anything");
        return;
    }
    let program = env!("CARGO_BIN_EXE_switchcost");
    let ran = denied(
        (
            format!("{program} trace -o {}", text(&place.path("among.sct"))),
            &PIPELINE,
        )
            .words(),
    );
    ran.assert_code(0);
    let expected = format!(
        "switchcost: {NO_PID_NAMESPACE} (a new PID namespace: No space left on device), so two traces may \
         differ in a few addresses; trace as root outside of a container, or allow user namespaces\n"
    );
    ran.assert_message(&expected);
    place.run("trace check among.sct").assert_code(0);
}

#[test]
fn programs_that_take_turns_evict_each_other() {
    let place = Place::new();
    let ran = trace(
        &place,
        "two.sct",
        "--quantum 20000 --with 'seq 2000' -- seq 2000",
    );
    ran.assert_code(0);
    let arguments = "simulate two.sct --design mogul-1a --interval 1000 --record two.parquet";
    let result = json(&place, format!("{arguments} --format json"));
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
    place
        .run("report two.parquet")
        .assert_code(0)
        .assert_output("mogul-1a");
}

#[test]
fn the_kernel_may_order_the_turns() {
    let place = Place::new();
    let ran = trace(
        &place,
        "pipe.sct",
        "--order as-run -- sh -c 'seq 2000 | wc -l'",
    );
    ran.assert_code(0);
    place.run("trace check pipe.sct").assert_code(0);
    place
        .run("trace info pipe.sct")
        .assert_output("recorded by valgrind, as scheduled by the kernel");
    let usual = "simulate live --order as-run --design mogul-1a --format json";
    let result = json(
        &place,
        format!("{usual} --record live.parquet -- sh -c 'seq 2000 | wc -l'"),
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
        "--quantum 20000 --with 'seq 5000' -- sh -c 'seq 5000'",
    );
    ran.assert_code(0);
    let design = place.path("plain.toml");
    fs::write(&design, PLAIN).expect("room");
    let designs = |in_full: &str| {
        let record = place.path(&format!("{in_full}.parquet"));
        let vary = "--vary L2.size=16KiB,32KiB,64KiB,128KiB,256KiB --vary L2.ways=1,2,4,8";
        let usual =
            format!("simulate two.sct --design plain.toml --interval 1000 --in-full {in_full}");
        let output = format!("--record {} --format json", text(&record));
        json(&place, format!("{usual} {vary} {output}"))["designs"]
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
    trace(&place, "seq.sct", "-- seq 500");
    let shared = |words: &str| {
        let usual = "simulate --design mogul-2a --format json --record";
        json(&place, (usual, words))["designs"][0]["shared"].clone()
    };
    assert_eq!(
        shared("file.parquet seq.sct"),
        shared("live.parquet live -- seq 500")
    );
}

#[test]
fn a_cut_trace_is_used_up_to_its_last_whole_chunk_and_said_to_be_cut() {
    let place = Place::new();
    trace(&place, "whole.sct", "-- seq 40000");
    let bytes = fs::read(place.path("whole.sct")).expect("a trace");
    let cut = place.path("cut.sct");
    fs::write(&cut, &bytes[..bytes.len() - 100]).expect("room");
    place
        .run("trace check cut.sct")
        .assert_code(5)
        .assert_output("incomplete: the file ends at byte");
    let ran = place.run("simulate cut.sct --design mogul-1a --record cut.parquet");
    ran.assert_failed(5, "not all of");
    for stdout in [ran.stdout, place.run("report cut.parquet").stdout] {
        assert!(
            stdout.starts_with(
                "Only the first part of the trace was simulated (the file ends at byte"
            ),
            "{stdout}"
        );
    }
    place.run("trace info cut.sct").assert_code(5);
    let several = place.run("simulate cut.sct whole.sct --design mogul-1a");
    several.assert_code(5);
    assert!(
        several
            .stdout
            .starts_with("Trial 1: Only the first part of the trace was simulated"),
        "{}",
        several.stdout
    );
    // A partial output replaces nothing, and is written elsewhere.
    let good = place.path("good.txt");
    fs::write(&good, "whole").expect("room");
    let export = "trace export --to din cut.sct";
    let into_file = place.run(format!("{export} -o good.txt"));
    assert_eq!(
        (into_file.code, place.read("good.txt").as_str()),
        (5, "whole")
    );
    let printed = place.run(export);
    printed.assert_code(5);
    assert!(printed.stdout.lines().count() > 1000);
}

#[test]
fn a_capture_that_does_not_begin_leaves_no_file_and_takes_no_others_name() {
    let place = Place::new();
    let path = place.path("new.sct");
    for command in ["no-such-program-anywhere", "/etc", "/etc/hostname"] {
        let ran = place.run(format!("trace -o new.sct -- '{command}'"));
        assert_eq!(
            (ran.code, path.exists()),
            (2, false),
            "{command}: {}",
            ran.stderr
        );
    }
    place.run("trace --cpu 4095 -- true").assert_failed(
        2,
        "CPU 4095 does not exist or is not allowed for this process (allowed: ",
    );
    fs::write(&path, "somebody's").expect("written");
    place
        .run("trace -o new.sct -- true")
        .assert_failed(2, "already exists");
    assert_eq!(fs::read(&path).expect("a file"), b"somebody's");
    let foreign = place.path("foreign.sct");
    let ran = place.run("trace import --from din new.sct -o foreign.sct");
    assert_eq!((ran.code, foreign.exists()), (5, false), "{}", ran.stderr);
}

#[test]
fn a_trace_cut_before_its_first_chunk_is_said_to_be_cut() {
    let place = Place::new();
    trace(&place, "whole.sct", "-- true");
    let bytes = fs::read(place.path("whole.sct")).expect("a trace");
    let cut = place.path("cut.sct");
    fs::write(&cut, &bytes[..bytes.len() / 2]).expect("written");
    place
        .run("simulate cut.sct")
        .assert_failed(5, "the file ends at byte");
}

#[test]
fn without_the_tool_the_line_that_builds_it_is_named() {
    let place = Place::new();
    let nowhere = place.path("nowhere");
    let ran = crate::common::ran(
        place
            .command("trace -- true")
            .env("SWITCHCOST_TOOL_DIR", nowhere)
            .output()
            .expect("starts"),
    );
    ran.assert_failed(1, "install Valgrind with its headers and run `make build`");
}

/// Shows that Valgrind need not be installed: the tool contains everything that it needs from
/// Valgrind.
#[test]
fn no_valgrind_has_to_be_installed_to_capture() {
    let place = Place::new();
    let ran = crate::common::ran(
        place
            .command("trace -- /bin/true")
            .env("PATH", "")
            .output()
            .expect("starts"),
    );
    ran.assert_code(0);
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
                .command("trace -- true")
                .env("SWITCHCOST_TOOL_DIR", &mixed)
                .output()
                .expect("starts"),
        )
    };
    let ran = traced();
    ran.assert_code(0);
    fs::write(mixed.join("built-with"), "Valgrind 3.1 of /usr\n").expect("written");
    let ran = traced();
    assert_ne!(ran.code, 0, "{}", ran.stderr);
    let expected = format!(
        "switchcost: found files of 'Valgrind 3.1 of /usr' in {}, need those that the tool was built with: 'Valgrind ",
        mixed.display()
    );
    ran.assert_message(&expected);
    ran.assert_message("'; run `make build` or `make install` again");
}

#[test]
fn designs_that_cannot_go_in_one_pass_are_said_to_take_longer() {
    let place = Place::new();
    trace(&place, "one.sct", "-- true").assert_code(0);
    let words = |design: &str, vary: &str| {
        let ran = place.run(format!(
            "simulate one.sct --design {design} --vary {vary} --in-full 2"
        ));
        ran.assert_code(0);
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
    let result = json(
        &place,
        "workload client-server --switches 300 --design mogul-1a --format json --record pair.parquet",
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
    !processes_with("cmdline", &[argument]).is_empty()
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
                ["--default-signal"],
                [
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
        ran.assert_code(code);
        ran.assert_message("interrupted; the trace up to here is kept");
        assert!(!is_running(text(&begun)), "the loop goes on");
        place.run("trace check cut.sct").assert_code(0);
        let info = json(&place, "trace info cut.sct --format json");
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
    ran.assert_failed(1, "No space left on device");
    assert!(!is_running(text(&disk)), "the loop goes on");
    place.run("trace info copy.sct").assert_code(5);
    let info = json(&place, "trace info copy.sct --format json");
    let kept = format!("chunks of {} instructions", count(&info["instructions"]));
    ran.assert_message(&kept);
}

#[test]
fn a_program_reads_and_writes_as_without_us() {
    let place = Place::new();
    fs::write(place.path("in"), "one\ntwo\n").expect("written");
    let run = |words: &str| {
        let mut command = place.command(("trace -o", words));
        command.stdin(fs::File::open(place.path("in")).expect("a file"));
        crate::common::ran(command.output().expect("it starts"))
    };
    let ran = run("a.sct -- sh -c 'cat; echo three >&2'");
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
    let ran = run("b.sct --with cat -- cat");
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
    let mut command = place.command("trace -o a.sct -- sh -c 'echo $VALGRIND_OPTS; ls /'");
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
    ran.assert_code(0);
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
