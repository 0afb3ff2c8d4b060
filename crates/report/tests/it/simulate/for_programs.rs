use serde_json::Value;
use switchcost_report::{Format, Style, simulate};

use super::fixture::{HOSTILE, whole};
use crate::text::is_harmless;
use crate::{check_csv, field_paths};

fn report() -> Value {
    let (head, findings) = whole();
    let text = simulate::render(&head, &findings, Format::Json, Style::default());
    assert!(text.ends_with("}\n"), "{text}");
    is_harmless(&text);
    crate::conformity::read(text)
}

#[test]
fn json_holds_what_was_promised() {
    let report = report();
    assert_eq!(report["schema"], "switchcost.simulate/1");
    let design = &report["designs"][0];
    for (place, expected) in [
        ("/name", Value::from("mogul-1a")),
        ("/data_refs", 15_000_000.into()),
        ("/switches/voluntary", 50.into()),
        ("/switches/involuntary", 150.into()),
        ("/shared/levels/1/misses", 120_000.into()),
        ("/processes/1/name", HOSTILE.into()),
    ] {
        assert_eq!(design.pointer(place), Some(&expected), "{place}");
    }
    for view in ["shared", "private", "flushed"] {
        assert!(design[view]["cycles"].is_u64());
        let level = &design[view]["levels"][1];
        assert_eq!(level["name"], "L1D");
        assert_eq!(level["accesses"], 15_000_000);
    }
    let cost = &design["average_cost_cycles"];
    let [low, estimate, high] =
        ["low", "estimate", "high"].map(|name| cost[name].as_f64().expect("a number"));
    assert!(low < estimate && estimate < high, "{cost}");
    assert_eq!(design["average_cost_ns"][0]["estimate"], estimate * 40.0);
    assert!(design["overhead_percent"].as_f64() > Some(0.0));
    let sums = &report["designs"][1];
    assert_eq!(sums["depth"], "counters");
    let cost = &sums["average_cost_cycles"];
    assert!(cost["low"].is_null() && cost["why"].is_string() && sums["agarwal_why"].is_null());
}

#[test]
fn json_holds_every_field_of_its_schema() {
    insta::assert_snapshot!(field_paths(&report()));
}

#[test]
fn csv_has_a_row_of_totals_and_a_row_for_each_interval() {
    let (head, findings) = whole();
    let text = simulate::render(&head, &findings, Format::Csv, Style::default());
    let groups = findings.designs.iter().flat_map(|design| &design.groups);
    let rows = groups.map(|group| 1 + group.curve.len()).sum();
    let expected = [
        (0, "row", "total"),
        (0, "design", "mogul-1a"),
        (0, "kind", "all"),
        (0, "cause", "all"),
        (0, "segments", "200"),
        (0, "data_refs", "15000000"),
        (0, "interval", ""),
        (1, "row", "interval"),
        (1, "interval", "0"),
        (1, "survivors", "1"),
        (2, "since_switch_instructions", "10000"),
        (2, "cost_cycles", ""),
    ];
    let names = check_csv(&text, rows, &expected);
    insta::assert_snapshot!(names.iter().collect::<Vec<_>>().join("\n"));
}
