use std::collections::BTreeMap;

use switchcost_record::{
    Batches, Between, CountedHandoffs, Cycles, End, EndReason, Evidence, KernelSwitches,
    MeasureRecord, Mechanism,
};
use switchcost_units::{Nanos, TickRate, Ticks};
use switchcost_workload::Access;

use super::{OBSERVED, PROGRAM, STEP};
use crate::testing::{self, Shown, assert_within, case, estimate, measured};
use crate::{Cell, Paper, Records};

/// Numbers of a synthetic run.
struct Story {
    /// Switches per hand-off if the waiter is notified under the lock, and after unlocking.
    switches: [f64; 2],
    /// CPU time counted in user mode and, in `system_ms`, in the kernel, in ms over all
    /// repetitions.
    user_ms: u64,
    system_ms: u64,
    /// Nanoseconds per iteration, without and with perf.
    iteration_ns: [f64; 2],
    /// Additional switches that perf saw beyond those of the record, as a share.
    more: f64,
    /// Nanoseconds per voluntary switch, and per involuntary one.
    kinds_ns: [f64; 2],
}

const BLOG: Story = Story {
    switches: [2.0, 1.0],
    user_ms: 110,
    system_ms: 1000,
    iteration_ns: [5400.0, 6611.0],
    more: 0.0,
    kinds_ns: [1300.0, 1300.0],
};

const MECHANISMS: [Mechanism; 2] = [PROGRAM, Mechanism::MutexCondvarUnlocked];
const REPETITIONS: u32 = 5;

fn records(story: &Story) -> Records {
    let mut records = Records::default();
    for (step, iteration_ns) in [STEP, OBSERVED].into_iter().zip(story.iteration_ns) {
        let (mut record, mut findings) = measured();
        for (mechanism, switches) in MECHANISMS.into_iter().zip(story.switches) {
            let mut finding = case(mechanism, 0, Access::Rmw, iteration_ns);
            finding.round_trip_ns = Some(estimate(iteration_ns));
            finding.switches_per_handoff = Some(switches);
            finding.involuntary_share = Some(0.5);
            (finding.case.between, finding.case.switches) = (Between::Thread, None);
            findings.results.push(finding);
        }
        record.header.plan.cases = findings
            .results
            .iter()
            .map(|finding| finding.case.clone())
            .collect();
        record.cycles = (0..REPETITIONS)
            .flat_map(|repetition| windows(story, &record, repetition))
            .collect();
        let switches = Some(KernelSwitches {
            voluntary: 39_999,
            involuntary: 40_000,
        });
        record.end = Some(End {
            reason: EndReason::Complete,
            elapsed_ns: Nanos::seconds(30),
            ticks_per_second: TickRate::NANOSECONDS,
            switches,
        });
        records.add_measured(step, record, findings);
    }
    let [voluntary, involuntary] = story.kinds_ns;
    for (policy, share) in [("batch", 0.0), ("other", 0.5)] {
        let (record, mut findings) = measured();
        let ns = voluntary + share * (involuntary - voluntary);
        let mut finding = case(Mechanism::Futex, 0, Access::Rmw, ns);
        finding.involuntary_share = Some(share);
        findings.results.push(finding);
        records.add_measured(&format!("blog-kinds-{policy}"), record, findings);
    }
    let seen = 79_999.0 * (1.0 + story.more);
    records.add_text(
        OBSERVED,
        format!("{seen:.0},,context-switches,1,100.00,,\n133.81,msec,task-clock,1,100.00,,\n"),
    );
    records
}

/// Makes one window per mechanism for one of the `REPETITIONS` repetitions, with an equal part of
/// the story's CPU time. Probes take 10 ms of the time of all repetitions.
fn windows(story: &Story, record: &MeasureRecord, repetition: u32) -> Vec<Cycles> {
    let part = |ms: u64| Nanos(Nanos::millis(ms).0 / u64::from(REPETITIONS));
    let probe = record.header.clock.ticks_per_second.ticks(part(5));
    let window = |(number, each): (usize, f64)| Cycles {
        case: number as u32,
        repetition,
        at_ns: Nanos(0),
        batches_per_cycle: 3,
        switching_handoffs: 40_000,
        control_switches: 0,
        kernel_switches: KernelSwitches::default(),
        user_switches: 0,
        counted: Some(CountedHandoffs {
            handoffs: 40_000,
            switches: KernelSwitches {
                voluntary: (each * 20_000.0) as u64 + u64::from(repetition),
                involuntary: (each * 20_000.0) as u64,
            },
        }),
        evidence: Evidence {
            task_user_ns: Some(part(story.user_ms)),
            task_system_ns: Some(part(story.system_ms)),
            ..Evidence::default()
        },
        batches: Batches {
            arm: vec![1],
            handoffs: vec![40_000],
            handoff_ticks: vec![Ticks(1)],
            walk_ticks: vec![Ticks(0)],
            chain_ticks: vec![probe, Ticks(0)],
            addition_ticks: vec![probe, Ticks(0)],
            ..Batches::default()
        },
    };
    story.switches.into_iter().enumerate().map(window).collect()
}

/// Judges each claim by the post's own numbers, and by two sets of invented numbers.
pub(crate) fn reported() -> BTreeMap<String, Shown> {
    let other = Story {
        switches: [1.0, 1.0],
        user_ms: 900,
        iteration_ns: [66_110.0, 54_000.0],
        more: 0.6,
        kinds_ns: [1300.0, 500.0],
        ..BLOG
    };
    let fewer = Story { more: -0.1, ..BLOG };
    testing::reported(
        Paper::Blog,
        &records(&BLOG),
        &[records(&other), records(&fewer)],
    )
}

#[test]
fn the_probes_are_no_part_of_the_hand_offs() {
    let term = super::user_over_system(&records(&BLOG)).expect("enough ticks");
    // 110 ms less 10 over 1000.
    assert_within(term.value, 0.1, 1e-6);
    // 110 ms are 27.5 ticks of 4 ms, plus or minus 1.645 times the root of this number.
    let error = 1.645 * 27.5_f64.sqrt() * 0.004;
    assert_within(term.high, 0.1 + error, 1e-6);
    assert_within(term.low, 0.1 - error, 1e-6);
    let short = Story {
        system_ms: 70,
        ..BLOG
    };
    assert!(
        super::user_over_system(&records(&short))
            .is_err_and(|why| why.contains("less than 20 ticks"))
    );
}

#[test]
fn the_observer_is_judged_only_if_perf_counted_switches() {
    for count in ["<not counted>", "<not supported>", "0"] {
        let mut records = records(&BLOG);
        records.add_text(OBSERVED, format!("{count},,context-switches,0,100.00,,\n"));
        let why = "perf stat counted no switches: see records/blog-observed.watched.txt";
        let errors = [
            super::watched(&records).err(),
            super::perf_over_kernel(&records).err(),
        ];
        assert_eq!(
            errors.each_ref().map(Option::as_deref),
            [Some(why); 2],
            "{count}"
        );
    }
}

#[test]
fn what_perf_counted_stands_beside_the_posts_counts() {
    let exhibits = Paper::Blog.exhibits(&records(&BLOG));
    let table = &exhibits.last().expect("three").table;
    let row = |name: &str| {
        table
            .rows
            .iter()
            .find(|row| row[0] == Cell::from(name))
            .expect(name)
    };
    assert_eq!(
        row("context-switches")[3],
        Cell::Number {
            value: 79_999.0,
            decimals: 0
        }
    );
    assert_eq!(row("task-clock, ms")[3], row("task-clock, ms")[1]);
    let missing = Cell::Missing {
        why: "perf counted no cycles here".to_owned(),
    };
    assert_eq!(row("cycles")[3..], [missing.clone(), missing]);
    assert_eq!(
        row("cycles")[2],
        Cell::Number {
            value: 327_280_691.0 / 79_999.0,
            decimals: 4
        }
    );
}
