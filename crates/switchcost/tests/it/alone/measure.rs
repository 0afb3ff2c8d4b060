//! Tests costs on the real machine: each has all fields and a plausible value.

use crate::common::{Place, allowed_cpus, count, has_flag, items, number};
use serde_json::Value;

/// Checks wide bounds, which costs on any measurable machine satisfy, even if a shared machine
/// varies.
fn is_plausible_switch(nanos: f64) -> bool {
    (100.0..100_000.0).contains(&nanos)
}

#[test]
fn a_pipe_is_measured_and_has_every_field() {
    let place = Place::alone();
    let arguments = "--mechanism pipe --size 0,64KiB --stride 8 --access rmw";
    let Some(json) = place.measure_undisturbed(arguments) else {
        return;
    };
    assert_eq!(json["schema"], "switchcost.measure/1");
    assert!(json["host"]["kernel"].is_string());
    let results = items(&json["results"]);
    assert_eq!(results.len(), 2);
    for result in results {
        for (field, value) in [
            ("mechanism", "pipe"),
            ("between", "process"),
            ("access", "rmw"),
        ] {
            assert_eq!(result[field], value);
        }
        assert!(
            result["tasks"] == 2 && result["stride_bytes"] == 8,
            "{result}"
        );
        assert!(result["excluded_samples"].is_u64() && result["flags"].is_array());
    }
    let direct = &results[0];
    assert_eq!(direct["size_bytes"], 0);
    assert!(direct["total_ns"].is_null() && direct["indirect_ns"].is_null());
    let total = &results[1];
    assert_eq!(total["size_bytes"], 65_536);
    for (result, quantity) in [
        (direct, "direct_ns"),
        (direct, "handoff_ns"),
        (total, "total_ns"),
        (total, "indirect_ns"),
    ] {
        let estimate = &result[quantity];
        let [low, middle, high] = ["low", "estimate", "high"].map(|name| number(&estimate[name]));
        assert!(low <= middle && middle <= high, "{quantity}: {estimate}");
        assert!(
            count(&estimate["n"]) >= 5 && estimate["method"].is_string(),
            "{estimate}"
        );
    }
    assert!(
        is_plausible_switch(number(&direct["direct_ns"]["estimate"])),
        "{direct}"
    );
    let per_handoff = number(&direct["switches_per_handoff"]);
    assert!((per_handoff - 1.0).abs() < 0.01, "{per_handoff}");
}

/// Returns the size of the second-level cache of CPU 0 in bytes, or 2 MiB if it is unknown.
fn private_cache() -> u64 {
    let read = |name: &str| {
        let path = format!("/sys/devices/system/cpu/cpu0/cache/index2/{name}");
        std::fs::read_to_string(path).ok()
    };
    read("level")
        .filter(|level| level.trim() == "2")
        .and_then(|_| read("size")?.trim().strip_suffix('K')?.parse::<u64>().ok())
        .map_or(2 << 20, |kib| kib << 10)
}

/// The working set is a pointer chase through 256 KiB. Another task with twice the size of a
/// private cache evicts it; a task with no data does not.
#[test]
fn a_working_set_comes_back_behind_a_switch() {
    let place = Place::alone();
    let away = (2 * private_cache()).max(4 << 20);
    let aways = format!("0,{away}");
    let arguments = format!("--size 256KiB --pattern chase --away {aways}");
    let Some(json) = place.measure_undisturbed(&arguments) else {
        return;
    };
    let [left_alone, evicted] = items(&json["results"]).as_slice() else {
        panic!("{json}")
    };
    assert!(
        left_alone["away_bytes"] == 0 && evicted["away_bytes"] == away,
        "{json}"
    );
    for result in [left_alone, evicted] {
        assert_eq!(items(&result["reload"]["walks_ns"]).len(), 5, "{result}");
        assert!(
            result["direct_ns"].is_null() && result["handoff_ns"].is_object(),
            "{result}"
        );
    }
    let reload = |result: &Value| number(&result["indirect_reload_ns"]["estimate"]);
    assert!(
        reload(evicted) > 2.0 * reload(left_alone) && reload(evicted) > 0.0,
        "{left_alone} {evicted}"
    );
    let walk = |place: usize| number(&evicted["reload"]["walks_ns"][place]["estimate"]);
    assert!(walk(0) > 2.0 * walk(1), "what is back is back: {evicted}");
}

/// If batches have one round, the number of counted walks must equal the number timed: one walk too
/// few looks like a gain of half a walk.
#[test]
fn a_task_of_an_executor_walks_as_long_as_any_other() {
    let place = Place::alone();
    let arguments = "--mechanism async --size 256KiB,1MiB";
    let Some(json) = place.measure_undisturbed(arguments) else {
        return;
    };
    for result in items(&json["results"]) {
        // The value is in nanoseconds, at 13 GB/s, which half a walk cannot exceed; noise is far
        // smaller.
        let half_a_walk = number(&result["size_bytes"]) / 200.0;
        assert!(
            number(&result["indirect_reload_ns"]["high"]) > -half_a_walk,
            "{result}"
        );
    }
}

#[test]
fn across_cpus_it_is_a_hand_off_and_never_a_switch() {
    let place = Place::alone();
    if allowed_cpus().len() < 2 {
        eprintln!("skipped: there is one CPU");
        return;
    }
    let Some(json) = place.measure_undisturbed("--mechanism pipe --placement pair") else {
        return;
    };
    let result = &json["results"][0];
    assert!(result["direct_ns"].is_null());
    assert!(has_flag(result, "handoff-across-cpus"), "{result}");
    assert!(number(&result["handoff_ns"]["estimate"]) > 0.0, "{result}");
}
