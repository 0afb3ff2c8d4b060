use proptest::prelude::*;
use rand::Rng;
use switchcost_design::result::{ByView, GainedCycles, Interval, OfOthers, PrivateBy, SwitchCause};

use super::testing::{GAINED_CYCLES, INTERVALS, LENGTH, QUANTUM, READ, Run, counts, guest};
use super::{
    Cost, Findings, Group, GroupFinding, Growth, Part, SurvivorBias, TASKS, are_orders,
    over_orders, over_trials,
};
use crate::FlagName;
use crate::testing::seeded;

fn close(found: impl Into<Option<f64>>, expected: f64) {
    let found = found.into().expect("a number");
    assert!(
        (found - expected).abs() <= 1e-9 * expected.abs().max(1.0),
        "{found}, need {expected}"
    );
}

fn group<'a>(groups: &'a [GroupFinding], wanted: &Group) -> &'a GroupFinding {
    groups
        .iter()
        .find(|group| group.group == *wanted)
        .expect("the group")
}

fn first_ten(interval: u32) -> f64 {
    if interval < 10 { 1.0 } else { 0.0 }
}

/// Makes time slices of two processes in turn, with the same excess CPI throughout.
fn turns(count: u32, instructions: u64, private: f64, excess: f64) -> Run {
    let mut run = Run::new();
    (0..count).for_each(|i| run.segment(i % 2, QUANTUM, instructions, private, |_| excess));
    run
}

/// Makes segments of 400,000 instructions with one excess cycle per instruction in the first ten
/// intervals: 100,000 cycles.
fn uniform(segments: u32) -> Run {
    let mut run = Run::new();
    for i in 0..segments {
        run.segment(i % 2, QUANTUM, 400_000, 1.5, first_ten);
    }
    run
}

#[test]
fn the_cost_is_the_integral_up_to_the_cut_off() {
    let design = uniform(100).design();
    let cost = &design.average_cost_cycles;
    assert_eq!(
        (cost.estimate, cost.interval),
        (Some(100_000.0), Some((100_000.0, 100_000.0)))
    );
    assert_eq!((cost.n, cost.confidence), (Some(40), Some(0.9)));
    assert_eq!(
        (
            design.cut.instructions,
            design.cut.is_reached,
            design.cut.is_rounded
        ),
        (400_000, true, false)
    );
    // There are 100 switches of 100,000 cycles, and 100 x (400,000 x 1.5 + 100,000) cycles in all.
    close(design.overhead, 1.0 / 7.0);
    assert_eq!(design.excess_cycles_per_switch, Some(100_000.0));
    assert_eq!(design.flushed_cycles_per_switch, Some(200_000.0));
    assert_eq!(
        design.reload_bound_cycles,
        2 * 4096 * 15,
        "the 120,000 cycles and more of section 5.1"
    );
}

#[test]
fn what_the_source_of_the_trace_left_out_is_the_first_flag() {
    let mut run = uniform(20);
    run.head.trace.notes = vec!["no data".to_owned()];
    let found = run.findings();
    assert_eq!(
        (found.flags[0].name, found.flags[0].detail.as_str()),
        (FlagName::Source, "no data")
    );
}

#[test]
fn lost_less_gained_is_the_cost() {
    let mut run = uniform(100);
    let design = run.design();
    let gained = (40 * GAINED_CYCLES) as f64;
    close(design.gained_cycles.estimate, gained);
    close(design.lost_cycles.estimate, 100_000.0 + gained);
    close(design.lost_share, (100_000.0 + gained) / 700_000.0);
    assert!(design.lost_cycles.interval.is_some() && design.gained_cycles.interval.is_some());
    let group = group(&design.groups, &Group::Class("involuntary"));
    assert_eq!(
        (&group.lost_cycles, &group.gained_cycles),
        (&design.lost_cycles, &design.gained_cycles)
    );
    // If one interval lacks the number, nothing is known.
    run.intervals[7].of_others = None;
    let design = run.design();
    assert_eq!(
        (
            design.lost_cycles.estimate,
            design.gained_cycles.estimate,
            design.lost_share
        ),
        (None, None, None)
    );
    let why = design.lost_cycles.why.expect("a reason");
    assert!(why.starts_with("not in the record"), "{why}");
    assert_eq!(design.average_cost_cycles.estimate, Some(100_000.0));
}

/// Shows that the lost cycles of both parts of an interval are added up, if an exec divides the
/// interval.
#[test]
fn divided_intervals_lose_together() {
    let mut run = Run::new();
    for _ in 0..50 {
        run.segment(0, QUANTUM, LENGTH, 1.0, |_| 1.0);
        let half = run.intervals.last_mut().expect("one");
        let lost = |lost| {
            Some(OfOthers {
                lost,
                ..OfOthers::default()
            })
        };
        (half.instructions, half.of_others) = (LENGTH / 2, lost(7_000));
        let other = Interval {
            process: 1,
            of_others: lost(4_000),
            ..*half
        };
        run.intervals.push(other);
    }
    let design = run.design();
    close(design.lost_cycles.estimate, 11_000.0);
}

#[test]
fn the_curve_has_means_spreads_and_survivors() {
    let design = uniform(100).design();
    let curve = &group(&design.groups, &Group::All).curve;
    assert_eq!(curve.len(), 40);
    let point = &curve[9];
    assert_eq!(
        (
            point.since_switch_instructions,
            point.segments,
            point.survivors
        ),
        (90_000, 100, 1.0)
    );
    assert_eq!(
        (
            point.shared_cpi.mean,
            point.private_cpi.mean,
            point.excess_cpi.mean
        ),
        (2.5, 1.5, 1.0)
    );
    assert_eq!(
        (point.shared_cpi.sd, point.shared_cpi.max, point.flushed_cpi),
        (Some(0.0), Some(2.5), 3.5)
    );
    assert_eq!(point.cumulative_excess_cycles, 100_000.0);
    assert_eq!(
        (
            curve[10].excess_cpi.mean,
            curve[39].cumulative_excess_cycles
        ),
        (0.0, 100_000.0)
    );
}

/// Segments have 96 instructions and cost 4640 cycles each, in an interval of 10,000: a switch
/// costs 4640, not 483,333.
#[test]
fn a_curve_ends_where_segments_end() {
    let mut run = Run::new();
    for _ in 0..50 {
        run.segment(0, QUANTUM, 96, 1.0, |_| 4640.0 / 96.0);
    }
    let design = run.design();
    let curve = &group(&design.groups, &Group::All).curve;
    assert_eq!(curve.len(), 1);
    close(curve[0].cumulative_excess_cycles, 4640.0);
    // Each segment that reaches an interval has paid for the part that it ran; a segment that
    // continues makes no other segment longer.
    run.segment(0, QUANTUM, LENGTH + 100, 1.0, |interval| {
        if interval == 0 { 0.0 } else { 2.0 }
    });
    let design = run.design();
    let curve = &group(&design.groups, &Group::All).curve;
    let first = 50.0 * 4640.0 / 51.0;
    close(curve[0].cumulative_excess_cycles, first);
    close(curve[1].cumulative_excess_cycles, first + 200.0);
}

/// Short and long time slices of two processes each cost 100 cycles at their beginning: a switch
/// costs 100 cycles, whatever the length of a time slice.
#[test]
fn turns_of_all_lengths_cost_what_each_of_them_does() {
    let mut run = Run::new();
    for turn in 0..1_000 {
        let instructions = if turn % 5 == 0 { 9_000 } else { 100 };
        run.segment(turn % 2, QUANTUM, instructions, 1.0, |_| {
            100.0 / instructions as f64
        });
    }
    let design = run.design();
    close(design.average_cost_cycles.estimate, 100.0);
    let cycles = design.hierarchies.shared.cycles as f64;
    close(design.overhead, 1_000.0 * 100.0 / cycles);
}

#[test]
fn spread_is_that_between_segments() {
    let mut run = Run::new();
    for excess in [1.0, 2.0, 3.0, 6.0] {
        run.segment(0, QUANTUM, LENGTH, 1.0, |_| excess);
    }
    let design = run.design();
    let point = &group(&design.groups, &Group::All).curve[0];
    assert_eq!(
        (point.excess_cpi.mean, point.excess_cpi.max),
        (3.0, Some(6.0))
    );
    // Expected value: numpy.std([1, 2, 3, 6], ddof=1)
    close(point.excess_cpi.sd, 2.160_246_899_469_287);
    close(point.shared_cpi.sd, 2.160_246_899_469_287);
    assert_eq!(point.private_cpi.sd, Some(0.0));
}

#[test]
fn the_cut_off_is_where_a_tenth_remains() {
    let mut run = Run::new();
    for i in 0..100 {
        // Ten of a hundred segments continue; they have excess to their end, which is not counted.
        let instructions = if i % 10 == 0 { 900_000 } else { 25_000 };
        run.segment(0, QUANTUM, instructions, 1.0, |_| 1.0);
    }
    let design = run.design();
    assert_eq!(design.cut.instructions, 25_000);
    close(design.average_cost_cycles.estimate, 25_000.0);
    close(
        design.excess_cycles_per_switch,
        0.9 * 25_000.0 + 0.1 * 900_000.0,
    );
}

#[test]
fn turns_that_end_a_little_late_are_cut_at_their_quantum() {
    let mut run = Run::new();
    run.head.trace.quantum_instructions = Some(400_000);
    // Only the first twenty of a hundred segments are longer, and they are consecutive, so they
    // allow no conclusion alone.
    for i in 0..100 {
        run.segment(
            i % 2,
            QUANTUM,
            if i < 20 { 400_013 } else { 400_000 },
            1.0,
            |_| 1.0,
        );
    }
    let design = run.design();
    assert_eq!(design.cut.instructions, 400_000);
    close(design.average_cost_cycles.estimate, 400_000.0);
    assert!(
        design.average_cost_cycles.interval.is_some(),
        "{:?}",
        design.average_cost_cycles.why
    );
    // A much longer segment is not a time slice that ended late.
    let mut run = turns(100, 404_100, 1.0, 1.0);
    run.head.trace.quantum_instructions = Some(400_000);
    assert_eq!(run.design().cut.instructions, 404_100);
}

/// The recorded intervals end with the quantum, and time slices a little later. Then the cut-off is
/// the quantum, and counts as reached.
#[test]
fn a_quantum_of_a_round_number_of_intervals_is_not_cut_early() {
    let quantum = LENGTH * u64::from(INTERVALS);
    let mut run = turns(100, quantum + 12, 1.0, 0.5);
    run.head.trace.quantum_instructions = Some(quantum);
    let design = run.design();
    assert_eq!(
        (design.cut.instructions, design.cut.is_reached),
        (quantum, true)
    );
    assert!(design.flags.is_empty(), "{:?}", design.flags);
    close(design.average_cost_cycles.estimate, 500_000.0);
}

/// One process has loaded a library, and the other finds it in its first time slice: 60,000 cycles
/// saved, once. Each time slice costs 1,000 more.
#[test]
fn first_touches_are_in_no_sum_but_their_own() {
    let mut run = turns(100, LENGTH, 20.0, 0.1);
    let parties = |lost, first_touches| {
        Some(OfOthers {
            lost,
            gained: 0,
            first_touches,
        })
    };
    run.intervals
        .iter_mut()
        .for_each(|interval| interval.of_others = parties(1_000, 0));
    run.intervals[1].cycles.shared -= 60_000;
    run.intervals[1].of_others = parties(1_000, 60_000);
    let result = &mut run.head.designs[0];
    result.hierarchies.shared.cycles -= 60_000;
    let detail = result.detail.as_mut().expect("in full");
    detail.gained_cycles = GainedCycles {
        first_touches_of_code: 60_000,
        ..GainedCycles::default()
    };
    result.hierarchies.shared.levels[0].cycles = 300_000;
    result.hierarchies.private.levels[0].cycles = 260_000;
    let design = run.design();
    assert_eq!(design.first_touch_cycles, Some(60_000.0));
    let of = |cost: &Cost| (cost.estimate, cost.interval);
    assert_eq!(
        of(&design.average_cost_cycles),
        (Some(1_000.0), Some((1_000.0, 1_000.0)))
    );
    assert_eq!(of(&design.lost_cycles), of(&design.average_cost_cycles));
    assert_eq!(
        (of(&design.gained_cycles), of(&design.state_cycles)),
        ((Some(0.0), Some((0.0, 0.0))), (Some(0.0), Some((0.0, 0.0))))
    );
    assert_eq!(
        (design.excess_cycles, design.excess_cycles_per_switch),
        (100_000.0, Some(1_000.0))
    );
    let curve = &group(&design.groups, &Group::All).curve;
    assert_eq!(
        (curve[0].cumulative_excess_cycles, curve[0].excess_cpi.sd),
        (1_000.0, Some(0.0))
    );
    assert!(
        design
            .processes
            .iter()
            .all(|process| process.excess_cycles_per_switch == 1_000.0)
    );
    assert_eq!(
        design.parts[0].cycles, 100_000.0,
        "with the 60,000 that the instruction cache was spared once"
    );
    // Counters alone do not distinguish segments, and the result says so.
    run.head.designs[0].detail = None;
    run.intervals
        .iter_mut()
        .for_each(|interval| interval.of_others = None);
    let design = run.design();
    assert_eq!(design.first_touch_cycles, None);
    let says = |flag: &crate::Flag| {
        flag.name == FlagName::CountersOnly
            && flag
                .detail
                .contains("too low because lines that other processes had loaded count as hits")
    };
    assert!(design.flags.iter().any(says), "{:?}", design.flags);
}

/// 500 cycles are lost, 100 gained, and 250 are neither: replacement and prefetch are in another
/// state.
#[test]
fn what_is_neither_lost_nor_gained_is_a_party_of_its_own() {
    let mut run = turns(100, LENGTH, 1.0, 0.065);
    let of_others = Some(OfOthers {
        lost: 500,
        gained: 100,
        first_touches: 0,
    });
    run.intervals
        .iter_mut()
        .for_each(|interval| interval.of_others = of_others);
    let design = run.design();
    let costs = [
        &design.average_cost_cycles,
        &design.lost_cycles,
        &design.gained_cycles,
        &design.state_cycles,
    ];
    assert_eq!(
        costs.map(|cost| cost.estimate.expect("known")),
        [650.0, 500.0, 100.0, 250.0]
    );
}

#[test]
fn threads_are_tasks_beside_the_first_of_their_process() {
    let mut run = turns(8, LENGTH, 1.0, 0.5);
    assert_eq!(run.findings().threads, 0);
    for (number, interval) in run.intervals.iter_mut().enumerate() {
        interval.task = number as u32 % 4;
    }
    assert_eq!(run.findings().threads, 2);
}

#[test]
fn where_each_task_counts_as_one_that_is_reported() {
    let mut run = turns(8, LENGTH, 1.0, 0.5);
    let is_reported = |run: &Run| {
        let mut flags = run.findings().flags.into_iter();
        flags.any(|flag| flag.name == FlagName::PrivateByTask)
    };
    assert!(!is_reported(&run));
    run.head.private_by = PrivateBy::Task;
    assert!(is_reported(&run));
}

#[test]
fn orders_are_laid_beside_the_best_of_their_design() {
    let order = |name: &str, quantum: Option<u64>, excess: f64, switches: u32| {
        let instructions = 200_000 / u64::from(switches) * 100;
        let mut run = turns(switches, instructions, 1.0, excess);
        let trace = &mut run.head.trace;
        (trace.order, trace.quantum_instructions) = (name.to_owned(), quantum);
        (run.head.clone(), run.findings())
    };
    let runs = [
        order("round-robin", Some(400_000), 0.5, 50),
        order("batch:2", Some(100_000), 0.25, 50),
        order("round-robin", Some(100_000), 1.0, 200),
    ];
    let heads: Vec<_> = runs.iter().map(|(head, _)| head).collect();
    assert!(are_orders(&heads) && !are_orders(&[heads[0], heads[0]]) && !are_orders(&heads[..1]));
    let mut other = heads[0].clone();
    other.trace.instructions += 1;
    assert!(!are_orders(&[heads[1], &other]), "another trace");
    let pairs: Vec<_> = runs
        .iter()
        .map(|(head, findings)| (head, findings))
        .collect();
    let found = over_orders(&pairs);
    let names: Vec<_> = found
        .iter()
        .map(|one| (one.order.as_str(), one.quantum_instructions, one.switches))
        .collect();
    assert_eq!(
        names,
        [
            ("round-robin", Some(100_000), 200),
            ("round-robin", Some(400_000), 50),
            ("batch:2", Some(100_000), 50)
        ]
    );
    // Private cycles are one per instruction: 2, 1.5 and 1.25 of them in all.
    for (one, all) in found.iter().zip([2.0, 1.5, 1.25]) {
        close(one.over_fewest, all / 1.25 - 1.0);
        close(one.excess_share, (all - 1.0) / all);
    }
}

#[test]
fn a_segment_longer_than_the_curve_is_said_to_be() {
    let design = turns(100, LENGTH * u64::from(INTERVALS) + 5, 1.0, 0.5).design();
    assert!(!design.cut.is_reached);
    close(design.average_cost_cycles.estimate, 500_000.0);
    assert_eq!(design.flags[0].name, FlagName::CutEarly);
    assert_eq!(
        design.flags[0].detail,
        "more than 10 % of the segments are longer than the recorded intervals, where the cost is cut off; choose longer \
         intervals"
    );
}

#[test]
fn causes_have_curves_of_their_own() {
    let mut run = Run::new();
    for i in 0..100 {
        if i % 4 == 0 {
            run.segment(1, READ, 20_000, 1.0, |_| 2.0);
        } else {
            run.segment(0, QUANTUM, 400_000, 1.0, first_ten);
        }
    }
    let design = run.design();
    let system_calls = group(&design.groups, &Group::Class("system call"));
    assert_eq!(
        (system_calls.segments, system_calls.median_instructions),
        (25, Some(20_000))
    );
    assert_eq!(system_calls.cost_cycles.estimate, Some(40_000.0));
    assert_eq!(system_calls.excess_cycles, 25.0 * 40_000.0);
    let why = system_calls.cost_cycles.why.as_deref();
    assert_eq!(
        why,
        Some("no interval: 40 time slices are needed, but the trace has 25; trace for longer")
    );
    assert_eq!(
        group(&design.groups, &Group::Class("involuntary"))
            .cost_cycles
            .estimate,
        Some(100_000.0)
    );
    let names: Vec<&Group> = design.groups.iter().map(|group| &group.group).collect();
    let cause = |name: &str| Group::Cause(name.to_owned());
    let expected = [
        &Group::All,
        &Group::Class("system call"),
        &Group::Class("involuntary"),
        &cause("involuntary quantum"),
        &cause("voluntary syscall read"),
    ];
    assert_eq!(names, expected);
    let of_causes = &design.groups[3..];
    let total: f64 = of_causes.iter().map(|group| group.excess_cycles).sum();
    assert_eq!(total, design.excess_cycles);
}

#[test]
fn the_interval_is_that_of_batch_means_where_all_segments_are_as_long() {
    let mut run = Run::new();
    for i in 0..200 {
        let excess = f64::from(i / 5 * 7 % 11) + f64::from(i % 5) * 0.25;
        run.segment(0, QUANTUM, LENGTH, 1.0, |_| excess);
    }
    let cost = run.design().average_cost_cycles;
    // Expected values: means of 5 consecutive excesses x 10,000 cycles, then
    // scipy.stats.t.interval(0.9, 39, numpy.mean(means), scipy.stats.sem(means)), SciPy 1.17.1.
    close(cost.estimate, 55500.0);
    let (low, high) = cost.interval.expect("an interval");
    close(low, 46821.330864066585);
    close(high, 64178.66913593341);
}

#[test]
fn too_few_segments_have_no_interval() {
    let cost = uniform(39).design().average_cost_cycles;
    assert_eq!((cost.estimate, cost.interval), (Some(100_000.0), None));
    let why = cost.why.expect("a reason");
    assert_eq!(
        why,
        "no interval: 40 time slices are needed, but the trace has 39; trace for longer"
    );
    let none = Run::new().design();
    assert_eq!(none.average_cost_cycles.estimate, None);
    assert_eq!(
        none.average_cost_cycles.why.as_deref(),
        Some("there is no segment; trace for longer")
    );
    assert_eq!((none.overhead, none.excess_cycles_per_switch), (None, None));
}

/// Two kinds of programs have flat curves: short segments with a private CPI of 3, long ones with
/// 1.2.
#[test]
fn survivor_bias_is_seen_where_restless_segments_end_early() {
    // The first tenth of the curve is four of 40 intervals: three with both kinds of segments, one
    // with long segments alone. In steps of three intervals, it is two of 14 steps.
    for (intervals, alone) in [(INTERVALS, 1.0), (3 * INTERVALS, 3.0)] {
        let mut run = Run::new();
        run.head.intervals = intervals;
        for i in 0..100 {
            if i % 2 == 0 {
                run.segment(1, QUANTUM, 30_000, 3.0, |_| 0.5);
            } else {
                run.segment(0, QUANTUM, 400_000, 1.2, |_| 0.1);
            }
        }
        let design = run.design();
        let curve = &group(&design.groups, &Group::All).curve;
        assert!(
            curve[0].private_cpi.mean > 2.0 && curve[3].private_cpi.mean == 1.2,
            "the aggregate falls"
        );
        let bias: &SurvivorBias = &design.survivor_bias[0];
        assert_eq!((bias.segments, bias.survivors, bias.bites), (100, 50, true));
        let early = (3.0 * (3.0 + 1.2) + alone * 1.2) / (6.0 + alone);
        close(bias.early_private_cpi, early);
        close(bias.early_private_cpi_of_survivors, 1.2);
        close(bias.cost_of_survivors_cycles, 40_000.0);
        assert_eq!(
            bias.grows,
            Some(Growth {
                program: "long".to_owned(),
                share_at_start: 0.5,
                share_at_cut: 1.0
            })
        );
        assert_eq!(design.survivor_bias.len(), 2, "all, and involuntary");
    }
    assert!(!uniform(100).design().survivor_bias[0].bites);
}

/// Time slices have three lengths in any order, and an excess that depends on the length. The
/// reference counts the cost of long slices, and of all, one by one.
#[test]
fn what_long_turns_pay_and_the_overhead_are_those_of_a_plain_count() {
    let mut dice = seeded(1);
    for _ in 0..20 {
        let mut run = Run::new();
        let excess: [u32; 3] = std::array::from_fn(|_| dice.random_range(0..20));
        for i in 0..600 {
            let kind = [0, 0, 0, 1, 2][dice.random_range(0..5)];
            let length = [5_000, 43_000, 400_000][kind];
            let falls = |interval| f64::from(excess[kind]) / f64::from(10 * (interval + 1));
            run.segment(i % 2, QUANTUM, length, 1.5, falls);
        }
        let mut turns = vec![(0_u64, 0_i64); 601];
        for interval in &run.intervals {
            let turn = &mut turns[interval.segment as usize];
            let first_touches = interval.of_others.expect("compared").first_touches;
            let shared = interval.cycles.shared + first_touches;
            turn.0 += interval.instructions;
            turn.1 += shared as i64 - interval.cycles.private as i64;
        }
        let design = run.design();
        let before = (design.cut.instructions - 1) / LENGTH * LENGTH;
        let long: Vec<f64> = turns
            .iter()
            .filter(|turn| turn.0 > before)
            .map(|turn| turn.1 as f64)
            .collect();
        let mean = long.iter().sum::<f64>() / long.len() as f64;
        let found = &design.long_turns;
        close(found.estimate, mean);
        assert!(
            found
                .interval
                .is_some_and(|(low, high)| low <= mean && mean <= high),
            "{found:?}"
        );
        let all: f64 = turns.iter().map(|turn| turn.1 as f64).sum();
        let cycles = design.hierarchies.shared.cycles as f64;
        close(design.overhead, all / cycles);
        close(design.overhead_share.estimate, all / cycles);
    }
}

#[test]
fn sums_over_segments_have_a_cost_and_no_interval() {
    let full = uniform(100);
    let mut run = Run::new();
    run.head = full.head.clone();
    run.head.designs[0].detail = None;
    for number in 0..40 {
        let all: Vec<&Interval> = full
            .intervals
            .iter()
            .filter(|interval| interval.number == number)
            .collect();
        let mut sum = *all[0];
        sum.segments = all.len() as u32;
        for interval in &all[1..] {
            sum.instructions += interval.instructions;
            sum.cycles.shared += interval.cycles.shared;
            sum.cycles.private += interval.cycles.private;
            sum.cycles.flushed += interval.cycles.flushed;
        }
        run.intervals.push(sum);
    }
    let (found, expected) = (run.design(), full.design());
    assert_eq!(
        found.average_cost_cycles.estimate,
        expected.average_cost_cycles.estimate
    );
    assert_eq!(found.overhead, expected.overhead);
    assert_eq!(
        (found.cut.instructions, found.cut.is_rounded),
        (400_000, true)
    );
    let why = "no interval, because only totals were recorded for this design; simulate fewer designs together, or use --in-full";
    assert_eq!(
        (
            found.average_cost_cycles.interval,
            found.average_cost_cycles.why.as_deref()
        ),
        (None, Some(why))
    );
    let point = &found.groups[0].curve[0];
    assert_eq!(
        (point.segments, point.shared_cpi.sd, point.shared_cpi.max),
        (100, None, None)
    );
    assert_eq!(found.flags[0].name, FlagName::CountersOnly);
    assert!(found.agarwal_why.is_some() && found.survivor_bias.is_empty());
}

#[test]
fn intervals_out_of_order_have_no_cost() {
    let mut run = uniform(100);
    let last = run.intervals.len() - 1;
    run.intervals.swap(0, last);
    let design = run.design();
    assert_eq!(design.average_cost_cycles.estimate, None);
    let why = "the intervals of a segment are not together or not in order";
    assert_eq!(design.average_cost_cycles.why.as_deref(), Some(why));
    assert_eq!(design.flags[0].name, FlagName::Disorder);
}

#[test]
fn without_a_switch_there_is_no_cost() {
    let mut run = uniform(1);
    (
        run.head.trace.voluntary_switches,
        run.head.trace.involuntary_switches,
    ) = (0, 0);
    let design = run.design();
    let cost = &design.average_cost_cycles;
    let why = "the trace has no switch; trace two processes that alternate";
    assert_eq!((cost.estimate, cost.why.as_deref()), (None, Some(why)));
    assert_eq!(design.excess_cycles_per_switch, None);
}

#[test]
fn excess_is_shared_out_among_the_parts() {
    let mut run = uniform(40);
    let hierarchies = &mut run.head.designs[0].hierarchies;
    hierarchies.shared.cycles = hierarchies.private.cycles + 15 * 100 + 15 * 300 + 40;
    hierarchies.shared.write_stall_cycles = 40;
    hierarchies.shared.levels = vec![counts("L1I", 100), counts("L1D", 300)];
    let parts = run.design().parts;
    let cycles: Vec<(Part, f64)> = parts.iter().map(|part| (part.part, part.cycles)).collect();
    let expected = [
        (Part::Instructions, 1500.0),
        (Part::Data, 4500.0),
        (Part::Tlb, 0.0),
        (Part::WriteStalls, 40.0),
    ];
    assert_eq!(cycles, expected);
    close(parts.iter().filter_map(|part| part.share).sum::<f64>(), 1.0);
}

#[test]
fn agarwals_model_takes_its_numbers_from_the_record() {
    let mut run = uniform(100);
    run.head.designs[0].hierarchies.flushed.levels = vec![counts("L1I", 0), counts("L1D", 6400)];
    let model = run.design().agarwal.expect("two processes take turns");
    assert_eq!(
        (model.processes, model.segment_references),
        (2.0, 400_000.0)
    );
    let level = &model.levels[1];
    assert_eq!((level.lines_touched, level.lines), (64.0, 4096));
    // The model gives 64^2 x (2 - 1) / 4096 = 1 miss of 15 cycles.
    assert_eq!(
        (
            level.misses_per_switch,
            model.cycles_per_switch,
            model.is_beyond_range
        ),
        (1.0, 15.0, false)
    );
}

#[test]
fn trials_are_reported_by_their_spread() {
    let trials: Vec<Findings> = [10_000.0, 10_300.0, 10_600.0].map(trial).into();
    let found = over_trials(&trials, 0.9).remove(0);
    assert_eq!(found.costs_cycles, [10_000.0, 10_300.0, 10_600.0]);
    let cost: Cost = found.average_cost_cycles;
    // Expected value: scipy.stats.t.interval(0.9, 2, 10300, scipy.stats.sem([10000, 10300,
    // 10600])), SciPy 1.17.1.
    let (low, high) = cost.interval.expect("an interval");
    close(low, 9794.243661745884);
    close(high, 10805.756338254114);
    let alone = over_trials(&trials[..1], 0.9).remove(0).average_cost_cycles;
    assert_eq!((alone.estimate, alone.interval), (Some(10_000.0), None));
    assert_eq!(
        alone.why.as_deref(),
        Some("one trial gives no interval; trace once more")
    );
}

/// Makes findings with this average cost.
fn trial(cost: f64) -> Findings {
    let mut findings = uniform(40).findings();
    findings.designs[0].average_cost_cycles.estimate = Some(cost);
    findings
}

fn any_run() -> impl Strategy<Value = Run> {
    let segment = (0..2_u32, 0..4_u32, 1..60_000_u64, 0..40_u32);
    proptest::collection::vec(segment, 0..60).prop_map(|segments| {
        let mut run = Run::new();
        for (process, cause, instructions, excess) in segments {
            run.segment(process, cause, instructions, 1.0, |i| {
                f64::from(excess) / f64::from(8 + 4 * i)
            });
        }
        run
    })
}

/// Computes the cost by its definition, straight from the intervals.
fn cost_by_definition(run: &Run) -> Option<f64> {
    let mut lengths: Vec<u64> = Vec::new();
    for interval in &run.intervals {
        let segment = interval.segment as usize;
        lengths.resize(lengths.len().max(segment + 1), 0);
        lengths[segment] += interval.instructions;
    }
    lengths.sort_unstable();
    // The shortest length that at most a tenth of the segments exceed.
    let is_cut =
        |end: &&u64| lengths.iter().filter(|length| length > end).count() * 10 <= lengths.len();
    let end = *lengths.iter().find(is_cut)?;
    let mut cost = 0.0;
    for number in 0..end.div_ceil(LENGTH) {
        let intervals = run
            .intervals
            .iter()
            .filter(|interval| u64::from(interval.number) == number);
        let (mut excess, mut instructions, mut segments) = (0.0, 0.0, 0.0);
        for interval in intervals {
            excess += interval.cycles.shared as f64 - interval.cycles.private as f64;
            instructions += interval.instructions as f64;
            segments += 1.0;
        }
        let within = ((end - number * LENGTH).min(LENGTH) as f64).min(instructions / segments);
        cost += excess / instructions * within;
    }
    Some(cost)
}

proptest! {
    #[test]
    fn the_cost_is_as_it_is_defined(run in any_run()) {
        match (run.design().average_cost_cycles.estimate, cost_by_definition(&run)) {
            (Some(found), Some(expected)) => prop_assert!((found - expected).abs() < 1e-6, "{found}, need {expected}"),
            (found, expected) => prop_assert_eq!(found, expected),
        }
    }

    #[test]
    fn how_intervals_are_handed_over_changes_nothing(run in any_run(), count in 1..50_usize) {
        prop_assert_eq!(run.findings_in_batches(count), run.findings());
    }

    #[test]
    fn no_record_brings_the_analysis_down(
        run in any_run(),
        numbers in proptest::collection::vec((any::<prop::sample::Index>(), any::<[u32; 6]>(), any::<[u64; 4]>()), 0..20),
        intervals: u32,
        length: u64,
    ) {
        let mut run = run;
        for (index, [segment, segments, process, cause, end, number], [instructions, shared, private, flushed]) in numbers {
            if run.intervals.is_empty() {
                break;
            }
            let cycles = switchcost_design::result::ByView { shared, private, flushed };
            let at = index.index(run.intervals.len());
            let design = (cause % 3) as u16;
            run.intervals[at] = Interval {
                design, segment, segments: segments % 3, process: process % 4, cause: cause % 6, end: end % 6, number,
                instructions, cycles, ..run.intervals[at]
            };
        }
        run.head.intervals = intervals;
        run.head.interval_instructions = length;
        let findings = run.findings();
        prop_assert_eq!(findings.designs.len(), 1);
    }
}

/// The statistics without one batch equal those of the same record without the batch's segments.
#[test]
fn without_a_batch_is_the_record_without_its_segments() {
    let run = |left_out: std::ops::Range<u32>| {
        let mut run = Run::new();
        for i in (0..80).filter(|i| !left_out.contains(i)) {
            let excess = f64::from(i * 7 % 13) / 10.0;
            run.segment(
                i % 2,
                QUANTUM,
                30_000 + u64::from(i % 2) * 10_000,
                1.5,
                |_| excess,
            );
        }
        run.design()
    };
    let all = run(0..0);
    let overhead = all.overhead.expect("a share");
    assert_eq!(all.overhead_share.estimate, Some(overhead));
    let (low, high) = all.overhead_share.interval.expect("an interval");
    assert!(low < overhead && overhead < high, "{low} {overhead} {high}");
    // Two segments form a batch.
    for batch in [0, 17, 39] {
        let rest = run(2 * batch as u32..2 * batch as u32 + 2);
        assert_eq!(
            rest.cut.instructions, all.cut.instructions,
            "the cut-off is held fixed"
        );
        close(
            all.average_cost_cycles.without_one[batch],
            rest.average_cost_cycles.estimate.expect("a cost"),
        );
        close(
            all.overhead_share.without_one[batch],
            rest.overhead.expect("a share"),
        );
        for (of_all, of_rest) in all.processes.iter().zip(&rest.processes) {
            close(
                of_all.excess.without_one[batch],
                of_rest.excess_cycles_per_switch,
            );
        }
    }
}

/// Makes an interval whose shared cycles are one per instruction plus `excess`.
fn ran(segment: u32, process: u32, number: u32, instructions: u64, excess: u64) -> Interval {
    let cycles = ByView {
        shared: instructions + excess,
        private: instructions,
        flushed: instructions,
    };
    let of_others = Some(OfOthers {
        lost: excess,
        ..OfOthers::default()
    });
    let (design, segments, task, cause, end) = (0, 1, process, QUANTUM, QUANTUM);
    Interval {
        design,
        segment,
        segments,
        task,
        process,
        cause,
        end,
        number,
        instructions,
        cycles,
        of_others,
    }
}

/// "a" runs 30 instructions and executes "b", which runs 70; "c" runs 10, and "b" again 40;
/// intervals have 50.
#[test]
fn what_runs_after_an_exec_is_put_down_to_the_program_that_it_starts() {
    let mut run = Run::new();
    run.head.interval_instructions = 50;
    run.head.trace.instructions = 150;
    run.head.trace.involuntary_switches = 3;
    run.head.processes.push(run.head.processes[0].clone());
    for (process, name) in run.head.processes.iter_mut().zip(["a", "b", "c"]) {
        (process.name, process.segments) = (name.to_owned(), 1);
    }
    run.intervals = vec![
        ran(0, 0, 0, 30, 3),
        ran(0, 1, 0, 20, 8),
        ran(0, 1, 1, 50, 12),
        ran(1, 2, 0, 10, 1),
        ran(2, 1, 0, 40, 10),
    ];
    let design = run.design();
    let row = |name: &str| {
        let found = design
            .processes
            .iter()
            .find(|process| process.name == name)
            .expect("it ran");
        (
            found.instructions,
            found.segments,
            found.excess_cycles_per_switch,
        )
    };
    assert_eq!(
        (row("a"), row("b"), row("c")),
        ((30, 1, 3.0), (110, 2, 15.0), (10, 1, 1.0))
    );
    // The curve is that of segments, whichever process runs: three begin, of which one reaches the second interval.
    let curve = &group(&design.groups, &Group::All).curve;
    assert_eq!(
        curve.iter().map(|point| point.segments).collect::<Vec<_>>(),
        [3, 1]
    );
}

/// No switch ever begins the program `short`: it runs only the rest of each time slice of `long`
/// after an exec.
#[test]
fn a_program_that_only_begins_by_exec_has_segments_and_a_cost_with_an_interval() {
    let mut run = Run::new();
    run.head.processes[0].segments = 100;
    run.head.trace.involuntary_switches = 100;
    for segment in 0..100 {
        let excess = 400 + u64::from(segment % 7);
        run.intervals.extend([
            ran(segment, 0, 0, 100, 10),
            ran(segment, 1, 0, 900, excess),
            ran(segment, 1, 1, 50, 0),
        ]);
    }
    let design = run.design();
    let began = design
        .processes
        .iter()
        .find(|process| process.name == "short")
        .expect("it ran");
    assert_eq!((began.segments, began.instructions), (100, 95_000));
    close(
        began.excess_cycles_per_switch,
        400.0 + (0..100).map(|i| f64::from(i % 7)).sum::<f64>() / 100.0,
    );
    assert!(
        began.excess.interval.is_some_and(|(low, _)| low > 400.0),
        "{:?}",
        began.excess
    );
}

/// In Mogul and Borg 1990 switches are between processes only; a guest also switches to threads of
/// its kernel.
#[test]
fn switches_to_kernel_threads_stand_apart_in_a_guest() {
    let mut run = Run::new();
    run.head.causes.push(SwitchCause {
        is_voluntary: true,
        entry: "unknown".to_owned(),
        syscall: None,
    });
    let thread = run.head.causes.len() as u32 - 1;
    for _ in 0..200 {
        run.segment(0, QUANTUM, 5 * LENGTH, 1.0, |_| 0.2);
        run.segment(1, thread, LENGTH / 10, 1.0, |_| 3.0);
    }
    let of = |run: &Run, name: &'static str| {
        let groups = run.findings().designs.swap_remove(0).groups;
        let found = groups
            .into_iter()
            .find(|group| group.group == Group::Tasks(name));
        found.map(|group| {
            (
                group.segments,
                group.cost_cycles.estimate.expect("a cost").round() as u64,
            )
        })
    };
    assert_eq!(
        TASKS.map(|name| of(&run, name)),
        [None, None],
        "no guest, no kernel threads"
    );
    run.head.trace.guest = Some(guest());
    // The excess is a fifth of a cycle for each of 50,000 instructions, and three cycles for each
    // of a thousand.
    assert_eq!(
        TASKS.map(|name| of(&run, name)),
        [Some((200, 10_000)), Some((200, 3_000))]
    );
}
