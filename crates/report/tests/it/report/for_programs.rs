use std::collections::BTreeSet;

use serde_json::Value;
use switchcost_analysis::Findings;
use switchcost_report::{Format, Style, measure};

use super::fixture::*;
use super::recorded::record;

const RESULT: &str = "mechanism between tasks size_bytes stride_bytes access pattern sharing pages runtime runtime_handoff runtime_class cpus relation policy away_bytes vector_state xsave_bytes \
                      status why direct_ns total_ns indirect_ns indirect_kernel_ns indirect_reload_ns direct_cycles reload cycles shared \
                      handoff_ns round_trip_ns baseline_ns walk_ns \
                      switches_per_handoff involuntary_share repetitions_ns tail_ns counters reload_bound_ns sanity_band_ns \
                      excluded_samples total_samples excluded_by_reason flags flag_details between_runs";

fn json(findings: &Findings) -> Value {
    let text = measure::render(&record(), findings, Format::Json, Style::default());
    assert!(text.ends_with("}\n"));
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

#[test]
fn json_holds_every_field_of_its_schema() {
    let report = json(&whole());
    let words = |text: &'static str| text.split_whitespace().collect::<BTreeSet<_>>();
    let top = "schema program_version started_at seed host clock controls self_tests plan results curves shared_cache latencies_ns \
               core flags";
    assert_eq!(keys(&report), words(top));
    assert_eq!(report["schema"], "switchcost.measure/1");
    assert_eq!(
        report["plan"],
        serde_json::json!({"precision": 0.05, "confidence": 0.9, "preset": "default"})
    );
    assert_eq!(
        report["latencies_ns"][0],
        serde_json::json!({"size_bytes": 4096, "load_ns": 1.64})
    );
    for result in report["results"].as_array().expect("a list") {
        assert_eq!(keys(result), words(RESULT));
    }
}

#[test]
fn json_of_each_kind_of_result() {
    let mut results = mechanisms();
    results.extend(working_sets());
    let report = json(&findings(results));
    let shown: Vec<_> = [0, 1, 3, 7]
        .iter()
        .map(|i| report["results"][*i].clone())
        .collect();
    insta::assert_snapshot!(serde_json::to_string_pretty(&shown).expect("values"));
}

#[test]
fn numbers_that_are_not_finite_become_null() {
    let mut findings = whole();
    findings.results[0].direct_ns = Some(estimate(f64::NEG_INFINITY, f64::NAN, f64::INFINITY));
    findings.results[0].switches_per_handoff = Some(f64::NAN);
    findings.latencies_ns[0].load_ns = f64::NAN;
    findings.curves[0].points[0].total_ns = f64::INFINITY;
    let report = json(&findings);
    let result = &report["results"][0];
    for part in ["estimate", "low", "high"] {
        assert_eq!(result["direct_ns"][part], Value::Null, "{part}");
    }
    assert_eq!(result["direct_ns"]["t90"], serde_json::json!([null, null]));
    assert_eq!(result["switches_per_handoff"], Value::Null);
    assert_eq!(report["latencies_ns"][0]["load_ns"], Value::Null);
    assert_eq!(report["curves"][0]["points"][0]["total_ns"], Value::Null);
    let csv = measure::render(&record(), &findings, Format::Csv, Style::default());
    assert!(
        !csv.contains("NaN") && !csv.contains("inf,") && !csv.contains("-inf"),
        "{csv}"
    );
}

#[test]
fn csv_has_one_row_a_result_with_units_in_the_names() {
    let findings = whole();
    let text = measure::render(&record(), &findings, Format::Csv, Style::default());
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
    assert_eq!(rows.len(), findings.results.len());
    let field = |row: usize, name: &str| {
        let column = names
            .iter()
            .position(|n| n == name)
            .unwrap_or_else(|| panic!("no column {name} in {names:?}"));
        rows[row][column].to_owned()
    };
    assert_eq!(
        (field(0, "mechanism"), field(0, "cpus"), field(0, "status")),
        ("pipe".into(), "1".into(), "measured".into())
    );
    assert_eq!(
        (field(0, "direct_ns"), field(0, "direct_low_ns")),
        ("1740".into(), "1730".into())
    );
    assert_eq!(
        (field(0, "excluded_samples"), field(0, "total_samples")),
        ("3".into(), "220".into())
    );
    assert_eq!(
        (field(0, "total_ns"), field(0, "flags")),
        (String::new(), String::new())
    );
    assert_eq!(
        (field(1, "status"), field(1, "flags")),
        ("suspect".into(), "wide-interval".into())
    );
    assert_eq!(
        field(3, "why"),
        "mq_open is not permitted; run as root or mount mqueue"
    );
    assert_eq!(field(3, "direct_ns"), "");
}

#[test]
fn csv_quotes_reasons_and_names_columns_even_without_results() {
    let why = "a \"quoted\", reason\nof two lines";
    let findings_ = findings(vec![not_measured(sized(2, 0), why)]);
    let text = measure::render(&record(), &findings_, Format::Csv, Style::default());
    assert!(
        text.contains(r#""a ""quoted"", reason of two lines""#),
        "{text}"
    );
    assert_eq!(text.lines().count(), 2);
    let empty = measure::render(&record(), &findings(vec![]), Format::Csv, Style::default());
    assert_eq!(empty.lines().count(), 1);
    insta::assert_snapshot!(empty.trim_end().replace(',', "\n"));
}
