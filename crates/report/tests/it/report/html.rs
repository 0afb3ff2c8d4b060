//! Tests the structure of the page of a measurement.

use switchcost_analysis::{Findings, Point};
use switchcost_record::MeasureRecord;
use switchcost_report::html::{Html, Part, render};

use super::fixture::{about, findings, mechanisms, pairs, reloads, whole};
use super::recorded::record;
use crate::pages::point;
use crate::text::{has, has_all, has_in_order, lacks};

fn page(record: &MeasureRecord, findings: &Findings, points: &[Point]) -> Html {
    render(&[Part::Measured {
        name: "run.jsonl",
        record,
        findings,
        points,
    }])
}

fn figure_table<'a>(html: &'a Html, figure: &str) -> &'a str {
    let found = html.tables.iter().find(|(name, _)| name == figure);
    &found
        .unwrap_or_else(|| panic!("no table of {figure} among {:?}", html.figure_ids()))
        .1
}

#[test]
fn the_answer_comes_first() {
    let page = page(&record(), &whole(), &[]).page;
    let answer = "A switch between processes over a pipe costs";
    assert_eq!(page.matches(answer).count(), 1);
    has_in_order(&page, [answer, "<nav", "<table"]);
}

#[test]
fn every_figure_has_its_numbers() {
    let html = page(&record(), &whole(), &[]);
    let figures = [
        "figure-r1-sizes-1",
        "figure-r1-mechanisms",
        "figure-r1-latency",
    ];
    assert_eq!(html.figure_ids(), figures);
    for table in [figures[0], figures[2], "r1-2-switches-by-mechanism-1"] {
        figure_table(&html, table);
    }
}

#[test]
fn reloads_are_drawn_walk_by_walk_and_by_both_footprints() {
    let html = page(&record(), &findings(reloads()), &[]);
    assert!(html.figure_ids().contains(&"figure-r1-footprints-1"));
    has_all(
        figure_table(&html, "figure-r1-reload"),
        ["3rd walk (interval)", "not distinguishable from 0"],
    );
}

#[test]
fn the_parts_of_a_cost_stand_on_each_other() {
    let mut findings = whole();
    for result in &mut findings.results {
        let total = result.total_ns.as_ref().map(|total| total.estimate);
        let part = |share| total.map(|total| about(total * share));
        (result.indirect_kernel_ns, result.indirect_reload_ns) = (part(0.25), part(-0.1));
    }
    has(
        figure_table(&page(&record(), &findings, &[]), "figure-r1-parts-1"),
        "the switch itself running cold",
    );
}

#[test]
fn only_figures_are_shown_that_the_record_has_data_for() {
    let ids = |html: &Html| html.figure_ids().join(" ");
    let html = page(&record(), &findings(pairs()), &[]);
    has(&ids(&html), "figure-r1-pairs-");
    lacks(&ids(&html), "samples");
    let points = [point(0, 1), point(5, 1)];
    let html = page(&record(), &findings(mechanisms()), &points);
    has(&ids(&html), "figure-r1-samples");
    has(&html.page, "left out: steal");
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
    has_in_order(&html.page, ["id=\"r1\"", "id=\"r2\""]);
}
