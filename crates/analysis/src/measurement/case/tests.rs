//! Tests the finding of one case: numbers, verdicts, flags and their full text.

use switchcost_record::{Arm, Cycles, MeasureRecord, Policy, Refusal, Sample, SwitchPlan};
use switchcost_units::{Bytes, Nanos};

use crate::is_case_done;
use crate::measurement::findings::{CaseFinding, FlagName, Verdict};
use crate::statistics::Estimate;
use crate::testing::{
    Core, FakeCase, WINDOWS, assert_near, fake_record, fake_record_on, fiber, only, pipe,
};

fn found(case: FakeCase) -> CaseFinding {
    only(&fake_record(vec![case], 8))
}

/// Returns the finding for `case` if `change` was applied to every window.
fn found_after(case: FakeCase, change: impl Fn(&mut Cycles)) -> CaseFinding {
    let mut record = fake_record(vec![case], 8);
    record.cycles.iter_mut().for_each(change);
    only(&record)
}

/// Returns the finding for a pipe if `change` was applied to the first `windows` windows of each
/// repetition.
fn found_after_first(windows: usize, change: impl Fn(&mut Cycles)) -> CaseFinding {
    let mut record = fake_record(vec![pipe()], 8);
    record
        .cycles
        .chunks_mut(WINDOWS)
        .flat_map(|of_one| &mut of_one[..windows])
        .for_each(change);
    only(&record)
}

/// Makes a pipe whose hand-offs have this number of switches.
fn switching(switches_per_handoff: f64) -> FakeCase {
    FakeCase {
        switches_per_handoff,
        ..pipe()
    }
}

fn names(found: &CaseFinding) -> Vec<&'static str> {
    found.flags.iter().map(|flag| flag.name.into()).collect()
}

fn why(found: &CaseFinding) -> &str {
    match &found.verdict {
        Verdict::NotMeasured { why } => why,
        other => panic!("{other:?}"),
    }
}

fn assert_is(estimate: &Option<Estimate>, truth: f64) {
    assert_near(estimate, truth, 0.002);
    assert_eq!(estimate.as_ref().map(|estimate| estimate.n), Some(8));
}

#[test]
fn each_number_is_what_it_says() {
    let pipe = pipe().sized_kib(64).noise(1e-4);
    let found = found(pipe);
    assert_eq!(
        (&found.verdict, names(&found)),
        (&Verdict::Measured, vec![])
    );
    assert_is(&found.direct_ns, 1_700.0);
    assert_is(&found.handoff_ns, 1_700.0);
    assert_is(&found.total_ns, 5_700.0);
    assert_is(&found.indirect_ns, 4_000.0);
    assert_is(&found.baseline_ns, 900.0);
    assert_is(&found.round_trip_ns, 2.0 * 2_600.0);
    assert_eq!(found.switches_per_handoff, Some(1.0));
    assert_eq!(found.excluded.of, 8 * WINDOWS);
}

#[test]
fn two_switches_a_hand_off_share_its_cost() {
    let blog = switching(2.0).sized_kib(64).noise(1e-4).change(|case| {
        case.switches = Some(SwitchPlan {
            low_per_mille: 1000,
            high_per_mille: 2000,
        })
    });
    let found = found(blog);
    assert_is(&found.direct_ns, 850.0);
    assert_is(&found.handoff_ns, 1_700.0);
    assert_is(&found.total_ns, 2_850.0);
    assert_is(&found.indirect_ns, 2_000.0);
}

#[test]
fn user_level_switches_are_the_mechanisms_own_count() {
    let found = found(fiber().noise(1e-4));
    assert_is(&found.direct_ns, 5.0);
    assert_eq!(
        (found.switches_per_handoff, found.involuntary_share),
        (Some(1.0), None)
    );
    assert_eq!(
        (found.total_ns, found.indirect_ns),
        (None, None),
        "nothing was touched"
    );
}

#[test]
fn across_cpus_only_the_hand_off_has_a_price() {
    let found = found(pipe().sized_kib(64).noise(1e-4).across_cpus());
    assert_eq!(found.direct_ns, None);
    assert_is(&found.handoff_ns, 1_700.0);
    assert_is(&found.total_ns, 5_700.0);
    assert_is(&found.indirect_ns, 4_000.0);
    assert_eq!(
        (names(&found), &found.verdict),
        (vec!["handoff-across-cpus"], &Verdict::Measured)
    );
    let runs = found.between_runs.as_ref().expect("of the total cost");
    assert!((runs.share - 0.15).abs() < 1e-9, "{runs:?}");
    let half = |cost: &Option<Estimate>| {
        cost.as_ref()
            .map(Estimate::relative_half_width)
            .expect("a cost")
    };
    assert!(
        half(&found.handoff_ns) > 0.29 && half(&found.baseline_ns) < 0.05,
        "{found:?}"
    );
}

fn with_fault(window: &mut Cycles) {
    window.evidence.major_faults = 1;
}

/// A disturbance may lengthen everything, but cannot remove switches.
#[test]
fn a_token_that_moves_without_switches_is_reported_before_any_disturbance() {
    let found = found_after(switching(0.0), with_fault);
    assert_eq!(names(&found), ["switch-count"]);
    assert!(
        why(&found).contains("counted 0.00 switches per hand-off instead of 1.00"),
        "{}",
        why(&found)
    );
}

#[test]
fn a_wrong_count_of_switches_is_refused_with_both_numbers() {
    let found = found(switching(2.0));
    assert_eq!(
        why(&found),
        "the kernel counted 2.00 switches per hand-off instead of 1.00: the tasks switch more often than the \
         token moves; stop the other load, or choose a quieter CPU with --cpu"
    );
    assert_eq!(names(&found), ["switch-count"]);
    assert_eq!(
        (found.direct_ns, found.handoff_ns, found.baseline_ns),
        (None, None, None)
    );
    assert_eq!(
        found.switches_per_handoff,
        Some(2.0),
        "the count itself is known"
    );
}

#[test]
fn tasks_that_do_not_switch_are_refused() {
    let text = "the kernel counted 0.00 switches per hand-off instead of 1.00: the token moves without a switch; \
                see that all tasks are on one CPU, or choose one with --cpu";
    assert_eq!(why(&found(switching(0.0))), text);
    let still = found_after(fiber(), |window| window.user_switches = 0);
    assert_eq!(
        why(&still),
        "fiber counted none of its own switches, which is a bug of switchcost; report it"
    );
    let disturbed = found_after(fiber(), |window| {
        window.kernel_switches.voluntary = window.switching_handoffs / 2;
    });
    assert_eq!(
        why(&disturbed),
        "the kernel counted 0.50 switches per hand-off instead of none: other tasks took the CPU from the thread; stop the \
         other load, or choose a quieter CPU with --cpu"
    );
}

#[test]
fn a_case_of_mostly_disturbed_windows_is_not_measured() {
    let found = found_after_first(4, with_fault);
    assert_eq!(
        why(&found),
        "32 of 80 samples (40 %) were disturbed, 32 of them by faults: pages were missing while the clock ran; free some \
         memory, and allow locked memory: ulimit -l unlimited"
    );
    assert_eq!(names(&found), ["disturbed"]);
    assert_eq!(found.direct_ns, None);
    assert_eq!(found.excluded.by_reason.get("faults"), Some(&32));
}

#[test]
fn a_core_of_two_speeds_is_measured_at_its_usual_one() {
    let mut windows = 0;
    // Three of eight windows are disturbed, more than may be left out for any other reason.
    let core = || {
        windows += 1;
        Core::slow(if windows % 8 < 3 { 1.25 } else { 1.0 })
    };
    let found = only(&fake_record_on(vec![pipe()], 8, core));
    assert_eq!(
        (&found.verdict, names(&found)),
        (&Verdict::Measured, vec![])
    );
    assert_near(&found.direct_ns, 1_700.0, 0.01);
    assert_eq!(found.excluded.total, 0);
}

#[test]
fn much_foreign_time_in_few_windows_leaves_no_number() {
    // One window in ten is five times as long because of another task: more than a quarter of the
    // whole time.
    let found = found_after_first(1, |window| {
        window.evidence.wall_ns = Nanos(window.evidence.wall_ns.0 * 5)
    });
    assert_eq!(
        (found.direct_ns.is_none(), names(&found)),
        (true, vec!["disturbed"])
    );
    assert!(
        why(&found).contains("% of the time went to other tasks, 8 of 80 samples were disturbed"),
        "{found:?}"
    );
}

#[test]
fn a_partly_disturbed_case_is_suspect() {
    let found = found_after_first(1, with_fault);
    assert_eq!(
        (&found.verdict, names(&found)),
        (&Verdict::Suspect, vec!["partly-disturbed"])
    );
    assert_eq!((found.excluded.total, found.excluded.of), (8, 80));
    assert!(
        found.flags[0]
            .detail
            .starts_with("8 of 80 samples (10 %) were disturbed, 8 of them by faults: ")
    );
}

#[test]
fn batches_for_other_purposes_are_no_candidates() {
    let mut record = fake_record(vec![pipe()], 8);
    let mut sample = Sample {
        counters: Some(Default::default()),
        ..pipe().sample(Arm::SwitchDirect)
    };
    sample.evidence.major_faults = 1;
    record.samples = vec![sample; 40];
    let found = only(&record);
    assert_eq!(
        (found.excluded.total, found.excluded.of, &found.verdict),
        (0, 80, &Verdict::Measured)
    );
}

#[test]
fn a_refused_case_gives_the_refusals_reason() {
    let mut record = fake_record(vec![pipe()], 0);
    let why = "found no right to real-time priority, need CAP_SYS_NICE; sudo".to_owned();
    record.refusals = vec![Refusal {
        case: 0,
        repetition: 0,
        why: why.clone(),
    }];
    assert_eq!(only(&record).verdict, Verdict::NotMeasured { why });
}

#[test]
fn a_refusal_is_reported_beside_another_reason() {
    let mut record = fake_record(vec![switching(2.0)], 8);
    record.refusals = vec![Refusal {
        case: 0,
        repetition: 8,
        why: "found it still under way".to_owned(),
    }];
    let found = only(&record);
    assert!(why(&found).starts_with("the kernel counted 2.00 switches"));
    assert_eq!(names(&found), ["switch-count", "refused-repetitions"]);
    assert_eq!(
        found.flags[1].detail,
        "1 repetitions could not be run; the last: found it still under way"
    );
}

#[test]
fn too_few_repetitions_make_no_number() {
    let found = only(&fake_record(vec![pipe()], 4));
    let text = "only 4 usable repetitions of the 5 needed for an interval of 90 % confidence; give the run more time (--budget)";
    assert_eq!(
        (why(&found), names(&found)),
        (text, vec!["too-few-repetitions"])
    );
    assert_eq!((found.direct_ns, found.round_trip_ns), (None, None));
}

#[test]
fn nothing_is_clamped_at_zero() {
    let mut odd = pipe().sized_kib(64).noise(1e-3);
    odd.reload_ns = -900.0;
    let found = found(odd);
    let indirect = found.indirect_ns.as_ref().expect("measured");
    assert!(indirect.high < 0.0, "{indirect:?}");
    assert_eq!(
        (names(&found), &found.verdict),
        (vec!["negative"], &Verdict::Suspect)
    );
    assert!(
        found.flags[0]
            .detail
            .starts_with("indirect cost: below 0 (-9"),
        "{:?}",
        found.flags
    );
}

#[test]
fn a_difference_that_covers_zero_is_flagged_and_kept() {
    let mut nothing = pipe().sized_kib(64).noise(0.01);
    nothing.reload_ns = 0.0;
    let found = found(nothing);
    let indirect = found.indirect_ns.as_ref().expect("kept");
    assert!(indirect.low < 0.0 && indirect.high > 0.0);
    let flag = found
        .flags
        .iter()
        .find(|flag| flag.name == FlagName::NotDistinguishableFrom0)
        .expect("flagged");
    assert!(
        flag.detail
            .starts_with("indirect cost: not distinguishable from 0 ("),
        "{}",
        flag.detail
    );
}

#[test]
fn a_number_that_no_one_ever_saw_is_suspect() {
    let mut slow = pipe();
    slow.switch_ns = 44_000.0;
    let found = found(slow);
    assert_eq!(
        (names(&found), &found.verdict),
        (vec!["outside-sanity-band"], &Verdict::Suspect)
    );
    let detail = &found.flags[0].detail;
    assert!(
        detail.contains(
            " us is outside 300 ns to 10.00 us, the plausible range from published values ("
        ),
        "{detail}"
    );
}

/// Returns the finding of a case in a record with load latencies of 1 to 5 ns.
fn found_with_latencies(case: FakeCase) -> CaseFinding {
    let mut record = fake_record(vec![case], 8);
    let chase = |kib, ns: u64| switchcost_record::Latency {
        size_bytes: Bytes::kib(kib),
        loads: 1_000,
        walk_ticks: vec![switchcost_units::Ticks(2 * 1_000 * ns)],
        emptied: None,
        emptied_by_page: None,
        in_order: None,
    };
    record.latencies = vec![chase(16, 1), chase(1_024, 5)];
    only(&record)
}

#[test]
fn more_than_a_full_reload_is_suspect() {
    let mut slow = pipe().sized_kib(64);
    slow.reload_ns = 60_000.0;
    let found = found_with_latencies(slow);
    let bound = found.reload_bound_ns.expect("known");
    assert!(
        (2.0 * 1_040.0 * 3.0..2.0 * 1_040.0 * 5.0).contains(&bound),
        "{bound}"
    );
    assert_eq!(
        (names(&found), &found.verdict),
        (vec!["above-reload-bound"], &Verdict::Suspect)
    );
    assert!(
        found.flags[0]
            .detail
            .starts_with("the reload of the data ("),
        "{}",
        found.flags[0].detail
    );
    assert!(
        found.doubts_of_switch().is_empty(),
        "the switch without data is as good as any"
    );
}

/// With little data, nearly all of the indirect cost is that of the switch, whose own lines are no
/// part of the bound.
#[test]
fn a_switch_that_runs_cold_is_not_held_against_the_bound_of_the_data() {
    let mut few = pipe().with_set(Bytes(64)).noise(1e-6);
    (few.reload_ns, few.colder_ns) = (2.0, 19.0);
    let found = found_with_latencies(few);
    let (bound, indirect) = (
        found.reload_bound_ns.expect("known"),
        found.indirect_ns.as_ref().expect("measured"),
    );
    assert!(bound < 10.0 && indirect.low > bound, "{bound} {indirect:?}");
    assert!(
        !names(&found).contains(&"above-reload-bound"),
        "{:?}",
        found.flags
    );
}

#[test]
fn a_wide_interval_is_reported_with_both_widths() {
    let found = found(pipe().noise(0.1));
    let flag = found
        .flags
        .iter()
        .find(|flag| flag.name == FlagName::WideInterval)
        .expect("flagged");
    assert!(
        flag.detail
            .starts_with("the interval within this run is +-"),
        "{}",
        flag.detail
    );
    assert!(flag.detail.ends_with(
        "% wide after 8 repetitions, but +-2.00 % was requested; give the run more time (--budget)"
    ));
    assert_eq!(
        found.verdict,
        Verdict::Measured,
        "an honest interval is not suspect"
    );
}

#[test]
fn what_else_is_in_a_number_is_reported() {
    let bare = found(pipe().change(|case| case.mechanism = switchcost_record::Mechanism::PosixSem));
    assert_eq!(names(&bare), ["baseline-without-system-calls"]);
    let preempted = found_after(
        pipe().change(|case| case.policy = Policy::Other),
        |window| {
            let switches = &mut window.counted.as_mut().expect("they count").switches;
            switches.involuntary = switches.voluntary * 4 / 10;
            switches.voluntary -= switches.involuntary;
        },
    );
    assert_eq!(preempted.involuntary_share, Some(0.4));
    assert_eq!(names(&preempted), ["involuntary-switches"]);
    assert!(
        preempted.flags[0]
            .detail
            .starts_with("40.0 % of the switches were involuntary")
    );
}

/// Makes a record in which a loop on the same CPU had half of each window, in time slices of
/// milliseconds.
fn beside_a_loop(policy: Policy) -> MeasureRecord {
    let case = pipe().change(|case| case.policy = policy);
    let mut record = fake_record(vec![case], 8);
    for window in &mut record.cycles {
        window.evidence.wall_ns = Nanos(2 * window.evidence.task_cpu_ns.0);
        // One of five cycles is disturbed: more than are trimmed.
        window.batches.handoff_ticks[7].0 += 10_000_000;
    }
    record
}

#[test]
fn beside_a_loop_an_ordinary_hand_off_has_a_number_and_the_loops_share_is_reported() {
    let found = only(&beside_a_loop(Policy::Other));
    assert_near(&found.direct_ns, 1_700.0, 0.01);
    assert_eq!(
        (&found.verdict, names(&found)),
        (&Verdict::Measured, vec!["beside-others"])
    );
    assert_eq!(
        found.flags[0].detail,
        "50 % of the time went to other tasks: the cost is that of the hand-offs in between, and includes the effect of the \
         other tasks. For the \
         cost alone: something else ran on the measured CPU; stop the other load, or choose a quieter CPU with --cpu"
    );
    let batch = beside_a_loop(Policy::Batch);
    assert!(is_case_done(&batch.header, 0, &batch.cycles));
}

#[test]
fn with_real_time_priority_a_loop_is_a_fault_and_no_sample_is_said_to_be_disturbed_that_was_not() {
    let mut record = beside_a_loop(Policy::Fifo);
    let found = only(&record);
    assert_eq!(
        (found.direct_ns.is_none(), names(&found)),
        (true, vec!["disturbed"])
    );
    // In each window 11 % is disturbed, too little to leave the window out.
    let slightly = |window: &mut Cycles| {
        window.evidence.wall_ns = Nanos(window.evidence.task_cpu_ns.0 * 100 / 89)
    };
    record.cycles.iter_mut().for_each(slightly);
    assert_eq!(
        why(&only(&record)),
        "11 % of the time went to other tasks: something else ran on the measured CPU; stop the other load, or choose a \
         quieter CPU with --cpu"
    );
}

#[test]
fn advice_is_what_the_command_line_left_open() {
    let mut record = beside_a_loop(Policy::Other);
    let detail = |record: &MeasureRecord| only(record).flags.remove(0).detail;
    let control = |outcome| switchcost_record::Control {
        name: "real-time-priority".to_owned(),
        wanted: String::new(),
        outcome,
    };
    record.header.controls = vec![control(switchcost_record::ControlOutcome::TurnedOff)];
    assert!(!detail(&record).contains("real-time"), "it was turned off");
    let [found, needed, fix, lasting_fix] = [(); 4].map(|()| String::new());
    record.header.controls = vec![control(switchcost_record::ControlOutcome::Refused {
        found,
        needed,
        fix,
        lasting_fix,
    })];
    assert!(detail(&record).ends_with(
        "stop the other load, allow real-time priority, or choose a quieter CPU with --cpu"
    ));
}
