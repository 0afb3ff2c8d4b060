//! Tests two set-ups measured in interleaved runs, as a user would.

use crate::ab::{read, reported};
use crate::common::{Place, items, number};

/// One side is a synthetic switch that takes 1.5 times as long. A few runs may be disturbed.
#[test]
fn what_differs_by_its_set_up_is_found_judged_and_kept() {
    let place = Place::alone();
    let longer = "sh -c 'exec \"$@\" --synthetic-switch 3us' sh";
    for trial in 0..4 {
        let folder = place.path(&format!("runs-{trial}"));
        let runs = "-n 2 --budget 1s --fail-above 10% --format json";
        let files = format!("--record runs-{trial} --junit verdicts.xml --markdown verdicts.md");
        let flags = "-- --mechanism synthetic --budget 250ms --max-repetitions 5";
        let words = format!("{runs} {files} {flags}");
        let ran = place.run((["ab", "--new", "", "--new-with", longer], words));
        let json = ran.json();
        assert_eq!(items(&json["order"]).len(), 4, "{}", ran.stderr);
        assert!(folder.join("base/002.jsonl").exists() && folder.join("new/002.jsonl").exists());
        let pair = &json["comparison"]["pairs"][0];
        if pair["verdict"] != "slower" {
            continue;
        }
        ran.assert_code(6);
        assert!((number(&pair["ratio"]) / 1.5 - 1.0).abs() < 0.1, "{pair}");
        let [xml, comment] = ["xml", "md"].map(|form| place.read(&format!("verdicts.{form}")));
        assert!(xml.contains("<failure type=\"grown\""), "{xml}");
        let answer = "New is slower: synthetic user takes 1.";
        assert!(comment.starts_with(answer), "{comment}");
        return;
    }
    eprintln!("skipped: four times other tasks disturbed all runs of a side");
}

/// This test runs alone, because another `ab` that began before would put the setting back, too.
#[test]
fn settings_of_the_scheduler_are_put_back() {
    let file = "/proc/sys/kernel/sched_deadline_period_max_us";
    let before = std::fs::read_to_string(file).unwrap_or_default();
    if std::fs::write(file, before.trim()).is_err() {
        eprintln!("skipped: {file} cannot be written");
        return;
    }
    let place = Place::new();
    let changed = before.trim().parse::<u64>().expect("a number") - 1;
    let report = reported(
        &place,
        [&format!("echo {changed} > {file}"), "", ""],
        &["sh", "-c", &format!("cat {file} > seen")],
    );
    assert_eq!(
        (report.as_str(), read(&place, "seen")),
        ("0\n", changed.to_string())
    );
    assert_eq!(std::fs::read_to_string(file).expect("it is there"), before);
}
