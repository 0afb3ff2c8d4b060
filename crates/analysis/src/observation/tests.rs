//! Tests on synthetic observations whose costs can be computed by hand.

use switchcost_record::observation::{
    Behind, Calibration, CallSite, CallSlice, Cause, Cost, Entry, Histogram, KnownBy, KnownPoint,
    KnownReload, Load, Observation, Pair, Reload, Source, Subject, Tasks, ThreadCalls, TracedCalls,
    Waits, Why,
};
use switchcost_units::{Bytes, Nanos};

use super::{Change, ProcessFinding, Range, UnknownBecause, analyse};
use crate::testing::{assert_is_near, host};

pub(crate) fn cost(ns: f64, half: f64) -> Cost {
    Cost {
        ns,
        low_ns: ns - half,
        high_ns: ns + half,
    }
}

/// Creates a reload whose interval extends by a quarter of its cost on both sides.
fn reload(size_bytes: Bytes, walk_ns: f64, ns: f64) -> Reload {
    Reload {
        size_bytes,
        walk_ns,
        cost: cost(ns, ns / 4.0),
    }
}

/// Creates load times with empty caches: 100 ns for a line, and 300 ns for the first line of each
/// page.
fn load(size_bytes: Bytes, chase_ns: f64, in_order_ns: f64) -> Load {
    let (emptied_ns, emptied_by_page_ns) = (Some(100.0), Some(300.0));
    Load {
        size_bytes,
        chase_ns,
        emptied_ns,
        emptied_by_page_ns,
        in_order_ns: Some(in_order_ns),
    }
}

fn calibration() -> Calibration {
    Calibration {
        measured_at: String::new(),
        blocked: Some(cost(1000.0, 100.0)),
        yielded: Some(cost(400.0, 50.0)),
        preempted: Some(cost(5000.0, 500.0)),
        reloads: vec![
            reload(Bytes::kib(64), 640.0, 200.0),
            reload(Bytes::mib(1), 10_240.0, 2000.0),
        ],
        loads: vec![
            load(Bytes::kib(64), 20.0, 1.0),
            load(Bytes::mib(2), 20.0, 1.0),
            load(Bytes::mib(32), 20.0, 1.0),
            load(Bytes::mib(64), 100.0, 2.0),
        ],
    }
}

pub(super) fn cause(why: Why, entry: Entry, switches: u64) -> Cause {
    Cause {
        why,
        entry,
        switches,
        off_ns: Nanos(switches * 700),
        wait_ns: Nanos(switches * 300),
    }
}

/// Creates tasks of this name that waited for input.
pub(super) fn named(name: &str, switches: u64) -> Tasks {
    Tasks {
        name: name.to_owned(),
        ..blocked(switches)
    }
}

/// Creates tasks between whose time slices others ran for 512 to 768 ns each.
pub(super) fn tasks(causes: Vec<Cause>) -> Tasks {
    let of = |is: bool| {
        causes
            .iter()
            .filter(|cause| cause.why.is_involuntary() == is)
            .map(|cause| cause.switches)
            .sum()
    };
    let all = causes.iter().map(|cause| cause.switches).sum();
    Tasks {
        count: 1,
        voluntary: of(false),
        involuntary: of(true),
        run_ns: Nanos(100_000_000),
        resident_bytes: Some(Bytes::mib(1)),
        causes,
        off: Histogram::new([0, 0, 0, all]),
        wait: Histogram::new([0, all, 0]),
        others: Histogram::new([0, 0, 0, all, 0]),
        ..Tasks::empty(Some(7), "worker".to_owned())
    }
}

pub(super) fn observation(tasks: Tasks) -> Observation {
    Observation {
        window_ns: Nanos(2_000_000_000),
        source: Source::Bpf,
        tasks: vec![tasks],
        calibration: Some(calibration()),
        ..Observation::empty(host(), String::new())
    }
}

pub(super) fn read() -> Entry {
    Entry::SystemCall("read".to_owned())
}

/// Creates tasks that left the CPU for one reason.
pub(super) fn left(why: Why, entry: Entry, switches: u64) -> Tasks {
    tasks(vec![cause(why, entry, switches)])
}

/// Creates tasks that waited for input.
pub(super) fn blocked(switches: u64) -> Tasks {
    left(Why::Blocked, read(), switches)
}

/// Gives the tasks so much CPU time that it limits no cost.
fn busy(tasks: Tasks) -> Tasks {
    Tasks {
        run_ns: Nanos(1_000_000_000),
        ..tasks
    }
}

fn direct(tasks: Tasks) -> Option<Range> {
    analyse(&observation(tasks)).all.direct_ns
}

fn range(low: f64, likely: f64, high: f64) -> Option<Range> {
    Some(Range {
        low,
        likely: Some(likely),
        high,
    })
}

#[test]
fn the_direct_cost_is_that_of_each_cause() {
    let causes = vec![
        cause(Why::Blocked, read(), 100),
        cause(
            Why::Yielded,
            Entry::SystemCall("sched_yield".to_owned()),
            10,
        ),
        cause(Why::PreemptedByWoken, read(), 1),
    ];
    let found = analyse(&observation(tasks(causes.clone())));
    assert_eq!(
        (
            found.all.switches,
            found.all.involuntary,
            found.all.per_second
        ),
        (111, 11, 55.5)
    );
    // A preemption costs from the lower end of a yield to the upper end of a blocking switch, and
    // its centre is that of the yield.
    let expected = range(
        90_000.0 + 3_500.0 + 350.0,
        100_000.0 + 4_000.0 + 400.0,
        110_000.0 + 4_500.0 + 1_100.0,
    );
    assert_eq!(direct(tasks(causes)), expected);
}

#[test]
fn a_preemption_out_of_an_interrupt_costs_the_interrupt_too_and_one_by_a_wake_up_in_a_call_does_not()
 {
    let of = |why, entry| direct(left(why, entry, 10));
    assert_eq!(
        of(Why::PreemptedByWoken, read()),
        range(3_500.0, 4_000.0, 11_000.0)
    );
    // Both switches and the interrupt take twice 5,000 ns, up to 11,000 ns, of which the other
    // switch, which waits, takes at least 900 ns.
    assert_eq!(
        of(Why::PreemptedByWoken, Entry::Interrupt),
        range(3_500.0, 50_000.0, 101_000.0)
    );
    // The tick also comes without a switch.
    assert_eq!(
        of(Why::SliceEnded, Entry::Interrupt),
        range(3_500.0, 4_000.0, 101_000.0)
    );
    let woken = left(Why::PreemptedByWoken, Entry::Interrupt, 10);
    let interrupts_ns = analyse(&observation(woken)).all.interrupts_ns;
    assert_eq!(interrupts_ns, range(0.0, 46_000.0, 90_000.0));
}

#[test]
fn without_a_measured_preemption_the_cost_of_one_has_no_upper_end_but_all_of_the_time() {
    let mut older = observation(left(Why::PreemptedByWoken, Entry::Interrupt, 10));
    older.calibration = Some(Calibration {
        preempted: None,
        ..calibration()
    });
    let found = analyse(&older).all;
    assert_eq!(found.direct_ns.map(|range| range.high), found.cpu_ns);
    assert!(found.direct_share.is_some_and(|share| !share.is_bounded()));
}

/// Creates known costs of cold caches for a process. A switch costs `ns` if another task touched 64
/// KiB in 640 ns, and twice `ns` if it touched 1 MiB in 10,240 ns.
pub(crate) fn known(by: KnownBy, process: u32, ns: f64) -> KnownReload {
    KnownReload {
        by,
        file: String::new(),
        command: Vec::new(),
        measured_at: String::new(),
        processes: vec![process],
        name: String::new(),
        points: vec![
            point(64, 640, cost(ns, 0.0)),
            point(1024, 10_240, cost(2.0 * ns, 0.0)),
        ],
        preemption: None,
    }
}

fn point(kib: u64, away_ns: u64, cost: Cost) -> KnownPoint {
    KnownPoint {
        away_bytes: Bytes::kib(kib),
        away_ns: Some(Nanos(away_ns)),
        ran_ns: Nanos(1_000),
        cost,
    }
}

#[test]
fn what_cold_caches_cost_is_known_of_the_program_itself_or_not_at_all() {
    let mut observed = observation(busy(blocked(100)));
    let found = |observed: &Observation| {
        let found = analyse(observed).all;
        let likely = found.indirect_ns.and_then(|range| range.likely);
        (found.likely_by, likely, found.share.is_some())
    };
    assert_eq!(found(&observed), (None, None, false));
    observed.known = vec![known(KnownBy::Inject, 6, 800.0)];
    assert_eq!(found(&observed), (None, None, false));
    observed.known.push(known(KnownBy::Inject, 7, 700.0));
    let expected = (Some(KnownBy::Inject), Some(70_000.0), true);
    assert_eq!(found(&observed), expected);
    // A live process is identified by its number.
    observed.known[1].processes = vec![8];
    assert_eq!(found(&observed), (None, None, false));
}

#[test]
fn traced_calls_belong_to_a_program_or_are_lost() {
    let mut observed = observation(Tasks {
        process: None,
        process_name: Some("java".to_owned()),
        ..busy(blocked(100))
    });
    let why = |observed: &Observation| analyse(observed).all.indirect_unknown_because;
    assert_eq!(why(&observed), Some(UnknownBecause::NotTraced));
    let thread = |process_name: &str| ThreadCalls {
        process_name: process_name.to_owned(),
        site: vec![0; 3],
        after_us: vec![1; 3],
        call_ns: vec![1; 3],
        user_ns: vec![1; 3],
        ..ThreadCalls::default()
    };
    let site = CallSite {
        call: "read".to_owned(),
        address: 1,
        result: 1,
        has_woken: false,
        next: "read".to_owned(),
    };
    let slice = CallSlice {
        began_ns: Nanos(0),
        length_ns: Nanos(1),
        threads: vec![thread("java"), thread("other")],
    };
    observed.calls = Some(TracedCalls {
        sites: vec![site],
        slices: vec![slice],
        traced: 6,
        lost: 2,
    });
    let found = analyse(&observed);
    assert_eq!(found.matched[0].calls, 3);
    assert_eq!(found.calls_lost, Some(5));
    assert_eq!(why(&observed), Some(UnknownBecause::TooFew));
}

#[test]
fn after_inject_its_interval_is_the_range() {
    let point = |kib, away_ns, ns| point(kib, away_ns, cost(ns, 0.1 * ns));
    let mut observed = observation(busy(left(Why::PreemptedByWoken, Entry::Interrupt, 100)));
    let without = analyse(&observed);
    observed.known = vec![KnownReload {
        points: vec![point(64, 512, 700.0), point(128, 768, 900.0)],
        preemption: Some(cost(5_000.0, 500.0)),
        ..known(KnownBy::Inject, 7, 0.0)
    }];
    let found = analyse(&observed);
    let range = found.all.indirect_ns.expect("it is priced");
    // Others ran for 512 to 768 ns; 96 KiB are touched in the middle of this range.
    assert_eq!(
        [range.low, range.likely.expect("known"), range.high].map(f64::round),
        [63_000.0, 80_000.0, 99_000.0]
    );
    // The interrupt is measured on the program itself: with the switch it is 5 us.
    let direct = found.all.direct_ns.expect("it is priced");
    assert_is_near(direct.likely.expect("known"), 500_000.0, 1e-9);
    assert_ne!(Some(direct), without.all.direct_ns);
}

#[test]
fn who_left_and_did_not_come_back_has_reloaded_nothing() {
    let left = Tasks {
        run_ns: Nanos(50_000),
        others: Histogram::default(),
        off: Histogram::default(),
        off_at_end: 1,
        ..blocked(1)
    };
    let mut observed = observation(left);
    observed.known = vec![known(KnownBy::Inject, 7, 900.0)];
    assert_eq!(analyse(&observed).all.indirect_ns, Some(Range::NOTHING));
}

#[test]
fn few_switches_of_which_nothing_is_known_do_not_take_away_what_is_known_of_all() {
    let likely = |switches: u64| {
        let mut both = observation(busy(blocked(100)));
        both.known = vec![known(KnownBy::Inject, 7, 900.0)];
        both.tasks.push(Tasks {
            process: Some(8),
            ..busy(blocked(switches))
        });
        let found = analyse(&both).all;
        found.indirect_ns.and_then(|range| range.likely)
    };
    assert_eq!(likely(10), Some(90_000.0));
    assert_eq!(likely(100), None);
}

#[test]
fn another_core_has_nothing_of_it_cached() {
    let mut observed = observation(Tasks {
        moved: [5, 2, 1],
        others: Histogram::new([0, 0, 0, 1, 0]),
        ..busy(blocked(9))
    });
    observed.known = vec![known(KnownBy::Inject, 7, 900.0)];
    // One switch after 512 to 768 ns, and three moves to other cores, cost time; the five moves
    // within a core lose nothing.
    let found = analyse(&observed).all.indirect_ns.expect("it is known");
    assert_eq!(found.likely, Some(900.0 + 3.0 * 1_800.0));
}

#[test]
fn less_than_a_hundredth_of_a_cpu_is_negligible_whatever_share_of_its_time_it_is() {
    let idle = analyse(&observation(Tasks {
        run_ns: Nanos(500_000),
        ..blocked(100)
    }));
    assert!(idle.all.is_negligible());
    let [advice] = &idle.advice[..] else {
        panic!("{:?}", idle.advice)
    };
    assert_eq!(advice.change, Change::Nothing);
    let many = analyse(&observation(busy(blocked(1000))));
    assert!(!many.all.is_negligible());
}

#[test]
fn the_costliest_by_what_is_likely_or_direct_comes_first() {
    let mut several = observation(busy(named("more often", 100)));
    several.tasks.push(Tasks {
        process: Some(8),
        ..busy(named("colder", 80))
    });
    let first = |observed: &Observation| analyse(observed).names[0].name.clone();
    assert_eq!(first(&several), "more often");
    several.known = vec![known(KnownBy::Inject, 8, 900.0)];
    assert_eq!(first(&several), "colder");
}

#[test]
fn without_the_costs_of_the_machine_switches_are_counted_and_not_priced() {
    let unknown = Observation {
        calibration: None,
        ..observation(blocked(100))
    };
    let found = analyse(&unknown);
    assert_eq!(
        (found.all.switches, found.all.cost_ns, found.all.share),
        (100, None, None)
    );
}

#[test]
fn a_request_has_its_share_of_the_cost() {
    let served = Observation {
        requests: Some(50),
        known: vec![known(KnownBy::Inject, 7, 900.0)],
        ..observation(busy(blocked(100)))
    };
    let found = analyse(&served);
    assert_eq!(found.switches_a_request, Some(2.0));
    // The cost is that of two switches of 900 to 1,100 ns, and the reload after 512 to 768 ns of
    // other tasks.
    let cost = found.cost_a_request_ns.expect("all is known");
    assert_eq!((cost.low, cost.likely), (1_800.0 + 1_440.0, Some(3_800.0)));
    let none = Observation {
        requests: Some(0),
        ..served
    };
    assert_eq!(analyse(&none).cost_a_request_ns, None);
}

#[test]
fn quantiles_are_ends_of_buckets_and_open_where_the_last_has_none() {
    let found = analyse(&observation(blocked(100)));
    let wait = found.wait.expect("waits were counted");
    assert_eq!(
        (wait.count, wait.p50_ns, wait.max_ns),
        (100, Some(384.0), Some(384.0))
    );
    assert_eq!(found.off.expect("counted").p50_ns, None);
}

pub(crate) fn pair(name: &str, other: Option<u32>, preempted: u64) -> Pair {
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
fn the_main_preemptor_has_the_preemptions_of_all_observed_programs() {
    let of = |observed: &str, other: &str, preempted| Pair {
        process_name: observed.to_owned(),
        ..pair(other, Some(9), preempted)
    };
    let mut both = observation(left(Why::PreemptedByWoken, Entry::Interrupt, 100));
    both.pairs = vec![
        of("nginx", "cron", 45),
        of("nginx", "stress", 30),
        of("redis", "stress", 25),
    ];
    let found = analyse(&both);
    let (program, share) = found.main_preemptor().expect("more than half");
    assert_eq!(program.other, "stress");
    assert_is_near(share, 0.55, 1e-9);
    both.pairs[2].preempted = 5;
    assert_eq!(analyse(&both).main_preemptor(), None);
}

/// Creates waits of a process for an idle CPU, for its quota, and behind others.
pub(super) fn waits(process: u32, ns: [u64; 3]) -> Waits {
    let [nobody_ns, throttled_ns, others_ns] = ns.map(Nanos);
    Waits {
        process,
        process_name: "worker".to_owned(),
        nobody_ns,
        throttled_ns,
        moved_ns: Nanos(0),
        others_ns,
    }
}

#[test]
fn waits_for_a_cpu_are_by_the_name_of_who_had_it_and_add_up() {
    let mut observed = observation(left(Why::PreemptedByWoken, read(), 1000));
    observed.pairs = vec![
        pair("wrk", Some(9), 0),
        pair("wrk", Some(10), 0),
        pair("kworker", None, 0),
    ];
    observed.waits = vec![waits(7, [300, 0, 0]), waits(8, [300, 0, 200])];
    let found: Vec<_> = analyse(&observed)
        .kept_waiting
        .into_iter()
        .map(|each| (each.behind, each.wait_ns, each.waits))
        .collect();
    let expected = [
        (Behind::Process("wrk".to_owned()), 800.0, Some(4)),
        (Behind::Nobody, 600.0, None),
        (Behind::Kernel, 400.0, Some(2)),
        (Behind::Others, 200.0, None),
    ];
    assert_eq!(found, expected);
    let shares = analyse(&observed).kept_waiting.into_iter();
    assert_is_near(shares.map(|each| each.share).sum(), 1.0, 1e-9);
}

/// Returns the name, the number of tasks and the number of switches of each row.
fn rows(found: &[ProcessFinding]) -> Vec<(&str, u64, u64)> {
    found
        .iter()
        .map(|found| (found.name.as_str(), found.tasks, found.switches))
        .collect()
}

#[test]
fn threads_of_a_pool_are_one_row_and_who_has_most_of_a_cause() {
    let mut pool = observation(named("main", 50));
    pool.tasks
        .extend((1..=9).map(|at| named(&format!("pool-1-thread-{at}"), 10)));
    let found = analyse(&pool);
    assert_eq!(
        rows(&found.names),
        [("pool-1-thread-*", 9, 90), ("main", 1, 50)]
    );
    assert_eq!(found.causes[0].mostly, "pool-1-thread-*");
    // A single name does not make a pool.
    pool.tasks.truncate(2);
    let mut names = analyse(&pool).names.into_iter();
    assert!(names.any(|found| found.name == "pool-1-thread-1"));
}

#[test]
fn everybody_can_be_listed_by_control_group() {
    let of = |process, group: Option<&str>, switches| Tasks {
        process,
        control_group: group.map(str::to_owned),
        ..blocked(switches)
    };
    let mut all = observation(of(Some(1), Some("/system.slice/nginx.service"), 400));
    all.tasks.extend([
        of(Some(2), Some("/system.slice/nginx.service"), 400),
        of(Some(3), Some("/"), 300),
        of(None, None, 200),
        Tasks {
            is_kernel: true,
            ..of(Some(4), None, 100)
        },
    ]);
    let expected = [
        ("/system.slice/nginx.service", 2, 800),
        ("/", 1, 300),
        ("(not known: ended)", 1, 200),
        ("(threads of the kernel)", 1, 100),
    ];
    assert_eq!(rows(&analyse(&all).groups), expected);
}

#[test]
fn a_cause_that_no_task_came_back_from_has_no_times() {
    let gone = Cause {
        off_ns: Nanos(0),
        wait_ns: Nanos(0),
        ..cause(Why::PreemptedByQueued, read(), 2)
    };
    let found = analyse(&observation(tasks(vec![
        cause(Why::Blocked, read(), 10),
        gone,
    ])))
    .causes;
    let times: Vec<_> = found
        .iter()
        .map(|cause| (cause.why, cause.off_ns, cause.wait_ns))
        .collect();
    assert_eq!(
        times,
        [
            (Why::Blocked, Some(700.0), Some(300.0)),
            (Why::PreemptedByQueued, None, None)
        ]
    );
}

#[test]
fn means_are_over_the_switches_that_tasks_came_back_from() {
    let back = |switches| cause(Why::Blocked, read(), switches);
    let observed = observation(Tasks {
        off_at_end: 1,
        ..tasks(vec![
            Cause {
                switches: 4,
                ..back(3)
            },
            cause(Why::SliceEnded, Entry::Interrupt, 2),
        ])
    });
    let found = analyse(&observed).causes;
    let times = found
        .iter()
        .map(|cause| (cause.switches, cause.off_ns, cause.wait_ns));
    let expected = [(4, Some(700.0), Some(300.0)), (2, Some(700.0), Some(300.0))];
    assert_eq!(times.collect::<Vec<_>>(), expected);
}

#[test]
fn a_process_has_one_name_whatever_its_threads_are_called() {
    let thread = |process, name, switches| Tasks {
        process,
        process_name: Some("java".to_owned()),
        ..named(name, switches)
    };
    let mut observed = observation(thread(Some(7), "VM Periodic Tas", 90));
    observed.tasks.extend([
        thread(Some(7), "GC Thread#0", 10),
        thread(None, "VM Thread", 5),
    ]);
    let found = analyse(&observed);
    assert_eq!(rows(&found.processes), [("java", 2, 100), ("java", 1, 5)]);
    assert_eq!(rows(&found.names), [("java", 3, 105)]);
    assert_eq!(found.threads.len(), 3);
    let alone = observation(blocked(1));
    assert!(
        analyse(&alone).threads.is_empty(),
        "it says no more than the names"
    );
}

#[test]
fn kernel_threads_count_only_where_they_are_named() {
    let threads = Tasks {
        is_kernel: true,
        ..blocked(100)
    };
    for (subject, switches) in [(Subject::Processes(vec![7]), 100), (Subject::Everything, 0)] {
        let observed = Observation {
            subject,
            ..observation(threads.clone())
        };
        assert_eq!(analyse(&observed).all.switches, switches);
    }
}
