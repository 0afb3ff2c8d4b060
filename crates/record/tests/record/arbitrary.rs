//! Draws records that no machine would write: numbers up to their limits, and hostile texts.

use std::collections::BTreeMap;

use proptest::prelude::*;
use proptest::test_runner::TestRng;
use strum::IntoEnumIterator;
use switchcost_record::{
    Arm, Batches, Between, Cache, CacheKind, Case, Class, ClockFacts, Control, ControlOutcome,
    CoreClock, CostName, CountedHandoffs, CpuQuota, Cycles, EarlierCase, EarlierRuns, End,
    EndReason, Evidence, Fact, HandoffFacts, Header, HostManifest, InterruptLoad, KernelSwitches,
    Latency, Line, Mechanism, Placement, Plan, Policy, Refusal, Relation, Rounds, RuntimeCase,
    RuntimeFacts, RuntimeRun, Sample, Scheduler, SelfTest, SelfTestOutcome, SharedCost, Spread,
    SwitchPath, SwitchPlan, Tlb, TlbKind, VectorCase, VectorState, Walks, WarmUp,
};
use switchcost_units::{Bytes, CpuId, Nanos, TickRate, Ticks};
use switchcost_workload::{Access, Pages, Pattern, Sharing, WorkingSet};

/// A type with random values.
trait Draw {
    fn draw(random: &mut TestRng) -> Self;
}

fn one_of<T: Clone>(values: &[T], random: &mut TestRng) -> T {
    values[random.random_range(0..values.len())].clone()
}

impl Draw for u64 {
    fn draw(random: &mut TestRng) -> u64 {
        // 2^53 + 1 is the first that a double does not hold.
        let any = random.random();
        one_of(&[0, 1, (1 << 53) + 1, u64::MAX - 1, u64::MAX, any], random)
    }
}

impl Draw for u32 {
    fn draw(random: &mut TestRng) -> u32 {
        let any = random.random();
        one_of(&[0, u32::MAX, any], random)
    }
}

impl Draw for i32 {
    fn draw(random: &mut TestRng) -> i32 {
        random.random()
    }
}

impl Draw for bool {
    fn draw(random: &mut TestRng) -> bool {
        random.random()
    }
}

const HOSTILE: [&str; 10] = [
    "",
    "\0\u{1}\u{1f}\u{7f}\u{85}\u{9b}2J",
    "\"\\\"\\\\/\u{8}\u{c}",
    "two\nlines\r\nand\ra\ttab",
    "{\"line\":\"end\"}\n",
    "\u{1b}]0;title\u{7}",
    "\u{202e}gnp.exe\u{2028}\u{2029}\u{feff}",
    "🦀👩‍👩‍👧 Größe 工\u{10ffff}",
    "null",
    "unknown",
];

impl Draw for String {
    fn draw(random: &mut TestRng) -> String {
        if random.random() {
            return one_of(&HOSTILE, random).to_owned();
        }
        let length = random.random_range(0..12);
        (0..length).map(|_| random.random::<char>()).collect()
    }
}

impl<T: Draw> Draw for Vec<T> {
    fn draw(random: &mut TestRng) -> Vec<T> {
        let length = random.random_range(0..4);
        (0..length).map(|_| T::draw(random)).collect()
    }
}

impl<T: Draw, const N: usize> Draw for [T; N] {
    fn draw(random: &mut TestRng) -> [T; N] {
        std::array::from_fn(|_| T::draw(random))
    }
}

impl<K: Draw + Ord, V: Draw> Draw for BTreeMap<K, V> {
    fn draw(random: &mut TestRng) -> BTreeMap<K, V> {
        let length = random.random_range(0..3);
        let pairs = (0..length).map(|_| (K::draw(random), V::draw(random)));
        pairs.collect()
    }
}

impl<T: Draw> Draw for Option<T> {
    fn draw(random: &mut TestRng) -> Option<T> {
        bool::draw(random).then(|| T::draw(random))
    }
}

impl<T: Draw> Draw for Fact<T> {
    fn draw(random: &mut TestRng) -> Fact<T> {
        match Option::draw(random) {
            Some(value) => Fact::Known(value),
            None => Fact::unknown(String::draw(random)),
        }
    }
}

impl<T: Draw> Draw for Box<T> {
    fn draw(random: &mut TestRng) -> Box<T> {
        Box::new(T::draw(random))
    }
}

/// Draws each field of a structure.
macro_rules! draw_fields {
    ($($type:ident { $($field:tt),+ })+) => {$(
        impl Draw for $type {
            fn draw(random: &mut TestRng) -> $type {
                $type { $($field: Draw::draw(random)),+ }
            }
        }
    )+};
}

/// Draws a variant, and each of its fields.
macro_rules! draw_variants {
    ($($type:ident { $($variant:ident { $($field:tt),* }),+ })+) => {$(
        impl Draw for $type {
            fn draw(random: &mut TestRng) -> $type {
                let variants: &[fn(&mut TestRng) -> $type] =
                    &[$(|_random| $type::$variant { $($field: Draw::draw(_random)),* }),+];
                one_of(variants, random)(random)
            }
        }
    )+};
}

macro_rules! draw_iterated {
    ($($type:ident)+) => {$(
        impl Draw for $type {
            fn draw(random: &mut TestRng) -> $type {
                one_of(&$type::iter().collect::<Vec<_>>(), random)
            }
        }
    )+};
}

draw_iterated! { Access Arm Between Class CostName Mechanism Pages Pattern Policy Sharing VectorState }

draw_variants! {
    CacheKind { Data {}, Instruction {}, Unified {} }
    TlbKind { Data {}, Instruction {}, Unified {} }
    Relation { SameCpu {}, Smt {}, SharedCache {}, SameSocket {}, OtherSocket {}, Unknown {}, Unpinned {} }
    ControlOutcome { Applied {}, TurnedOff {}, Refused { found, needed, fix, lasting_fix } }
    SelfTestOutcome { Admitted {}, Unavailable { why }, Wrong { expected_low, expected_high, found } }
    EndReason { Complete {}, Interrupted {} }
    Line { Header { 0 }, SelfTest { 0 }, Latency { 0 }, Sample { 0 }, Cycles { 0 }, Runtime { 0 }, Refusal { 0 }, End { 0 } }
}

draw_fields! {
    Bytes { 0 }
    CpuId { 0 }
    Nanos { 0 }
    TickRate { 0 }
    Ticks { 0 }
    Cache { level, kind, size_bytes, line_bytes, ways, shared_by }
    Tlb { level, kind, entries, page_bytes }
    CpuQuota { file, quota_us, period_us }
    InterruptLoad { cpu, since_boot, observed, observed_ms, busy_per_mille }
    Scheduler { preemption_models, slice_extension, is_cache_aware }
    SwitchPath {
        nice, slice_ns, utilization_clamp, control_group, control_group_depth, autogroup, seccomp_filters,
        speculation, is_traced, sched_ext, ftrace, observers, audit, security_modules, settings
    }
    HostManifest {
        hostname, kernel, distribution, architecture, cpu_model, microcode, cpus_online, cpus_allowed, cpus_isolated,
        caches, undescribed_caches, core_khz, tlbs, page_bytes, huge_pages, memory_bytes, memory_available_bytes,
        clock_source, is_tsc_invariant, hypervisor, governor, is_turbo_on, is_smt_active, mitigations, is_kpti_active,
        has_pcid, timer_hz, preemption, kernel_command_line, interrupts, cpu_quota, scheduler, switch_path
    }
    ClockFacts { source, reason, ticks_per_second, read_cost }
    CoreClock {
        chain_length, multiplication_cycles, additions, overhead_ticks, unshared_per_mille, counter, shared_costs
    }
    SharedCost { ratio_per_mille, cost_per_mille }
    Control { name, wanted, outcome }
    HandoffFacts { name, words, baseline }
    RuntimeFacts { name, version, program, handoffs }
    Spread { cost, between_ppm, within_ppm }
    EarlierCase { case, runs, since, until, repetitions, spreads }
    EarlierRuns { found, left_out, cases }
    WorkingSet { size_bytes, stride_bytes, access, pattern, sharing, pages }
    VectorCase { state, xsave_bytes }
    Placement { cpus, relation }
    RuntimeCase { runtime, handoff, class }
    SwitchPlan { low_per_mille, high_per_mille }
    Case { mechanism, between, tasks, working_set, away, vectors, placement, policy, runtime, switches }
    Rounds { round_trips, flush_bytes, pause_ns }
    Plan {
        preset, cases, precision_per_mille, confidence_per_mille, budget_ns, max_repetitions, batch_ns, repetition_ns,
        synthetic_switch_ns, synthetic_reload_ns, rounds, wants_counters
    }
    Header {
        schema, program_version, started_at, command, seed, host, clock, core_clock, controls, runtimes, earlier, plan
    }
    SelfTest { instrument, known_answer, outcome }
    Walks { loads, walk_ticks }
    Latency { size_bytes, loads, walk_ticks, emptied, emptied_by_page, in_order }
    KernelSwitches { voluntary, involuntary }
    Evidence {
        wall_ns, task_cpu_ns, task_user_ns, task_system_ns, run_delay_ns, steal_ns, interrupts, softirqs, minor_faults,
        major_faults, cpu_before, cpu_after, khz_before, khz_after, probe_before, probe_after, is_clock_backwards
    }
    Sample {
        case, repetition, position, arm, at_ns, handoffs, ticks, kernel_switches, user_switches, evidence, counters,
        handoff_ticks
    }
    CountedHandoffs { handoffs, switches }
    Cycles {
        case, repetition, at_ns, batches_per_cycle, switching_handoffs, control_switches, kernel_switches,
        user_switches, counted, evidence, batches
    }
    WarmUp { at_ns, wall_ns, handoffs }
    RuntimeRun { case, repetition, version, start_ns, warm_up, collections }
    Refusal { case, repetition, why }
    End { reason, elapsed_ns, ticks_per_second, switches }
}

impl Draw for Batches {
    /// Draws complete columns.
    fn draw(random: &mut TestRng) -> Batches {
        let mut columns = Batches::default();
        let is_counted = random.random();
        for _ in 0..random.random_range(0..4) {
            columns.push_probe(Draw::draw(random), Draw::draw(random));
            let (arm, handoffs) = (Draw::draw(random), Draw::draw(random));
            columns.push(arm, handoffs, Draw::draw(random), Draw::draw(random));
            if is_counted {
                columns.push_count(Draw::draw(random), Draw::draw(random));
            }
        }
        columns.push_probe(Draw::draw(random), Draw::draw(random));
        columns
    }
}

/// Generates a header with the lines that may follow it, with or without an end.
pub(crate) fn record() -> impl Strategy<Value = (Header, Vec<Line>)> {
    Just(()).prop_perturb(|(), mut random| {
        let random = &mut random;
        let mut header = Header::draw(random);
        header.plan.cases.push(Case::draw(random));
        let cases = header.plan.cases.len() as u32;
        let mut lines = Vec::new();
        for _ in 0..random.random_range(0..8) {
            let mut line = Line::draw(random);
            match &mut line {
                Line::Header(_) | Line::End(_) => continue,
                Line::SelfTest(_) | Line::Latency(_) => {}
                Line::Sample(sample) => sample.case %= cases,
                Line::Cycles(cycles) => cycles.case %= cases,
                Line::Runtime(run) => run.case %= cases,
                Line::Refusal(refusal) => refusal.case %= cases,
            }
            lines.push(line);
        }
        lines.extend(Option::draw(random).map(Line::End));
        (header, lines)
    })
}
