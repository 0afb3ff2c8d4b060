use std::collections::BTreeMap;

use switchcost_record::{Batches, Cycles, Evidence, KernelSwitches, Mechanism};
use switchcost_units::Nanos;
use switchcost_workload::Access;

use super::{OBSERVED, STEP};
use crate::testing::{self, Shown, case, estimate, measured};
use crate::{Cell, Paper, Records};

/// What a run says.
struct Story {
    /// Switches a hand-off, notified under the lock and after unlocking.
    switches: [f64; 2],
    /// Milliseconds that were counted in user mode, and in the kernel.
    user_ms: u64,
    system_ms: u64,
    /// Nanoseconds of an iteration, alone and under perf.
    iteration_ns: [f64; 2],
    /// Switches that perf saw beside those of the record, as a share.
    more: f64,
}

const BLOG: Story =
    Story { switches: [2.0, 1.0], user_ms: 110, system_ms: 1000, iteration_ns: [5400.0, 6611.0], more: 0.0 };

fn records(story: &Story) -> Records {
    let mut records = Records::default();
    for (step, iteration_ns) in [STEP, OBSERVED].into_iter().zip(story.iteration_ns) {
        let (mut record, mut findings) = measured();
        for (mechanism, switches) in
            [Mechanism::MutexCondvar, Mechanism::MutexCondvarUnlocked].into_iter().zip(story.switches)
        {
            let mut finding = case(mechanism, 0, Access::Rmw, iteration_ns);
            finding.round_trip_ns = Some(estimate(iteration_ns));
            finding.switches_per_handoff = Some(switches);
            finding.involuntary_share = Some(0.5);
            findings.results.push(finding);
        }
        // Ten milliseconds of probes.
        let probe = record.header.clock.ticks_per_second.ticks(Nanos::millis(5));
        record.cycles = vec![Cycles {
            case: 0,
            repetition: 0,
            at_ns: Nanos(0),
            batches_per_cycle: 3,
            switching_handoffs: 40_000,
            control_switches: 0,
            kernel_switches: KernelSwitches { voluntary: 39_999, involuntary: 40_000 },
            user_switches: 0,
            counted: None,
            evidence: Evidence {
                task_user_ns: Some(Nanos::millis(story.user_ms)),
                task_system_ns: Some(Nanos::millis(story.system_ms)),
                ..Evidence::default()
            },
            batches: Batches { chain_ticks: vec![probe], addition_ticks: vec![probe], ..Batches::default() },
        }];
        records.add_measured(step, record, findings);
    }
    let seen = 79_999.0 * (1.0 + story.more);
    records.add_text(OBSERVED, format!("{seen:.0},,context-switches,1,100.00,,\n133.81,msec,task-clock,1,100.00,,\n"));
    records
}

/// Each claim by the post's own numbers, and by others.
pub(crate) fn reported() -> BTreeMap<String, Shown> {
    let other = Story { switches: [1.0, 1.0], user_ms: 900, iteration_ns: [6611.0, 5400.0], more: 0.6, ..BLOG };
    let fewer = Story { more: -0.1, ..BLOG };
    testing::reported(Paper::Blog, &records(&BLOG), &[records(&other), records(&fewer)])
}

#[test]
fn the_probes_are_no_part_of_the_hand_offs() {
    let term = super::user_over_system(&records(&BLOG)).expect("enough ticks");
    assert!((term.value - 0.1).abs() < 1e-6, "{term:?}: 110 ms less 10 over 1000");
    // Eleven ticks of 10 ms, give or take 1.645 times their root.
    let error = 1.645 * 11.0_f64.sqrt() * 0.01;
    assert!((term.high - 0.1 - error).abs() < 1e-6 && (term.low - 0.1 + error).abs() < 1e-6, "{term:?}");
    let short = Story { system_ms: 190, ..BLOG };
    assert!(super::user_over_system(&records(&short)).is_err_and(|why| why.contains("less than 200 ms")));
}

#[test]
fn what_perf_counted_stands_beside_the_posts_counts() {
    let exhibits = Paper::Blog.exhibits(&records(&BLOG));
    let table = &exhibits.last().expect("three").table;
    let row = |name: &str| table.rows.iter().find(|row| row[0] == Cell::from(name)).expect(name);
    assert_eq!(row("context-switches")[3], Cell::Number { value: 79_999.0, decimals: 0 });
    assert_eq!(row("task-clock, ms")[3], row("task-clock, ms")[1]);
    let missing = Cell::Missing { why: "perf counted no cycles here".to_owned() };
    assert_eq!(row("cycles")[3..], [missing.clone(), missing]);
    assert_eq!(row("cycles")[2], Cell::Number { value: 327_280_691.0 / 79_999.0, decimals: 4 });
}
