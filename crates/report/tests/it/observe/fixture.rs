//! A synthetic record of an observation with something of every kind.

use serde_json::{Value, json};
use switchcost_record::observation::Observation;

/// Makes observed programs, of which the first and the last have these names.
pub(crate) fn observed(first: &str, last: &str) -> Observation {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../fuzz/corpus/observation_record/small");
    let mut record: Value =
        serde_json::from_slice(&std::fs::read(path).expect("read")).expect("JSON");
    record["window_ns"] = json!(4_000_000_000_u64);
    record["tasks"] = json!([
        tasks(101, first, 40, [30_000, 900, 4_000, 120]),
        tasks(102, "postgres", 44, [9_000, 7_000, 10, 2_500]),
        tasks(103, last, 36, [100, 0, 12, 8_000]),
        kernel(tasks(17, "kworker/0:1", 30, [2_000, 0, 0, 0])),
    ]);
    record["pairs"] = json!([
        pair(101, first, Some(900), "cc1", 2_100),
        pair(101, first, Some(901), last, 400),
        pair(101, first, None, "", 60),
        pair(102, "postgres", Some(902), "pgbench", 900),
        pair(103, last, Some(101), first, 1_200),
        pair(103, last, Some(903), "a neighbour whose name is long", 3),
    ]);
    record["waits"] = json!([waits(101, first, 90), waits(102, "postgres", 10)]);
    record["moments"] = (1..=40).map(moment).collect();
    record["calibration"] = calibration();
    serde_json::from_value(record).expect("a record of this version")
}

fn tasks(process: u32, name: &str, usual_bucket: usize, switches: [u64; 4]) -> Value {
    let [waits, woken, yields, slices] = switches;
    let all = waits + woken + yields + slices;
    let cause = |why: &str, entry: Value, switches: u64| {
        let (off_ns, wait_ns) = (switches * 60_000, switches * 20_000);
        json!({ "why": why, "entry": entry, "switches": switches, "off_ns": off_ns, "wait_ns": wait_ns })
    };
    let causes = [
        cause("blocked", json!({ "system-call": "epoll_wait" }), waits),
        cause(
            "preempted-by-woken",
            json!({ "system-call": "write" }),
            woken,
        ),
        cause("yielded", json!({ "system-call": "sched_yield" }), yields),
        cause("slice-ended", json!("interrupt"), slices),
    ];
    json!({
        "process": process, "name": name, "count": 1, "is_kernel": false,
        "voluntary": waits, "involuntary": woken + yields + slices,
        "run_ns": all * 40_000, "off_ns": all * 60_000, "wait_ns": all * 20_000, "others_ns": all * 20_000,
        "moved": [0, 3, 0], "off_at_end": 1, "off_at_end_ns": 1_000_000,
        "resident_bytes": 8 << 20,
        "causes": causes.iter().filter(|cause| cause["switches"] != 0).collect::<Vec<_>>(),
        "off": around(usual_bucket, all), "wait": around(usual_bucket - 4, all), "others": around(usual_bucket - 6, all),
        "turns": [],
    })
}

fn kernel(mut tasks: Value) -> Value {
    tasks["is_kernel"] = json!(true);
    tasks
}

/// Makes a histogram with most counts in one bucket.
fn around(bucket: usize, all: u64) -> Vec<u64> {
    let mut counts = vec![0; 56];
    for (at, share) in [
        (bucket - 8, 20),
        (bucket - 2, 6),
        (bucket, 2),
        (bucket + 2, 10),
        (bucket + 3, 40),
    ] {
        counts[at] = all / share;
    }
    counts
}

fn pair(process: u32, process_name: &str, other: Option<u32>, name: &str, waited_ms: u64) -> Value {
    json!({
        "process": process, "process_name": process_name, "other": other, "name": name,
        "ran_ns": waited_ms * 1_500_000, "runs": waited_ms, "preempted": waited_ms / 10, "woke": 0,
        "kept_waiting_ns": waited_ms * 1_000_000, "kept_waiting": waited_ms / 2,
    })
}

fn waits(process: u32, process_name: &str, ms: u64) -> Value {
    json!({
        "process": process, "process_name": process_name, "nobody_ns": ms * 1_000_000, "throttled_ns": ms * 3_000_000,
        "moved_ns": ms * 500_000, "others_ns": ms * 700_000,
    })
}

fn moment(at: u64) -> Value {
    let busy = at % 7;
    json!({
        "end_ns": at * 100_000_000, "voluntary": 900 + 40 * busy, "involuntary": 300 * (busy / 5),
        "run_ns": 90_000_000, "wait_ns": 15_000_000 * busy,
    })
}

fn calibration() -> Value {
    let cost = |ns: f64| json!({ "ns": ns, "low_ns": ns * 0.9, "high_ns": ns * 1.2 });
    json!({
        "measured_at": "2026-11-24T19:22:51.468684545Z", "blocked": cost(1_900.0), "yielded": cost(800.0),
        "reloads": [
            { "size_bytes": 64 << 10, "walk_ns": 900.0, "cost": cost(300.0) },
            { "size_bytes": 1 << 20, "walk_ns": 20_000.0, "cost": cost(3_000.0) },
        ],
        "loads": [],
    })
}
