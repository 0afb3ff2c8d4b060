//! The main job on the real machine: what it prints, what it keeps, what it selects.

use crate::common::{Place, allowed_cpus, is_disturbed};

#[test]
fn report_prints_again_exactly_what_measure_printed() {
    let place = Place::new();
    let first = place.measure(&["--mechanism", "futex,fiber", "--size", "0,32KiB"]);
    assert!(matches!(first.code, 0 | 3), "{}", first.stderr);
    let again = place.run(&["report", &place.record()]);
    assert_eq!(first.stdout, again.stdout);
    for format in ["json", "csv"] {
        let out = place.path("result");
        let out = out.to_str().expect("a plain path");
        let to_file = place.run(&["report", &place.record(), "--format", format, "--out", out]);
        assert_eq!((to_file.code, to_file.stdout.as_str()), (first.code, ""));
        let to_stdout = place.run(&["report", &place.record(), "--format", format]);
        assert_eq!(std::fs::read_to_string(out).expect("a result"), to_stdout.stdout);
    }
    assert!(first.stdout.contains("futex") && first.stdout.contains("fiber"));
    assert!(!first.stdout.contains('\x1b'), "no colour into a pipe");
}

#[test]
fn a_record_without_a_name_goes_to_the_state_folder_and_report_finds_it() {
    let place = Place::new();
    let first = place.run(&["measure", "--mechanism", "fiber", "--max-repetitions", "6", "--no-counters"]);
    assert!(first.stdout.contains("raw data:  "), "{}", first.stdout);
    assert!(place.folder().join("switchcost/runs").is_dir());
    assert_eq!(place.run(&["report"]).stdout, first.stdout);
}

#[test]
fn rings_shared_arrays_chases_and_every_access_are_measured() {
    let place = Place::new();
    let sets = [
        vec!["--tasks", "3,8", "--size", "16KiB", "--access", "read"],
        vec!["--sharing", "shared", "--size", "64KiB", "--access", "write"],
        vec!["--pattern", "chase", "--size", "64KiB", "--access", "read,write,rmw"],
        vec!["--mechanism", "fiber,async,ucontext,green,preempt,synthetic", "--size", "32KiB", "--stride", "64"],
        vec!["--mechanism", "posix-mq,signal,tcp", "--between", "thread", "--tasks", "4"],
    ];
    for (index, set) in sets.iter().enumerate() {
        let record = place.path(&format!("{index}.jsonl"));
        let usual = ["measure", "--max-repetitions", "5", "--no-counters", "--format", "json", "--record"];
        let ran = place.run(&[&usual[..], &[record.to_str().expect("a plain path")], set].concat());
        let json = ran.json();
        for result in json["results"].as_array().expect("results") {
            let is_silent = result["status"] == "not-measured" && result["total_samples"] == 0;
            assert!(!is_silent, "{set:?}: {} gave no sample: {}", result["mechanism"], result["why"]);
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
    place.measure(&["--placement", "matrix"]);
    let csv = place.run(&["report", &place.record(), "--format", "csv"]).stdout;
    assert!(csv.lines().any(|line| line.contains("same-cpu")), "{csv}");
    assert!(csv.lines().any(|line| line.contains("shared-cache") || line.contains("smt") || line.contains("socket")));
}

#[test]
fn lmbenchs_matrix_has_its_seven_columns() {
    let place = Place::new();
    let table = place.measure(&["--lmbench"]).stdout;
    for column in ["2p/0K", "2p/16K", "2p/64K", "8p/16K", "8p/64K", "16p/16K", "16p/64K"] {
        assert!(table.contains(column), "{column}: {table}");
    }
}

#[test]
fn huge_pages_are_had_or_refused_with_advice() {
    let place = Place::new();
    let result = &place.measure_json(&["--size", "4MiB", "--pages", "huge"])["results"][0];
    if result["status"] == "not-measured" {
        let why = result["why"].as_str().unwrap_or_default();
        assert!(why.contains("transparent_hugepage") || is_disturbed(result), "{why}");
    } else {
        assert_eq!(result["pages"], "huge");
    }
}

#[test]
fn completions_and_manual_come_from_the_same_definition() {
    let place = Place::new();
    for shell in ["bash", "zsh", "fish"] {
        assert!(place.run(&["completions", shell]).stdout.contains("synthetic-switch"), "{shell}");
    }
    let page = place.run(&["man", "measure"]).stdout;
    assert!(page.contains("synthetic\\-switch") && page.starts_with(".ie"), "{page}");
    assert!(place.run(&["man"]).stdout.contains("Exit codes"));
    for verb in ["measure", "report", "doctor", "completions", "man"] {
        assert!(place.run(&[verb, "--help"]).stdout.contains("Examples:"), "{verb}");
    }
}

#[test]
fn doctor_says_found_wanted_and_fix_and_its_verdict_is_the_exit_code() {
    let place = Place::new();
    let ran = place.run(&["doctor", "--format", "json"]);
    let fitness = ran.json();
    assert_eq!(fitness["schema"], "switchcost.doctor/1");
    let expected = match fitness["verdict"].as_str() {
        Some("fit") => 0,
        Some("caveat") => 3,
        _ => 4,
    };
    assert_eq!(ran.code, expected);
    for check in fitness["checks"].as_array().expect("checks") {
        for field in ["name", "found", "wanted"] {
            assert!(check[field].as_str().is_some_and(|text| !text.is_empty()), "{check}");
        }
    }
}

#[test]
fn noise_is_made_on_request_and_stands_in_the_record() {
    let place = Place::new();
    let found = place.measure_json(&["--mechanism", "pipe", "--noise", "0"]);
    assert!(found.to_string().contains("network-noise"), "{found}");
    let ran = place.measure(&["--mechanism", "pipe", "--noise", "1000"]);
    assert_eq!(ran.code, 2);
    assert!(ran.stderr.contains("found no way to make noise on CPU 1000"), "{}", ran.stderr);
}
