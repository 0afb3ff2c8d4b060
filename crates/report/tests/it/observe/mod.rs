//! Tests the structure of the page of an observation.

pub(crate) mod fixture;

use switchcost_analysis::observation::analyse;
use switchcost_record::observation::{Observation, Source};
use switchcost_report::html::{Html, Part, render};

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

#[test]
fn each_figure_has_its_place_and_its_numbers() {
    let html = page(&observed("redis-server", "node"));
    assert_eq!(
        html.figure_ids(),
        ["costs", "kept-waiting", "times", "switches", "waits"].map(id)
    );
    for figure in html.figure_ids() {
        assert_eq!(
            html.page.matches(&format!("<div id=\"{figure}\"")).count(),
            1,
            "{figure}"
        );
    }
    for figure in ["costs", "kept-waiting", "times", "switches", "waits"] {
        assert!(table(&html, figure).lines().count() > 2, "{figure}");
    }
    assert!(!html.page.contains("Not drawn"), "nothing is missing");
}

#[test]
fn a_program_pays_for_each_of_its_causes() {
    let html = page(&observed("redis-server", "node"));
    let costs = table(&html, "costs");
    let rows: Vec<&str> = costs
        .lines()
        .filter(|line| line.starts_with("node 103,") || line.starts_with("node,"))
        .collect();
    let about: Vec<&str> = rows
        .iter()
        .filter_map(|row| row.split(',').nth(1))
        .collect();
    assert_eq!(
        about,
        ["all", "end of time slice", "waits", "yields"],
        "{costs}"
    );
    assert!(
        rows.iter()
            .all(|row| row.contains(" to ") || row.contains(" or more")),
        "each has its range: {rows:?}"
    );
}

#[test]
fn the_longest_that_a_program_kept_another_waiting_comes_first() {
    let html = page(&observed("redis-server", "node"));
    let waits = table(&html, "kept-waiting");
    assert_eq!(
        waits.lines().nth(1),
        Some("redis-server,cc1,2.10 s,41 %,\"1,050\""),
        "{waits}"
    );
    assert!(
        waits
            .lines()
            .any(|line| line.starts_with("redis-server,[its own CPU quota],270 ms")),
        "{waits}"
    );
}

#[test]
fn figures_come_behind_the_answer_and_before_the_tables() {
    let html = page(&observed("redis-server", "node"));
    let order = [
        "class=\"answer\"",
        "id=\"figure-r1-costs\"",
        "id=\"figure-r1-waits\"",
        ">Cost by program</h3>",
    ];
    assert!(
        order
            .map(|text| html.page.find(text).expect(text))
            .is_sorted()
    );
}

#[test]
fn without_moments_there_are_all_figures_but_the_window() {
    let without = Observation {
        moments: Vec::new(),
        ..observed("redis-server", "node")
    };
    let html = page(&without);
    assert_eq!(
        html.figure_ids(),
        ["costs", "kept-waiting", "times"].map(id)
    );
    assert!(html.page.contains(
        "Not drawn, since this record does not have it: how switches are spread over the window."
    ));
}

#[test]
fn what_the_kernels_counters_lack_is_reported_as_missing() {
    let mut counted = Observation {
        source: Source::Proc,
        pairs: Vec::new(),
        waits: Vec::new(),
        ..observed("redis-server", "node")
    };
    for tasks in &mut counted.tasks {
        tasks.causes.clear();
        (tasks.off, tasks.wait, tasks.others) = Default::default();
    }
    let html = page(&counted);
    assert_eq!(html.figure_ids(), ["costs", "switches", "waits"].map(id));
    assert!(
        table(&html, "costs").contains("whatever the cause"),
        "{}",
        table(&html, "costs")
    );
    let missing = "why tasks were switched, who kept them waiting, how long they were off the CPU and how long they waited for a CPU";
    assert!(
        html.page.contains(missing),
        "{:?}",
        html.page
            .find("Not drawn")
            .map(|at| &html.page[at..at + 300])
    );
}

#[test]
fn a_machine_whose_costs_are_not_known_has_no_figure_of_costs() {
    let html = page(&Observation {
        calibration: None,
        ..observed("redis-server", "node")
    });
    assert!(!html.figure_ids().contains(&"figure-r1-costs"));
    assert!(
        html.page
            .contains("Not drawn, since this record does not have it: what switches cost.")
    );
}

#[test]
fn programs_of_hostile_names_stay_text() {
    let html = page(&observed(
        "</script><b>bold</b>",
        "=cmd|' /C calc'!A1\u{1b}[31m",
    ));
    assert!(!html.page.contains("<b>bold") && !html.page.contains('\u{1b}'));
    assert!(
        html.page.contains("&amp;lt;/script")
            || html.page.contains("\\u003c")
            || html.page.contains("&lt;/script")
    );
    for (name, table) in &html.tables {
        assert!(
            !table.lines().any(|line| line.starts_with('=')),
            "{name}: no formula in a spreadsheet: {table}"
        );
    }
}
