//! Tests comparisons of records, as a user makes them.

use crate::common::{Place, items};
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
    measured(&place, "base/a.jsonl", "2us");
    measured(&place, "new.jsonl", "2us");
    let [once, copy] = ["base/a.jsonl", "base/b.jsonl"];
    std::fs::copy(place.path(once), place.path(copy)).expect("room");
    for (sides, given, remedy) in [
        (
            "base new.jsonl",
            "twice in the base records",
            "leave one out",
        ),
        (
            "base/a.jsonl base/b.jsonl",
            "on both sides",
            "name two different runs",
        ),
    ] {
        let error = format!("error: the same run is given {given}, as {once} and {copy}");
        place
            .run(("compare", sides))
            .assert_messages(2, &format!("{error}\nhint: {remedy}\n"));
    }
}

fn sample(path: &str) -> String {
    format!("{}/../{path}", env!("CARGO_MANIFEST_DIR"))
}

#[test]
fn simulations_are_compared_design_by_design_and_the_design_is_said_first() {
    let place = Place::new();
    let trace = sample("trace/tests/samples/trace-3-marks.sctrace");
    for (design, record) in [("mogul-1a", "one"), ("mogul-2a", "two")] {
        let words = format!("simulate {trace} --design {design} --record {record}.parquet");
        place.run(words).assert_code(0);
    }
    let both = "compare one.parquet two.parquet";
    let ran = place.run((both, "--format json"));
    let value = ran.json();
    // The sample is so short that no cost has an interval.
    assert_eq!(
        (&value["basis"], ran.code),
        (&"same-trace".into(), 3),
        "{value}"
    );
    let (base, new) = (
        serde_json::json!(["mogul-1a"]),
        serde_json::json!(["mogul-2a"]),
    );
    let first = &value["designs"][0];
    assert_eq!(
        (&first["what"], &first["base"], &first["new"]),
        (&"design".into(), &base, &new)
    );
    assert_eq!(
        value["pairs"][0]["outcome"], "not-comparable",
        "{}",
        value["pairs"][0]
    );
    let table = place.run((both, "--details")).stdout;
    let at = |words: &str| {
        table
            .find(words)
            .unwrap_or_else(|| panic!("no '{words}' in {table}"))
    };
    assert!(
        at("Designs") < at("Simulated costs") && at("Simulated costs") < at("all switches"),
        "{table}"
    );
    place.run((both, "-o page.html"));
    assert!(
        place
            .read("page.html")
            .contains("Both sides since the switch")
    );
    place
        .run("compare one.parquet one.parquet")
        .assert_failed(2, "the same run is given on both sides");
}

/// Observes three times a shell that runs `true` this many times, by the kernel's own counters,
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
        let pair = items(&value["pairs"])
            .iter()
            .find(is_of_all)
            .expect("switches")
            .clone();
        (pair, ran.code)
    };
    let (more, _) = json("few many");
    assert_eq!(
        (&more["outcome"], &more["verdict"]),
        (&"compared".into(), &"slower".into()),
        "{more}"
    );
    let (fewer, _) = json("many few");
    assert_eq!(fewer["verdict"], "faster", "{fewer}");
    let (alone, code) = json("few/0.json many/0.json");
    assert_eq!(
        (&alone["outcome"], code),
        (&"not-judged".into(), 3),
        "{alone}"
    );
    let screen = place.run("compare few many").stdout;
    assert!(
        screen.contains("switches per second") && screen.contains("higher"),
        "{screen}"
    );
    place
        .run("compare few many --fail-above 50%")
        .assert_code(6);
    let measured = sample("record/tests/samples/measure-2.jsonl");
    place
        .run(["compare", "few", &measured])
        .assert_failed(2, "of an observation");
}
