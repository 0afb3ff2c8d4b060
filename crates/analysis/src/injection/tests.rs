use std::path::Path;

use super::*;
use crate::testing::{assert_near, assert_within, normal, seeded};

const CHAIN_PS: u64 = 540_000;

fn header() -> Header {
    let path = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../fuzz/corpus/injection_record/small"
    );
    let mut header = Injection::read_header(Path::new(path)).expect("a record of this version");
    header.plan.footprints_bytes[2] = Bytes::mib(64);
    header
}

fn twin(cpu_ns: f64, chain_ps: u64, preemptions: u64) -> TwinRun {
    TwinRun {
        cpu_ns: Nanos(cpu_ns.round() as u64),
        chain_ps,
        turns: 10,
        preemptions,
        away_ns: Nanos(500 * preemptions),
        involuntary: 10 + preemptions,
        ..TwinRun::default()
    }
}

/// Makes a run of 100 ms of CPU time with 310 preemptions of `cost` ns each. The second copy takes
/// `second` ns longer, whichever copy is preempted.
pub(crate) fn run(block: u32, footprint: u32, cost: f64, second: f64) -> Run {
    let preempted = (block % 2) as u8;
    let cpu = |place: u8| {
        let lost = if place == preempted {
            310.0 * cost
        } else {
            0.0
        };
        twin(
            100e6 + lost + second * f64::from(place),
            CHAIN_PS,
            if place == preempted { 310 } else { 0 },
        )
    };
    Run {
        block,
        footprint,
        timing: 0,
        is_moved: false,
        preempted,
        since_start_ns: Nanos(0),
        wall_ns: Nanos::millis(210),
        twins: [cpu(0), cpu(1)],
    }
}

/// Makes the record of an injection into a service, without runs or groups.
pub(crate) fn of_service() -> Injection {
    let look = switchcost_record::injection::Look {
        wall_ns: Nanos::seconds(1),
        ..Default::default()
    };
    let (name, work) = ("redis".to_owned(), "syscall:write".to_owned());
    let service = switchcost_record::injection::Service {
        process: 7,
        thread: 7,
        name,
        work,
        allowed: Vec::new(),
        look,
    };
    let mut record = record(Vec::new());
    record.header.service = Some(service);
    record
}

pub(crate) fn record(runs: Vec<Run>) -> Injection {
    Injection {
        header: header(),
        runs,
        groups: Vec::new(),
        end: None,
    }
}

/// Returns the findings of ten runs with a footprint of 0, each altered by `change`.
fn found_after(change: impl Fn(&mut Run)) -> Findings {
    let run = |block| {
        let mut run = run(block, 0, 9_000.0, 0.0);
        change(&mut run);
        run
    };
    analyse(&record((0..10).map(run).collect()))
}

/// Returns a cost that was measured.
fn estimate(cost: &Option<Result<Estimate, String>>) -> f64 {
    cost.clone()
        .expect("of another")
        .expect("ten passes")
        .estimate
}

#[test]
fn known_costs_come_out_in_their_parts() {
    let runs = (0..10)
        .flat_map(|block| [run(block, 0, 9_000.0, 0.0), run(block, 1, 10_500.0, 0.0)])
        .collect();
    let found = analyse(&record(runs));
    let [direct, small, never] = &found.footprints[..] else {
        panic!("three footprints")
    };
    let cost = |finding: &FootprintFinding| finding.cost_ns.as_ref().expect("ten runs").estimate;
    assert_within(cost(direct), 9_000.0, 5.0);
    assert_within(cost(small), 10_500.0, 5.0);
    assert_within(estimate(&small.reload_ns), 1_500.0, 5.0);
    assert!(direct.reload_ns.is_none());
    assert_eq!(
        (direct.runs, direct.preemptions, direct.away_ns, direct.hit),
        (10, 3_100, Some(500.0), Some(1.0))
    );
    assert_eq!((never.runs, never.away_ns), (0, None));
    let why = never.why_not_measured.as_deref().expect("no run");
    assert!(why.contains("only 0 usable repetitions"), "{why}");
    let headline = found.headline_footprint_bytes;
    assert_eq!(
        (headline, found.cpu_ns, found.preemptions_per_second),
        (Some(Bytes::kib(256)), Some(100e6), 4_000.0)
    );
    // The chain of 1800 cycles took 540 ns.
    assert_within(found.core_hertz.expect("known") / 1e9, 10.0 / 3.0, 1e-6);
}

/// Shows that a slower core during one copy adds no cost, although the copy takes longer.
#[test]
fn a_slower_core_is_no_cost() {
    let found = found_after(|run| {
        let twin = &mut run.twins[usize::from(run.preempted)];
        (twin.cpu_ns, twin.chain_ps) = (Nanos(twin.cpu_ns.0 * 11 / 10), CHAIN_PS * 11 / 10);
    });
    // The cost is taken at the mean clock, which is lower by 5 %.
    assert_near(&found.footprints[0].cost_ns, 9_000.0 * 1.05, 0.01);
}

/// Shows that intervals with 90 % confidence contain the true costs in about 90 of 100 trials. The
/// second copy always takes longer, and the machine drifts from block to block.
#[test]
fn intervals_hold_the_truth_as_often_as_they_say() {
    let (trials, mut held, mut held_by_reload) = (400, 0, 0);
    for seed in 0..trials {
        let mut random = seeded(seed);
        let mut runs = Vec::new();
        for block in 0..12 {
            let wander = 400.0 * normal(&mut random);
            for (footprint, cost) in [(0, 9_000.0), (1, 10_500.0)] {
                let noisy = cost + wander + 500.0 * normal(&mut random);
                runs.push(run(block, footprint, noisy, 60_000.0));
            }
        }
        let found = analyse(&record(runs));
        let holds =
            |estimate: &Estimate, truth: f64| estimate.low <= truth && truth <= estimate.high;
        held += u64::from(holds(
            found.footprints[1].cost_ns.as_ref().expect("runs"),
            10_500.0,
        ));
        let reload = found.footprints[1]
            .reload_ns
            .clone()
            .expect("another")
            .expect("passes");
        held_by_reload += u64::from(holds(&reload, 1_500.0));
    }
    // 90 % of 400 is 360, with a standard deviation of 6.
    assert!(
        held >= 342 && (342..=384).contains(&held_by_reload),
        "{held} and {held_by_reload} of {trials}"
    );
}

#[test]
fn preemptions_of_who_waits_are_none() {
    let found = found_after(|run| {
        run.twins[usize::from(run.preempted)].involuntary = 10 + 200;
    });
    assert_eq!(
        found.footprints[0].why_not_measured.as_deref(),
        Some(
            "the program had the CPU at 65 % of the preemptions alone: it waits, and who waits is not preempted"
        )
    );
}

#[test]
fn others_that_take_the_cpu_from_one_twin_in_a_run_do_not_make_it_one_that_waits() {
    let found = found_after(|run| {
        if run.block == 3 {
            run.twins[usize::from(1 - run.preempted)].involuntary += 2_000;
        }
    });
    assert_eq!(found.footprints[0].hit, Some(1.0));
    assert!(found.footprints[0].cost_ns.is_some());
}

#[test]
fn how_much_longer_it_takes_is_reported_by_the_spread_so_far() {
    let noisy = |spread: f64| {
        let mut random = seeded(1);
        let mut runs = Vec::new();
        for block in 0..12 {
            let mut cost = || 9_000.0 + spread * normal(&mut random);
            let costs = [cost(), cost(), cost()];
            runs.extend(
                (0..3).map(|footprint| run(block, footprint, costs[footprint as usize], 0.0)),
            );
        }
        power(&header(), &runs)
    };
    let (quiet, loud) = (
        noisy(500.0).expect("an interval"),
        noisy(2_000.0).expect("an interval"),
    );
    assert!(
        quiet.times_as_many < 1.0 && loud.times_as_many > 1.0,
        "{quiet:?} {loud:?}"
    );
    assert!((3.0..5.0).contains(&(loud.half_width / quiet.half_width)));
    assert_eq!(noisy(100_000.0), None, "it may be nothing");
    assert_eq!(power(&header(), &[]), None);
}

#[test]
fn each_period_has_its_costs_and_what_is_more_than_at_the_first() {
    let mut record = record(Vec::new());
    record.header.plan.further = vec![Timing {
        period_ns: Nanos::millis(1),
        turn_ns: Nanos::millis(8),
    }];
    for block in 0..10 {
        let wander = f64::from(block % 3) * 300.0;
        for (timing, cold) in [(0, 1_500.0), (1, 4_000.0)] {
            let at = |footprint, cost| Run {
                timing,
                ..run(block, footprint, cost + wander, 0.0)
            };
            record.runs.extend([at(0, 9_000.0), at(1, 9_000.0 + cold)]);
        }
    }
    let found = analyse(&record);
    assert_eq!(
        (
            found.footprints[1].runs,
            found.periods.len(),
            found.periods[0].more_than_first_ns.is_none()
        ),
        (10, 2, true)
    );
    let more = estimate(&found.periods[1].more_than_first_ns);
    let reload = estimate(&found.periods[1].footprints[1].reload_ns);
    assert_within(more, 2_500.0, 10.0);
    assert_within(reload, 4_000.0, 10.0);
    assert_eq!(
        (
            found.periods[0].preemptions_per_second,
            found.periods[1].preemptions_per_second
        ),
        (4_000.0, 1_000.0)
    );
}

#[test]
fn a_move_is_reported_beside_a_preemption_and_is_no_part_of_it() {
    let mut record = record(Vec::new());
    record.header.plan.moves_to = Some(CpuId(0));
    for block in 0..10 {
        let moved = Run {
            is_moved: true,
            ..run(block, 0, 15_000.0, 0.0)
        };
        record.runs.extend([run(block, 0, 9_000.0, 0.0), moved]);
    }
    let found = analyse(&record);
    let direct = found.footprints[0].cost_ns.as_ref().expect("ten runs");
    let moved = found.moved.expect("of the plan");
    let more = moved.more_than_staying_ns.expect("ten passes").estimate;
    assert_within(direct.estimate, 9_000.0, 5.0);
    assert_within(more, 6_000.0, 10.0);
    assert_eq!(
        (moved.cpu, moved.found.runs, found.footprints[0].runs),
        (CpuId(0), 10, 10)
    );
}

#[test]
fn a_result_that_no_preemption_can_have_is_doubted() {
    let of = |direct: f64, touched: f64| {
        let near = |cost: f64, block: u32| cost + f64::from(block % 5) * 10.0;
        let pass = |block| {
            [
                run(block, 0, near(direct, block), 0.0),
                run(block, 1, near(touched, block + 1), 0.0),
            ]
        };
        let record = record((0..10).flat_map(pass).collect());
        (doubt(&record, &analyse(&record)), record)
    };
    assert_eq!(of(9_000.0, 10_500.0).0, None);
    assert_eq!(
        of(LEAST_NS, 10_500.0).0,
        None,
        "as little as was ever published"
    );
    assert_eq!(of(9_000.0, 9_000.0).0, None, "cold caches may cost nothing");
    assert!(matches!(
        of(192.0, 10_500.0).0,
        Some(Doubt::BelowSwitches { .. })
    ));
    assert!(matches!(
        of(8_240.0, 4_700.0).0,
        Some(Doubt::ColdCachesBelowZero { .. })
    ));
    let mut no_preemptions = of(0.0, -500.0).1;
    no_preemptions.header.plan.preempts_nobody = true;
    assert_eq!(
        doubt(&no_preemptions, &analyse(&no_preemptions)),
        None,
        "no one was preempted"
    );
}
