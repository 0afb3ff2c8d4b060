//! On a record as it was written.

use std::path::Path;

use ::injection::{End, Injection};
use analysis::injection::analyse;
use units::Nanos;

use super::render;
use crate::{Format, Style};

fn small() -> Injection {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus/injection_record/small");
    Injection::read(&path).expect("a record of this version")
}

fn text(record: &Injection, style: Style) -> String {
    render(record, &analyse(record), Format::Table, style)
}

fn told(record: &Injection) -> String {
    text(record, Style { width: Some(10_000), ..Style::default() })
}

#[test]
fn the_answer_comes_first_in_its_parts_and_on_one_screen() {
    let record = small();
    let told = told(&record);
    let first = told.lines().next().expect("an answer");
    for part in [
        "A preemption costs gzip ",
        " us when the other task touches 1 MiB (",
        " us for the switch and its timer, ",
        " us for cold caches. At 250 a second that is ",
        " % of its time for cold caches, ",
        " % in all.",
    ] {
        assert!(first.contains(part), "{part:?} in {first}");
    }
    assert!(text(&record, Style::default()).lines().count() <= 45);
    assert!(!told.contains("Runs:"), "{told}");
    let detailed = text(&record, Style { is_detailed: true, ..Style::default() });
    let rows = detailed.lines().filter(|line| line.contains("first ") || line.contains("second ")).count();
    assert!(rows >= record.runs.len(), "{detailed}");
}

#[test]
fn what_was_not_measured_is_told_with_its_reason() {
    let mut record = small();
    record.runs.truncate(3);
    let found = told(&record);
    assert!(
        found.starts_with("What a preemption costs gzip is not known: found 1 usable repetition, need at least 5"),
        "{found}"
    );
    record.runs.clear();
    assert!(told(&record).contains("not measured"));
}

#[test]
fn a_run_without_preemptions_says_that_nobody_was_preempted() {
    let mut record = small();
    record.header.plan.preempts_nobody = true;
    assert!(told(&record).starts_with("Neither copy of gzip was preempted, and yet found a cost of "));
}

#[test]
fn a_run_that_did_not_come_to_its_end_says_so() {
    let mut record = small();
    assert!(!told(&record).contains("was stopped"));
    record.end = Some(End { is_interrupted: true, elapsed_ns: Nanos(1), has_service_ended: false, others: Vec::new() });
    assert!(told(&record).contains("It was stopped before its time was used up."));
    record.end = None;
    assert!(told(&record).contains("The record has no end"));
}

#[test]
fn json_and_csv_have_the_same_numbers() {
    let record = small();
    let findings = analyse(&record);
    let json: serde_json::Value =
        serde_json::from_str(&render(&record, &findings, Format::Json, Style::default())).expect("JSON");
    assert_eq!(json["schema"], "switchcost.inject/1");
    assert_eq!(json["footprints"].as_array().map(Vec::len), Some(3));
    let cost = json["footprints"][2]["cost_ns"]["estimate"].as_f64().expect("a number");
    let csv = render(&record, &findings, Format::Csv, Style::default());
    let row: Vec<&str> = csv.lines().nth(3).expect("three footprints").split(',').collect();
    assert_eq!((row[0], row[2].parse()), ("1048576", Ok(cost)));
    assert_eq!(json["footprints"][0]["reload_ns"], serde_json::Value::Null);
    assert_eq!(json["runs"].as_array().map(Vec::len), Some(record.runs.len()));
}

#[test]
fn names_are_hostile() {
    let mut record = small();
    record.header.command = vec!["/bin/\u{1b}[31mgzip".to_owned()];
    record.header.plan.settings = vec!["X=\u{1b}".to_owned()];
    assert!(!text(&record, Style { is_detailed: true, ..Style::default() }).contains('\u{1b}'));
    record.header.command.clear();
    assert!(told(&record).starts_with("A preemption costs (no name) "));
}
