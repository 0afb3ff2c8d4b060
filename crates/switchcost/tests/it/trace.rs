//! Tests traces as a user makes them: real programs under the capture tool, inspected, cut and
//! simulated.
//!
//! The tests need Valgrind and the built tool (`make tool`), which `make test` provides.

use std::fs;
use std::path::Path;
use std::process::Stdio;

use crate::common::{
    Arguments, Place, Ran, count, ended, finished, items, processes_with, send, text, wait_until,
};
use crate::lifetime::on_a_full_disk;
use rustix::process::Signal;
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

/// Pipeline whose `sort` has a fixed buffer size: otherwise `sort` asks for the free memory, and
/// works differently if less than an eighth is free.
const PIPELINE: [&str; 4] = [
    "--",
    "sh",
    "-c",
    "seq 300 | sort -S 1M | wc; printf '%s\\n' $$ $PPID; cat /proc/$$/cmdline",
];

#[test]
fn the_same_pipeline_gives_the_same_bytes_and_a_sound_trace() {
    let place = Place::new();
    let one = trace(&place, "one.sct", PIPELINE);
    one.assert_code(0);
    place.run("trace check one.sct").assert_code(0);
    let info = json(&place, "trace info one.sct --format json");
    let [bytes, instructions] = ["bytes", "instructions"].map(|name| count(&info[name]));
    assert!(instructions > 10_000, "{info}");
    assert!(bytes < instructions, "no column is packed: {info}");
    let head = place.run("trace head one.sct -n 3");
    assert_eq!(head.stdout.lines().count(), 3);
    head.assert_output("task 1 starts in process 1");
    place
        .run("trace head one.sct -n 10000000")
        .assert_output("enter syscall write (1)");
    if one.stderr.contains(NO_PID_NAMESPACE) {
        eprintln!("skipped: {}", one.stderr.trim());
        return;
    }
    one.assert_output("\n2\n1\n");
    trace(&place, "two.sct", PIPELINE).assert_code(0);
    let [one, two] =
        ["one.sct", "two.sct"].map(|name| fs::read(place.path(name)).expect("a trace"));
    assert!(
        one == two,
        "two traces of one deterministic pipeline differ"
    );
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
    ran.assert_output(&fs::read_to_string("/proc/1/cmdline").expect("a first process"));
    assert!(!ran.stdout.starts_with("1\n"), "{}", ran.stdout);
}

const NO_PID_NAMESPACE: &str = "the traced programs have no PID namespace of their own";

#[test]
fn without_a_pid_namespace_programs_are_traced_all_the_same_and_that_is_said() {
    let place = Place::new();
    // The caller is root in a user namespace in which no PID namespace may be created.
    let deny = "echo 0 >/proc/sys/user/max_pid_namespaces && exec \"$@\"";
    let starter = [
        "unshare",
        "--user",
        "--map-root-user",
        "sh",
        "-c",
        deny,
        "sh",
    ];
    let words = "trace -o among.sct -- sh -c 'true | true'";
    let ran = finished(&mut place.command_behind(starter, words));
    if ["unshare: ", "sh: "]
        .iter()
        .any(|who| ran.stderr.starts_with(who))
    {
        eprintln!("skipped: no right to deny anything ({})", ran.stderr);
        return;
    }
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
    let words = "--quantum 20000 --with 'seq 500' -- seq 500";
    trace(&place, "two.sct", words).assert_code(0);
    let usual = "simulate two.sct --design mogul-1a --format json";
    let result = json(&place, usual);
    let design = &result["designs"][0];
    let [shared, private, flushed] =
        ["shared", "private", "flushed"].map(|view| count(&design[view]["cycles"]));
    assert!(count(&design["switches"]["involuntary"]) > 10, "{design}");
    // Two programs in one direct-mapped cache disturb each other, and a flush costs no less.
    assert!(private < shared && shared <= flushed, "{design}");
    let fetches = &design["shared"]["levels"][0];
    assert_eq!(
        (&fetches["name"], &fetches["accesses"]),
        (&"L1I".into(), &design["instructions"])
    );
    assert!(!design["average_cost_cycles"].is_null() && !design["overhead_percent"].is_null());
}

#[test]
fn the_kernel_may_order_the_turns() {
    let place = Place::new();
    let ran = trace(
        &place,
        "pipe.sct",
        "--order as-run -- sh -c 'seq 20 | wc -l'",
    );
    ran.assert_code(0);
    place.run("trace check pipe.sct").assert_code(0);
    place
        .run("trace info pipe.sct")
        .assert_output("recorded by valgrind, as scheduled by the kernel");
    let usual = "simulate live --order as-run --design mogul-1a --format json";
    let result = json(
        &place,
        format!("{usual} --record live.parquet -- sh -c 'seq 20 | wc -l'"),
    );
    assert!(
        count(&result["designs"][0]["switches"]["voluntary"]) > 0,
        "{result}"
    );
}

#[test]
fn designs_in_one_pass_cost_what_each_alone_costs_and_others_are_said_to_take_longer() {
    let place = Place::new();
    place
        .run("trace walks --size 48KiB --turns 20 -o two.sct")
        .assert_code(0);
    let simulated = |design: &str, words: &str| {
        let usual = format!("simulate two.sct --design {design} --interval 1000 --format json");
        place.run((usual, words))
    };
    let vary = "--vary L2.size=16KiB,32KiB,64KiB,128KiB,256KiB --vary L2.ways=1,2,4,8 --in-full";
    let [swept, full] = ["16", "20"].map(|in_full| {
        let ran = simulated("plain-lru", &format!("{vary} {in_full}"));
        assert!(!ran.stderr.contains("separately"), "{}", ran.stderr);
        items(&ran.json()["designs"]).clone()
    });
    assert_eq!((swept.len(), full.len()), (20, 20));
    for (number, (swept, full)) in swept.iter().zip(&full).enumerate() {
        let depth = if number == 0 { "full" } else { "counters" };
        assert_eq!(
            (&swept["depth"], &full["depth"]),
            (&depth.into(), &"full".into())
        );
        let [cost, own] = [swept, full].map(|design| &design["average_cost_cycles"]);
        assert!(own["estimate"].is_number(), "{full}");
        assert_eq!(cost["estimate"], own["estimate"]);
        assert_eq!(cost["low"].is_null(), number > 0, "sums have no interval");
        for field in ["name", "shared", "overhead_percent"] {
            assert_eq!(swept[field], full[field], "{field} of {}", full["name"]);
        }
    }
    let sizes = "--vary L1D.size=64KiB,128KiB,256KiB,512KiB,1MiB,2MiB --in-full 2";
    simulated("mogul-1a", sizes)
        .assert_code(0)
        .assert_message("6 designs are simulated separately");
}

#[test]
fn a_cut_trace_is_used_up_to_its_last_whole_chunk_and_said_to_be_cut() {
    let place = Place::new();
    place
        .run("trace walks --size 64KiB --turns 40 -o whole.sct")
        .assert_code(0);
    let bytes = fs::read(place.path("whole.sct")).expect("a trace");
    let keep = |length: usize| fs::write(place.path("cut.sct"), &bytes[..length]).expect("room");
    // The header is whole, and no chunk is.
    keep(500);
    place
        .run("simulate cut.sct")
        .assert_failed(5, "the file ends at byte");
    keep(bytes.len() - 100);
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
fn the_tool_needs_no_installed_valgrind_and_its_own_files() {
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
    // Without PATH no installed Valgrind is found: the tool has everything that it needs.
    let traced = |tool: &Path| {
        let mut command = place.command("trace -- /bin/true");
        finished(command.env("SWITCHCOST_TOOL_DIR", tool).env("PATH", ""))
    };
    traced(&mixed).assert_code(0);
    fs::write(mixed.join("built-with"), "Valgrind 3.1 of /usr\n").expect("written");
    let ran = traced(&mixed);
    assert_ne!(ran.code, 0, "{}", ran.stderr);
    let expected = format!(
        "switchcost: found files of 'Valgrind 3.1 of /usr' in {}, need those that the tool was built with: 'Valgrind ",
        mixed.display()
    );
    ran.assert_message(&expected);
    ran.assert_message("'; run `make build` or `make install` again");
    traced(&place.path("nowhere"))
        .assert_failed(1, "install Valgrind with its headers and run `make build`");
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

/// Returns true if any process has `argument` among its arguments.
fn is_running(argument: &str) -> bool {
    !processes_with("cmdline", &[argument]).is_empty()
}

#[test]
fn an_interrupted_trace_is_sound_and_nothing_keeps_running() {
    for (signal, code) in [(Signal::INT, 130), (Signal::QUIT, 131)] {
        let place = Place::new();
        let begun = place.path("begun");
        let script = "echo begun >\"$0\"; while :; do :; done";
        let words = [
            "trace",
            "-o",
            "cut.sct",
            "--",
            "sh",
            "-c",
            script,
            text(&begun),
        ];
        let child = place
            .command_with_signals(["--default-signal"], words)
            .stderr(Stdio::piped())
            .spawn()
            .expect("the program starts");
        wait_until("the loop began", || begun.exists());
        send(&child, signal);
        let ran = ended(child);
        ran.assert_code(code);
        ran.assert_message("interrupted before the commands ended");
        assert!(!is_running(text(&begun)), "the loop goes on");
        place.run("trace check cut.sct").assert_code(0);
        let info = json(&place, "trace info cut.sct --format json");
        assert!(count(&info["instructions"]) > 10_000, "{info}");
    }
}

#[test]
fn a_full_disk_ends_a_trace_and_costs_no_whole_chunk() {
    let place = Place::new();
    let mark = text(place.folder());
    let words = format!(
        "trace -o \"$DISK/full.sct\" -- sh -c 'while :; do :; done' '{mark}'; code=$?; \
         cp \"$DISK/full.sct\" '{mark}/copy.sct'; exit $code"
    );
    let Some(ran) = on_a_full_disk(&place, [256 << 10; 2], &words) else {
        return;
    };
    ran.assert_failed(1, "No space left on device");
    assert!(!is_running(mark), "the loop goes on");
    let info = place.run("trace info copy.sct --format json");
    info.assert_code(5);
    let kept = count(&info.json()["instructions"]);
    ran.assert_message(&format!("chunks of {kept} instructions"));
}

#[test]
fn a_program_reads_and_writes_as_without_us() {
    let place = Place::new();
    fs::write(place.path("in"), "one\ntwo\n").expect("written");
    let run = |words: &str| {
        let mut command = place.command(("trace -o", words));
        command.stdin(fs::File::open(place.path("in")).expect("a file"));
        finished(&mut command)
    };
    let ran = run("a.sct -- sh -c 'cat; echo three >&2'");
    ran.assert_prints(0, "one\ntwo\n");
    ran.assert_message("instructions");
    assert!(ran.stderr.starts_with("three\n"), "{}", ran.stderr);
    // Two programs would take it from each other.
    run("b.sct --with cat -- cat").assert_prints(0, "");
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
    let ran = finished(command.env("VALGRIND_LAUNCHER", "/bin/false"));
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
