//! Tests the structure of the page of a comparison.

use switchcost_analysis::compare::Request;
use switchcost_report::html::{Html, render_comparison};

use super::compared::comparison;

fn page(base: &str, new: &str) -> Html {
    let names = [["a.jsonl".to_owned()], ["b.jsonl".to_owned()]];
    let request = Request {
        base: &names[0],
        new: &names[1],
        fail_above: Some(0.05),
        ..Request::default()
    };
    render_comparison(&comparison(base, new, request))
}

/// Returns the position of a text that must be on the page.
fn place(page: &str, text: &str) -> usize {
    page.find(text)
        .unwrap_or_else(|| panic!("found no {text:?} in the page"))
}

#[test]
fn the_environment_comes_before_the_costs_and_these_before_the_figures() {
    let html = page("Linux 6.1", "Linux 6.18");
    let places = [
        "New is slower in 1 and faster in 1 of 6 costs",
        "Linux 6.1<",
        "none shown",
        "id=\"figure-",
    ]
    .map(|text| place(&html.page, text));
    assert!(places.is_sorted(), "{places:?}");
    place(
        &html.page,
        "Grown by more than 5 %: pipe process (hand-off).",
    );
    place(&html.page, "Written by switchcost compare");
    place(&html.page, "id=\"method-comparison\"");
}

#[test]
fn each_figure_has_both_sides_and_a_table_with_the_same_numbers() {
    let html = page("a", "b");
    assert_eq!(
        html.figure_ids(),
        ["figure-c1-mechanisms", "figure-c1-sizes-1"]
    );
    for (_, svg) in &html.figures {
        assert!(
            svg.contains(">base</text>") && svg.contains(">new</text>"),
            "{svg}"
        );
    }
    let table = |name: &str| {
        let found = html.tables.iter().find(|(table, _)| table == name);
        found
            .map(|(_, csv)| csv.lines().map(str::to_owned).collect::<Vec<_>>())
            .unwrap_or_else(|| panic!("no {name}"))
    };
    let sizes = table("figure-c1-sizes-1");
    assert_eq!(sizes[0], "size of each task's array,base,new");
    assert_eq!(
        sizes[1],
        "4 KiB,2.16 us (2.10 to 2.25),2.16 us (2.10 to 2.25)"
    );
    assert_eq!(sizes.len(), 5);
    let mechanisms = table("figure-c1-mechanisms");
    assert_eq!(mechanisms.len(), 4, "{mechanisms:?}");
    assert!(
        mechanisms[3].ends_with(",-") && mechanisms[2].ends_with(')'),
        "{mechanisms:?}"
    );
}

#[test]
fn text_of_a_record_stays_text() {
    let hostile = "</script><img src=x onerror=alert(1)>\u{1b}[2J";
    let html = page(hostile, "b");
    assert!(!html.page.contains("<img") && !html.page.contains('\u{1b}'));
    assert!(
        html.page
            .contains("&lt;/script&gt;&lt;img src=x onerror=alert(1)&gt;[2J"),
        "shown as it is"
    );
    assert_eq!(html.page, page(hostile, "b").page, "the same again");
}
