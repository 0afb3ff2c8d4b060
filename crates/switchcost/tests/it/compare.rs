//! Tests comparisons of records, as a user makes them.

use crate::common::{MEASUREMENT, Place, items, repository};
use serde_json::Value;

/// Measures a synthetic switch of known length into `name`.
pub(crate) fn measured(place: &Place, name: &str, length: &str) {
    let usual = "measure --mechanism synthetic --no-counters --budget 1s";
    let ran = place.run(format!(
        "{usual} --synthetic-switch {length} --record {name}"
    ));
    assert!(place.path(name).exists(), "{}", ran.stderr);
}

#[test]
fn a_copy_of_a_run_is_no_second_run() {
    let place = Place::new();
    std::fs::create_dir(place.path("base")).expect("room");
    for name in ["base/a.jsonl", "base/b.jsonl"] {
        place.copy(MEASUREMENT, name);
    }
    let error =
        "error: the same run is given twice in the base records, as base/a.jsonl and base/b.jsonl";
    place
        .run((
            "compare base",
            repository("crates/record/tests/samples/measure-run.jsonl"),
        ))
        .assert_messages(2, &format!("{error}\nhint: leave one out\n"));
}

/// Observes a shell that sleeps `times` times, in three observations by the kernel's own counters,
/// which need no rights.
fn observed(place: &Place, folder: &str, times: u32) {
    std::fs::create_dir(place.path(folder)).expect("room");
    let script =
        format!("i=0; while [ $i -lt {times} ]; do sleep 0.001; i=$((i + 1)); done; sleep 0.5");
    for run in 0..3 {
        let record = format!("{folder}/{run}.json");
        let observe = format!("observe --no-bpf --no-calibration --record {record}");
        let ran = place.run((observe, ["--", "sh", "-c", &script]));
        assert!(place.path(&record).exists(), "{}", ran.stderr);
    }
}

#[test]
fn an_observed_program_that_switches_more_is_reported_and_one_record_gives_no_verdict() {
    let place = Place::new();
    observed(&place, "few", 5);
    observed(&place, "many", 100);
    let json = |sides: &str| {
        let ran = place.run(("compare --format json", sides));
        let value = ran.json();
        assert_eq!(value["basis"], "observations");
        let is_of_all = |pair: &&Value| pair["kind"] == "all" && pair["quantity"] == "switches";
        let pair = items(&value["pairs"]).iter().find(is_of_all);
        (pair.expect("switches").clone(), ran.code)
    };
    let (more, _) = json("few many");
    assert!(
        more["outcome"] == "compared" && more["verdict"] == "slower",
        "{more}"
    );
    let (fewer, _) = json("many few");
    assert_eq!(fewer["verdict"], "faster", "{fewer}");
    let (alone, code) = json("few/0.json many/0.json");
    assert!(
        alone["outcome"] == "not-judged" && code == 3,
        "{code}: {alone}"
    );
    place
        .run("compare few many --fail-above 50%")
        .assert_code(6)
        .assert_output("switches per second")
        .assert_output("higher");
    place
        .run(("compare few", repository(MEASUREMENT)))
        .assert_failed(2, "of an observation");
}
