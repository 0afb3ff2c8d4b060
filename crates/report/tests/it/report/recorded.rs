//! A synthetic record without samples: reports take their numbers from findings.

use std::collections::BTreeMap;

use switchcost_record::{
    Between, ClockFacts, Control, ControlOutcome, CoreClock, Fact, Header, HostManifest,
    MeasureRecord, Mechanism, Plan, SelfTest, SelfTestOutcome,
};
use switchcost_units::{Bytes, CpuId, Nanos, TickRate, Ticks};

use super::fixture::{case, sized};

pub(crate) fn refused(name: &str, fix: &str) -> Control {
    let text = str::to_owned;
    Control {
        name: text(name),
        wanted: text("no page leaves memory"),
        outcome: ControlOutcome::Refused {
            found: text("RLIMIT_MEMLOCK 64 KiB"),
            needed: text("an unlimited one"),
            fix: text(fix),
            lasting_fix: text("a line in limits.conf"),
        },
    }
}

/// Makes a record of a run on a machine without counters.
pub(crate) fn record() -> MeasureRecord {
    let why = "no performance monitoring unit in this virtual machine".to_owned();
    let test = |instrument: &str, outcome| SelfTest {
        instrument: instrument.to_owned(),
        known_answer: "1,000,000 additions".to_owned(),
        outcome,
    };
    MeasureRecord {
        self_tests: vec![
            test("tsc", SelfTestOutcome::Admitted),
            test("cycles", SelfTestOutcome::Unavailable { why: why.clone() }),
            test("instructions", SelfTestOutcome::Unavailable { why }),
            test(
                "page-faults",
                SelfTestOutcome::Wrong {
                    expected_low: 100,
                    expected_high: 110,
                    found: 7,
                },
            ),
        ],
        ..MeasureRecord::new(header())
    }
}

fn header() -> Header {
    let applied = |name: &str| Control {
        name: name.to_owned(),
        wanted: String::new(),
        outcome: ControlOutcome::Applied,
    };
    Header {
        schema: "switchcost.record.measure/2".to_owned(),
        program_version: "0.1.0".to_owned(),
        started_at: "2025-11-02T10:00:00Z".to_owned(),
        command: vec!["switchcost".to_owned(), "measure".to_owned()],
        seed: 42,
        host: host(),
        clock: ClockFacts {
            source: "tsc".to_owned(),
            reason: "invariant".to_owned(),
            ticks_per_second: TickRate(2_445_428_000),
            read_cost: Ticks(44),
        },
        core_clock: CoreClock {
            chain_length: 600,
            multiplication_cycles: None,
            additions: 1800,
            overhead_ticks: Ticks(0),
            unshared_per_mille: None,
            counter: None,
            shared_costs: vec![],
        },
        controls: vec![
            applied("affinity"),
            applied("real-time-priority"),
            refused("locked-memory", "sudo prlimit --memlock=unlimited --pid $$"),
            Control {
                outcome: ControlOutcome::TurnedOff,
                ..applied("fresh-processes")
            },
        ],
        runtimes: Vec::new(),
        earlier: None,
        plan: plan(),
    }
}

fn plan() -> Plan {
    Plan {
        preset: "default".to_owned(),
        cases: vec![case(Mechanism::Pipe, Between::Process), sized(2, 64)],
        precision_per_mille: 50,
        confidence_per_mille: 900,
        budget_ns: Nanos::seconds(60),
        max_repetitions: 100,
        batch_ns: Nanos::millis(5),
        repetition_ns: Nanos(0),
        synthetic_switch_ns: Nanos(2_000),
        synthetic_reload_ns: Nanos(0),
        rounds: Default::default(),
        wants_counters: true,
    }
}

fn host() -> HostManifest {
    HostManifest {
        hostname: "bench".to_owned(),
        kernel: "6.1.0-18-amd64 #1 SMP".to_owned(),
        distribution: Fact::unknown("no os-release"),
        architecture: "x86_64".to_owned(),
        cpu_model: Fact::Known("AMD EPYC 7B13".to_owned()),
        cpus_online: (0..4).map(CpuId).collect(),
        cpus_allowed: (0..4).map(CpuId).collect(),
        cpus_isolated: vec![],
        caches: vec![],
        undescribed_caches: vec![],
        core_khz: None,
        microcode: None,
        tlbs: Fact::unknown("no CPUID leaf"),
        page_bytes: Bytes::kib(4),
        huge_pages: Fact::unknown("not built in"),
        memory_bytes: Bytes::mib(8192),
        memory_available_bytes: Bytes::mib(4096),
        clock_source: Fact::Known("tsc".to_owned()),
        is_tsc_invariant: true,
        hypervisor: Fact::Known("kvm".to_owned()),
        governor: Fact::unknown("hidden by the hypervisor"),
        is_turbo_on: None,
        is_smt_active: Fact::Known(true),
        mitigations: BTreeMap::new(),
        is_kpti_active: Fact::Known(false),
        has_pcid: Fact::Known(true),
        timer_hz: Fact::Known(250),
        preemption: Fact::Known("voluntary".to_owned()),
        kernel_command_line: Fact::unknown("not readable"),
        interrupts: vec![],
        cpu_quota: None,
        scheduler: None,
        switch_path: None,
    }
}
