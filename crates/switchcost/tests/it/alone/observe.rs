//! What a switch costs here, measured before the first observation and remembered.

use std::fs;
use std::path::Path;

use crate::common::{Place, text};
use serde_json::{Value, json};

/// Sleeps a little, now and then.
/// One program, which waits for copies of itself: of several, a profile has the first.
const FORKER: &str = "for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do (:); done";
const SLEEPER: &str = "for i in 1 2 3 4 5 6 7 8 9 10; do sleep 0.01; done";

#[test]
fn switches_are_priced_by_what_was_measured_here() {
    let place = Place::alone();
    // Long enough that a neighbour leaves something of it; no calibration is left out: this is the first run.
    let record = place.path("o.json");
    let json = place
        .run(&[
            "observe",
            "--format",
            "json",
            "--record",
            text(&record),
            "--",
            "sh",
            "-c",
            SLEEPER,
        ])
        .json();
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
    // No switch costs more than one that waits; the interrupts that some came out of have a price of their own.
    let interrupts = &json["all"]["interrupts_ns"];
    let most = switches * cost(&blocked["high_ns"]) * 1.01 + cost(&interrupts["high"]);
    assert!(
        cost(&direct["high"]) <= most && cost(&direct["low"]) > 0.0,
        "{direct}, {interrupts}"
    );
    // The second run remembers.
    let again = place.run(&["observe", "--format", "json", "--", "true"]);
    assert_eq!(&again.json()["calibration"], calibration);
    assert!(!again.stderr.contains("measuring"), "{}", again.stderr);
    profiled(
        &place,
        &serde_json::from_slice(&fs::read(record).expect("a record")).expect("of JSON"),
    );
}

/// What is known of `sh` is found by its build ID, once there are prices of this processor, and is refused if it is no profile.
fn profiled(place: &Place, observed: &Value) {
    if observed["source"] != "bpf" {
        println!("skipped: {}", observed["not_counted_by"]);
        return;
    }
    let profile = place.path("p.json");
    let traced = place.run(&[
        "trace",
        "--profile",
        text(&profile),
        "--",
        "sh",
        "-c",
        FORKER,
    ]);
    let copy = traced
        .stderr
        .split("a copy is kept as ")
        .nth(1)
        .expect("it is reported")
        .trim();
    let folder = Path::new(copy).parent().expect("a folder");
    let by = |arguments: &[&str]| {
        let ran = place.run(
            &[
                &["observe", "--format", "json"],
                arguments,
                &["--", "sh", "-c", FORKER],
            ]
            .concat(),
        );
        let json = ran.json();
        let sh = json["processes"]
            .as_array()
            .expect("processes")
            .iter()
            .find(|process| process["name"] == "sh");
        (
            sh.expect("it has switched")["likely_by"].clone(),
            ran.stderr,
        )
    };
    let (by_nothing, said) = by(&[]);
    assert!(
        by_nothing.is_null() && said.contains("switchcost measure --prices FILE (a minute)"),
        "{said}"
    );
    fs::write(
        folder.join("../prices.json"),
        prices(&observed["host"]).to_string(),
    )
    .expect("room");
    assert_eq!(by(&[]).0, "profile");
    assert_eq!(by(&["--profile", text(&profile)]).0, "profile");
    fs::remove_dir_all(folder).expect("it was there");
    assert!(by(&[]).0.is_null());
    let refused = place.run(&[
        "observe",
        "--profile",
        text(&place.path("o.json")),
        "--",
        "true",
    ]);
    assert!(
        refused.code == 5
            && refused
                .stderr
                .contains("is not a file of switchcost trace --profile (its schema is "),
        "{}",
        refused.stderr
    );
}

fn prices(host: &Value) -> Value {
    let line = |kind: &str| json!({ "kind": kind, "own_bytes": 12288, "away_bytes": 262_144, "ns": 50.0, "low_ns": 40.0, "high_ns": 60.0, "n": 8 });
    json!({
        "schema": "switchcost.prices/1", "program_version": "", "started_at": "", "line_bytes": 64,
        "cpu_model": host["cpu_model"], "caches": host["caches"],
        "lines": [line("dependent"), line("gathered"), line("sequential"), line("code")],
        "switch_path": [],
    })
}
