//! Tests that a synthetic difference between two runs is found.

use crate::common::{Place, number, text};
use crate::compare::measured;

#[test]
fn a_switch_made_twice_as_long_is_slower_and_fails_the_gate() {
    let place = Place::alone();
    let (base, new) = (place.path("base.jsonl"), place.path("new.jsonl"));
    let compared = || {
        measured(&place, "base.jsonl", "2us");
        measured(&place, "new.jsonl", "4us");
        place.run("compare base.jsonl new.jsonl --fail-above 5% --format json")
    };
    let mut ran = compared();
    // Another task may prevent a number, or leave so few that nothing can be shown, but not every
    // time.
    for _ in 0..4 {
        if ran.code == 6 {
            break;
        }
        [&base, &new]
            .into_iter()
            .for_each(|record| std::fs::remove_file(record).expect("our own record"));
        ran = compared();
    }
    let value = ran.json();
    assert_eq!(value["schema"], "switchcost.compare/1");
    let pair = &value["pairs"][0];
    if pair["outcome"] != "compared" {
        // On a busy machine there may be no number to compare; then the check has not passed.
        assert_eq!(ran.code, 3, "{value}");
        eprintln!("skipped: {}", pair["why"]);
        return;
    }
    assert_eq!(
        (pair["verdict"].as_str(), ran.code),
        (Some("slower"), 6),
        "{value}"
    );
    let ratio = number(&pair["ratio"]);
    assert!((1.8..2.2).contains(&ratio), "{ratio}");
    let (page, figures) = (place.path("compare.html"), place.path("figures"));
    let drawn = place.run([
        "compare",
        "base.jsonl",
        "new.jsonl",
        "-o",
        text(&page),
        "--fail-above",
        "5%",
    ]);
    assert_eq!(
        (drawn.code, drawn.stdout.as_str()),
        (6, ""),
        "{}",
        drawn.stderr
    );
    let page = std::fs::read_to_string(page).expect("a page");
    assert!(page.starts_with("<!DOCTYPE html>") && page.contains("New is slower: "));
    place.run("compare base.jsonl new.jsonl --figures figures");
    let csv = std::fs::read_to_string(figures.join("figure-c1-mechanisms.csv"))
        .expect("the figure's table");
    assert!(csv.starts_with(",base,new\n"), "{csv}");
    place
        .run("compare base.jsonl new.jsonl -o base.jsonl")
        .assert_failed(2, "a record is never overwritten");
    let back = place.run("compare new.jsonl base.jsonl --fail-above 5%");
    back.assert_code(0);
    assert!(
        back.stdout.starts_with("New is faster: "),
        "{}",
        back.stdout
    );
}
