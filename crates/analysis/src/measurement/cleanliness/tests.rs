//! Tests each rule on both sides of its threshold.

use switchcost_record::{CountedHandoffs, KernelSwitches, Mechanism, Policy, SwitchPlan};
use switchcost_units::CpuId;

use super::*;
use crate::testing::{FakeCase, fake_record, fiber, pipe};

/// Returns the reasons to leave out one window of `case` after `change`. The window has a length of
/// 25 ms and 1,000 counted hand-offs.
fn reasons_of(case: &FakeCase, change: impl FnOnce(&mut Cycles)) -> Vec<&'static str> {
    let mut window = fake_record(vec![case.clone()], 1).cycles.remove(0);
    window.switching_handoffs = 1_000;
    window.counted = window.counted.map(|_| counted(1_000));
    change(&mut window);
    reasons_of_window(&window, &case.case())
}

/// Returns the reasons to leave out a window of 1,000 hand-offs between two processes, 25 ms long,
/// after `change`.
fn reasons(change: impl FnOnce(&mut Cycles)) -> Vec<&'static str> {
    reasons_of(&pipe(), change)
}

fn counted(switches: u64) -> CountedHandoffs {
    CountedHandoffs {
        handoffs: 1_000,
        switches: KernelSwitches {
            voluntary: switches,
            involuntary: 0,
        },
    }
}

fn across_cpus() -> FakeCase {
    pipe().change(|case| case.placement.cpus.push(CpuId(0)))
}

fn ordinary() -> FakeCase {
    pipe().change(|case| case.policy = Policy::Other)
}

const CLEAN: [&str; 0] = [];

#[test]
fn an_undisturbed_window_is_clean() {
    assert_eq!(reasons(|_| ()), CLEAN);
    assert_eq!(reasons_of(&fiber(), |_| ()), CLEAN);
    assert_eq!(reasons_of(&across_cpus(), |_| ()), CLEAN);
}

/// Returns a change that adds time of other tasks to a window, in addition to one step of stolen
/// time.
fn foreign(wall: Nanos, foreign: Nanos) -> impl Fn(&mut Cycles) {
    move |window| {
        window.evidence.wall_ns = wall;
        window.evidence.task_cpu_ns = wall.saturating_sub(foreign + STEAL_STEP);
    }
}

#[test]
fn time_that_went_to_others_is_seen() {
    assert_eq!(
        reasons(foreign(Nanos::millis(20), Nanos::millis(2))),
        CLEAN,
        "a tenth"
    );
    assert_eq!(
        reasons(foreign(Nanos::millis(20), Nanos(2_000_001))),
        ["foreign-time"]
    );
    assert_eq!(
        reasons_of(&across_cpus(), foreign(Nanos::millis(20), Nanos::millis(8))),
        CLEAN,
        "one of two CPUs idles"
    );
    assert_eq!(
        reasons(|window| window.evidence.task_cpu_ns = Nanos::seconds(1)),
        CLEAN,
        "more CPU time than wall time"
    );
    let beside = reasons_of(&ordinary(), foreign(Nanos::millis(80), Nanos::millis(50)));
    assert_eq!(
        beside, CLEAN,
        "ordinary tasks are measured between the turns of others"
    );
}

#[test]
fn a_pause_is_no_other_load() {
    let paused = |cpu, run_delay| {
        move |window: &mut Cycles| {
            window.evidence.wall_ns = Nanos::millis(3025);
            window.evidence.task_cpu_ns = cpu;
            window.evidence.run_delay_ns = Some(run_delay);
        }
    };
    let little = Nanos::millis(10);
    assert_eq!(reasons(paused(Nanos::millis(25), little)), ["paused"]);
    assert_eq!(
        reasons_of(&ordinary(), paused(Nanos::millis(25), little)),
        ["paused"]
    );
    let of_others = Nanos::seconds(3);
    assert_eq!(
        reasons(paused(Nanos::millis(25), of_others)),
        ["foreign-time"],
        "who waits for a CPU is not paused"
    );
    assert_eq!(
        reasons(paused(Nanos::millis(3005), Nanos(0))),
        CLEAN,
        "a tick or two is missing"
    );
    assert_eq!(
        reasons_of(&across_cpus(), paused(Nanos::millis(25), little)),
        CLEAN,
        "one of two CPUs idles"
    );
    assert_eq!(
        reasons(|window| {
            paused(Nanos::millis(25), little)(window);
            window.evidence.major_faults = 1;
        }),
        ["foreign-time", "faults"],
        "a page was read meanwhile"
    );
}

#[test]
fn tasks_on_cpus_of_their_own_wait_for_none() {
    let waited = |share: u64| {
        move |window: &mut Cycles| {
            window.evidence.steal_ns = None;
            window.evidence.run_delay_ns = Some(Nanos(window.evidence.wall_ns.0 / share));
        }
    };
    assert_eq!(
        reasons_of(&across_cpus(), waited(5)),
        CLEAN,
        "wake-ups are short waits"
    );
    assert_eq!(reasons_of(&across_cpus(), waited(4)), ["foreign-time"]);
    assert_eq!(
        reasons(waited(1)),
        CLEAN,
        "on one CPU that is how a ring works"
    );
}

#[test]
fn stolen_time_is_not_another_tasks() {
    let wall = Nanos::millis(40);
    let stolen = |steal: Option<Nanos>| {
        move |window: &mut Cycles| {
            foreign(wall, Nanos::millis(20))(window);
            window.evidence.steal_ns = steal;
        }
    };
    assert_eq!(reasons(stolen(Some(Nanos::millis(20)))), CLEAN);
    assert_eq!(reasons(stolen(Some(Nanos(0)))), ["foreign-time"]);
    assert_eq!(
        reasons(stolen(None)),
        ["foreign-time"],
        "and so is what may be stolen"
    );
}

#[test]
fn faults_beyond_a_few_pages_count() {
    // The limit is 16, plus 4 for each of two tasks; a fault in 20 batches is trimmed.
    assert_eq!(reasons(|window| window.evidence.minor_faults = 24), CLEAN);
    assert_eq!(
        reasons(|window| window.evidence.minor_faults = 25),
        ["faults"]
    );
    assert_eq!(
        reasons(|window| window.evidence.major_faults = 1),
        ["faults"]
    );
}

#[test]
fn a_task_that_left_its_cpu_is_seen() {
    assert_eq!(
        reasons(|window| window.evidence.cpu_after = Some(CpuId(0))),
        ["migration"]
    );
    assert_eq!(
        reasons(|window| window.evidence.cpu_before = Some(CpuId(0))),
        ["migration"]
    );
    assert_eq!(reasons(|window| window.evidence.cpu_before = None), CLEAN);
    let free = pipe().change(|case| case.placement.cpus.clear());
    assert_eq!(
        reasons_of(&free, |window| window.evidence.cpu_after = Some(CpuId(0))),
        CLEAN
    );
}

#[test]
fn a_clock_that_ran_backwards_is_seen() {
    assert_eq!(
        reasons(|window| window.evidence.is_clock_backwards = true),
        ["clock-backwards"]
    );
    assert_eq!(
        reasons(|window| window.batches = Default::default()),
        ["no-handoffs"]
    );
}

fn switches(count: u64) -> impl Fn(&mut Cycles) {
    move |window| window.counted = Some(counted(count))
}

#[test]
fn the_tasks_count_is_held_against_the_plan() {
    // The limit is 1,000 planned switches, 5 stray ones, 4 at the edges of each of two tasks, and
    // 4.
    assert_eq!(reasons(switches(1_013)), CLEAN);
    assert_eq!(reasons(switches(1_014)), ["switch-count"]);
    assert_eq!(reasons(switches(987)), CLEAN);
    assert_eq!(reasons(switches(986)), ["switch-count"]);
    let range = pipe().change(|case| {
        case.switches = Some(SwitchPlan {
            low_per_mille: 1000,
            high_per_mille: 2000,
        });
    });
    assert_eq!(reasons_of(&range, switches(2_013)), CLEAN);
    assert_eq!(reasons_of(&range, switches(2_014)), ["switch-count"]);
    let unjudged = pipe().change(|case| case.switches = None);
    assert_eq!(reasons_of(&unjudged, switches(77)), CLEAN);
}

#[test]
fn where_tasks_did_not_count_commands_are_taken_off() {
    let in_window = |switches: u64| {
        move |window: &mut Cycles| {
            window.counted = None;
            window.kernel_switches.voluntary = window.control_switches + switches;
        }
    };
    // The limit is 1,000 planned switches, 100 for commands, 5.5 stray ones, 4 at the edges of each
    // of two tasks, and 4.
    assert_eq!(reasons(in_window(1_013)), CLEAN);
    assert_eq!(reasons(in_window(1_014)), ["switch-count"]);
    assert_eq!(reasons(in_window(986)), ["switch-count"]);
}

#[test]
fn switches_of_somebody_else_are_not_held_against_the_tasks() {
    let both = |window: &mut Cycles| {
        switches(1_500)(window);
        foreign(Nanos::millis(20), Nanos::millis(5))(window);
    };
    assert_eq!(reasons(both), ["foreign-time"]);
}

#[test]
fn a_user_level_switch_is_made_and_not_seen_by_the_kernel() {
    let by_kernel = |count| move |window: &mut Cycles| window.kernel_switches.voluntary = count;
    // The limit is 8, and 5 stray switches.
    assert_eq!(reasons_of(&fiber(), by_kernel(13)), CLEAN);
    assert_eq!(reasons_of(&fiber(), by_kernel(14)), ["switch-count"]);
    assert_eq!(
        reasons_of(&fiber(), |window| window.user_switches = 0),
        ["switch-count"]
    );
}

#[test]
fn a_runtime_may_touch_new_pages() {
    let runtime = pipe().change(|case| {
        case.mechanism = Mechanism::Runtime;
        case.runtime = Some(switchcost_record::RuntimeCase {
            runtime: "go".to_owned(),
            handoff: "channel".to_owned(),
            class: switchcost_record::Class::HandOff,
        });
    });
    assert_eq!(
        reasons_of(&runtime, |window| window.evidence.minor_faults = 9_999),
        CLEAN
    );
    assert_eq!(
        reasons_of(&runtime, |window| window.evidence.major_faults = 1),
        ["faults"]
    );
}
