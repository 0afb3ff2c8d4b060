//! Records of machines that never were, with known answers, for tests.

use std::collections::BTreeMap;

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use record::{
    Arm, Between, Cache, CacheKind, Case, ClockFacts, End, EndReason, Evidence, Fact, Header, HostManifest,
    KernelSwitches, MeasureRecord, Mechanism, Placement, Plan, Policy, Relation, Sample, SwitchPlan, Tlb, TlbKind,
};
use units::{Bytes, CpuId, Nanos, TickRate, Ticks};
use workload::WorkingSet;

/// Half-thousandths of a nanosecond, so that no rounding is seen.
pub(crate) const RATE: TickRate = TickRate(2_000_000_000);

const HANDOFFS: u64 = 10_000;
/// Batches of each arm in a repetition.
const BATCHES: u32 = 4;

/// A case and what it costs in truth, in nanoseconds a hand-off.
#[derive(Clone, Debug)]
pub(crate) struct FakeCase {
    case: Case,
    pub(crate) baseline_ns: f64,
    pub(crate) switch_ns: f64,
    pub(crate) walk_ns: f64,
    pub(crate) reload_ns: f64,
    pub(crate) switches_per_handoff: f64,
    /// Standard deviation between repetitions of each arm, as a share of its time.
    noise: f64,
    /// Share of repetitions of an arm that take half as long again.
    outliers: f64,
}

impl FakeCase {
    fn new(mechanism: Mechanism, between: Between, baseline_ns: f64, switch_ns: f64) -> Self {
        let per_mille = if between == Between::User { 0 } else { 1000 };
        let case = Case {
            mechanism,
            between,
            tasks: 2,
            working_set: WorkingSet::NONE,
            placement: Placement { cpus: vec![CpuId(1)], relation: Relation::SameCpu },
            policy: Policy::Fifo,
            switches: Some(SwitchPlan { low_per_mille: per_mille, high_per_mille: per_mille }),
        };
        let (walk_ns, reload_ns, switches_per_handoff) = (10_000.0, 4_000.0, 1.0);
        FakeCase { case, baseline_ns, switch_ns, walk_ns, reload_ns, switches_per_handoff, noise: 0.001, outliers: 0.0 }
    }

    pub(crate) fn pipe() -> Self {
        FakeCase::new(Mechanism::Pipe, Between::Process, 900.0, 1_700.0)
    }

    pub(crate) fn fiber() -> Self {
        FakeCase::new(Mechanism::Fiber, Between::User, 2.0, 5.0)
    }

    pub(crate) fn synthetic() -> Self {
        FakeCase::new(Mechanism::Synthetic, Between::User, 2.0, 1_000.0)
    }

    pub(crate) fn with_set(mut self, size: Bytes) -> Self {
        self.case.working_set.size_bytes = size;
        self
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
        if self.case.working_set.is_empty() { &all[..2] } else { all }
    }

    fn true_ns(&self, arm: Arm) -> f64 {
        let walk = if arm.walks() { self.walk_ns } else { 0.0 };
        let switch = if arm.switches() { self.switch_ns } else { 0.0 };
        let reload = if arm == Arm::SwitchTotal { self.reload_ns } else { 0.0 };
        self.baseline_ns + walk + switch + reload
    }

    fn sample(&self, index: usize, repetition: u32, position: u32, arm: Arm, ns_per_handoff: f64) -> Sample {
        let ticks = (ns_per_handoff * HANDOFFS as f64 * RATE.0 as f64 / 1e9).round() as u64;
        let wall_ns = Nanos(RATE.nanos(Ticks(ticks)).0 + 5_000);
        let switches = if arm.switches() { (self.switches_per_handoff * HANDOFFS as f64) as u64 } else { 0 };
        let is_user = self.case.between == Between::User;
        let cpu = self.case.placement.cpus.first().copied();
        Sample {
            case: index as u32,
            repetition,
            position,
            arm,
            at_ns: Nanos(0),
            handoffs: HANDOFFS,
            ticks: Ticks(ticks),
            kernel_switches: KernelSwitches { voluntary: if is_user { 0 } else { switches }, involuntary: 0 },
            user_switches: if is_user { switches } else { 0 },
            evidence: Evidence {
                wall_ns,
                task_cpu_ns: Nanos(wall_ns.0 - 2_000),
                steal_ns: Some(Nanos(0)),
                interrupts: Some(4),
                softirqs: Some(3),
                cpu_before: cpu,
                cpu_after: cpu,
                probe_before: Ticks(2_000),
                probe_after: Ticks(2_000),
                ..Evidence::default()
            },
            counters: None,
            handoff_ticks: Vec::new(),
        }
    }

    fn repetition(&self, index: usize, repetition: u32, random: &mut ChaCha8Rng) -> Vec<Sample> {
        let mut samples = Vec::new();
        for arm in self.arms() {
            let outlier = if random.random_bool(self.outliers) { 1.5 } else { 1.0 };
            let ns = self.true_ns(*arm) * (1.0 + self.noise * normal(random)) * outlier;
            for _ in 0..BATCHES {
                let jitter = 1.0 + self.noise / 10.0 * normal(random);
                samples.push(self.sample(index, repetition, samples.len() as u32, *arm, ns * jitter));
            }
        }
        samples
    }
}

/// A standard normal number (Box and Muller 1958).
pub(crate) fn normal(random: &mut ChaCha8Rng) -> f64 {
    let (u, v): (f64, f64) = (1.0 - random.random::<f64>(), random.random());
    (-2.0 * u.ln()).sqrt() * (std::f64::consts::TAU * v).cos()
}

/// A complete record of so many repetitions of each case.
pub(crate) fn fake_record(cases: Vec<FakeCase>, repetitions: u32) -> MeasureRecord {
    fake_record_with_seed(cases, repetitions, 1)
}

/// The same with other noise.
pub(crate) fn fake_record_with_seed(cases: Vec<FakeCase>, repetitions: u32, seed: u64) -> MeasureRecord {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let mut record = MeasureRecord::new(header(cases.iter().map(FakeCase::case).collect(), seed));
    for repetition in 0..repetitions {
        for (index, case) in cases.iter().enumerate() {
            record.samples.extend(case.repetition(index, repetition, &mut random));
        }
    }
    record.end = Some(End { reason: EndReason::Complete, elapsed_ns: Nanos::seconds(10), ticks_per_second: RATE });
    record
}

fn header(cases: Vec<Case>, seed: u64) -> Header {
    Header {
        schema: "switchcost.record.measure/1".to_owned(),
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
        controls: Vec::new(),
        plan: Plan {
            preset: "selected".to_owned(),
            cases,
            precision_per_mille: 20,
            confidence_per_mille: 900,
            budget_ns: Nanos::seconds(60),
            max_repetitions: 60,
            batch_ns: Nanos::millis(10),
            synthetic_switch_ns: Nanos(1_000),
            synthetic_reload_ns: Nanos(0),
            wants_counters: false,
        },
    }
}

/// L1d 48 KiB, L2 1 MiB, L3 32 MiB, two levels of TLB, pages of 4 KiB.
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
        tlbs: Fact::Known(vec![
            Tlb { level: 1, kind: TlbKind::Data, entries: 64, page_bytes: Bytes::kib(4) },
            Tlb { level: 2, kind: TlbKind::Unified, entries: 2048, page_bytes: Bytes::kib(4) },
        ]),
        page_bytes: Bytes::kib(4),
        huge_pages: Fact::unknown(unknown()),
        memory_bytes: Bytes(16 << 30),
        memory_available_bytes: Bytes(8 << 30),
        clock_source: Fact::unknown(unknown()),
        is_tsc_invariant: true,
        hypervisor: Fact::unknown(unknown()),
        governor: Fact::unknown(unknown()),
        is_smt_active: Fact::unknown(unknown()),
        mitigations: BTreeMap::new(),
        is_kpti_active: Fact::unknown(unknown()),
        has_pcid: Fact::unknown(unknown()),
        timer_hz: Fact::unknown(unknown()),
        preemption: Fact::unknown(unknown()),
        kernel_command_line: Fact::unknown(unknown()),
        interrupts: Vec::new(),
    }
}

fn cache(level: u32, kind: CacheKind, size_bytes: Bytes) -> Cache {
    Cache { level, kind, size_bytes, line_bytes: Bytes(64), ways: Some(8), shared_by: vec![CpuId(0)] }
}
