//! Each rule by itself, on both sides of its threshold.

use switchcost_record::{KernelSwitches, Policy, SwitchPlan};
use switchcost_units::CpuId;

use super::*;
use crate::testing::{FakeCase, fake_record};

/// The reasons of one sample of `case` at `position` after a change; the other samples are as they were.
fn reasons_at(case: &FakeCase, position: usize, change: impl FnOnce(&mut Sample)) -> Vec<&'static str> {
    let mut samples = fake_record(vec![case.clone()], 2).samples;
    let usual = samples.clone();
    change(&mut samples[position]);
    let case = case.case();
    Context::new(&case, &usual.iter().collect::<Vec<_>>(), None).reasons(&samples[position])
}

/// Of a switching sample of 10,000 hand-offs between two processes, 26 ms long.
fn reasons(change: impl FnOnce(&mut Sample)) -> Vec<&'static str> {
    reasons_at(&FakeCase::pipe(), 4, change)
}

const CLEAN: [&str; 0] = [];

#[test]
fn an_undisturbed_sample_is_clean() {
    assert_eq!(reasons(|sample| assert!(sample.arm.switches())), CLEAN);
    assert_eq!(reasons_at(&FakeCase::fiber(), 0, |_| ()), CLEAN);
}

fn foreign(wall: Nanos, foreign: Nanos) -> impl Fn(&mut Sample) {
    move |sample| {
        sample.evidence.wall_ns = wall;
        sample.evidence.task_cpu_ns = wall.saturating_sub(foreign);
    }
}

#[test]
fn time_that_went_to_others_is_seen() {
    assert_eq!(reasons(foreign(Nanos::millis(20), Nanos::micros(200))), CLEAN);
    assert_eq!(reasons(foreign(Nanos::millis(20), Nanos::micros(201))), ["foreign-time"]);
    assert_eq!(reasons(foreign(Nanos::millis(1), Nanos::micros(50))), CLEAN, "a short window has a floor");
    assert_eq!(reasons(foreign(Nanos::millis(1), Nanos::micros(51))), ["foreign-time"]);
    let apart = FakeCase::pipe().change(|case| case.placement.cpus.push(CpuId(0)));
    assert_eq!(reasons_at(&apart, 4, foreign(Nanos::millis(20), Nanos::millis(10))), CLEAN, "one of two CPUs idles");
    let more_cpu_than_wall = |sample: &mut Sample| sample.evidence.task_cpu_ns = Nanos::seconds(1);
    assert_eq!(reasons(more_cpu_than_wall), CLEAN);
}

#[test]
fn the_kernels_throttle_has_its_own_name() {
    let throttled = foreign(Nanos::millis(80), Nanos::millis(50));
    assert_eq!(reasons(&throttled), ["rt-throttled"]);
    assert_eq!(reasons(foreign(Nanos::millis(80), Nanos::millis(39))), ["foreign-time"]);
    let other = FakeCase::pipe().change(|case| case.policy = Policy::Other);
    assert_eq!(reasons_at(&other, 4, &throttled), ["foreign-time"]);
}

#[test]
fn steal_of_any_length_counts_and_steal_unknown_does_not() {
    assert_eq!(reasons(|sample| sample.evidence.steal_ns = Some(Nanos(1))), ["steal"]);
    assert_eq!(reasons(|sample| sample.evidence.steal_ns = None), CLEAN);
}

#[test]
fn bursts_of_interrupts_are_distinguished_from_the_usual_ones() {
    // Usual are 4 interrupts and 3 soft interrupts.
    assert_eq!(reasons(|sample| sample.evidence.interrupts = Some(24)), CLEAN);
    assert_eq!(reasons(|sample| sample.evidence.interrupts = Some(25)), ["interrupts"]);
    assert_eq!(reasons(|sample| sample.evidence.softirqs = Some(70)), CLEAN);
    assert_eq!(reasons(|sample| sample.evidence.softirqs = Some(71)), ["softirqs"]);
    let tcp = FakeCase::pipe().change(|case| case.mechanism = Mechanism::Tcp);
    assert_eq!(reasons_at(&tcp, 4, |sample| sample.evidence.softirqs = Some(71)), CLEAN);
}

#[test]
fn faults_beyond_a_few_pages_count() {
    assert_eq!(reasons(|sample| sample.evidence.minor_faults = 24), CLEAN);
    assert_eq!(reasons(|sample| sample.evidence.minor_faults = 25), ["faults"]);
    assert_eq!(reasons(|sample| sample.evidence.major_faults = 1), ["faults"]);
}

#[test]
fn a_task_that_left_its_cpu_is_seen() {
    assert_eq!(reasons(|sample| sample.evidence.cpu_after = Some(CpuId(0))), ["migration"]);
    assert_eq!(reasons(|sample| sample.evidence.cpu_before = Some(CpuId(0))), ["migration"]);
    assert_eq!(reasons(|sample| sample.evidence.cpu_before = None), CLEAN);
    let free = FakeCase::pipe().change(|case| case.placement.cpus.clear());
    assert_eq!(reasons_at(&free, 4, |sample| sample.evidence.cpu_after = Some(CpuId(0))), CLEAN);
}

fn probes(before: u64, after: u64) -> impl Fn(&mut Sample) {
    move |sample| (sample.evidence.probe_before, sample.evidence.probe_after) = (Ticks(before), Ticks(after))
}

#[test]
fn another_speed_of_the_core_is_seen() {
    // Usual is 2,000.
    assert_eq!(reasons(probes(2_101, 2_200)), ["frequency"]);
    assert_eq!(reasons(probes(1_899, 1_800)), ["frequency"]);
    assert_eq!(reasons(probes(2_000, 9_000)), CLEAN, "an interrupt in one probe is not a frequency");
    assert_eq!(reasons(probes(1_800, 2_200)), CLEAN, "nor are two that differ in different directions");
    assert_eq!(reasons(probes(0, 0)), CLEAN, "no probe, no judgement");
    let khz = |before, after| {
        move |sample: &mut Sample| (sample.evidence.khz_before, sample.evidence.khz_after) = (Some(before), Some(after))
    };
    assert_eq!(reasons(khz(3_000_000, 2_920_000)), CLEAN);
    assert_eq!(reasons(khz(3_000_000, 2_900_000)), ["frequency"]);
}

#[test]
fn a_case_that_ran_slower_than_its_cpu_usually_does_is_seen() {
    let fake = FakeCase::pipe();
    let (samples, case) = (fake_record(vec![fake.clone()], 2).samples, fake.case());
    let reasons = |cpu_probe| Context::new(&case, &samples.iter().collect::<Vec<_>>(), cpu_probe).reasons(&samples[4]);
    assert_eq!(reasons(Some(1_819.0)), CLEAN);
    assert_eq!(reasons(Some(1_818.0)), ["frequency"]);
}

#[test]
fn a_clock_that_ran_backwards_is_seen() {
    assert_eq!(reasons(|sample| sample.evidence.is_clock_backwards = true), ["clock-backwards"]);
    assert_eq!(reasons(|sample| sample.handoffs = 0), ["no-handoffs", "switch-count"]);
}

fn switches(count: u64) -> impl Fn(&mut Sample) {
    move |sample| sample.kernel_switches = KernelSwitches { voluntary: count, involuntary: 0 }
}

#[test]
fn the_kernels_count_is_held_against_the_plan() {
    // 10,000 planned; 50 stray ones, 4 at the edges of two tasks, and 4.
    assert_eq!(reasons(switches(10_058)), CLEAN);
    assert_eq!(reasons(switches(10_059)), ["switch-count"]);
    assert_eq!(reasons(switches(9_942)), CLEAN);
    assert_eq!(reasons(switches(9_941)), ["switch-count"]);
    let range = FakeCase::pipe().change(|case| {
        case.switches = Some(SwitchPlan { low_per_mille: 1000, high_per_mille: 2000 });
    });
    assert_eq!(reasons_at(&range, 4, switches(20_058)), CLEAN);
    assert_eq!(reasons_at(&range, 4, switches(20_059)), ["switch-count"]);
    let unjudged = FakeCase::pipe().change(|case| case.switches = None);
    assert_eq!(reasons_at(&unjudged, 4, switches(77)), CLEAN);
}

#[test]
fn a_baseline_does_not_switch() {
    let baseline = |case: &FakeCase, count| reasons_at(case, 0, switches(count));
    // 50 stray ones, 8 for the turns of two tasks, and 8.
    assert_eq!(baseline(&FakeCase::pipe(), 66), CLEAN);
    assert_eq!(baseline(&FakeCase::pipe(), 67), ["switch-count"]);
    assert_eq!(baseline(&FakeCase::fiber(), 58), CLEAN);
    assert_eq!(baseline(&FakeCase::fiber(), 59), ["switch-count"]);
}

#[test]
fn a_user_level_switch_is_made_and_not_seen_by_the_kernel() {
    assert_eq!(reasons_at(&FakeCase::fiber(), 4, switches(58)), CLEAN);
    assert_eq!(reasons_at(&FakeCase::fiber(), 4, switches(59)), ["switch-count"]);
    assert_eq!(reasons_at(&FakeCase::fiber(), 4, |sample| sample.user_switches = 0), ["switch-count"]);
}
