//! A synthetic head with intervals: two designs, three processes, hostile names.

use switchcost_design::Design;
use switchcost_design::result::{
    ByView, CallCost, DesignResult, Detail, Eviction, EvictorPlace, GainedCycles, HierarchyCounts,
    Interval, LevelCounts, LostCycles, LostLines, LostTo, MissDifference, MissOrigins, OfOthers,
    PhysicalPages, PlaceCost, PrivateBy, ProcessFacts, ProcessMisses, Simulation, SwitchCause,
    TraceFacts, WorkingSetLoss,
};
use switchcost_simulation_record::SIMULATION_FORM;

pub(crate) const HOSTILE: &str =
    "a\u{1b}[2J\u{202e}\"\\\0switchcost.record.checksum.xxh3\u{18}\u{10}0000000000000000";

pub(crate) fn design(name: &str) -> Design {
    let text = format!(
        "schema = 'switchcost.design/1'\nname = '{name}'\ncycle_ns = [0.1, 40]\n[[level]]\nname = 'L1'\n\
         holds = 'both'\nsize = '64KiB'\nline = '16B'\nways = 1\nmiss_cycles = 15\n"
    );
    toml::from_str(&text).expect("a design")
}

fn result(name: &str) -> DesignResult {
    let level = LevelCounts {
        name: "L1".into(),
        instruction_accesses: u64::MAX,
        fills: 3,
        ..LevelCounts::default()
    };
    let counts = HierarchyCounts {
        cycles: u64::MAX,
        write_stall_cycles: 1,
        levels: vec![level.clone()],
        tlbs: vec![level],
    };
    let hierarchies = ByView {
        shared: counts.clone(),
        private: counts.clone(),
        flushed: counts,
    };
    let physical_pages = Some(PhysicalPages {
        recorded: u64::MAX,
        assigned: 1,
    });
    DesignResult {
        design: design(name),
        hierarchies,
        by_process: by_process(),
        physical_pages,
        detail: Some(detail()),
    }
}

/// Returns the misses of an existing process and of a process that the record does not have.
fn by_process() -> Vec<ProcessMisses> {
    let misses = vec![ByView {
        shared: u64::MAX,
        private: 1,
        flushed: u64::MAX,
    }];
    [0, u32::MAX]
        .map(|process| ProcessMisses {
            process,
            misses: misses.clone(),
        })
        .into()
}

fn detail() -> Detail {
    Detail {
        origins: vec![MissOrigins {
            level: "L1".into(),
            intrinsic: 1,
            ..MissOrigins::default()
        }],
        miss_differences: vec![MissDifference {
            level: "L1".into(),
            lost: 5,
            gained: u64::MAX,
            first_touches: 3,
        }],
        lost_lines: vec![LostLines {
            found_alone: "L1".into(),
            missed: "L2".into(),
            kind: switchcost_record::prices::Kind::CodeAlone,
            instruction: None,
            lines: u64::MAX,
        }],
        lost_cycles: LostCycles {
            kernel: LostTo {
                aged: u64::MAX,
                ..LostTo::default()
            },
            ..LostCycles::default()
        },
        gained_cycles: GainedCycles {
            others: 7,
            first_touches_of_data: u64::MAX,
            ..GainedCycles::default()
        },
        most_held: vec![9],
        fill_curve: Vec::new(),
        losses: vec![WorkingSetLoss {
            level: "L1".into(),
            returns: 4,
            ..WorkingSetLoss::default()
        }],
        evictions: vec![Eviction {
            level: "L1".into(),
            evictor: Some(0),
            victim: Some(1),
            lines: u64::MAX,
        }],
        code: vec![PlaceCost {
            program: HOSTILE.into(),
            cause: 1,
            object: Some("/bin/cat".into()),
            build_id: None,
            offset: 0x1000,
            symbol: None,
            line: Some("cat.c:1".into()),
            excess_cycles: i64::MIN,
        }],
        data: vec![PlaceCost {
            program: String::new(),
            cause: 0,
            object: None,
            build_id: None,
            offset: u64::MAX,
            symbol: Some("runqueues".into()),
            line: None,
            excess_cycles: 1,
        }],
        evictors: vec![EvictorPlace {
            level: "L1".into(),
            program: None,
            is_code: true,
            object: None,
            build_id: None,
            offset: u64::MAX,
            symbol: Some(HOSTILE.into()),
            lines: u64::MAX,
        }],
        kernel_batches: Vec::new(),
        kernel_functions: Vec::new(),
        calls: vec![CallCost {
            syscall: "read".into(),
            calls: 1,
            misses: vec![u64::MAX],
            ..CallCost::default()
        }],
    }
}

pub(crate) fn cause(is_voluntary: bool, entry: &str, syscall: Option<&str>) -> SwitchCause {
    SwitchCause {
        is_voluntary,
        entry: entry.into(),
        syscall: syscall.map(str::to_owned),
    }
}

pub(crate) fn head() -> Simulation {
    let names = ["cat", HOSTILE, ""];
    Simulation {
        schema: SIMULATION_FORM.to_owned(),
        program_version: "0.1.0".into(),
        started_at: "2025-11-02T10:00:00Z".into(),
        command: vec!["switchcost".into(), "simulate".into(), HOSTILE.into()],
        host: None,
        trace: TraceFacts {
            source: "a generator".into(),
            order: "synthetic".into(),
            quantum_instructions: Some(400_000),
            commands: vec![],
            instructions: 1,
            loads: 2,
            stores: u64::MAX,
            voluntary_switches: 4,
            involuntary_switches: 5,
            incomplete: None,
            part: None,
            guest: None,
            notes: Vec::new(),
        },
        interval_instructions: 10_000,
        intervals: 100,
        private_by: PrivateBy::Task,
        processes: (1..)
            .zip(names)
            .map(|(process, name)| ProcessFacts {
                process,
                name: name.into(),
                instructions: 7,
                segments: 8,
                task: Some(process),
            })
            .collect(),
        causes: vec![
            cause(true, "birth", None),
            cause(true, "syscall", Some("read")),
            cause(false, "quantum", None),
            cause(true, "syscall", Some(HOSTILE)),
        ],
        designs: vec![result("mogul-1a"), result(HOSTILE_DESIGN)],
        prices: None,
    }
}

/// Name of a design with spaces and a comma, as a user's file may contain.
pub(crate) const HOSTILE_DESIGN: &str = "two words, a comma";

/// Returns `count` intervals with varied values, some of them close to the maximum of their type.
pub(crate) fn intervals(count: u32) -> Vec<Interval> {
    let interval = |i: u32| Interval {
        design: (i % 2) as u16,
        segment: i / 9,
        segments: if i % 100 == 99 { u32::MAX } else { 1 },
        task: i.wrapping_mul(0x9e37_79b9),
        process: i % 3,
        cause: i % 4,
        end: (i + 1) % 4,
        number: i % 9,
        instructions: 10_000 + u64::from(i % 5),
        cycles: ByView {
            shared: u64::from(i) << (i % 33),
            private: u64::MAX - u64::from(i),
            flushed: u64::from(i).wrapping_mul(0x9e37_79b9_7f4a_7c15),
        },
        of_others: i.is_multiple_of(2).then(|| OfOthers {
            lost: u64::MAX - u64::from(i % 7),
            gained: (i % 5).into(),
            first_touches: i.into(),
        }),
    };
    (0..count).map(interval).collect()
}
