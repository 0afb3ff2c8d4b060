//! Tests two set-ups measured in interleaved runs, as a user would.

use crate::common::{Place, number};

/// One side is a synthetic switch that takes 1.5 times as long. A few runs may be disturbed.
#[test]
fn what_differs_by_its_set_up_is_found_judged_and_kept() {
    let place = Place::alone();
    let longer = "sh -c 'exec \"$@\" --synthetic-switch 3us' sh";
    let (xml, comment) = (place.path("verdicts.xml"), place.path("verdicts.md"));
    for trial in 0..4 {
        let folder = place.path(&format!("runs-{trial}"));
        let runs = "-n 2 --budget 1s --fail-above 10% --format json";
        let files = format!("--record runs-{trial} --junit verdicts.xml --markdown verdicts.md");
        let flags = "-- --mechanism synthetic --budget 250ms --max-repetitions 5";
        let words = format!("{runs} {files} {flags}");
        let ran = place.run((["ab", "--new", "", "--new-with", longer], words));
        let json = ran.json();
        assert_eq!(
            json["order"].as_array().map(Vec::len),
            Some(4),
            "{}",
            ran.stderr
        );
        assert!(folder.join("base/002.jsonl").exists() && folder.join("new/002.jsonl").exists());
        let pair = &json["comparison"]["pairs"][0];
        if pair["verdict"] != "slower" {
            continue;
        }
        ran.assert_code(6);
        assert!((number(&pair["ratio"]) / 1.5 - 1.0).abs() < 0.1, "{pair}");
        let text = |path| std::fs::read_to_string(path).expect("a file");
        assert!(
            text(&xml).contains("<failure type=\"grown\""),
            "{}",
            text(&xml)
        );
        assert!(
            text(&comment).starts_with("New is slower in the one cost"),
            "{}",
            text(&comment)
        );
        return;
    }
    eprintln!("skipped: four times other tasks disturbed all runs of a side");
}
