//! Tests the structure of the page of a comparison.

use switchcost_analysis::compare::Request;
use switchcost_report::html::{Html, render_comparison};

use super::compared::comparison;
use crate::text::{has_all, has_in_order};

fn page() -> Html {
    let (base, new) = (["a.jsonl".to_owned()], ["b.jsonl".to_owned()]);
    let request = Request {
        base: &base,
        new: &new,
        fail_above: Some(0.05),
        ..Request::default()
    };
    render_comparison(&comparison("Linux 6.1", "Linux 6.18", request))
}

#[test]
fn the_environment_comes_before_the_costs_and_these_before_the_figures() {
    let page = page().page;
    has_in_order(
        &page,
        [
            "New is slower in 1 and faster in 1 of 6 costs",
            "Linux 6.1<",
            "none shown",
            "id=\"figure-",
        ],
    );
    has_all(
        &page,
        [
            "Grown by more than 5 %: pipe process (hand-off).",
            "Written by switchcost compare",
            "id=\"method-comparison\"",
        ],
    );
}

#[test]
fn each_figure_has_both_sides_and_a_table_with_the_same_numbers() {
    let html = page();
    let figures = ["figure-c1-mechanisms", "figure-c1-sizes-1"];
    assert_eq!(html.figure_ids(), figures);
    for (_, svg) in &html.figures {
        has_all(svg, [">base</text>", ">new</text>"]);
    }
    let [mechanisms, sizes] = figures.map(|name| {
        let found = html.tables.iter().find(|(table, _)| table == name);
        found.expect("a table").1.lines().collect::<Vec<_>>()
    });
    assert_eq!(
        sizes[..2],
        [
            "size of each task's array,base,new",
            "4 KiB,2.16 us (2.10 to 2.25),2.16 us (2.10 to 2.25)"
        ]
    );
    assert_eq!((sizes.len(), mechanisms.len()), (5, 4), "{mechanisms:?}");
    assert!(
        mechanisms[3].ends_with(",-") && mechanisms[2].ends_with(')'),
        "{mechanisms:?}"
    );
}
