//! Tests the structure of the page of an observation.

pub(crate) mod fixture;

use switchcost_analysis::observation::analyse;
use switchcost_record::observation::{Observation, Source};
use switchcost_report::html::{Html, Part, render};

use crate::text::{has, has_in_order, lacks};
use fixture::observed;

fn page(observation: &Observation) -> Html {
    let findings = analyse(observation);
    render(&[Part::Observed {
        name: "run.json",
        observation,
        findings: &findings,
    }])
}

fn id(figure: &str) -> String {
    format!("figure-r1-{figure}")
}

fn table<'a>(html: &'a Html, figure: &str) -> &'a str {
    let found = html.tables.iter().find(|(name, _)| *name == id(figure));
    &found.unwrap_or_else(|| panic!("{figure} has no table")).1
}

fn usual() -> Observation {
    observed("redis-server", "node")
}

#[test]
fn each_figure_has_its_place_and_its_numbers() {
    let html = page(&usual());
    let figures = ["costs", "kept-waiting", "times", "switches", "waits"];
    assert_eq!(html.figure_ids(), figures.map(id));
    for figure in figures {
        assert!(table(&html, figure).lines().count() > 2, "{figure}");
    }
    lacks(&html.page, "Not drawn");
    has_in_order(
        &html.page,
        [
            "class=\"answer\"",
            "id=\"figure-r1-costs\"",
            "id=\"figure-r1-waits\"",
            ">Cost by program</h3>",
        ],
    );
}

#[test]
fn a_program_pays_for_each_of_its_causes() {
    let html = page(&usual());
    let costs = table(&html, "costs");
    let rows = costs
        .lines()
        .filter(|line| line.starts_with("node 103,") || line.starts_with("node,"));
    let mut causes = Vec::new();
    for row in rows {
        causes.extend(row.split(',').nth(1));
        assert!(row.contains(" to ") || row.contains(" or more"), "{row}");
    }
    let expected = ["all", "end of time slice", "waits", "yields"];
    assert_eq!(causes, expected, "{costs}");
}

#[test]
fn the_longest_that_a_program_kept_another_waiting_comes_first() {
    let html = page(&usual());
    let waits = table(&html, "kept-waiting");
    let first = "redis-server,cc1,2.10 s,41 %,\"1,050\"";
    assert_eq!(waits.lines().nth(1), Some(first), "{waits}");
    has(waits, "\nredis-server,[its own CPU quota],270 ms");
}

#[test]
fn without_moments_there_are_all_figures_but_the_window() {
    let html = page(&Observation {
        moments: Vec::new(),
        ..usual()
    });
    assert_eq!(
        html.figure_ids(),
        ["costs", "kept-waiting", "times"].map(id)
    );
    has(
        &html.page,
        "Not drawn, since this record does not have it: how switches are spread over the window.",
    );
}

#[test]
fn what_the_kernels_counters_lack_is_reported_as_missing() {
    let mut counted = usual();
    counted.source = Source::Proc;
    (counted.pairs, counted.waits) = Default::default();
    for tasks in &mut counted.tasks {
        tasks.causes.clear();
        (tasks.off, tasks.wait, tasks.others) = Default::default();
    }
    let html = page(&counted);
    assert_eq!(html.figure_ids(), ["costs", "switches", "waits"].map(id));
    has(table(&html, "costs"), "whatever the cause");
    has(
        &html.page,
        "why tasks were switched, who kept them waiting, how long they were off the CPU and how long they waited for a CPU",
    );
}

#[test]
fn a_machine_whose_costs_are_not_known_has_no_figure_of_costs() {
    let html = page(&Observation {
        calibration: None,
        ..usual()
    });
    assert!(!html.figure_ids().contains(&"figure-r1-costs"));
    has(
        &html.page,
        "Not drawn, since this record does not have it: what switches cost.",
    );
}
