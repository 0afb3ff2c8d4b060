use serde_json::Value;
use switchcost_analysis::{Conditions, Findings};
use switchcost_report::{Format, Style, measure};

use super::fixture::*;
use super::recorded::record;
use crate::text::{has, lacks};
use crate::{check_csv, field_paths};

fn json(findings: &Findings) -> Value {
    let text = measure::render(&record(), findings, Format::Json, Style::default());
    assert!(text.ends_with("}\n"));
    crate::conformity::read(text)
}

/// Returns the JSON report without the conditions of its results, which are tested next to
/// [`Conditions`].
fn json_without_conditions(findings: &Findings) -> Value {
    let mut report = json(findings);
    for result in report["results"].as_array_mut().expect("a list") {
        let fields = result.as_object_mut().expect("an object");
        let count = fields.len();
        fields.retain(|name, _| !Conditions::NAMES.contains(&name.as_str()));
        assert_eq!(fields.len() + Conditions::NAMES.len(), count);
    }
    report
}

fn csv(findings: &Findings) -> String {
    measure::render(&record(), findings, Format::Csv, Style::default())
}

#[test]
fn json_holds_every_field_of_its_schema() {
    insta::assert_snapshot!(field_paths(&json_without_conditions(&whole())));
}

#[test]
fn json_of_each_kind_of_result() {
    let report = json_without_conditions(&whole());
    assert_eq!(report["schema"], "switchcost.measure/1");
    let results = [0, 1, 3, 7].map(|at| &report["results"][at]);
    let shown = serde_json::json!({
        "plan": report["plan"],
        "latencies_ns": report["latencies_ns"],
        "results": results,
    });
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
    for place in [
        "/results/0/direct_ns/estimate",
        "/results/0/direct_ns/low",
        "/results/0/direct_ns/high",
        "/results/0/direct_ns/t90/0",
        "/results/0/direct_ns/t90/1",
        "/results/0/switches_per_handoff",
        "/latencies_ns/0/load_ns",
        "/curves/0/points/0/total_ns",
    ] {
        assert_eq!(report.pointer(place), Some(&Value::Null), "{place}");
    }
    for number in ["NaN", "inf,", "-inf"] {
        lacks(&csv(&findings), number);
    }
}

#[test]
fn csv_has_one_row_a_result_with_units_in_the_names() {
    let findings = whole();
    let expected = [
        (0, "mechanism", "pipe"),
        (0, "cpus", "1"),
        (0, "status", "measured"),
        (0, "direct_ns", "1740"),
        (0, "direct_low_ns", "1730"),
        (0, "excluded_samples", "3"),
        (0, "total_samples", "220"),
        (0, "total_ns", ""),
        (0, "flags", ""),
        (1, "status", "suspect"),
        (1, "flags", "outside-sanity-band"),
        (
            3,
            "why",
            "mq_open is not permitted; run as root or mount mqueue",
        ),
        (3, "direct_ns", ""),
    ];
    check_csv(&csv(&findings), findings.results.len(), &expected);
}

#[test]
fn csv_quotes_reasons_and_names_columns_even_without_results() {
    let why = "a \"quoted\", reason\nof two lines";
    let text = csv(&findings(vec![not_measured(sized(2, 0), why)]));
    has(&text, r#""a ""quoted"", reason of two lines""#);
    assert_eq!(text.lines().count(), 2);
    let empty = csv(&findings(vec![]));
    assert_eq!(empty.lines().count(), 1);
    let (conditions, rest) = empty.split_once(",status,").expect("a header");
    assert_eq!(conditions, Conditions::NAMES.join(","));
    insta::assert_snapshot!(rest.trim_end().replace(',', "\n"));
}
