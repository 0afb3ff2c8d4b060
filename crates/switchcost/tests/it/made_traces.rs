//! Tests traces made without running a program: walks through memory, and imports and exports of
//! other tools.

use std::fs;
use std::path::{Path, PathBuf};

use crate::common::{Place, count, text};
#[test]
fn walks_are_traced_without_a_program_and_lose_to_each_other() {
    let place = Place::new();
    let path = place.path("walks.sct");
    let walks = [
        "trace",
        "walks",
        "--size",
        "64KiB",
        "--access",
        "read",
        "--turns",
        "10",
        "-o",
        text(&path),
    ];
    assert_eq!(place.run(&walks).code, 0);
    assert_eq!(place.run(&["trace", "check", text(&path)]).code, 0);
    let info = place
        .run(&["trace", "info", text(&path), "--format", "json"])
        .json();
    // The trace has 20 time slices of 8192 elements, each loaded, with an instruction that jumps.
    assert_eq!(
        (count(&info["loads"]), count(&info["instructions"])),
        (20 * 8192, 20 * 8192 * 2)
    );
    let loops = place.path("loops.sct");
    let longer = [
        "trace",
        "walks",
        "--size",
        "64KiB",
        "--access",
        "rmw",
        "--turns",
        "10",
        "--instructions",
        "15",
    ];
    assert_eq!(
        place
            .run(&[&longer[..], &["-o", text(&loops)]].concat())
            .code,
        0
    );
    assert_eq!(place.run(&["trace", "check", text(&loops)]).code, 0);
    let info = place
        .run(&["trace", "info", text(&loops), "--format", "json"])
        .json();
    assert_eq!(
        (count(&info["loads"]), count(&info["stores"])),
        (20 * 8192, 20 * 8192)
    );
    assert_eq!(count(&info["instructions"]), 20 * 8192 * 15);
    let found = place
        .run(&[
            "simulate",
            text(&path),
            "--design",
            "mogul-1a",
            "--format",
            "json",
        ])
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
    let path = place.path("walks.sct");
    let walks = [
        "trace",
        "walks",
        "--size",
        "64KiB",
        "--access",
        "read",
        "--turns",
        "10",
        "-o",
        text(&path),
    ];
    assert_eq!(place.run(&walks).code, 0);
    // A time slice of the trace is a walk of 16,384 instructions. One of four walks has the same
    // cost and occurs a quarter as often.
    let orders = [
        "--quantum",
        "16384,65536",
        "--schedule",
        "round-robin,longest-quantum",
        "--design",
        "mogul-1a",
    ];
    let simulate = [&["simulate", text(&path)][..], &orders].concat();
    let ran = place.run(&[&simulate[..], &["--format", "json"]].concat());
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let found = ran.json();
    assert_eq!(found["schema"], "switchcost.simulate-orders/1");
    let orders = found["orders"].as_array().expect("orders");
    let of = |field: &str| {
        orders
            .iter()
            .map(|order| count(&order[field]))
            .collect::<Vec<_>>()
    };
    // Twenty walks, minus the first; 40 walks in 5 time slices, minus the first; and all of one
    // task, then all of the other.
    assert_eq!(of("switches"), [19, 5, 1]);
    let lost = 15 * (4096 + 1);
    let cycles = of("cycles");
    // The loss at a switch is the whole array and the line of code, except in the first time slice
    // of each task.
    assert_eq!(cycles[0] - cycles[2], 18 * lost, "{cycles:?}");
    assert_eq!(cycles[1] - cycles[2], 4 * lost, "{cycles:?}");
    let names: Vec<&str> = orders
        .iter()
        .filter_map(|order| order["order"].as_str())
        .collect();
    assert_eq!(names, ["round-robin", "round-robin", "longest-quantum"]);
    // With 40 ns per cycle, 655 us are 16,384 instructions, as many as a walk has, at one per
    // cycle.
    let by_time = [
        "simulate",
        text(&path),
        "--design",
        "mogul-1a",
        "--quantum",
        "655.36us",
        "--format",
        "json",
    ];
    let alone = place.run(&by_time).json();
    assert_eq!(
        (
            &alone["trace"]["order"],
            count(&alone["trace"]["quantum_instructions"])
        ),
        (&"round-robin".into(), 16_384)
    );
    assert_eq!(count(&alone["designs"][0]["shared"]["cycles"]), cycles[0]);
    let mixed = place.run(&["simulate", text(&path), "--quantum", "4ms"]);
    assert_eq!(mixed.code, 2);
    let wanted = "a quantum of 4ms cannot be converted to instructions: mogul-1a and mogul-2a with different cycles\nhint: \
                  give a number of instructions, or one design";
    assert!(mixed.stderr.contains(wanted), "{}", mixed.stderr);
    let record = place.path("r.parquet");
    let several = place.run(&[&simulate[..], &["--record", text(&record)]].concat());
    assert_eq!(several.code, 2);
    let wanted = "--record names one file, but there are 3 simulations\nhint: leave it out, and each is saved in the default folder";
    assert!(several.stderr.contains(wanted), "{}", several.stderr);
    let mut elsewhere = place.command(&simulate);
    let shown = crate::common::ran(
        elsewhere
            .env("XDG_STATE_HOME", place.path("my runs"))
            .output()
            .expect("the program starts"),
    );
    assert!(
        shown.stdout.contains("Cost by schedule"),
        "{}",
        shown.stdout
    );
    let curves = shown
        .stdout
        .lines()
        .find_map(|line| line.strip_prefix("curves: "))
        .expect("a command");
    assert!(
        curves.starts_with("switchcost report -o page.html '"),
        "{curves}"
    );
    let drawn = place.run_as_printed(curves);
    assert_eq!((drawn.code, drawn.stderr.as_str()), (0, ""), "{curves}");
}

#[test]
fn a_last_level_that_is_shared_at_once_loses_more_than_in_turn() {
    let place = Place::new();
    let path = place.path("walks.sct");
    // Two arrays of 384 KiB do not fit together in the 512 KiB of mogul-2a; each walk is repeated
    // ten times in a time slice.
    let walks = [
        "trace",
        "walks",
        "--size",
        "384KiB",
        "--access",
        "read",
        "--turns",
        "20",
        "-o",
        text(&path),
    ];
    assert_eq!(place.run(&walks).code, 0);
    let a_walk = 384 * 1024 / 8 * 2;
    let quantum = (10 * a_walk).to_string();
    let simulate = [
        "simulate",
        text(&path),
        "--design",
        "mogul-2a",
        "--at-once",
        "20",
        "--quantum",
        &quantum,
    ];
    let ran = place.run(&[&simulate[..], &["--format", "json"]].concat());
    assert_eq!(ran.code, 0, "{}", ran.stderr);
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
    let shown = place.run(&simulate).stdout;
    assert!(
        shown.starts_with("The L2 of mogul-2a has") && shown.contains("A shared last level"),
        "{shown}"
    );
    let refused = place.run(&["simulate", text(&path), "--at-once", "20"]);
    assert_eq!(refused.code, 2);
    let wanted = "--at-once needs a design with a shared last level, unlike mogul-1a: ";
    assert!(refused.stderr.contains(wanted), "{}", refused.stderr);
}

#[test]
fn the_xeon_of_2007_reads_a_stream_as_fast_as_was_measured() {
    let place = Place::new();
    let path = place.path("stream.sct");
    let walks = [
        "trace",
        "walks",
        "--size",
        "2MiB",
        "--access",
        "read",
        "--turns",
        "1",
        "--instructions",
        "3",
    ];
    assert_eq!(
        place.run(&[&walks[..], &["-o", text(&path)]].concat()).code,
        0
    );
    let found = place
        .run(&[
            "simulate",
            text(&path),
            "--design",
            "li2007-xeon",
            "--format",
            "json",
        ])
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
fn walks_that_cannot_be_are_refused() {
    let place = Place::new();
    let path = place.path("walks.sct");
    let ran = place.run(&[
        "trace",
        "walks",
        "--size",
        "4KiB",
        "--stride",
        "12B",
        "-o",
        text(&path),
    ]);
    assert_eq!(ran.code, 2, "{}", ran.stderr);
    assert!(ran.stderr.contains("a stride of 12 B"), "{}", ran.stderr);
    assert!(!path.exists());
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
    let (trace, din) = (place.path("l.sct"), place.path("l.din"));
    let import = place.run(&[
        "trace",
        "import",
        "--from",
        "lackey",
        text(&lackey),
        "-o",
        text(&trace),
    ]);
    assert_eq!(import.code, 0, "{}", import.stderr);
    let info = place.run(&["trace", "info", text(&trace)]);
    assert!(
        info.stdout.contains("Switches: none"),
        "to begin is no switch: {}",
        info.stdout
    );
    let export = place.run(&[
        "trace",
        "export",
        "--to",
        "din",
        text(&trace),
        "-o",
        text(&din),
    ]);
    assert_eq!(export.code, 0, "{}", export.stderr);
    let words = fs::read_to_string(&din).expect("din text");
    assert_eq!(
        words,
        "2 400000\n0 1ffe0010\n0 1ffe0014\n2 400004\n1 1ffe0018\n"
    );
    let pieces = place.run(&[
        "trace",
        "export",
        "--to",
        "din",
        "--pieces",
        "32B",
        text(&trace),
    ]);
    assert_eq!(pieces.stdout, "2 400000\n0 1ffe0000\n1 1ffe0000\n");
    let again = place.run(&["trace", "export", "--to", "lackey", text(&trace)]);
    assert_eq!(
        again.stdout,
        "I  00400000,4\n L 1ffe0010,8\nI  00400004,4\n S 1ffe0018,4\n"
    );
    let odd = place.run(&[
        "trace",
        "export",
        "--to",
        "din",
        "--pieces",
        "24B",
        text(&trace),
    ]);
    assert_eq!(
        (
            odd.code,
            odd.stderr
                .contains("give --pieces a power of two from 4 to 4096")
        ),
        (2, true),
        "{}",
        odd.stderr
    );
    let both = place.run(&[
        "trace",
        "export",
        "--to",
        "lackey",
        "--pieces",
        "32B",
        text(&trace),
    ]);
    assert_eq!(
        (both.code, both.stderr.contains("for --to din only")),
        (2, true),
        "{}",
        both.stderr
    );
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
    let (foreign, trace) = (place.path("code.trace"), place.path("code.sct"));
    fs::write(&foreign, thread(0x44, 10, 1)).expect("room");
    let (record, part) = (
        place.path("code.parquet"),
        "the trace has no data references",
    );
    for (verb, file) in [
        (
            &[
                "trace",
                "import",
                "--from",
                "drmemtrace",
                "-o",
                text(&trace),
            ][..],
            &foreign,
        ),
        (&["trace", "info"], &trace),
        (&["trace", "check"], &trace),
        (
            &[
                "simulate",
                "--design",
                "plain-lru",
                "--record",
                text(&record),
            ],
            &trace,
        ),
        (
            &[
                "simulate",
                "--design",
                "plain-lru",
                "--quantum",
                "1000,2000",
            ],
            &trace,
        ),
        (
            &["simulate", "--design", "plain-lru", "--at-once", "2"],
            &trace,
        ),
        (&["report"], &record),
    ] {
        let ran = place.run(&[verb, &[text(file)]].concat());
        // The text is wrapped into lines.
        let said = format!("{}{}", ran.stdout, ran.stderr)
            .split_whitespace()
            .collect::<Vec<_>>()
            .join(" ");
        assert!(
            matches!(ran.code, 0 | 3) && said.contains(part),
            "{verb:?} says {said}"
        );
    }
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
    let import = |more: &[&str], instructions: &str| {
        let trace = place.path("run.sct");
        let _ = fs::remove_file(&trace);
        let words = [
            "trace",
            "import",
            "--from",
            "drmemtrace",
            text(&folder),
            "-o",
            text(&trace),
        ];
        let ran = place.run(&[&words[..], more].concat());
        assert_eq!(ran.code, 0, "{}", ran.stderr);
        assert!(
            ran.stderr
                .contains(&format!(": {instructions} instructions")),
            "{}",
            ran.stderr
        );
        ran.stderr
    };
    assert!(import(&[], "27").contains("its switches are not the machine's"));
    assert!(!import(&["--cpu", "0"], "18").contains("its switches"));
    let refused = |words: &[&str]| {
        place.run(
            &[
                &["trace", "import", "-o", text(&place.path("no.sct"))][..],
                words,
            ]
            .concat(),
        )
    };
    let schedule = folder.join("trace/cpu_schedule.bin.zip");
    for (words, code, part) in [
        (
            &["--from", "drmemtrace", text(&schedule)][..],
            5,
            "has only the schedule of the threads",
        ),
        (
            &["--from", "drmemtrace", text(&place.path("."))],
            5,
            "is a folder without *.trace files",
        ),
        (
            &["--from", "din", "--cpu", "1", text(&schedule)],
            2,
            "--cpu is for --from drmemtrace only, since din names no CPUs",
        ),
    ] {
        let ran = refused(words);
        assert!(
            ran.code == code && ran.stderr.contains(part),
            "{words:?}: {} {}",
            ran.code,
            ran.stderr
        );
    }
}

#[test]
fn what_one_text_cannot_show_is_said() {
    let place = Place::new();
    let (walks, din) = (place.path("walks.sct"), place.path("walks.din"));
    let two = [
        "trace",
        "walks",
        "--size",
        "4KiB",
        "--access",
        "read",
        "--turns",
        "2",
        "-o",
        text(&walks),
    ];
    assert_eq!(place.run(&two).code, 0);
    let both = place.run(&["trace", "export", "--to", "din", text(&walks)]);
    assert_eq!(both.code, 0, "{}", both.stderr);
    assert!(
        both.stderr
            .contains("the addresses of 2 processes are mixed in one text"),
        "{}",
        both.stderr
    );
    let alone = place.run(&[
        "trace",
        "export",
        "--to",
        "din",
        "--process",
        "1",
        text(&walks),
    ]);
    assert_eq!((alone.code, alone.stderr.as_str()), (0, ""));
    assert_eq!(
        2 * alone.stdout.lines().count(),
        both.stdout.lines().count()
    );
    fs::write(&din, "as it was").expect("room");
    let unknown = place.run(&[
        "trace",
        "export",
        "--to",
        "din",
        "--process",
        "9",
        text(&walks),
        "-o",
        text(&din),
    ]);
    assert_eq!(unknown.code, 2, "{}", unknown.stderr);
    assert!(
        unknown.stderr.contains("there is no block of process 9"),
        "{}",
        unknown.stderr
    );
    assert_eq!(fs::read_to_string(&din).expect("as before"), "as it was");
}

/// Makes a trace of two tasks that walk 64 KiB each for this many time slices.
fn walks(place: &Place, turns: &str) -> PathBuf {
    let path = place.path("walks.sct");
    let walks = [
        "trace",
        "walks",
        "--size",
        "64KiB",
        "--access",
        "read",
        "--turns",
        turns,
        "-o",
        text(&path),
    ];
    assert_eq!(place.run(&walks).code, 0);
    path
}

fn simulated(place: &Place, path: &Path, more: &[&str]) -> serde_json::Value {
    let all = [
        &[
            "simulate",
            text(path),
            "--design",
            "mogul-1a",
            "--format",
            "json",
        ][..],
        more,
    ]
    .concat();
    let ran = place.run(&all);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    ran.json()
}

#[test]
fn parts_of_a_trace_add_up() {
    let place = Place::new();
    let path = walks(&place, "40");
    let simulate = |more: &[&str]| simulated(&place, &path, more);
    let numbers = |found: &serde_json::Value| {
        let design = &found["designs"][0];
        let misses = |view: &str| {
            design[view]["levels"]
                .as_array()
                .expect("levels")
                .iter()
                .map(|level| count(&level["misses"]))
                .sum::<u64>()
        };
        let cycles = |view: &str| count(&design[view]["cycles"]);
        let switches =
            count(&design["switches"]["voluntary"]) + count(&design["switches"]["involuntary"]);
        [
            count(&found["trace"]["instructions"]),
            misses("shared"),
            misses("private"),
            cycles("shared"),
            cycles("private"),
            switches,
        ]
    };
    let whole = simulate(&[]);
    // First levels with LRU are exact from the first instruction of a part on, however short the
    // warm-up is.
    let part = |more: &[&str]| simulate(&[more, &["--warm-up", "1000"]].concat());
    let parts = [
        part(&["--range", "..300001"]),
        part(&["--range", "300001..700000"]),
        part(&["--range", "700000.."]),
    ];
    let sum = |place: usize| parts.iter().map(|part| numbers(part)[place]).sum::<u64>();
    assert_eq!([0, 1, 2, 3, 4, 5].map(sum), numbers(&whole));
    let part = &parts[1]["trace"]["part"];
    let facts = [
        "from_instruction",
        "to_instruction",
        "trace_instructions",
        "warm_up_instructions",
    ]
    .map(|name| count(&part[name]));
    assert_eq!(facts, [300_001, 700_000, 80 * 16_384, 1000]);
    let flags = parts[1]["flags"].as_array().expect("flags");
    assert!(flags.iter().any(|flag| flag["name"] == "part"), "{flags:?}");
}

#[test]
fn a_part_that_is_not_in_the_trace_is_refused_by_name() {
    let place = Place::new();
    let path = place.path("walks.sct");
    assert_eq!(
        place
            .run(&[
                "trace",
                "walks",
                "--size",
                "4KiB",
                "--turns",
                "4",
                "-o",
                text(&path)
            ])
            .code,
        0
    );
    let said = |more: &[&str]| {
        let ran = place.run(&[&["simulate", text(&path)][..], more].concat());
        assert_eq!(ran.code, 2, "{}", ran.stderr);
        ran.stderr
    };
    let name = text(&path);
    let refused = said(&["--range", "5..9999999"]);
    assert_eq!(
        refused,
        format!(
            "error: the range 5..9999999 ends past {name}, which has 16384 instructions\nhint: choose \
             one that ends there or before\n"
        )
    );
    let refused = said(&["--warm-up", "5"]);
    assert_eq!(
        refused,
        "error: --warm-up applies only with --range\nhint: add it, or leave --warm-up out\n"
    );
    let live = place.run(&["simulate", "live", "--range", "..5", "--", "true"]);
    assert!(
        live.code == 2 && live.stderr.contains("need a trace with its index"),
        "{}",
        live.stderr
    );
}
