//! Tests the cost of a switch that is measured before the first observation and stored.

use crate::common::Place;
use serde_json::Value;

/// Script that sleeps a little, now and then.
const SLEEPER: &str = "for i in 1 2 3 4 5 6 7 8 9 10; do sleep 0.01; done";

#[test]
fn switches_are_priced_by_what_was_measured_here() {
    let place = Place::alone();
    // The command runs long enough for a number on a busy machine; the calibration is not left out,
    // because this is the first run.
    let words = format!("observe --format json -- sh -c '{SLEEPER}'");
    let json = place.run(&words).json();
    let calibration = &json["calibration"];
    if calibration.is_null() {
        println!("skipped: nothing could be measured beside this machine's neighbours");
        return;
    }
    let cost = |value: &Value| value.as_f64().expect("a cost");
    let blocked = &calibration["blocked"];
    assert!(
        cost(&blocked["low_ns"]) <= cost(&blocked["ns"])
            && cost(&blocked["ns"]) <= cost(&blocked["high_ns"])
    );
    let direct = &json["all"]["direct_ns"];
    let switches = cost(&json["all"]["switches"]);
    // No switch costs more than one that waits; the interrupts that caused some switches have a
    // separate price.
    let interrupts = &json["all"]["interrupts_ns"];
    let most = switches * cost(&blocked["high_ns"]) * 1.01 + cost(&interrupts["high"]);
    assert!(
        cost(&direct["high"]) <= most && cost(&direct["low"]) > 0.0,
        "{direct}, {interrupts}"
    );
    // The second run uses the stored calibration.
    let again = place.run("observe --format json -- true");
    assert_eq!(&again.json()["calibration"], calibration);
    assert!(!again.stderr.contains("measuring"), "{}", again.stderr);
}
