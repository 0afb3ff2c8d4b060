//! Synthetic findings: one of each kind that a report has to show.

use std::collections::BTreeMap;

use switchcost_analysis::{
    Band, CaseFinding, CounterFinding, Curve, CurvePoint, Estimate, Excluded, Findings, Flag,
    FlagName, Interval, Knee, LoadLatency, LosesMore, Region, Reload, SharedCache, Tail, Verdict,
    Wanted,
};
use switchcost_record::{Between, Case, Mechanism, Placement, Policy, Relation};
use switchcost_units::{Bytes, CpuId};
use switchcost_workload::WorkingSet;

pub(crate) fn estimate(low: f64, estimate: f64, high: f64) -> Estimate {
    let t90 = Some((low - 1.0, high + 1.0));
    Estimate {
        estimate,
        low,
        high,
        within_run: (low, high),
        n: 55,
        confidence: 0.9031,
        method: "median, binomial interval",
        t90,
        sd: 9.5,
    }
}

/// Makes an estimate with an interval of half a percent to each side.
pub(crate) fn about(ns: f64) -> Estimate {
    estimate(ns * 0.995, ns, ns * 1.005)
}

pub(crate) fn case(mechanism: Mechanism, between: Between) -> Case {
    Case::plain(
        mechanism,
        between,
        Placement::one_cpu(CpuId(1)),
        Policy::Fifo,
    )
}

pub(crate) fn sized(tasks: u32, kib: u64) -> Case {
    let working_set = WorkingSet {
        size_bytes: Bytes::kib(kib),
        ..WorkingSet::NONE
    };
    Case {
        tasks,
        working_set,
        ..case(Mechanism::Pipe, Between::Process)
    }
}

pub(crate) fn on(cpus: [u32; 2], relation: Relation) -> Case {
    let placement = Placement {
        cpus: cpus.map(CpuId).to_vec(),
        relation,
    };
    Case {
        placement,
        ..case(Mechanism::Pipe, Between::Process)
    }
}

/// Makes a result without numbers.
pub(crate) fn bare(case: Case) -> CaseFinding {
    CaseFinding {
        excluded: Excluded {
            total: 0,
            of: 220,
            by_reason: BTreeMap::new(),
        },
        ..CaseFinding::bare(case)
    }
}

/// Makes a result whose direct cost is about `ns`.
pub(crate) fn measured(case: Case, ns: f64) -> CaseFinding {
    CaseFinding {
        direct_ns: Some(about(ns)),
        handoff_ns: Some(about(ns)),
        round_trip_ns: Some(about(ns * 2.5)),
        baseline_ns: Some(about(ns * 0.25)),
        switches_per_handoff: Some(1.0),
        involuntary_share: Some(0.001),
        ..bare(case)
    }
}

/// Makes a result with a working set.
pub(crate) fn walked(case: Case, direct_ns: f64, indirect_ns: Estimate) -> CaseFinding {
    CaseFinding {
        total_ns: Some(about(direct_ns + indirect_ns.estimate)),
        indirect_ns: Some(indirect_ns),
        reload_bound_ns: Some(40_000.0),
        ..measured(case, direct_ns)
    }
}

pub(crate) fn suspect(finding: CaseFinding, name: FlagName, detail: &str) -> CaseFinding {
    let flags = vec![Flag {
        name,
        detail: detail.to_owned(),
    }];
    CaseFinding {
        verdict: Verdict::Suspect,
        flags,
        ..finding
    }
}

pub(crate) fn not_measured(case: Case, why: &str) -> CaseFinding {
    CaseFinding {
        verdict: Verdict::NotMeasured {
            why: why.to_owned(),
        },
        ..bare(case)
    }
}

pub(crate) fn findings(results: Vec<CaseFinding>) -> Findings {
    Findings {
        plan: Wanted {
            precision: 0.05,
            confidence: 0.9,
            preset: "default".to_owned(),
        },
        results,
        curves: vec![],
        shared_cache: vec![],
        latencies_ns: vec![],
        core: None,
        flags: vec![],
    }
}

/// Makes results for the mechanisms of a usual run.
pub(crate) fn mechanisms() -> Vec<CaseFinding> {
    use Between::{Process, Thread, User};
    let tail = Tail {
        p50: 4_070.0,
        p99: 5_210.0,
        max: 310_400.0,
        n: 20_000,
    };
    let pipe = CaseFinding {
        direct_ns: Some(estimate(1_730.0, 1_740.0, 1_752.0)),
        tail_ns: Some(tail),
        sanity_band_ns: Some(Band {
            low: 1_000.0,
            high: 5_000.0,
            source: "Li, Ding and Shen 2007",
        }),
        excluded: Excluded {
            total: 3,
            of: 220,
            by_reason: BTreeMap::from([("foreign-cpu", 2), ("steal", 1)]),
        },
        ..measured(case(Mechanism::Pipe, Process), 1_740.0)
    };
    let condvar = CaseFinding {
        switches_per_handoff: Some(1.5),
        ..measured(case(Mechanism::MutexCondvarUnlocked, Thread), 2_310.0)
    };
    vec![
        pipe,
        suspect(
            measured(case(Mechanism::Futex, Thread), 1_100.0),
            FlagName::OutsideSanityBand,
            "1.10 us is outside 2.00 us to 8.00 us, the plausible range from published values",
        ),
        condvar,
        not_measured(
            case(Mechanism::PosixMq, Process),
            "mq_open is not permitted; run as root or mount mqueue",
        ),
        measured(case(Mechanism::Fiber, User), 4.27),
        CaseFinding {
            direct_ns: Some(estimate(-0.3, 0.05, 0.4)),
            handoff_ns: None,
            ..measured(case(Mechanism::Async, User), 1.0)
        },
        measured(case(Mechanism::Preempt, Process), 2_050.0),
    ]
}

/// Makes results with working sets: three with a cost, one that is not distinguishable from 0, one
/// below 0, and one that was not measured.
pub(crate) fn working_sets() -> Vec<CaseFinding> {
    vec![
        walked(sized(2, 4), 1_740.0, estimate(-312.0, 40.0, 402.0)),
        walked(sized(2, 64), 1_740.0, estimate(640.0, 655.0, 672.0)),
        walked(sized(2, 256), 1_740.0, estimate(4_010.0, 4_200.0, 4_390.0)),
        suspect(
            walked(
                sized(2, 1024),
                1_740.0,
                estimate(20_400.0, 21_000.0, 21_700.0),
            ),
            FlagName::PartlyDisturbed,
            "12 of 220 samples",
        ),
        suspect(
            walked(sized(2, 4096), 1_740.0, estimate(-900.0, -800.0, -700.0)),
            FlagName::Negative,
            "indirect cost: below 0",
        ),
        not_measured(
            sized(2, 1 << 20),
            "2 arrays of 1 GiB do not fit in 1 GiB of memory; choose a smaller --size",
        ),
    ]
}

/// Makes a curve over five sizes, whose results begin at index `first`.
pub(crate) fn curve(first: usize) -> Curve {
    let totals = [
        (4, 1_780.0),
        (64, 2_395.0),
        (256, 5_940.0),
        (1024, 22_740.0),
        (4096, 940.0),
    ];
    let point = |(i, (kib, total_ns)): (usize, &(u64, f64))| CurvePoint {
        size_bytes: kib << 10,
        result: first + i,
        total_ns: *total_ns,
    };
    let region = |from: u64, to: u64, low_ns, high_ns, name: &str| Region {
        from_bytes: from << 10,
        to_bytes: to << 10,
        low_ns,
        high_ns,
        name: name.to_owned(),
    };
    let cause = Some("L2: one array fits, two do not".to_owned());
    Curve {
        title: "pipe, process, 2 tasks, stride 8 B, rmw".to_owned(),
        points: totals.iter().enumerate().map(point).collect(),
        knees: vec![
            Knee {
                after_bytes: 256 << 10,
                before_bytes: 512 << 10,
                confidence: 0.93,
                cause,
            },
            Knee {
                after_bytes: 1 << 20,
                before_bytes: 4 << 20,
                confidence: 0.41,
                cause: None,
            },
        ],
        regions: vec![
            region(4, 256, 1_780.0, 5_940.0, "L2"),
            region(1024, 4096, 940.0, 22_740.0, "memory"),
        ],
    }
}

/// Makes all findings of a default run.
pub(crate) fn whole() -> Findings {
    let mut results = mechanisms();
    let first = results.len();
    results.extend(working_sets());
    Findings {
        curves: vec![curve(first)],
        latencies_ns: [
            (4 << 10, 1.64),
            (64 << 10, 4.9),
            (1 << 20, 22.0),
            (64 << 20, 92.1),
        ]
        .map(|(size_bytes, load_ns)| LoadLatency {
            size_bytes,
            load_ns,
        })
        .to_vec(),
        flags: vec![Flag {
            name: FlagName::Interrupted,
            detail: "a signal ended the run after 12 s of 60 s".to_owned(),
        }],
        ..findings(results)
    }
}

/// Makes results of reloads, for two sizes of the array and two footprints of the other task.
pub(crate) fn reloads() -> Vec<CaseFinding> {
    let found = |kib: u64, away_kib: u64, first: f64| CaseFinding {
        direct_ns: None,
        indirect_ns: None,
        total_ns: Some(about(1_740.0 + 1.5 * first)),
        indirect_reload_ns: Some(about(1.5 * first)),
        reload: Some(Reload {
            walks_ns: vec![about(first), about(first / 2.0), estimate(-5.0, 2.0, 9.0)],
            settled_ns: about(20_000.0),
        }),
        ..measured(
            Case {
                away: Some(Bytes::kib(away_kib)),
                ..sized(2, kib)
            },
            1_740.0,
        )
    };
    vec![
        found(64, 64, 40.0),
        found(64, 4096, 900.0),
        found(1024, 64, 300.0),
        found(1024, 4096, 14_000.0),
    ]
}

/// Makes findings of two tasks that share a cache, time-shared and concurrently, with arrays of 4
/// KiB, 512 KiB and 16 MiB.
pub(crate) fn shared_cache() -> Findings {
    let at_once = |kib| Case {
        mechanism: Mechanism::Concurrent,
        working_set: sized(2, kib).working_set,
        ..on([1, 0], Relation::SharedCache)
    };
    let mut found = findings(Vec::new());
    for (kib, alone, in_turn, once) in [
        (4, 600.0, about(300.0), estimate(-1.0, 2.0, 5.0)),
        (512, 80_000.0, about(45_000.0), about(300.0)),
        (16 << 10, 4e6, about(1e5), about(9e5)),
    ] {
        let place = found.results.len();
        let reload = CaseFinding {
            indirect_reload_ns: Some(in_turn.clone()),
            ..walked(sized(2, kib), 1_740.0, in_turn.clone())
        };
        let beside = CaseFinding {
            total_ns: Some(once.clone()),
            indirect_reload_ns: Some(once.clone()),
            walk_ns: Some(about(alone)),
            ..bare(at_once(kib))
        };
        found.results.extend([reload, beside]);
        let difference = Interval::from(&in_turn) - (&once).into();
        found.shared_cache.push(SharedCache {
            working_set: at_once(kib).working_set,
            in_turn: Some(place),
            at_once: place + 1,
            alone_ns: Some(about(alone)),
            in_turn_ns: Some(in_turn),
            at_once_ns: Some(once),
            in_turn_less_at_once_ns: Some(difference),
            loses_more: if difference.estimate > 0.0 {
                LosesMore::InTurn
            } else {
                LosesMore::AtOnce
            },
            why: None,
        });
    }
    found
}

/// Makes results of lmbench's seven cases.
pub(crate) fn lmbench() -> Vec<CaseFinding> {
    let cells = [
        (2, 16, 1_810.0),
        (2, 64, 2_390.0),
        (8, 16, 2_200.0),
        (8, 64, 3_940.0),
        (16, 16, 2_890.0),
    ];
    let mut results = vec![measured(case(Mechanism::Pipe, Between::Process), 1_740.0)];
    results.extend(
        cells.map(|(tasks, kib, total)| walked(sized(tasks, kib), 1_740.0, about(total - 1_740.0))),
    );
    results.push(suspect(
        walked(sized(16, 64), 1_740.0, about(12_660.0)),
        FlagName::Disturbed,
        "40 of 220 samples",
    ));
    results
}

/// Makes results of hand-offs between all pairs of four CPUs, and on one of them.
pub(crate) fn pairs() -> Vec<CaseFinding> {
    use Relation::{OtherSocket, SharedCache, Smt};
    let across = |cpus, relation, ns| CaseFinding {
        direct_ns: None,
        switches_per_handoff: Some(0.997),
        ..measured(on(cpus, relation), ns)
    };
    vec![
        measured(
            Case {
                placement: Placement::one_cpu(CpuId(0)),
                ..sized(2, 0)
            },
            1_740.0,
        ),
        across([0, 1], Smt, 2_400.0),
        across([0, 2], SharedCache, 3_950.0),
        across([0, 3], OtherSocket, 8_100.0),
        suspect(
            across([1, 2], SharedCache, 5_200.0),
            FlagName::Disturbed,
            "40 of 220 samples",
        ),
        not_measured(on([1, 3], OtherSocket), "CPU 3 went offline; bring it back"),
        across([2, 3], OtherSocket, 8_300.0),
    ]
}

pub(crate) fn counters() -> Vec<CounterFinding> {
    let counter = |name: &str, baseline, switching| CounterFinding {
        name: name.to_owned(),
        baseline,
        switching,
        n: 40,
        difference_error: Some(0.5),
    };
    vec![
        counter("dtlb-load-misses", 0.021, 14.3),
        counter("instructions", 3_010.0, 5_120.0),
    ]
}
