//! Costs as the real machine has them: each has all fields, and is one that there can be.

use crate::common::{Place, allowed_cpus, has_flag, is_disturbed, number};
use serde_json::Value;

/// Real figures wander on a shared machine; these bounds hold on any that can be measured at all.
fn is_plausible_switch(nanos: f64) -> bool {
    (100.0..100_000.0).contains(&nanos)
}

#[test]
fn a_pipe_is_measured_and_has_every_field() {
    let place = Place::alone();
    let arguments = ["--mechanism", "pipe", "--size", "0,64KiB", "--stride", "8", "--access", "rmw"];
    let Some(json) = place.measure_undisturbed(&arguments) else { return };
    assert_eq!(json["schema"], "switchcost.measure/1");
    assert!(json["host"]["kernel"].is_string());
    let results = json["results"].as_array().expect("results");
    assert_eq!(results.len(), 2);
    for result in results {
        assert_eq!(result["mechanism"], "pipe");
        assert_eq!(result["between"], "process");
        assert_eq!(result["tasks"], 2);
        assert_eq!(result["stride_bytes"], 8);
        assert_eq!(result["access"], "rmw");
        assert!(result["excluded_samples"].is_u64() && result["flags"].is_array());
    }
    let direct = &results[0];
    assert_eq!(direct["size_bytes"], 0);
    assert!(direct["total_ns"].is_null() && direct["indirect_ns"].is_null());
    let total = &results[1];
    assert_eq!(total["size_bytes"], 65_536);
    for (result, quantity) in
        [(direct, "direct_ns"), (direct, "handoff_ns"), (total, "total_ns"), (total, "indirect_ns")]
    {
        let estimate = &result[quantity];
        let [low, middle, high] = ["low", "estimate", "high"].map(|name| number(&estimate[name]));
        assert!(low <= middle && middle <= high, "{quantity}: {estimate}");
        assert!(estimate["n"].as_u64().is_some_and(|n| n >= 5) && estimate["method"].is_string(), "{estimate}");
    }
    assert!(is_plausible_switch(number(&direct["direct_ns"]["estimate"])), "{direct}");
    let per_handoff = number(&direct["switches_per_handoff"]);
    assert!((per_handoff - 1.0).abs() < 0.01, "{per_handoff}");
}

/// Mechanisms that switch without the kernel.
const USER_SPACE: [&str; 5] = ["fiber", "ucontext", "green", "green-preempt", "async"];

#[test]
fn every_mechanism_is_measured_or_says_why_not() {
    let place = Place::alone();
    let mechanisms = "pipe,eventfd,futex,mutex-condvar,mutex-condvar-unlocked,socketpair,tcp,posix-sem,posix-mq,signal,\
                      yield,fiber,ucontext,green,green-preempt,async,preempt";
    let arguments = ["--mechanism", mechanisms, "--between", "process,thread", "--format", "json"];
    let json = place.measure_within("6", &arguments).json();
    let results = json["results"].as_array().expect("results");
    assert_eq!(results.len(), 12 * 2 + 5);
    let mut measured = 0;
    for result in results {
        let name = format!("{} between {}", result["mechanism"], result["between"]);
        let is_in_user_space = USER_SPACE.contains(&result["mechanism"].as_str().expect("a name"));
        match result["status"].as_str() {
            Some("measured" | "suspect") => {
                let [low, estimate, high] = ["low", "estimate", "high"].map(|part| number(&result["direct_ns"][part]));
                // Neighbours may hide a cheap switch. Then the result has to say so itself.
                let is_hidden = has_flag(result, "not-distinguishable-from-0") && low <= 0.0 && 0.0 <= high;
                // A switch in the kernel takes hundreds of nanoseconds and more, one in user space less than a system call
                // or two; ten times that is room for any machine and its neighbours.
                let most = if is_in_user_space { 20_000.0 } else { 200_000.0 };
                let least = if is_in_user_space { 0.0 } else { 100.0 };
                assert!(least < estimate && estimate < most || is_hidden, "{name}: {result}");
                measured += usize::from(!is_hidden);
            }
            Some("not-measured") => {
                assert!(result["direct_ns"].is_null(), "{name}: no number where there is no measurement");
                let why = result["why"].as_str().unwrap_or_default();
                assert!(is_disturbed(result) || has_flag(result, "switch-count"), "{name}: {why}");
                eprintln!("skipped: {name}: {why}");
            }
            other => panic!("{name}: status {other:?}"),
        }
    }
    if 2 * measured < results.len() {
        eprintln!("skipped: a neighbour left {measured} of {} numbers", results.len());
    }
}

/// Pointers through 256 KiB, which a neighbour with sixteen times as much puts out of every private cache, and one with nothing does not.
#[test]
fn a_working_set_comes_back_behind_a_switch() {
    let place = Place::alone();
    let arguments = ["--size", "256KiB", "--pattern", "chase", "--away", "0,4MiB"];
    let Some(json) = place.measure_undisturbed(&arguments) else { return };
    let [left_alone, evicted] = json["results"].as_array().expect("results").as_slice() else { panic!("{json}") };
    assert_eq!((&left_alone["away_bytes"], &evicted["away_bytes"]), (&Value::from(0), &Value::from(4 << 20)));
    for result in [left_alone, evicted] {
        assert_eq!(result["reload"]["walks_ns"].as_array().map(Vec::len), Some(5), "{result}");
        assert!(result["direct_ns"].is_null() && result["handoff_ns"].is_object(), "{result}");
    }
    let reload = |result: &Value| number(&result["indirect_reload_ns"]["estimate"]);
    assert!(reload(evicted) > 2.0 * reload(left_alone) && reload(evicted) > 2_000.0, "{left_alone} {evicted}");
    let walk = |place: usize| number(&evicted["reload"]["walks_ns"][place]["estimate"]);
    assert!(walk(0) > 2.0 * walk(1), "what is back is back: {evicted}");
}

/// Where batches are of one round, what is counted must be what was timed: a walk too few looks like a gain of half a walk.
#[test]
fn a_task_of_an_executor_walks_as_long_as_any_other() {
    let place = Place::alone();
    let arguments = ["--mechanism", "async", "--size", "256KiB,1MiB"];
    let Some(json) = place.measure_undisturbed(&arguments) else { return };
    for result in json["results"].as_array().expect("results") {
        // In nanoseconds, at the 13 GB/s that half a walk surely does not exceed; noise is far below it.
        let half_a_walk = number(&result["size_bytes"]) / 200.0;
        assert!(number(&result["indirect_reload_ns"]["high"]) > -half_a_walk, "{result}");
    }
}

#[test]
fn across_cpus_it_is_a_hand_off_and_never_a_switch() {
    let place = Place::alone();
    if allowed_cpus().len() < 2 {
        eprintln!("skipped: there is one CPU");
        return;
    }
    let Some(json) = place.measure_undisturbed(&["--mechanism", "pipe", "--placement", "pair"]) else { return };
    let result = &json["results"][0];
    assert!(result["direct_ns"].is_null());
    assert!(has_flag(result, "handoff-across-cpus"), "{result}");
    assert!(number(&result["handoff_ns"]["estimate"]) > 0.0, "{result}");
}

/// 512 KiB fit the second level of most machines once and not twice: whoever takes turns loses them to the other, and whoever has a
/// core of his own keeps them there. Which loses more is up to the machine, and must follow from the numbers that are shown.
#[test]
fn a_cache_is_shared_in_turn_and_at_once() {
    let place = Place::alone();
    let arguments = ["--placement", "pair", "--concurrent", "--size", "512KiB"];
    let probe =
        place.run(&[&["measure", "--budget", "8s", "--no-counters", "--format", "json"], &arguments[..]].concat());
    if probe.code != 0 && probe.code != 3 {
        assert!(
            probe.stderr.contains("share a cache") || probe.stderr.contains("need two for --placement"),
            "{}",
            probe.stderr
        );
        eprintln!("skipped: no two CPUs that share a cache");
        return;
    }
    let json = probe.json();
    let found = json["shared_cache"].as_array().expect("a list");
    let sizes: Vec<_> = found.iter().map(|one| one["working_set"]["size_bytes"].as_u64()).collect();
    assert_eq!(sizes, [Some(4 << 10), Some(512 << 10)], "the control is measured without being asked for");
    for one in found {
        let difference = &one["in_turn_less_at_once_ns"];
        let end = |which: &str| difference[which].as_f64().unwrap_or(f64::NAN);
        let told = (end("low") > 0.0, end("high") < 0.0);
        let expected = match (difference.is_null(), told) {
            (false, (true, _)) => "in-turn",
            (false, (_, true)) => "at-once",
            _ => "not-told",
        };
        assert_eq!(one["loses_more"], expected, "{one}");
        assert_eq!(difference.is_null(), one["why"].is_string(), "{one}");
    }
    for result in json["results"].as_array().expect("results").iter().filter(|r| r["mechanism"] == "concurrent") {
        assert_eq!(result["cpus"].as_array().map(Vec::len), Some(2), "{result}");
        if result["status"] == "not-measured" {
            eprintln!("skipped: {}", result["why"]);
            continue;
        }
        // At 100 GB/s and 100 MB/s.
        let (walk, size) = (number(&result["walk_ns"]["estimate"]), number(&result["size_bytes"]));
        assert!(size / 100.0 < walk && walk < size * 10.0, "{result}");
        assert!(result["direct_ns"].is_null() && result["handoff_ns"].is_null(), "{result}");
    }
}
