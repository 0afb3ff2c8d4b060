//! Records for tests of this crate and of `report`: a short observation, and one with many task
//! names and causes.

use std::path::Path;

use switchcost_record::observation::{
    Calibration, Cause, Cost, Entry, KnownBy, KnownPoint, KnownReload, Load, Observation, Reload,
    Tasks, Why,
};
use switchcost_units::{Bytes, Nanos};

pub(crate) fn small() -> Observation {
    let path =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus/observation_record/small");
    Observation::read(&path).expect("a record of this version")
}

pub(crate) fn cost(ns: f64) -> Cost {
    Cost {
        ns,
        low_ns: ns * 0.9,
        high_ns: ns * 1.1,
    }
}

/// Makes a large observation: many task names and causes, with the cost of a switch.
pub(crate) fn large() -> Observation {
    let mut large = small();
    let first = large.tasks.remove(0);
    let cause = |at: u64| Cause {
        why: Why::Blocked,
        entry: Entry::SystemCall(format!("a_system_call_with_a_long_name_{at}")),
        switches: 1000 - at,
        off_ns: Nanos(1_000_000),
        wait_ns: Nanos(1_000),
    };
    let named = |at: u32| Tasks {
        process: Some(at),
        name: format!("name of task {at}."),
        voluntary: 10_000,
        run_ns: Nanos(1_000_000_000),
        resident_bytes: Some(Bytes::mib(1)),
        causes: (0..40).map(cause).collect(),
        ..first.clone()
    };
    large.tasks = (1..500).map(named).collect();
    large.window_ns = Nanos(60_000_000_000);
    let load = |size_bytes, emptied, in_order| Load {
        size_bytes,
        chase_ns: 10.0,
        emptied_ns: emptied,
        emptied_by_page_ns: emptied,
        in_order_ns: Some(in_order),
    };
    large.calibration = Some(Calibration {
        measured_at: "2026-11-24T19:22:51.468684545Z".to_owned(),
        blocked: Some(cost(1500.0)),
        yielded: Some(cost(800.0)),
        preempted: Some(cost(8_000.0)),
        reloads: vec![Reload {
            size_bytes: Bytes::mib(1),
            walk_ns: 40_000.0,
            cost: cost(1200.0),
        }],
        loads: vec![
            load(Bytes::mib(1), Some(100.0), 1.0),
            load(Bytes::mib(64), None, 2.0),
        ],
    });
    large.known = vec![KnownReload {
        by: KnownBy::Inject,
        file: "injection.jsonl".to_owned(),
        command: Vec::new(),
        measured_at: String::new(),
        processes: (1..500).collect(),
        name: String::new(),
        points: vec![KnownPoint {
            away_bytes: Bytes::mib(1),
            away_ns: Some(Nanos(1_000_000)),
            ran_ns: Nanos(100_000),
            cost: cost(1200.0),
        }],
        preemption: None,
    }];
    large
}
