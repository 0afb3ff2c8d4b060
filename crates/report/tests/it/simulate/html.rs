//! Tests the structure of the page of a simulation.

use switchcost_report::html::{Html, Part, render};

use super::fixture::whole;
use crate::text::has;

/// Returns a page that shows the synthetic record once under each of these names.
fn page<const N: usize>(names: [&str; N]) -> Html {
    let (head, findings) = whole();
    render(&names.map(|name| Part::Simulated {
        name,
        head: &head,
        findings: &findings,
    }))
}

fn table<'a>(html: &'a Html, start: &str) -> &'a str {
    let found = html.tables.iter().find(|(name, _)| name.starts_with(start));
    &found.expect("a table").1
}

#[test]
fn a_record_has_the_figures_of_the_paper() {
    let html = page(["two.parquet"]);
    let ids = html.figure_ids();
    for figure in [
        "lengths",
        "shared-1",
        "private-1",
        "excess-1",
        "cumulative-1",
        "technology",
        "causes",
        "evictions-1",
        "code-1",
    ] {
        let id = format!("figure-r1-{figure}");
        assert!(ids.contains(&id.as_str()), "{id} is not among {ids:?}");
    }
    // Simulated numbers are called so.
    has(&html.page, "simulated CPI");
}

#[test]
fn a_curve_and_its_table_are_the_same_findings() {
    let html = page(["two.parquet"]);
    let rows = table(&html, "figure-r1-cumulative-1").matches("\nall,");
    let all = &whole().1.designs[0].groups[0];
    assert_eq!(rows.count(), all.curve.len());
}

#[test]
fn several_records_are_compared_and_not_averaged() {
    let html = page(["timesharing.parquet", "compute-bound.parquet"]);
    let ids = html.figure_ids();
    assert!(ids.contains(&"figure-all-technology"), "{ids:?}");
    let rows = table(&html, "all-").lines().skip(1).count();
    let designs = whole().1.designs.len();
    assert_eq!(rows, 2 * designs, "a row for each record and design");
}
