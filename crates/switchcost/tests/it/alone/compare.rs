//! Tests that a synthetic difference between two runs is found.

use crate::common::{Place, number};
use crate::compare::measured;

#[test]
fn a_switch_made_twice_as_long_is_slower_and_fails_the_gate() {
    let place = Place::alone();
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
        for record in ["base.jsonl", "new.jsonl"] {
            std::fs::remove_file(place.path(record)).expect("our own record");
        }
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
    assert!(pair["verdict"] == "slower" && ran.code == 6, "{value}");
    let ratio = number(&pair["ratio"]);
    assert!((1.8..2.2).contains(&ratio), "{ratio}");
    let again = "compare base.jsonl new.jsonl --fail-above 5%";
    place.run((again, "-o page.html")).assert_prints(6, "");
    let page = place.read("page.html");
    assert!(page.starts_with("<!DOCTYPE html>") && page.contains("New is slower: "));
    place.run((again, "--figures figures")).assert_code(6);
    let csv = place.read("figures/figure-c1-mechanisms.csv");
    assert!(csv.starts_with(",base,new\n"), "{csv}");
    place
        .run("compare base.jsonl new.jsonl -o base.jsonl")
        .assert_failed(2, "a record is never overwritten");
    place
        .run("compare new.jsonl base.jsonl --fail-above 5%")
        .assert_code(0)
        .assert_output("New is faster: ");
}
