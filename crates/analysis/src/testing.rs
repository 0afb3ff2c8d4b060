//! Synthetic records of imaginary machines, with known answers, for tests.

use std::collections::BTreeMap;

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use switchcost_record::{
    Arm, Batches, Between, Cache, CacheKind, Case, ClockFacts, CoreClock, CountedHandoffs, Cycles,
    End, EndReason, Evidence, Fact, Header, HostManifest, KernelSwitches, MEASURE_FORM,
    MeasureRecord, Mechanism, Placement, Plan, Policy, Relation, Sample, SwitchPath, SwitchPlan,
    Tlb, TlbKind,
};
use switchcost_units::{Bytes, CpuId, Nanos, TickRate, Ticks};

use crate::{CaseFinding, Estimate, analyse};

/// Tick rate of half a nanosecond per tick, fine enough that no rounding shows.
pub(crate) const RATE: TickRate = TickRate(2_000_000_000);

/// A synthetic case with its true costs, in nanoseconds per hand-off.
#[derive(Clone, Debug)]
pub(crate) struct FakeCase {
    pub(crate) case: Case,
    pub(crate) baseline_ns: f64,
    pub(crate) switch_ns: f64,
    pub(crate) walk_ns: f64,
    pub(crate) reload_ns: f64,
    /// Extra time of a hand-off after a walk.
    pub(crate) colder_ns: f64,
    pub(crate) switches_per_handoff: f64,
    /// Standard deviation between repetitions of each arm, as a share of its time.
    pub(crate) noise: f64,
    /// Share of repetitions of an arm that take 1.5 times as long.
    pub(crate) outliers: f64,
}

pub(crate) fn pipe() -> FakeCase {
    FakeCase::new(Mechanism::Pipe, Between::Process, 900.0, 1_700.0)
}

pub(crate) fn fiber() -> FakeCase {
    FakeCase::new(Mechanism::Fiber, Between::User, 2.0, 5.0)
}

pub(crate) fn synthetic() -> FakeCase {
    FakeCase::new(Mechanism::Synthetic, Between::User, 2.0, 1_000.0)
}

impl FakeCase {
    fn new(mechanism: Mechanism, between: Between, baseline_ns: f64, switch_ns: f64) -> Self {
        let per_mille = if between == Between::User { 0 } else { 1000 };
        let case = Case {
            switches: Some(SwitchPlan {
                low_per_mille: per_mille,
                high_per_mille: per_mille,
            }),
            ..Case::plain(
                mechanism,
                between,
                Placement::one_cpu(CpuId(1)),
                Policy::Fifo,
            )
        };
        let (walk_ns, reload_ns, switches_per_handoff) = (10_000.0, 4_000.0, 1.0);
        let (colder_ns, noise, outliers) = (0.0, 0.001, 0.0);
        FakeCase {
            case,
            baseline_ns,
            switch_ns,
            walk_ns,
            reload_ns,
            colder_ns,
            switches_per_handoff,
            noise,
            outliers,
        }
    }

    /// Places the two tasks of the case on different CPUs, without an expected number of switches.
    pub(crate) fn across_cpus(self) -> Self {
        self.change(|case| {
            case.placement = Placement {
                cpus: vec![CpuId(1), CpuId(0)],
                relation: Relation::SharedCache,
            };
            case.switches = None;
        })
    }

    pub(crate) fn with_set(mut self, size: Bytes) -> Self {
        self.case.working_set.size_bytes = size;
        self
    }

    pub(crate) fn sized_kib(self, size: u64) -> Self {
        self.with_set(Bytes::kib(size))
    }

    pub(crate) fn noise(self, noise: f64) -> Self {
        FakeCase { noise, ..self }
    }

    pub(crate) fn outliers(self, outliers: f64) -> Self {
        FakeCase { outliers, ..self }
    }

    /// Changes the case's conditions.
    pub(crate) fn change(mut self, change: impl FnOnce(&mut Case)) -> Self {
        change(&mut self.case);
        self
    }

    pub(crate) fn case(&self) -> Case {
        self.case.clone()
    }

    fn arms(&self) -> &'static [Arm] {
        use Arm::*;
        let all = &[BaselineDirect, SwitchDirect, BaselineTotal, SwitchTotal];
        match (self.case.mechanism, self.case.working_set.is_empty()) {
            (Mechanism::Concurrent, _) => &all[2..],
            (_, true) => &all[..2],
            (_, false) => all,
        }
    }

    /// Draws the factor by which each arm takes longer than its true time in one repetition.
    fn luck(&self, random: &mut ChaCha8Rng) -> Luck {
        Luck([(); 4].map(|()| {
            let outlier = if random.random_bool(self.outliers) {
                1.5
            } else {
                1.0
            };
            (1.0 + self.noise * normal(random)) * outlier
        }))
    }

    /// Makes a batch of this arm that was not run for its time, but for counters or single
    /// hand-offs.
    pub(crate) fn sample(&self, arm: Arm) -> Sample {
        Sample {
            case: 0,
            repetition: 0,
            position: 0,
            arm,
            at_ns: Nanos(0),
            handoffs: 100,
            ticks: Ticks(0),
            kernel_switches: KernelSwitches::default(),
            user_switches: 0,
            evidence: Evidence::default(),
            counters: None,
            handoff_ticks: Vec::new(),
        }
    }
}

/// Random slowdown of each arm in one repetition, as a factor.
#[derive(Clone, Copy, Debug)]
struct Luck([f64; 4]);

/// Number of windows in a repetition, and number of cycles in each window.
#[derive(Clone, Copy, Debug)]
struct Shape {
    windows: usize,
    cycles: usize,
    /// Hand-offs in the first and the last batch of a cycle; the middle batch has twice as many.
    few: u32,
}

/// Shape of a usual run: a few consecutive cycles in each of many windows.
const USUAL: Shape = Shape {
    windows: WINDOWS,
    cycles: 5,
    few: 8,
};

/// Smallest shape, for tests with many records in which only the noise between repetitions matters;
/// its batches are so long that no rounding shows.
const LEAST: Shape = Shape {
    windows: 1,
    cycles: 1,
    few: 5_000,
};

/// Behaviour of an imaginary machine's core in one window of a synthetic record.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Core {
    /// Time relative to the core at its fastest: 1 or more.
    pub(crate) slowness: f64,
    /// Whether another hardware thread shares the core, so that hand-offs and additions take
    /// longer.
    pub(crate) is_shared: bool,
}

impl Core {
    /// Returns a core at its highest speed, shared or not.
    pub(crate) fn shared(is_shared: bool) -> Core {
        Core {
            slowness: 1.0,
            is_shared,
        }
    }

    /// Returns an unshared core whose work takes `slowness` times as long as at its highest speed.
    pub(crate) fn slow(slowness: f64) -> Core {
        Core {
            slowness,
            is_shared: false,
        }
    }
}

/// Factor by which a hand-off takes longer on a shared core.
pub(crate) const SHARED_COST: f64 = 1.2;
/// Factor by which the probe's independent additions take longer on a shared core.
const SHARED_ADDITIONS: f64 = 1.3;
const CHAIN_TICKS: f64 = 1_200.0;
const ADDITION_TICKS: f64 = 300.0;
const OVERHEAD_TICKS: u64 = 40;
/// Time of the additions over that of the chain on an unshared core, in thousandths.
pub(crate) const UNSHARED_PER_MILLE: u32 = 250;
/// Number of windows in a repetition.
pub(crate) const WINDOWS: usize = 10;
/// Number of walks in a visit.
const WALKS: u32 = 8;

impl FakeCase {
    /// Makes one window of visits of eight walks; the reload halves from walk to walk and ends with the fifth.
    fn visits(
        &self,
        index: usize,
        repetition: u32,
        core: Core,
        luck: Luck,
        shape: Shape,
    ) -> Cycles {
        let mut batches = Batches::default();
        for place in (0..shape.cycles).flat_map(|_| 0..WALKS) {
            push_probe(&mut batches, core);
            let reload_ns = if place < 5 {
                self.reload_ns / f64::from(1 << place)
            } else {
                0.0
            };
            let walk = FakeCase {
                reload_ns: 0.0,
                walk_ns: self.walk_ns + reload_ns,
                ..self.clone()
            };
            let arm = if place == 0 {
                Arm::SwitchTotal
            } else {
                Arm::BaselineTotal
            };
            walk.push_batch(&mut batches, arm, 1, core, luck);
        }
        push_probe(&mut batches, core);
        self.as_window(index, repetition, WALKS, batches)
    }

    /// Makes one window of cycles on a core that does not change.
    fn window(
        &self,
        (index, repetition): (usize, u32),
        random: &mut ChaCha8Rng,
        core: Core,
        luck: Luck,
        shape: Shape,
    ) -> Cycles {
        if self.case.away.is_some() {
            return self.visits(index, repetition, core, luck, shape);
        }
        let levels = self.arms().chunks(2);
        let batches_per_cycle = 3 * levels.len() as u32;
        let mut batches = Batches::default();
        for _ in 0..shape.cycles {
            for arms in self.arms().chunks(2) {
                let [outer, inner] = if random.random() {
                    [arms[1], arms[0]]
                } else {
                    [arms[0], arms[1]]
                };
                for (arm, handoffs) in [
                    (outer, shape.few),
                    (inner, 2 * shape.few),
                    (outer, shape.few),
                ] {
                    push_probe(&mut batches, core);
                    self.push_batch(&mut batches, arm, handoffs, core, luck);
                }
            }
        }
        push_probe(&mut batches, core);
        self.as_window(index, repetition, batches_per_cycle, batches)
    }

    fn push_batch(&self, batches: &mut Batches, arm: Arm, handoffs: u32, core: Core, luck: Luck) {
        let slow = core.slowness * if core.is_shared { SHARED_COST } else { 1.0 };
        let colder = if arm == Arm::SwitchTotal {
            self.colder_ns
        } else {
            0.0
        };
        let switch = if arm.switches() { self.switch_ns } else { 0.0 };
        let walk = if arm.walks() { self.walk_ns } else { 0.0 };
        let reload = if arm == Arm::SwitchTotal {
            self.reload_ns
        } else {
            0.0
        };
        let luck = luck.0[arm as usize];
        let ticks =
            |ns: f64| Ticks((ns * luck * f64::from(handoffs) * RATE.0 as f64 / 1e9).round() as u64);
        batches.push(
            arm,
            handoffs,
            ticks((self.baseline_ns + switch + colder) * slow),
            ticks(walk + reload),
        );
    }

    fn as_window(
        &self,
        index: usize,
        repetition: u32,
        batches_per_cycle: u32,
        batches: Batches,
    ) -> Cycles {
        let of_switching =
            |arm: &u8| *arm == Arm::SwitchDirect as u8 || *arm == Arm::SwitchTotal as u8;
        let handoffs = batches
            .arm
            .iter()
            .zip(&batches.handoffs)
            .filter(|(arm, _)| of_switching(arm));
        let switching_handoffs: u64 = handoffs.map(|(_, handoffs)| u64::from(*handoffs)).sum();
        let switches = (self.switches_per_handoff * switching_handoffs as f64) as u64;
        let is_user = self.case.between == Between::User;
        let by_kernel = KernelSwitches {
            voluntary: if is_user { 0 } else { switches },
            involuntary: 0,
        };
        let of_commands = if is_user { 0 } else { 100 };
        let is_counted = !is_user && self.case.mechanism.hands_over();
        let cpu = self.case.placement.cpus.first().copied();
        Cycles {
            case: index as u32,
            repetition,
            at_ns: Nanos(0),
            batches_per_cycle,
            switching_handoffs,
            control_switches: of_commands,
            kernel_switches: KernelSwitches {
                voluntary: of_commands + by_kernel.voluntary,
                involuntary: 0,
            },
            user_switches: if is_user { switches } else { 0 },
            counted: is_counted.then_some(CountedHandoffs {
                handoffs: switching_handoffs,
                switches: by_kernel,
            }),
            evidence: Evidence {
                wall_ns: Nanos::millis(25),
                task_cpu_ns: Nanos::millis(25),
                steal_ns: Some(Nanos(0)),
                cpu_before: cpu,
                cpu_after: cpu,
                ..Evidence::default()
            },
            batches,
        }
    }
}

fn push_probe(batches: &mut Batches, core: Core) {
    let chain = CHAIN_TICKS * core.slowness;
    let additions = ADDITION_TICKS
        * core.slowness
        * if core.is_shared {
            SHARED_ADDITIONS
        } else {
            1.0
        };
    let ticks = |net: f64| Ticks(net.round() as u64 + OVERHEAD_TICKS);
    batches.push_probe(ticks(chain), ticks(additions));
}

/// Makes a complete record on a core that behaves as `core` says in each window.
pub(crate) fn fake_record_on(
    cases: Vec<FakeCase>,
    repetitions: u32,
    core: impl FnMut() -> Core,
) -> MeasureRecord {
    fake_record_of(cases, repetitions, 1, USUAL, core)
}

/// Makes a complete record on an unshared core of steady speed.
pub(crate) fn fake_record(cases: Vec<FakeCase>, repetitions: u32) -> MeasureRecord {
    fake_record_on(cases, repetitions, || Core::slow(1.0))
}

/// Makes a complete record with noise drawn from a seed, with one cycle per repetition.
pub(crate) fn fake_record_with_seed(
    cases: Vec<FakeCase>,
    repetitions: u32,
    seed: u64,
) -> MeasureRecord {
    fake_record_of(cases, repetitions, seed, LEAST, || Core::slow(1.0))
}

fn fake_record_of(
    cases: Vec<FakeCase>,
    repetitions: u32,
    seed: u64,
    shape: Shape,
    mut core: impl FnMut() -> Core,
) -> MeasureRecord {
    let mut random = seeded(seed);
    let mut record = MeasureRecord::new(header(cases.iter().map(FakeCase::case).collect(), seed));
    for repetition in 0..repetitions {
        for (index, case) in cases.iter().enumerate() {
            let luck = case.luck(&mut random);
            let window = |_| case.window((index, repetition), &mut random, core(), luck, shape);
            record.cycles.extend((0..shape.windows).map(window));
        }
    }
    for (number, window) in record.cycles.iter_mut().enumerate() {
        window.at_ns = Nanos::millis(30 * number as u64);
    }
    record.end = Some(End {
        reason: EndReason::Complete,
        elapsed_ns: Nanos::seconds(10),
        ticks_per_second: RATE,
        switches: None,
    });
    record
}

pub(crate) fn seeded(seed: u64) -> ChaCha8Rng {
    ChaCha8Rng::seed_from_u64(seed)
}

/// Returns the findings of the first case.
pub(crate) fn only(record: &MeasureRecord) -> CaseFinding {
    analyse(record).results.remove(0)
}

/// Whether a number differs from the truth by less than `share` of the truth.
pub(crate) fn is_near(found: f64, truth: f64, share: f64) -> bool {
    (found / truth - 1.0).abs() < share
}

/// Asserts that a number differs from the truth by less than `share` of the truth.
#[track_caller]
pub(crate) fn assert_is_near(found: f64, truth: f64, share: f64) {
    assert!(is_near(found, truth, share), "{found}, not {truth}");
}

/// Asserts that a number differs from the truth by less than `bound`.
#[track_caller]
pub(crate) fn assert_within(found: f64, truth: f64, bound: f64) {
    assert!((found - truth).abs() < bound, "{found}, not {truth}");
}

#[track_caller]
pub(crate) fn assert_near(estimate: &Option<Estimate>, truth: f64, share: f64) {
    let found = estimate.as_ref().expect("an estimate");
    assert_is_near(found.estimate, truth, share);
}

/// Draws a standard normal number (Box and Muller 1958).
pub(crate) fn normal(random: &mut ChaCha8Rng) -> f64 {
    let (u, v): (f64, f64) = (1.0 - random.random::<f64>(), random.random());
    (-2.0 * u.ln()).sqrt() * (std::f64::consts::TAU * v).cos()
}

fn header(cases: Vec<Case>, seed: u64) -> Header {
    Header {
        schema: MEASURE_FORM.to_owned(),
        program_version: "0.1.0".to_owned(),
        started_at: "2026-01-01T00:00:00Z".to_owned(),
        command: Vec::new(),
        seed,
        host: host(),
        clock: ClockFacts {
            source: "tsc".to_owned(),
            reason: "invariant".to_owned(),
            ticks_per_second: RATE,
            read_cost: Ticks(20),
        },
        core_clock: CoreClock {
            chain_length: 600,
            multiplication_cycles: Some(3),
            additions: 1800,
            overhead_ticks: Ticks(OVERHEAD_TICKS),
            unshared_per_mille: None,
            counter: None,
            shared_costs: Vec::new(),
        },
        controls: Vec::new(),
        runtimes: Vec::new(),
        earlier: None,
        plan: Plan {
            preset: "selected".to_owned(),
            cases,
            precision_per_mille: 20,
            confidence_per_mille: 900,
            budget_ns: Nanos::seconds(60),
            max_repetitions: 60,
            batch_ns: Nanos::millis(10),
            repetition_ns: Nanos::millis(10),
            synthetic_switch_ns: Nanos(1_000),
            synthetic_reload_ns: Nanos(0),
            rounds: Default::default(),
            wants_counters: false,
        },
    }
}

/// Describes a machine with L1d 48 KiB, L2 1 MiB, L3 32 MiB, two levels of TLB, and pages of 4 KiB.
pub(crate) fn host() -> HostManifest {
    let unknown = || "a machine that never was".to_owned();
    HostManifest {
        hostname: "nowhere".to_owned(),
        kernel: "Linux 6.18".to_owned(),
        distribution: Fact::unknown(unknown()),
        architecture: "x86_64".to_owned(),
        cpu_model: Fact::unknown(unknown()),
        cpus_online: vec![CpuId(0), CpuId(1)],
        cpus_allowed: vec![CpuId(0), CpuId(1)],
        cpus_isolated: Vec::new(),
        caches: vec![
            cache(1, CacheKind::Data, Bytes::kib(48)),
            cache(1, CacheKind::Instruction, Bytes::kib(32)),
            cache(2, CacheKind::Unified, Bytes::mib(1)),
            cache(3, CacheKind::Unified, Bytes::mib(32)),
        ],
        undescribed_caches: Vec::new(),
        core_khz: None,
        microcode: None,
        tlbs: Fact::Known(vec![
            Tlb {
                level: 1,
                kind: TlbKind::Data,
                entries: 64,
                page_bytes: Bytes::kib(4),
            },
            Tlb {
                level: 2,
                kind: TlbKind::Unified,
                entries: 2048,
                page_bytes: Bytes::kib(4),
            },
        ]),
        page_bytes: Bytes::kib(4),
        huge_pages: Fact::unknown(unknown()),
        memory_bytes: Bytes(16 << 30),
        memory_available_bytes: Bytes(8 << 30),
        clock_source: Fact::unknown(unknown()),
        is_tsc_invariant: true,
        hypervisor: Fact::unknown(unknown()),
        governor: Fact::unknown(unknown()),
        is_turbo_on: None,
        is_smt_active: Fact::unknown(unknown()),
        mitigations: BTreeMap::new(),
        is_kpti_active: Fact::unknown(unknown()),
        has_pcid: Fact::unknown(unknown()),
        timer_hz: Fact::unknown(unknown()),
        preemption: Fact::unknown(unknown()),
        kernel_command_line: Fact::unknown(unknown()),
        interrupts: Vec::new(),
        cpu_quota: None,
        scheduler: None,
        switch_path: None,
    }
}

/// Makes the facts of a switch path without anything that slows it.
pub(crate) fn switch_path() -> SwitchPath {
    let unknown = || Fact::<String>::unknown("not asked");
    SwitchPath {
        nice: Fact::Known(0),
        slice_ns: Fact::Known(3),
        utilization_clamp: Fact::unknown("not asked"),
        control_group: Fact::Known("/".to_owned()),
        control_group_depth: Fact::Known(0),
        autogroup: unknown(),
        seccomp_filters: Fact::Known(0),
        speculation: unknown(),
        is_traced: Fact::Known(false),
        sched_ext: unknown(),
        ftrace: Fact::Known(Vec::new()),
        observers: Fact::Known(Vec::new()),
        audit: unknown(),
        security_modules: Fact::Known(Vec::new()),
        settings: BTreeMap::new(),
    }
}

fn cache(level: u32, kind: CacheKind, size_bytes: Bytes) -> Cache {
    Cache {
        level,
        kind,
        size_bytes,
        line_bytes: Bytes(64),
        ways: Some(8),
        shared_by: vec![CpuId(0)],
    }
}
