//! Tests compatibility within a version of the format: the sample stays readable, new fields are
//! ignored, and a missing field is reported.

use serde_json::{Value, json};
use switchcost_record::{Arm, SelfTestOutcome};
use switchcost_units::{Nanos, TickRate, Ticks};

use crate::{SAMPLE, bodies, damage, read, sealed};

/// Reads a file that version 0.1.0 of the program wrote, shortened by hand, and sealed again by the
/// Python of docs/formats/measure-record.md. If this test fails, records have become unreadable:
/// after a release, a change needs a new version of the format, a second sample next to this one,
/// and a reader of both.
#[test]
fn the_sample_stays_readable_for_good() {
    let record = read(SAMPLE.as_bytes()).expect("readable for good");
    let header = &record.header;
    assert_eq!(
        (header.program_version.as_str(), header.seed),
        ("0.1.0", 15_875_123_926_964_133_608)
    );
    assert_eq!(
        (header.clock.source.as_str(), header.clock.ticks_per_second),
        ("tsc", TickRate(2_299_998_044))
    );
    let core = &header.core_clock;
    assert_eq!(
        (
            core.chain_length,
            core.multiplication_cycles,
            core.additions
        ),
        (600, Some(3), 1800)
    );
    assert_eq!(
        (header.plan.cases.len(), header.plan.repetition_ns),
        (4, Nanos::millis(10))
    );
    assert_eq!(record.self_tests[0].outcome, SelfTestOutcome::Admitted);
    assert_eq!(
        record.latencies[1].walk_ticks,
        [367_560, 367_210, 516_804].map(Ticks)
    );
    assert_eq!(record.cycles.len(), 3);
    let first = record.cycles[0].batches.iter().next().expect("a batch");
    assert_eq!(
        (first.arm, first.handoff_ticks, first.chain_ticks),
        (
            Arm::SwitchDirect,
            Ticks(37_864),
            (Ticks(1_432), Ticks(1_430))
        )
    );
    assert_eq!(
        record.samples[0].handoff_ticks,
        [3_912, 3_882, 3_884, 3_856]
    );
    assert_eq!(
        record.samples[1].counters.as_ref().expect("counted")["task-clock"],
        109_562
    );
    assert!(
        record.refusals[0]
            .why
            .starts_with("found no room for the channels of 60 tasks")
    );
    assert_eq!(record.end.expect("an end").elapsed_ns, Nanos(1_343_303_248));
}

fn values() -> Vec<Value> {
    bodies()
        .iter()
        .map(|line| serde_json::from_str(line).expect("JSON"))
        .collect()
}

fn written(values: &[Value]) -> Vec<u8> {
    sealed(&values.iter().map(Value::to_string).collect::<Vec<_>>())
}

/// Returns the JSON pointers of all objects in a line whose keys are field names. Maps with
/// arbitrary keys, and enums, are left out.
fn objects(line: &Value) -> Vec<String> {
    let mut found = Vec::new();
    collect_objects(line, "", &mut found);
    found
}

fn collect_objects(value: &Value, place: &str, found: &mut Vec<String>) {
    let is_free = ["/mitigations", "/counters", "/outcome"]
        .iter()
        .any(|name| place.ends_with(name));
    match value {
        Value::Object(fields) => {
            found.extend((!is_free).then(|| place.to_owned()));
            fields.iter().for_each(|(name, value)| {
                collect_objects(value, &format!("{place}/{name}"), found)
            });
        }
        Value::Array(items) => {
            items
                .iter()
                .enumerate()
                .for_each(|(i, item)| collect_objects(item, &format!("{place}/{i}"), found));
        }
        _ => {}
    }
}

fn fields_at<'a>(line: &'a mut Value, place: &str) -> &'a mut serde_json::Map<String, Value> {
    line.pointer_mut(place)
        .and_then(Value::as_object_mut)
        .expect("an object")
}

#[test]
fn fields_of_later_programs_are_passed_over() {
    let expected = read(SAMPLE.as_bytes()).expect("a record");
    let mut values = values();
    let mut added = 0;
    for line in &mut values {
        for place in objects(line) {
            fields_at(line, &place).insert("later_field".to_owned(), json!({"a": [1, null, "x"]}));
            added += 1;
        }
    }
    assert!(added > 50, "{added} fields added");
    assert_eq!(read(&written(&values)).expect("still a record"), expected);
}

/// Fields that may be missing, if nothing is known or if the batch was not run for them.
const OPTIONAL: [&str; 15] = [
    "switches",
    "multiplication_cycles",
    "task_user_ns",
    "task_system_ns",
    "ways",
    "run_delay_ns",
    "steal_ns",
    "interrupts",
    "softirqs",
    "cpu_before",
    "cpu_after",
    "khz_before",
    "khz_after",
    "counters",
    "handoff_ticks",
];

fn is_optional(line: &Value, place: &str, field: &str) -> bool {
    // The machine's interrupts by CPU are not the evidence's count of them, nor are the times of batches those of single hand-offs.
    let is_another = place == "/host" || (line["line"] == "cycles" && place.is_empty());
    OPTIONAL.contains(&field) && !is_another
}

/// Returns the reader's message for the sample when line `number`, counted from 1, lacks a field.
fn complaint_without(number: usize, place: &str, field: &str) -> String {
    let mut values = values();
    fields_at(&mut values[number - 1], place)
        .remove(field)
        .expect("a field");
    if number == 1 {
        return read(&written(&values)).expect_err("no header").to_string();
    }
    let (line, why) = damage(&written(&values));
    assert_eq!(line, number as u64);
    why
}

#[test]
fn a_missing_field_is_named() {
    let values = values();
    let mut missed = 0;
    for (index, line) in values.iter().enumerate() {
        // A fact is read by trying, so a field inside of one cannot be recognized by name.
        for place in objects(line)
            .into_iter()
            .filter(|place| place != "/host/tlbs" && place != "/host/governor")
        {
            let fields = line
                .pointer(&place)
                .and_then(Value::as_object)
                .expect("an object");
            for field in fields
                .keys()
                .filter(|field| !is_optional(line, &place, field) && *field != "schema")
            {
                let why = complaint_without(index + 1, &place, field);
                assert!(
                    why.contains(&format!("missing field `{field}`")),
                    "{place}/{field}: {why}"
                );
                missed += 1;
            }
        }
    }
    assert!(missed > 250, "{missed} fields left out");
}

#[test]
fn an_optional_field_may_be_missing() {
    let mut values = values();
    for line in &mut values {
        // The deepest first: a field may hold an object.
        let kind = line.clone();
        for place in objects(line).into_iter().rev() {
            fields_at(line, &place).retain(|field, _| !is_optional(&kind, &place, field));
        }
    }
    let record = read(&written(&values)).expect("a record");
    assert!(
        record
            .samples
            .iter()
            .all(|sample| sample.evidence.run_delay_ns.is_none() && sample.counters.is_none())
    );
}

#[test]
fn half_a_fact_is_no_fact() {
    for (place, field) in [("/host/governor", "unknown"), ("/host/tlbs", "unknown")] {
        assert!(
            complaint_without(1, place, field).contains("untagged enum Fact"),
            "{place}"
        );
    }
}
