//! Tests traces made without running a program: walks through memory, and imports and exports of
//! other tools.

use std::fs;

use serde_json::Value;

use crate::common::{Arguments, Place, count, finished, in_one_line, items};

#[test]
fn walks_are_traced_without_a_program_and_lose_to_each_other() {
    let place = Place::new();
    let walks = "trace walks --size 64KiB --access read --turns 10 -o walks.sct";
    place.run(walks).assert_code(0);
    place.run("trace check walks.sct").assert_code(0);
    let info = place.run("trace info walks.sct --format json").json();
    // The trace has 20 time slices of 8192 elements, each loaded, with an instruction that jumps.
    assert_eq!(
        (count(&info["loads"]), count(&info["instructions"])),
        (20 * 8192, 20 * 8192 * 2)
    );
    assert_eq!(info["has_dependences"], true);
    let longer = "trace walks --size 64KiB --access rmw --turns 10 --instructions 15";
    place.run(format!("{longer} -o loops.sct")).assert_code(0);
    place.run("trace check loops.sct").assert_code(0);
    let info = place.run("trace info loops.sct --format json").json();
    assert_eq!(
        (count(&info["loads"]), count(&info["stores"])),
        (20 * 8192, 20 * 8192)
    );
    assert_eq!(count(&info["instructions"]), 20 * 8192 * 15);
    let found = place
        .run("simulate walks.sct --design mogul-1a --format json")
        .json();
    let of = |view: &str| count(&found["designs"][0][view]["cycles"]);
    // Two arrays of 64 KiB share 64 KiB of a direct-mapped cache: in each time slice a task loses
    // all 4096 lines to the other, and the one line of code; except in the first time slice of
    // each, in which a private cache misses as well.
    assert_eq!(of("shared") - of("private"), 18 * (4096 + 1) * 15);
}

#[test]
fn the_same_turns_in_another_order_lose_as_often_as_they_switch() {
    let place = Place::new();
    walks(&place, "10");
    // A time slice of the trace is a walk of 16,384 instructions. One of four walks has the same
    // cost and occurs a quarter as often.
    let simulate = "simulate walks.sct --quantum 16384,65536 \
                    --schedule round-robin,longest-quantum --design mogul-1a";
    let ran = place.run((simulate, "--format json"));
    ran.assert_code(0);
    let found = ran.json();
    assert_eq!(found["schema"], "switchcost.simulate-orders/1");
    let orders = items(&found["orders"]);
    let of =
        |field: &str| -> Vec<u64> { orders.iter().map(|order| count(&order[field])).collect() };
    // Twenty walks, minus the first; 40 walks in 5 time slices, minus the first; and all of one
    // task, then all of the other.
    assert_eq!(of("switches"), [19, 5, 1]);
    let lost = 15 * (4096 + 1);
    let cycles = of("cycles");
    // The loss at a switch is the whole array and the line of code, except in the first time slice
    // of each task.
    assert_eq!(cycles[0] - cycles[2], 18 * lost, "{cycles:?}");
    assert_eq!(cycles[1] - cycles[2], 4 * lost, "{cycles:?}");
    for (order, name) in orders
        .iter()
        .zip(["round-robin", "round-robin", "longest-quantum"])
    {
        assert_eq!(order["order"], name);
    }
    // With 40 ns per cycle, 655 us are 16,384 instructions, as many as a walk has, at one per
    // cycle.
    let by_time = "simulate walks.sct --design mogul-1a --quantum 655.36us --format json";
    let alone = place.run(by_time).json();
    assert_eq!(
        (
            &alone["trace"]["order"],
            count(&alone["trace"]["quantum_instructions"])
        ),
        (&"round-robin".into(), 16_384)
    );
    assert_eq!(count(&alone["designs"][0]["shared"]["cycles"]), cycles[0]);
    let mut elsewhere = place.command(simulate);
    let shown = finished(elsewhere.env("XDG_STATE_HOME", place.path("my runs")));
    shown.assert_output("Cost by schedule");
    let mut lines = shown.stdout.lines();
    let curves = lines
        .find_map(|line| line.strip_prefix("curves: "))
        .expect("a command");
    assert!(
        curves.starts_with("switchcost report -o page.html '"),
        "{curves}"
    );
    place.run_as_printed(curves).assert_messages(0, "");
}

#[test]
fn a_last_level_that_is_shared_at_once_loses_more_than_in_turn() {
    let place = Place::new();
    // Two arrays of 384 KiB do not fit together in the 512 KiB of mogul-2a; each walk is repeated
    // ten times in a time slice.
    let walks = "trace walks --size 384KiB --access read --turns 20 -o walks.sct";
    place.run(walks).assert_code(0);
    let a_walk = 384 * 1024 / 8 * 2;
    let quantum = (10 * a_walk).to_string();
    let simulate = format!("simulate walks.sct --design mogul-2a --at-once 20 --quantum {quantum}");
    let ran = place.run(format!("{simulate} --format json"));
    ran.assert_code(0);
    let found = ran.json();
    assert_eq!(found["schema"], "switchcost.simulate-at-once/1");
    let of = |order: &str, field: &str| count(&found["designs"][0][order][field]);
    for field in ["lookups", "alone"] {
        assert_eq!(
            of("in_turn", field),
            of("at_once", field),
            "{field} does not depend on the order"
        );
    }
    // Alone, each line of 128 bytes comes in once. Interleaved, most lines come in once in each of
    // four time slices. Concurrently, those lines come in at each walk that both arrays have in one
    // place.
    let lines = 384 * 1024 / 128;
    let (alone, in_turn, at_once) = (
        of("in_turn", "alone"),
        of("in_turn", "shared"),
        of("at_once", "shared"),
    );
    assert!((2 * lines..2 * lines + 10).contains(&alone), "{alone}");
    assert!(in_turn > alone && in_turn <= 4 * lines + 10, "{in_turn}");
    assert!(
        at_once > 5 * in_turn,
        "{at_once} at once, {in_turn} in turn"
    );
    place
        .run(simulate)
        .assert_output("If the processes time-share the L2 of design mogul-2a, it has")
        .assert_output("A shared last level");
}

#[test]
fn the_xeon_of_2007_reads_a_stream_as_fast_as_was_measured() {
    let place = Place::new();
    let walks = "trace walks --size 2MiB --access read --turns 1 --instructions 3";
    place.run(format!("{walks} -o stream.sct")).assert_code(0);
    let found = place
        .run("simulate stream.sct --design li2007-xeon --format json")
        .json();
    let design = &found["designs"][0];
    let lines = count(&design["data_refs"]) / (128 / 8);
    let cycles_a_line = count(&design["private"]["cycles"]) as f64 / lines as f64;
    // The design's source gives a rate of 128 bytes in 83 ns at 2.0 GHz.
    assert!(
        (cycles_a_line - 166.0).abs() < 2.0,
        "{cycles_a_line} cycles a line"
    );
}

#[test]
fn foreign_traces_come_in_and_go_out() {
    let place = Place::new();
    let lackey = place.path("lackey.txt");
    fs::write(
        &lackey,
        "==1== Lackey\nI  00400000,4\n L 1ffe0010,8\nI  00400004,4\n S 1ffe0018,4\n",
    )
    .expect("room");

    place
        .run("trace import --from lackey lackey.txt -o l.sct")
        .assert_code(0);
    place
        .run("trace info l.sct")
        .assert_output("Switches: none")
        .assert_output("It is unknown on which loads");
    let info = place.run("trace info l.sct --format json").json();
    assert_eq!(info["has_dependences"], false);
    for (to, text) in [
        (
            "din",
            "2 400000\n0 1ffe0010\n0 1ffe0014\n2 400004\n1 1ffe0018\n",
        ),
        ("din --pieces 32B", "2 400000\n0 1ffe0000\n1 1ffe0000\n"),
        (
            "lackey",
            "I  00400000,4\n L 1ffe0010,8\nI  00400004,4\n S 1ffe0018,4\n",
        ),
    ] {
        place
            .run(format!("trace export l.sct --to {to}"))
            .assert_prints(0, text);
    }
}

/// Encodes records of drmemtrace: type, size, address.
fn records(records: &[(u16, u16, u64)]) -> Vec<u8> {
    let record = |&(kind, size, address): &(u16, u16, u64)| {
        [
            &kind.to_le_bytes()[..],
            &size.to_le_bytes(),
            &address.to_le_bytes(),
        ]
        .concat()
    };
    records.iter().flat_map(record).collect()
}

/// Makes a drmemtrace thread of nine instructions; file type 0x44 is that of traces without data.
fn thread(file_type: u64, thread: u64, now: u64) -> Vec<u8> {
    let head = [
        (25, 0, 7),
        (28, 9, file_type),
        (22, 8, thread),
        (24, 8, 9),
        (28, 2, now),
        (28, 3, thread % 2),
    ];
    records(
        &[
            &head[..],
            &[(10, 4, 0x40_1000); 9],
            &[(23, 8, thread), (26, 0, 0)],
        ]
        .concat(),
    )
}

#[test]
fn what_a_source_lacks_is_said_at_import_and_with_every_result() {
    let place = Place::new();
    let foreign = place.path("code.trace");
    fs::write(&foreign, thread(0x44, 10, 1)).expect("room");
    let part = "the trace has only instructions";
    for (verb, file) in [
        ("trace import --from drmemtrace -o code.sct", "code.trace"),
        ("trace info", "code.sct"),
        ("trace check", "code.sct"),
        (
            "simulate --design plain-lru --record code.parquet",
            "code.sct",
        ),
        (
            "simulate --design plain-lru --quantum 1000,2000",
            "code.sct",
        ),
        ("simulate --design plain-lru --at-once 2", "code.sct"),
        ("report", "code.parquet"),
    ] {
        let ran = place.run((verb, file));
        ran.assert_result();
        // The text is wrapped into lines.
        let said = in_one_line(&(ran.stdout + &ran.stderr));
        assert!(said.contains(part), "{verb:?} says {said}");
    }
}

/// A chunk has 262,144 of these instructions, and the header is written before the first chunk.
#[test]
fn a_note_that_follows_from_a_late_record_is_in_the_header() {
    let place = Place::new();
    let mut late = vec![(10, 4, 0x40_1000); 300_000];
    const WINDOW: u16 = 14;
    late.push((28, WINDOW, 1));
    let mut foreign = thread(0xe40, 10, 1);
    let first_instruction = records(&[(0, 0, 0); 6]).len();
    foreign.splice(first_instruction..first_instruction, records(&late));
    fs::write(place.path("late.trace"), foreign).expect("room");
    let ran = place.run("trace import --from drmemtrace late.trace -o late.sct");
    ran.assert_code(0)
        .assert_message("the trace was taken in windows");
    let ran = place.run("trace check late.sct");
    ran.assert_code(0);
    let said = in_one_line(&ran.stdout);
    assert!(said.contains("the trace was taken in windows"), "{said}");
}

#[test]
fn a_folder_of_threads_is_one_trace_and_of_one_cpu_another() {
    let place = Place::new();
    let folder = place.path("run");
    fs::create_dir_all(folder.join("trace")).expect("room");
    for (number, name) in [(10, "a.10.trace"), (11, "a.11.trace"), (12, "a.12.trace")] {
        fs::write(
            folder.join("trace").join(name),
            thread(0xe40, number, number),
        )
        .expect("room");
    }
    fs::write(folder.join("trace/cpu_schedule.bin.zip"), "PK").expect("room");
    let import = |more: &str, instructions: &str| {
        let _ = fs::remove_file(place.path("run.sct"));
        let ran = place.run(("trace import --from drmemtrace run -o run.sct", more));
        ran.assert_code(0)
            .assert_message(&format!(": {instructions} instructions"));
        ran.stderr
    };
    assert!(import("", "27").contains("the switches are not the machine's"));
    assert!(!import("--cpu 0", "18").contains("the switches are not"));
    let schedule = "run/trace/cpu_schedule.bin.zip";
    for (words, code, part) in [
        (
            format!("--from drmemtrace {schedule}"),
            5,
            "has only the schedule of the threads",
        ),
        (
            "--from drmemtrace .".to_owned(),
            5,
            "is a folder without *.trace files",
        ),
        (
            format!("--from din --cpu 1 {schedule}"),
            2,
            "--cpu is for --from drmemtrace only, since din names no CPUs",
        ),
    ] {
        place
            .run(("trace import -o no.sct", words))
            .assert_failed(code, part);
    }
}

#[test]
fn what_one_text_cannot_show_is_said() {
    let place = Place::new();
    let two = "trace walks --size 4KiB --access read --turns 2 -o walks.sct";
    place.run(two).assert_code(0);
    let both = place.run("trace export --to din walks.sct");
    both.assert_code(0);
    both.assert_message("the addresses of 2 processes are mixed in one text");
    let alone = place.run("trace export --to din --process 1 walks.sct");
    alone.assert_messages(0, "");
    assert_eq!(
        2 * alone.stdout.lines().count(),
        both.stdout.lines().count()
    );
}

/// Makes a trace of two tasks, each of which walks 64 KiB in `turns` time slices.
fn walks(place: &Place, turns: &str) {
    let words = format!("trace walks --size 64KiB --access read --turns {turns} -o walks.sct");
    place.run(words).assert_code(0);
}

fn simulated(place: &Place, more: impl Arguments) -> Value {
    place
        .run(("simulate walks.sct --design mogul-1a --format json", more))
        .assert_code(0)
        .json()
}

#[test]
fn parts_of_a_trace_add_up() {
    let place = Place::new();
    walks(&place, "40");
    let numbers = |found: &Value| {
        let design = &found["designs"][0];
        [
            count(&found["trace"]["instructions"]),
            count(&design["shared"]["cycles"]),
            count(&design["private"]["cycles"]),
            count(&design["switches"]["voluntary"]) + count(&design["switches"]["involuntary"]),
        ]
    };
    // First levels with LRU are exact from the first instruction of a part on, however short the
    // warm-up is.
    let parts = ["..300001", "300001..700000", "700000.."]
        .map(|range| simulated(&place, ["--warm-up", "1000", "--range", range]));
    let sum = |at: usize| parts.iter().map(|part| numbers(part)[at]).sum::<u64>();
    assert_eq!([0, 1, 2, 3].map(sum), numbers(&simulated(&place, "")));
    let part = &parts[1]["trace"]["part"];
    for (field, value) in [
        ("from_instruction", 300_001),
        ("to_instruction", 700_000),
        ("trace_instructions", 80 * 16_384),
        ("warm_up_instructions", 1000),
    ] {
        assert_eq!(part[field], value, "{field}");
    }
    let mut flags = items(&parts[1]["flags"]).iter();
    assert!(flags.any(|flag| flag["name"] == "part"));
}
