//! Tests the structure of the page of a measurement.

use switchcost_analysis::{Findings, Point};
use switchcost_record::{Arm, MeasureRecord};
use switchcost_report::html::{Html, Part, render};

use super::fixture::{about, findings, mechanisms, pairs, reloads, whole};
use super::recorded::record;

fn page(record: &MeasureRecord, findings: &Findings, points: &[Point]) -> Html {
    render(&[Part::Measured {
        name: "run.jsonl",
        record,
        findings,
        points,
    }])
}

fn point(case: u32, at_ms: u64, left_out: Vec<&'static str>) -> Point {
    Point {
        case,
        arm: Arm::SwitchDirect,
        at_seconds: at_ms as f64 / 1e3,
        handoff_seconds: 2e-6,
        left_out,
    }
}

/// Returns the position of a text that must be on the page.
fn place(page: &str, text: &str) -> usize {
    page.find(text)
        .unwrap_or_else(|| panic!("found no {text:?} in the page"))
}

#[test]
fn the_answer_comes_first() {
    let html = page(&record(), &whole(), &[]);
    let answer = place(&html.page, "A switch between processes over a pipe costs");
    assert!(
        answer < place(&html.page, "<nav") && answer < place(&html.page, "<table"),
        "before any table"
    );
    assert_eq!(
        html.page
            .matches("A switch between processes over a pipe costs")
            .count(),
        1
    );
}

#[test]
fn every_figure_has_its_place_and_its_numbers() {
    let html = page(&record(), &whole(), &[]);
    assert_eq!(
        html.figure_ids(),
        [
            "figure-r1-sizes-1",
            "figure-r1-mechanisms",
            "figure-r1-latency"
        ]
    );
    for (id, svg) in &html.figures {
        let figure = format!("<div id=\"{id}\" class=\"drawing\">{svg}</div>");
        assert_eq!(html.page.matches(&figure).count(), 1, "{id}");
    }
    let names: Vec<&str> = html.tables.iter().map(|(name, _)| name.as_str()).collect();
    assert!(
        names.contains(&"figure-r1-sizes-1") && names.contains(&"figure-r1-latency"),
        "{names:?}"
    );
    assert!(names.contains(&"r1-2-switches-by-mechanism-1"), "{names:?}");
}

#[test]
fn reloads_are_drawn_walk_by_walk_and_by_both_footprints() {
    let html = page(&record(), &findings(reloads()), &[]);
    for figure in ["figure-r1-reload", "figure-r1-footprints-1"] {
        assert!(
            html.figure_ids().contains(&figure),
            "{:?}",
            html.figure_ids()
        );
    }
    let (_, table) = html
        .tables
        .iter()
        .find(|(name, _)| name == "figure-r1-reload")
        .expect("its numbers");
    assert!(
        table.contains("3rd walk (interval)") && table.contains("not distinguishable from 0"),
        "{table}"
    );
}

#[test]
fn the_parts_of_a_cost_stand_on_each_other() {
    let mut findings = whole();
    for result in &mut findings.results {
        let part = |share: f64| {
            result
                .total_ns
                .as_ref()
                .map(|total| about(total.estimate * share))
        };
        (result.indirect_kernel_ns, result.indirect_reload_ns) = (part(0.25), part(-0.1));
    }
    let html = page(&record(), &findings, &[]);
    assert!(
        html.figure_ids().contains(&"figure-r1-parts-1"),
        "{:?}",
        html.figure_ids()
    );
    let (_, table) = html
        .tables
        .iter()
        .find(|(name, _)| name == "figure-r1-parts-1")
        .expect("its numbers");
    assert!(table.contains("the switch itself running cold"), "{table}");
}

#[test]
fn only_figures_are_shown_that_the_record_has_data_for() {
    let record = record();
    let html = page(&record, &findings(pairs()), &[]);
    assert!(
        html.figure_ids()
            .iter()
            .any(|figure| figure.starts_with("figure-r1-pairs-")),
        "{:?}",
        html.figure_ids()
    );
    assert!(
        !html
            .figure_ids()
            .iter()
            .any(|figure| figure.contains("samples")),
        "{:?}",
        html.figure_ids()
    );
    let points = [point(0, 1, vec![]), point(0, 2, vec!["steal"])];
    let html = page(&record, &findings(mechanisms()), &points);
    assert!(
        html.figure_ids().contains(&"figure-r1-samples"),
        "{:?}",
        html.figure_ids()
    );
    assert!(html.page.contains("left out: steal"));
}

#[test]
fn the_same_record_gives_the_same_page() {
    let once = page(&record(), &whole(), &[]);
    let again = page(&record(), &whole(), &[]);
    assert_eq!(once.page, again.page);
    assert_eq!(once.tables, again.tables);
}

#[test]
fn nothing_is_fetched() {
    let html = page(&record(), &whole(), &[]);
    for outside in ["src=\"", "<link", "@import", "url(", "<script"] {
        assert!(!html.page.contains(outside), "{outside}");
    }
    assert!(
        html.page.contains("default-src &#39;none&#39;")
            || html.page.contains("default-src 'none'")
    );
}

#[test]
fn markup_in_names_stays_text() {
    let hostile = "</script><img src=x onerror=alert(1)>\u{1b}[2J\u{202e}";
    let mut record = record();
    record.header.host.hostname = hostile.to_owned();
    record.header.host.kernel = hostile.to_owned();
    record.header.plan.preset = hostile.to_owned();
    record.header.command = vec![hostile.to_owned()];
    let findings = whole();
    let html = render(&[Part::Measured {
        name: hostile,
        record: &record,
        findings: &findings,
        points: &[],
    }]);
    assert!(
        !html.page.contains("<img")
            && !html.page.contains('\u{1b}')
            && !html.page.contains('\u{202e}')
    );
    assert!(
        html.page
            .contains("&lt;/script&gt;&lt;img src=x onerror=alert(1)&gt;[2J"),
        "shown as it is"
    );
}

#[test]
fn several_records_stand_on_one_page() {
    let (record, findings) = (record(), whole());
    let part = |name| Part::Measured {
        name,
        record: &record,
        findings: &findings,
        points: &[],
    };
    let html = render(&[part("first.jsonl"), part("second.jsonl")]);
    assert_eq!(html.figures.len(), 6);
    let mut ids = html.figure_ids();
    ids.dedup();
    assert_eq!(ids, html.figure_ids(), "no name twice");
    assert!(place(&html.page, "id=\"r1\"") < place(&html.page, "id=\"r2\""));
}

#[test]
fn the_method_is_on_the_page() {
    let html = page(&record(), &whole(), &[]);
    for (at, _) in html.page.match_indices("href=\"#method-") {
        let name = html.page[at + 7..].split('"').next().unwrap_or_default();
        assert!(
            html.page.contains(&format!("id=\"{name}\"")),
            "{name} leads nowhere"
        );
    }
}
