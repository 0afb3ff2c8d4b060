//! Tests `measure` on the real machine: its output, its record, and its selection of cases.

use switchcost_record::Mechanism;

use crate::common::{Place, allowed_cpus, count, has_flag, is_disturbed, items, number};

#[test]
fn report_prints_again_exactly_what_measure_printed() {
    let place = Place::new();
    let first = place.measure("--mechanism futex,fiber,green --size 0,32KiB --stride 64");
    first.assert_result();
    let again = place.run("report run.jsonl");
    assert_eq!(first.stdout, again.stdout);
    for format in ["json", "csv"] {
        let report = format!("report run.jsonl --format {format}");
        place
            .run((&report, "-o result"))
            .assert_prints(first.code, "");
        place
            .run(report)
            .assert_prints(first.code, &place.read("result"));
    }
    first.assert_output("futex").assert_output("fiber");
    assert!(!first.stdout.contains('\x1b'), "no colour into a pipe");
}

#[test]
fn a_record_without_a_name_goes_to_the_state_folder_and_report_finds_it() {
    let place = Place::new();
    let first = place.run("measure --mechanism fiber --max-repetitions 6 --no-counters");
    first.assert_output("raw data:    ");
    assert!(place.folder().join("switchcost/runs").is_dir());
    assert_eq!(place.run("report").stdout, first.stdout);
}

#[test]
fn rings_shared_arrays_chases_and_every_access_are_measured() {
    let place = Place::new();
    for (index, set) in [
        "--tasks 3,8 --sharing shared --size 16KiB --access write",
        "--pattern chase --size 64KiB --access read,write,rmw",
        "--mechanism posix-mq,signal,tcp --between thread --tasks 4",
    ]
    .iter()
    .enumerate()
    {
        let usual = "measure --max-repetitions 5 --no-counters --format json --record";
        let json = place.run((format!("{usual} {index}.jsonl"), set)).json();
        for result in items(&json["results"]) {
            let is_silent = result["status"] == "not-measured" && result["total_samples"] == 0;
            assert!(!is_silent, "{set}: no sample: {result}");
        }
    }
}

#[test]
fn a_matrix_names_every_pair() {
    let place = Place::new();
    if allowed_cpus().len() < 2 {
        eprintln!("skipped: there is one CPU");
        return;
    }
    let csv = place.measure("--placement matrix --format csv").stdout;
    assert!(csv.contains("same-cpu"), "{csv}");
    let relations = ["shared-cache", "smt", "socket"];
    assert!(
        relations.iter().any(|relation| csv.contains(relation)),
        "{csv}"
    );
}

#[test]
fn huge_pages_are_had_or_refused_with_advice() {
    let place = Place::new();
    let result = &place.measure_json("--size 4MiB --pages huge")["results"][0];
    if result["status"] == "not-measured" {
        let why = result["why"].to_string();
        assert!(
            why.contains("transparent_hugepage") || is_disturbed(result),
            "{why}"
        );
    } else {
        assert_eq!(result["pages"], "huge");
    }
}

#[test]
fn completions_and_manual_come_from_the_same_definition() {
    let place = Place::new();
    for shell in ["bash", "zsh", "fish"] {
        place
            .run(["completions", shell])
            .assert_output("synthetic-switch");
    }
    let page = place.run("man measure");
    page.assert_output("synthetic\\-switch");
    assert!(page.stdout.starts_with(".ie"));
    place.run("man").assert_output("Exit codes");
    for from in ["man", "man trace"] {
        let page = place.run(from).stdout.replace('\\', "");
        let named = page
            .lines()
            .filter_map(|line| line.strip_prefix("switchcost-")?.strip_suffix("(1)"));
        let mut count = 0;
        for name in named {
            place.run(["man", name]).assert_code(0);
            count += 1;
        }
        assert!(count > 4, "{from}");
    }
}

#[test]
fn doctor_says_found_wanted_and_fix_and_its_verdict_is_the_exit_code() {
    let place = Place::new();
    let ran = place.run("doctor --format json");
    let fitness = ran.json();
    assert_eq!(fitness["schema"], "switchcost.doctor/1");
    let expected = match fitness["verdict"].as_str() {
        Some("fit") => 0,
        Some("caveat") => 3,
        _ => 4,
    };
    assert_eq!(ran.code, expected);
    for check in items(&fitness["checks"]) {
        for field in ["name", "found", "wanted"] {
            assert_ne!(check[field].as_str().unwrap_or_default(), "", "{check}");
        }
    }
}

#[test]
fn noise_is_made_on_request_and_stands_in_the_record() {
    let place = Place::new();
    let found = place.measure_json("--mechanism pipe --noise 0");
    assert!(found.to_string().contains("network-noise"), "{found}");
}

#[test]
fn every_mechanism_is_measured_or_says_why_not() {
    let place = Place::new();
    let mechanisms: Vec<String> = Mechanism::real().map(|one| one.to_string()).collect();
    let named = mechanisms.join(",");
    let json = place.measure_json(format!("--mechanism {named} --between process,thread"));
    let results = items(&json["results"]);
    let expected: usize = Mechanism::real().map(|one| one.betweens().len()).sum();
    assert_eq!(results.len(), expected);
    let mut measured = 0;
    for result in results {
        let name = format!("{} between {}", result["mechanism"], result["between"]);
        let is_in_user_space = result["between"] == "user";
        match result["status"].as_str() {
            Some("measured" | "suspect") => {
                let [low, estimate, high] =
                    ["low", "estimate", "high"].map(|part| number(&result["direct_ns"][part]));
                // Other tasks may hide a cheap switch, which the result must then report.
                let is_hidden =
                    has_flag(result, "not-distinguishable-from-0") && low <= 0.0 && 0.0 <= high;
                // A switch in the kernel takes hundreds of nanoseconds or more, and one in user
                // space less than a system call or two; ten times that allows for any machine and
                // other tasks.
                let (least, most) = if is_in_user_space {
                    (0.0, 20_000.0)
                } else {
                    (100.0, 200_000.0)
                };
                let is_so = least < estimate && estimate < most;
                assert!(is_so || is_hidden, "{name}: {result}");
                measured += usize::from(!is_hidden);
            }
            Some("not-measured") => {
                // There is no number where there is no measurement.
                assert!(result["direct_ns"].is_null(), "{name}: {result}");
                let is_known = is_disturbed(result) || has_flag(result, "switch-count");
                assert!(is_known, "{name}: {result}");
                eprintln!("skipped: {name}: {}", result["why"]);
            }
            other => panic!("{name}: status {other:?}"),
        }
    }
    if 2 * measured < results.len() {
        eprintln!(
            "skipped: a neighbour left {measured} of {} numbers",
            results.len()
        );
    }
}

/// 512 KiB fits into the second-level cache of most machines once but not twice. Time-sharing tasks
/// evict each other's lines, and a task on its own core keeps them. Which way loses more depends on
/// the machine.
#[test]
fn a_cache_is_shared_in_turn_and_at_once() {
    let place = Place::new();
    let arguments = "--placement pair --concurrent --size 512KiB";
    let usual = "measure --budget 5s --no-counters --format json";
    let probe = place.run((usual, arguments));
    if probe.code != 0 && probe.code != 3 {
        let said = ["share a cache", "takes two; allow another (taskset)"];
        let is_named = said.iter().any(|words| probe.stderr.contains(words));
        assert!(is_named, "{}", probe.stderr);
        eprintln!("skipped: no two CPUs that share a cache");
        return;
    }
    let json = probe.json();
    let found = items(&json["shared_cache"]);
    let sizes = found
        .iter()
        .map(|one| count(&one["working_set"]["size_bytes"]));
    let sizes: Vec<u64> = sizes.collect();
    assert_eq!(
        sizes,
        [4 << 10, 512 << 10],
        "the control is measured unasked"
    );
    for result in items(&json["results"]) {
        if result["mechanism"] != "concurrent" {
            continue;
        }
        assert_eq!(items(&result["cpus"]).len(), 2, "{result}");
        if result["status"] == "not-measured" {
            eprintln!("skipped: {}", result["why"]);
            continue;
        }
        // The limits are three loads per cycle at 6 GHz, each of a line, and 100 MB/s.
        let (walk, size) = (&result["walk_ns"]["estimate"], &result["size_bytes"]);
        let [walk, size] = [walk, size].map(number);
        assert!(size / 1_152.0 < walk && walk < size * 10.0, "{result}");
        assert!(
            result["direct_ns"].is_null() && result["handoff_ns"].is_null(),
            "{result}"
        );
    }
}
