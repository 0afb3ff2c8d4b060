use std::collections::BTreeSet;

use serde_json::Value;
use switchcost_report::{Format, Style, simulate};

use super::fixture::{HOSTILE, whole};

fn report() -> Value {
    let (head, findings) = whole();
    let text = simulate::render(&head, &findings, Format::Json, Style::default());
    assert!(text.ends_with("}\n") && !text.contains('\u{1b}'));
    crate::conformity::read(text)
}

fn keys(value: &Value) -> BTreeSet<&str> {
    value
        .as_object()
        .expect("an object")
        .keys()
        .map(String::as_str)
        .collect()
}

fn words(text: &str) -> BTreeSet<&str> {
    text.split_whitespace().collect()
}

#[test]
fn json_holds_what_was_promised() {
    let report = report();
    assert_eq!(report["schema"], "switchcost.simulate/1");
    let design = &report["designs"][0];
    assert_eq!(design["name"], "mogul-1a");
    assert_eq!(design["data_refs"], 15_000_000);
    assert_eq!(
        design["switches"],
        serde_json::json!({"voluntary": 50, "involuntary": 150})
    );
    for view in ["shared", "private", "flushed"] {
        assert!(design[view]["cycles"].is_u64());
        let level = &design[view]["levels"][1];
        assert_eq!(
            (&level["name"], &level["accesses"]),
            (&Value::from("L1D"), &Value::from(15_000_000))
        );
    }
    assert_eq!(design["shared"]["levels"][1]["misses"], 120_000);
    let cost = &design["average_cost_cycles"];
    let [low, estimate, high] =
        ["low", "estimate", "high"].map(|name| cost[name].as_f64().expect("a number"));
    assert!(low < estimate && estimate < high, "{cost}");
    assert_eq!(
        design["average_cost_ns"][0]["estimate"].as_f64(),
        Some(estimate * 40.0)
    );
    assert!(design["overhead_percent"].as_f64().expect("a number") > 0.0);
    assert_eq!(design["processes"][1]["name"], HOSTILE);
    let sums = &report["designs"][1];
    assert_eq!(
        (&sums["depth"], &sums["average_cost_cycles"]["low"]),
        (&Value::from("counters"), &Value::Null)
    );
    assert!(sums["average_cost_cycles"]["why"].is_string() && sums["agarwal_why"].is_null());
}

#[test]
fn json_holds_every_field_of_its_schema() {
    let report = report();
    let top = "schema program_version started_at command host trace interval_instructions private_by cut_share lengths designs flags";
    assert_eq!(keys(&report), words(top));
    let design = "name depth cycle_ns instructions data_refs switches shared private flushed cpi average_cost_cycles \
                  average_cost_ns lost_cycles gained_cycles state_cycles first_touch_cycles lost_to lost_percent time_lost cut overhead_percent excess_cycles excess_cycles_per_switch excess_percent \
                  flushed_cycles_per_switch reload_bound_cycles agarwal agarwal_why groups processes survivor_bias parts \
                  levels traffic origins losses evictions evictors code data calls kernel physical_pages flags";
    let group = "kind name segments median_instructions cost_cycles lost_cycles gained_cycles state_cycles cut excess_cycles points";
    let point = "interval since_switch_instructions segments survivors shared_cpi private_cpi excess_cpi flushed_cpi \
                 cumulative_excess_cycles";
    for found in report["designs"].as_array().expect("a list") {
        assert_eq!(keys(found), words(design));
        for found in found["groups"].as_array().expect("a list") {
            assert_eq!(keys(found), words(group));
            found["points"]
                .as_array()
                .expect("a list")
                .iter()
                .for_each(|found| assert_eq!(keys(found), words(point)));
        }
    }
    let lengths =
        "kind name segments median_instructions mean_instructions max_instructions points";
    assert_eq!(keys(&report["lengths"][0]), words(lengths));
}

#[test]
fn csv_has_a_row_of_totals_and_a_row_for_each_interval() {
    let (head, findings) = whole();
    let text = simulate::render(&head, &findings, Format::Csv, Style::default());
    let mut reader = csv::Reader::from_reader(text.as_bytes());
    let names: Vec<String> = reader
        .headers()
        .expect("names")
        .iter()
        .map(str::to_owned)
        .collect();
    let rows: Vec<_> = reader
        .records()
        .map(|row| row.expect("a row as long as the names"))
        .collect();
    let groups = findings.designs.iter().flat_map(|design| &design.groups);
    assert_eq!(
        rows.len(),
        groups.map(|group| 1 + group.curve.len()).sum::<usize>()
    );
    let field = |row: usize, name: &str| {
        let column = names
            .iter()
            .position(|n| n == name)
            .unwrap_or_else(|| panic!("no column {name} in {names:?}"));
        rows[row][column].to_owned()
    };
    let total = ["row", "design", "kind", "cause", "segments"].map(|name| field(0, name));
    assert_eq!(total, ["total", "mogul-1a", "all", "all", "200"]);
    assert_eq!(
        (field(0, "data_refs"), field(0, "interval")),
        ("15000000".into(), String::new())
    );
    assert_eq!(
        (field(1, "row"), field(1, "interval"), field(1, "survivors")),
        ("interval".into(), "0".into(), "1".into())
    );
    assert_eq!(
        (
            field(2, "since_switch_instructions"),
            field(2, "cost_cycles")
        ),
        ("10000".into(), String::new())
    );
    insta::assert_snapshot!(names.join("\n"));
}
