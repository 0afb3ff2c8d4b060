//! On an observation made by hand, whose costs can be worked out on paper.

use ::observation::{
    Behind, Calibration, Cause, Cost, Entry, Histogram, Lost, Observation, Pair, Reload, Source, Subject, Tasks, Waits,
    Why,
};
use units::{Bytes, Nanos};

use super::{Range, Widest, analyse};
use crate::testing;

pub(super) fn cost(ns: f64, half: f64) -> Cost {
    Cost { ns, low_ns: ns - half, high_ns: ns + half }
}

/// With a fourth of its cost to both sides.
fn reload(size_bytes: Bytes, walk_ns: f64, ns: f64) -> Reload {
    Reload { size_bytes, walk_ns, cost: cost(ns, ns / 4.0) }
}

fn calibration() -> Calibration {
    Calibration {
        measured_at: String::new(),
        blocked: Some(cost(1000.0, 100.0)),
        yielded: Some(cost(400.0, 50.0)),
        reloads: vec![reload(Bytes::kib(64), 640.0, 200.0), reload(Bytes::mib(1), 10_240.0, 2000.0)],
    }
}

pub(super) fn cause(why: Why, entry: Entry, switches: u64) -> Cause {
    Cause { why, entry, switches, off_ns: Nanos(switches * 700), wait_ns: Nanos(switches * 300) }
}

/// Others ran for 512 to 768 ns each time.
pub(super) fn tasks(causes: Vec<Cause>) -> Tasks {
    let of =
        |is: bool| causes.iter().filter(|cause| cause.why.is_involuntary() == is).map(|cause| cause.switches).sum();
    let all = causes.iter().map(|cause| cause.switches).sum();
    Tasks {
        process: Some(7),
        process_inside: None,
        control_group: None,
        name: "worker".to_owned(),
        count: 1,
        is_kernel: false,
        voluntary: of(false),
        involuntary: of(true),
        run_ns: Nanos(10_000_000),
        off_ns: Nanos(0),
        wait_ns: Nanos(0),
        others_ns: Nanos(0),
        moved: [0; 3],
        off_at_end: 0,
        off_at_end_ns: Nanos(0),
        resident_bytes: Some(Bytes::mib(1)),
        referenced_bytes: None,
        causes,
        off: Histogram::of([0, 0, 0, all]),
        wait: Histogram::of([0, all, 0]),
        others: Histogram::of([0, 0, 0, all, 0]),
    }
}

pub(super) fn observation(tasks: Tasks) -> Observation {
    Observation {
        schema: Observation::schema_now(),
        program: String::new(),
        started_at: String::new(),
        host: testing::host(),
        subject: Subject::Everything,
        requests: None,
        window_ns: Nanos(2_000_000_000),
        is_unfinished: false,
        source: Source::Bpf,
        not_counted_by: Vec::new(),
        cpus: Vec::new(),
        tasks: vec![tasks],
        pairs: Vec::new(),
        waits: Vec::new(),
        longest_waits: Vec::new(),
        lost: Lost::default(),
        in_scheduler: None,
        own_cost: None,
        throttled: Vec::new(),
        moments: Vec::new(),
        stacks: None,
        slice_extensions: None,
        calibration: Some(calibration()),
    }
}

pub(super) fn read() -> Entry {
    Entry::SystemCall("read".to_owned())
}

#[test]
fn the_direct_cost_is_that_of_each_cause() {
    let causes = vec![
        cause(Why::Blocked, read(), 100),
        cause(Why::Yielded, Entry::SystemCall("sched_yield".to_owned()), 10),
        cause(Why::SliceEnded, Entry::Interrupt, 1),
    ];
    let found = analyse(&observation(tasks(causes)));
    assert_eq!((found.all.switches, found.all.involuntary, found.all.per_second), (111, 11, 55.5));
    // A preemption: from a yield's lower end to the upper end of a switch that blocks, and its centre is the yield's.
    let expected = Range {
        low: 90_000.0 + 3_500.0 + 350.0,
        likely: Some(100_000.0 + 4_000.0 + 400.0),
        high: 110_000.0 + 4_500.0 + 1_100.0,
    };
    assert_eq!(found.all.direct_ns, Some(expected));
}

#[test]
fn a_reload_costs_no_more_than_others_ran_and_no_more_than_all_memory_takes() {
    // 1 MiB takes up to 2,500 ns, and others ran for less than 768: evicting costs a load each.
    let high = |tasks: Tasks| analyse(&observation(tasks)).all.indirect_ns.map(|range| range.high);
    let blocked = || tasks(vec![cause(Why::Blocked, read(), 100)]);
    assert_eq!(high(blocked()), Some(76_800.0));
    // 16 KiB take a quarter of 250.
    assert_eq!(high(Tasks { resident_bytes: Some(Bytes::kib(16)), ..blocked() }), Some(6_250.0));
    // Of 130 us that it ran, 90 at least were the switches themselves.
    assert_eq!(high(Tasks { run_ns: Nanos(130_000), ..blocked() }), Some(40_000.0));
    let found = analyse(&observation(blocked()));
    assert_eq!((found.all.indirect_ns.map(|range| range.low), found.widest), (Some(0.0), Some(Widest::Footprint)));
}

#[test]
fn likely_is_a_reload_of_what_was_touched_as_far_as_there_was_time_to_touch_it() {
    let likely = |tasks: Tasks| analyse(&observation(tasks)).all.indirect_ns.and_then(|range| range.likely);
    let blocked = || tasks(vec![cause(Why::Blocked, read(), 100)]);
    // In the 640 ns of the others 64 KiB are walked, whose reload takes 200 ns.
    assert_eq!(likely(blocked()), Some(20_000.0));
    assert_eq!(likely(Tasks { referenced_bytes: Some(Bytes::kib(32)), ..blocked() }), Some(10_000.0));
    // Each turn of 1,160 ns holds a switch of 1,000, and a walk over 16 KiB.
    assert_eq!(likely(Tasks { run_ns: Nanos(116_000), ..blocked() }), Some(5_000.0));
    // Of one that ended before it was looked at, nothing is known but the size of the caches.
    assert_eq!(likely(Tasks { resident_bytes: None, ..blocked() }), None);
}

#[test]
fn another_core_has_nothing_of_it_cached() {
    let moved =
        Tasks { moved: [5, 2, 1], others: Histogram::of([1, 0]), ..tasks(vec![cause(Why::Blocked, read(), 9)]) };
    // One switch of less than 256 ns, and three moves to other cores; the five within a core lose nothing.
    assert_eq!(analyse(&observation(moved)).all.indirect_ns.map(|range| range.high), Some(256.0 + 3.0 * 2_500.0));
}

#[test]
fn without_the_costs_of_the_machine_switches_are_counted_and_not_priced() {
    let unknown = Observation { calibration: None, ..observation(tasks(vec![cause(Why::Blocked, read(), 100)])) };
    let found = analyse(&unknown);
    assert_eq!((found.all.switches, found.all.cost_ns, found.all.share, found.widest), (100, None, None, None));
}

#[test]
fn a_request_has_its_share_of_the_cost() {
    let served = Observation { requests: Some(50), ..observation(tasks(vec![cause(Why::Blocked, read(), 100)])) };
    let found = analyse(&served);
    assert_eq!(found.switches_a_request, Some(2.0));
    // Two switches of 1,000, and two reloads of 200; at most 1,100 and 768.
    assert_eq!(found.cost_a_request_ns, Some(Range { low: 1_800.0, likely: Some(2_400.0), high: 3_736.0 }));
    let none = Observation { requests: Some(0), ..served };
    assert_eq!(analyse(&none).cost_a_request_ns, None);
}

#[test]
fn quantiles_are_ends_of_buckets_and_open_where_the_last_has_none() {
    let found = analyse(&observation(tasks(vec![cause(Why::Blocked, read(), 100)])));
    let wait = found.wait.expect("waits were counted");
    assert_eq!((wait.count, wait.p50_ns, wait.max_ns), (100, Some(384.0), Some(384.0)));
    assert_eq!(found.off.expect("counted").p50_ns, None);
}

fn pair(name: &str, other: Option<u32>, preempted: u64) -> Pair {
    let (process_name, name) = ("worker".to_owned(), name.to_owned());
    Pair {
        process: 7,
        process_name,
        other,
        name,
        ran_ns: Nanos(5_000),
        runs: 9,
        preempted,
        woke: 0,
        kept_waiting_ns: Nanos(400),
        kept_waiting: 2,
    }
}

#[test]
fn waits_for_a_cpu_are_by_the_name_of_who_had_it_and_add_up() {
    let mut observed = observation(tasks(vec![cause(Why::PreemptedByWoken, read(), 1000)]));
    observed.pairs = vec![pair("wrk", Some(9), 0), pair("wrk", Some(10), 0), pair("kworker", None, 0)];
    let nothing = Nanos(0);
    let waits = |process, nobody_ns, others_ns| Waits {
        process,
        process_name: "worker".to_owned(),
        nobody_ns: Nanos(nobody_ns),
        throttled_ns: nothing,
        moved_ns: nothing,
        others_ns: Nanos(others_ns),
    };
    observed.waits = vec![waits(7, 300, 0), waits(8, 300, 200)];
    let found: Vec<_> =
        analyse(&observed).kept_waiting.into_iter().map(|each| (each.behind, each.wait_ns, each.runs)).collect();
    let expected = [
        (Behind::Process("wrk".to_owned()), 800.0, Some(4)),
        (Behind::Nobody, 600.0, None),
        (Behind::Kernel, 400.0, Some(2)),
        (Behind::Others, 200.0, None),
    ];
    assert_eq!(found, expected);
    let share: f64 = analyse(&observed).kept_waiting.iter().map(|each| each.share).sum();
    assert!((share - 1.0).abs() < 1e-9);
}

#[test]
fn threads_of_a_pool_are_one_row_and_who_has_most_of_a_cause() {
    let named =
        |name: &str, switches| Tasks { name: name.to_owned(), ..tasks(vec![cause(Why::Blocked, read(), switches)]) };
    let mut pool = observation(named("main", 50));
    pool.tasks.extend((1..=9).map(|at| named(&format!("pool-1-thread-{at}"), 10)));
    let found = analyse(&pool);
    let rows: Vec<(&str, u64, u64)> =
        found.names.iter().map(|found| (found.name.as_str(), found.tasks, found.switches)).collect();
    assert_eq!(rows, [("pool-1-thread-*", 9, 90), ("main", 1, 50)]);
    assert_eq!(found.causes[0].mostly, "pool-1-thread-*");
    // One alone is no pool.
    pool.tasks.truncate(2);
    assert!(analyse(&pool).names.iter().any(|found| found.name == "pool-1-thread-1"));
}

#[test]
fn everybody_can_be_listed_by_control_group() {
    let of = |process, group: Option<&str>, switches| Tasks {
        process,
        control_group: group.map(str::to_owned),
        ..tasks(vec![cause(Why::Blocked, read(), switches)])
    };
    let mut all = observation(of(Some(1), Some("/system.slice/nginx.service"), 400));
    all.tasks.extend([
        of(Some(2), Some("/system.slice/nginx.service"), 400),
        of(Some(3), Some("/"), 300),
        of(None, None, 200),
        Tasks { is_kernel: true, ..of(Some(4), None, 100) },
    ]);
    let found = analyse(&all);
    let rows: Vec<(&str, u64)> = found.groups.iter().map(|found| (found.name.as_str(), found.switches)).collect();
    let expected = [
        ("/system.slice/nginx.service", 800),
        ("/", 300),
        ("(not known: ended)", 200),
        ("(threads of the kernel)", 100),
    ];
    assert_eq!(rows, expected);
}
