//! Tests bad input: the error says what was found, what is needed and what to do; the exit code is
//! documented; no file is half-written.

use crate::common::{Place, text};

/// Runs the program, and returns the exit code and the last line of stderr.
fn refusal(place: &Place, arguments: &[&str]) -> (i32, String) {
    let ran = place.run(arguments);
    assert_eq!(ran.stdout, "", "no result where there is an error");
    (ran.code, ran.stderr.trim_end().to_owned())
}

#[test]
fn unfit_plans_are_refused_before_anything_is_started() {
    let place = Place::new();
    for (arguments, message) in [
        (
            &["--size", "4"][..],
            "error: a size of 4 B is not a multiple of one element (8 B)\nhint: round it to a multiple of 8",
        ),
        (
            &["--size", "64", "--stride", "128"],
            "error: a stride of 128 B is larger than the array of 64 B\nhint: make the array larger or the stride smaller",
        ),
        (
            &["--tasks", "1"],
            "error: --tasks must be 2 to 64, not 1\nhint: choose a value in that range",
        ),
        (
            &["--cpu", "0", "--placement", "pair"],
            "error: 1 CPU in --cpu cannot be combined with --placement pair, which takes two different ones\nhint: give --cpu \
             that many",
        ),
        (
            &["--tasks", "65"],
            "error: --tasks must be 2 to 64, not 65\nhint: choose a value in that range",
        ),
        (
            &["--size", "64", "--pattern", "chase", "--stride", "8"],
            "error: a chase cannot have nodes of 8 B in an array of 64 B\nhint: use nodes of at least 16 B that divide the \
             array into two or more, such as --stride 64B for one node a cache line",
        ),
    ] {
        let found = refusal(&place, &[&["measure"], arguments].concat());
        assert_eq!(found, (2, message.to_owned()));
    }
    assert!(
        !place.folder().join("switchcost").exists(),
        "no record of what was not begun"
    );
}

#[test]
fn a_cpu_that_is_not_there_is_refused_with_those_that_are() {
    let place = Place::new();
    let (code, message) = refusal(&place, &["measure", "--cpu", "4095"]);
    assert_eq!(code, 2);
    assert!(
        message.contains("CPU 4095 is not online, only "),
        "{message}"
    );
    let (code, message) = refusal(&place, &["measure", "--cpu", "x"]);
    assert_eq!(
        (code, message.contains("'x' is not a list of CPU numbers")),
        (2, true),
        "{message}"
    );
}

#[test]
fn arrays_that_do_not_fit_into_memory_are_refused() {
    let place = Place::new();
    let (code, message) = refusal(&place, &["measure", "--size", "1024GiB"]);
    assert_eq!(code, 2);
    assert!(
        message.contains("2048 GiB of memory is needed for 2 arrays of 1024 GiB, but only "),
        "{message}"
    );
}

#[test]
fn arrays_that_take_longer_than_the_budget_are_refused_before_anything_is_started() {
    let place = Place::new();
    let (code, message) = refusal(
        &place,
        &[
            "measure",
            "--size",
            "1GiB",
            "--sharing",
            "shared",
            "--budget",
            "100ms",
        ],
    );
    assert_eq!(code, 2);
    assert_eq!(
        message,
        "error: --budget 100ms is too short: even on the fastest machine, 2 tasks take more than 901.94 ms to prepare and walk \
         1 GiB each, 5 times\nhint: raise --budget, or lower --tasks or --size (227MiB in total would fit)"
    );
    assert!(
        !place.folder().join("switchcost").exists(),
        "no record of what was not begun"
    );
}

#[test]
fn a_flag_with_a_wrong_value_names_the_right_ones() {
    let place = Place::new();
    for (arguments, message) in [
        (
            ["measure", "--mechanism", "pipes"],
            "use one of pipe, eventfd, futex",
        ),
        (
            ["measure", "--size", "64kb"],
            "write it with its unit: 0, 512B, 64KiB or 4MiB",
        ),
        (
            ["measure", "--access", "execute"],
            "use one of read, write, rmw",
        ),
        (
            ["measure", "--precision", "2"],
            "is not a percentage from 0.1% to 99.9%",
        ),
        (
            ["measure", "--budget", "5"],
            "write it with its unit: 200us, 15s or 2min",
        ),
        (
            ["measure", "--format", "xml"],
            "use one of table, json, jsonl, csv, html",
        ),
    ] {
        let (code, found) = refusal(&place, &arguments);
        assert_eq!(code, 2, "{found}");
        assert!(found.contains(message), "{found}");
    }
}

#[test]
fn a_place_that_cannot_be_written_is_known_before_the_work() {
    let place = Place::new();
    let quick = [
        "measure",
        "--mechanism",
        "fiber",
        "--max-repetitions",
        "6",
        "--no-counters",
    ];
    let (code, message) = refusal(
        &place,
        &[&quick[..], &["--output", "/proc/none/result"]].concat(),
    );
    assert_eq!(code, 1);
    assert!(
        message.starts_with("error: cannot write /proc/none/result: "),
        "{message}"
    );
    let (code, message) = refusal(
        &place,
        &[&quick[..], &["--record", "/proc/none/run.jsonl"]].concat(),
    );
    assert_eq!(code, 1);
    assert!(message.contains(
        "choose another place with --record, in a folder that exists and may be written"
    ));
}

#[test]
fn a_record_is_never_overwritten() {
    let place = Place::new();
    std::fs::write(place.record(), "precious").expect("a file");
    let (record, trace) = (place.record(), place.path("walks.sct"));
    assert_eq!(
        place
            .run(&["trace", "walks", "--size", "4KiB", "-o", text(&trace)])
            .code,
        0
    );
    for ran in [
        place.measure(&["--mechanism", "fiber"]),
        place.run(&[
            "simulate",
            text(&trace),
            "--design",
            "mogul-1a",
            "--record",
            &record,
        ]),
        place.run(&["observe", "--record", &record, "--", "true"]),
        place.run(&["ab", "--new", "true", "--record", &record, "--", "--quick"]),
    ] {
        // The arguments are those of a trace that would replace a file.
        assert_eq!(ran.code, 2);
        assert!(
            ran.stderr
                .contains("already exists, and records are never overwritten"),
            "{}",
            ran.stderr
        );
        assert_eq!(
            std::fs::read_to_string(&record).expect("still there"),
            "precious"
        );
    }
}

#[test]
fn what_is_no_record_is_refused_with_what_was_found() {
    let place = Place::new();
    let read = |content: &str| {
        let path = place.path("file");
        std::fs::write(&path, content).expect("a file");
        refusal(&place, &["report", path.to_str().expect("a plain path")])
    };
    let (code, message) = read("");
    assert_eq!(
        (
            code,
            message.contains("is not a record of switchcost (it is empty)")
        ),
        (5, true),
        "{message}"
    );
    let (_, message) = read("hello\n");
    assert!(message.contains("it does not begin with JSON"), "{message}");
    let (_, message) = read("{\"line\":\"header\",\"schema\":\"switchcost.record.measure/999\"}\n");
    assert!(
        message.contains(
            "is of format switchcost.record.measure/999, and this version reads switchcost.record.measure/2"
        ),
        "{message}"
    );
    assert!(
        message.contains("read it with a version of switchcost that writes that format"),
        "{message}"
    );
    let (code, message) = refusal(&place, &["report", "/nonexistent/run.jsonl"]);
    assert_eq!(
        (code, message.contains("cannot read")),
        (5, true),
        "{message}"
    );
    let (code, message) = refusal(&place, &["report"]);
    assert_eq!(
        (code, message.contains("make one with switchcost measure")),
        (5, true),
        "{message}"
    );
}

#[test]
fn a_record_that_cannot_be_opened_is_recognized_by_its_kind() {
    let place = Place::new();
    let measured = format!(
        "{}/../record/tests/samples/measure-2.jsonl",
        env!("CARGO_MANIFEST_DIR")
    );
    let none = ": No such file or directory\nhint: name a file written by switchcost";
    for (words, message) in [
        (
            &["report", "/nonexistent/a.parquet"][..],
            format!("cannot read /nonexistent/a.parquet{none} simulate"),
        ),
        (
            &["report", "/nonexistent/a.jsonl"],
            format!("cannot read /nonexistent/a.jsonl{none}"),
        ),
        (
            &["compare", "/nonexistent/a.parquet", "/nonexistent/b.parquet"],
            format!("cannot read /nonexistent/a.parquet{none} simulate"),
        ),
        (
            &["compare", &measured, "/nonexistent/b.parquet"],
            "cannot open /nonexistent/b.parquet: No such file or directory\nhint: name a file that exists and can be read".to_owned(),
        ),
    ] {
        assert_eq!(refusal(&place, words), (5, format!("error: {message}")));
    }
    std::fs::write(place.path("empty.parquet"), "").expect("a file");
    let (_, message) = refusal(&place, &["report", text(&place.path("empty.parquet"))]);
    assert!(
        message.ends_with("(it has 0 bytes)\nhint: name a file written by switchcost simulate"),
        "{message}"
    );
}

#[test]
fn a_folder_for_records_that_cannot_be_written_is_done_without() {
    let place = Place::new();
    let (state, temporary) = (place.path("state"), place.path("tmp"));
    std::fs::write(&state, "no folder").expect("a file");
    std::fs::create_dir(&temporary).expect("a folder");
    let mut command = place.command(&[
        "measure",
        "--mechanism",
        "fiber",
        "--max-repetitions",
        "6",
        "--no-counters",
    ]);
    let ran = crate::common::ran(
        command
            .env("XDG_STATE_HOME", &state)
            .env("TMPDIR", &temporary)
            .output()
            .expect("it starts"),
    );
    assert!(matches!(ran.code, 0 | 3), "{}", ran.stderr);
    let folder = std::fs::read_dir(&temporary)
        .expect("a folder")
        .flatten()
        .next()
        .expect("a folder of its own")
        .path();
    let record = std::fs::read_dir(&folder)
        .expect("a folder")
        .flatten()
        .next()
        .expect("a record")
        .path();
    let said = format!(
        "switchcost: {}/switchcost/runs cannot be written (Not a directory (os error 20)), so the record of this run \
         is {}; choose another place with --record (-o for a trace), or for all runs with XDG_STATE_HOME\n",
        state.display(),
        folder.display(),
    );
    // If another test is measuring, the message about that comes afterwards.
    assert!(ran.stderr.starts_with(&said), "{}", ran.stderr);
    assert!(
        ran.stdout
            .contains(&format!("raw data:    {}", record.display())),
        "{}",
        ran.stdout
    );
    assert!(matches!(place.run(&["report", text(&record)]).code, 0 | 3));
    let nowhere = command
        .env("TMPDIR", "/proc/none")
        .output()
        .expect("it starts");
    let message = format!(
        "error: cannot save the record: {}/switchcost/runs cannot be written (Not a directory), and no temporary \
         folder can be created (No such file or directory at path \"/proc/none",
        state.display()
    );
    let found = String::from_utf8_lossy(&nowhere.stderr).into_owned();
    assert!(found.starts_with(&message), "{found}");
}

#[test]
fn a_run_without_a_home_is_kept_in_a_temporary_folder_and_no_home_is_made() {
    let place = Place::new();
    let (trace, temporary) = (place.path("in.sct"), place.path("tmp"));
    std::fs::create_dir(&temporary).expect("a folder");
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
                text(&trace)
            ])
            .code,
        0
    );
    let run = |home: Option<&str>, words: &[&str]| {
        let mut command = place.command(words);
        command
            .env_remove("XDG_STATE_HOME")
            .env_remove("HOME")
            .env("TMPDIR", &temporary);
        command.envs(home.map(|home| ("HOME", home)));
        crate::common::ran(command.output().expect("it starts"))
    };
    for (home, found) in [
        (None, "neither XDG_STATE_HOME nor HOME is an absolute path"),
        (
            Some("/nonexistent"),
            "there is no folder /nonexistent, which HOME names",
        ),
    ] {
        let ran = run(home, &["simulate", text(&trace), "--design", "mogul-1a"]);
        let said = format!(
            "switchcost: {found}, so the record of this run is {}",
            text(&temporary)
        );
        assert!(
            ran.code == 0 && ran.stderr.contains(&said),
            "{} {}",
            ran.code,
            ran.stderr
        );
        let ran = run(home, &["report"]);
        let said = format!("error: no record is given, and {found}\nhint: name the file\n");
        assert_eq!((ran.code, ran.stderr), (5, said));
    }
    assert!(!std::path::Path::new("/nonexistent").exists());
}

#[test]
fn a_loopback_device_that_is_down_is_named() {
    let place = Place::new();
    // The program runs in its own network namespace, whose loopback device is down.
    let mut command = std::process::Command::new("unshare");
    command.args([
        "--net",
        env!("CARGO_BIN_EXE_switchcost"),
        "measure",
        "--mechanism",
        "tcp",
        "--max-repetitions",
        "6",
    ]);
    command.args([
        "--no-counters",
        "--format",
        "json",
        "--record",
        &place.record(),
    ]);
    let ran = crate::common::ran(command.output().expect("unshare is part of util-linux"));
    if ran.stderr.contains("unshare failed") {
        eprintln!("skipped: no right to make a network ({})", ran.stderr);
        return;
    }
    let why = "the channels of 2 tasks over tcp cannot be made (Network is unreachable (os error 101)); bring the loopback \
               device up (sudo ip link set lo up), or leave tcp out of --mechanism";
    assert_eq!(
        (ran.code, ran.json()["results"][0]["why"].as_str()),
        (3, Some(why)),
        "{}",
        ran.stderr
    );
}

#[test]
fn a_design_that_is_no_utf8_is_reported_where_and_how_it_becomes_some() {
    let place = Place::new();
    let design = place.path("latin1.toml");
    std::fs::write(&design, b"name = \"caf\xe9\"\n").expect("a file");
    let path = text(&design);
    let why = format!(
        "error: {path}: invalid UTF-8 at byte 12\nhint: save it as UTF-8 (from Latin-1: iconv -f latin1 -t utf-8), or name \
         another file\n"
    );
    let ran = place.run(&["simulate", "--explain", "--design", path]);
    assert_eq!((ran.code, ran.stderr), (2, why));
}

#[test]
fn a_record_cut_anywhere_is_read_up_to_its_last_whole_line() {
    let place = Place::new();
    place.measure(&["--mechanism", "fiber"]);
    let whole = std::fs::read(place.record()).expect("a record");
    let header = whole
        .iter()
        .position(|byte| *byte == b'\n')
        .expect("a line")
        + 1;
    for length in (header..whole.len()).step_by(whole.len() / 25) {
        let path = place.path("cut.jsonl");
        std::fs::write(&path, &whole[..length]).expect("a file");
        let ran = place.run(&["report", path.to_str().expect("a plain path")]);
        assert!(matches!(ran.code, 0 | 3), "{length}: {}", ran.stderr);
        assert!(ran.stdout.contains("cut off"), "{length}: {}", ran.stdout);
    }
    let mut damaged = whole.clone();
    damaged[header + 2] = 0;
    let path = place.path("damaged.jsonl");
    std::fs::write(&path, damaged).expect("a file");
    let (code, message) = refusal(&place, &["report", path.to_str().expect("a plain path")]);
    assert_eq!(code, 5);
    assert!(
        message.contains("is damaged at line 2") && message.contains("head -n 1"),
        "{message}"
    );
}

#[test]
fn a_closed_pipe_ends_it_quietly() {
    let place = Place::new();
    let program = env!("CARGO_BIN_EXE_switchcost");
    let script = format!("'{program}' completions bash | head -n 1; '{program}' man | head -n 0");
    let ran = crate::common::ran(
        place
            .command(&["--version"])
            .output()
            .expect("the program starts"),
    );
    assert_eq!(ran.code, 0);
    let output = std::process::Command::new("sh")
        .args(["-c", &script])
        .output()
        .expect("a shell");
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
}
