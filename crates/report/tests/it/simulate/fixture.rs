//! A synthetic simulation: two designs, two programs (one with a hostile name), 200 switches.

use switchcost_analysis::simulation::{Analyser, Findings, Options};
use switchcost_design::result::{
    ByView, CallCost, DesignResult, Detail, DetailLevel, Eviction, EvictorPlace, GainedCycles,
    HierarchyCounts, Interval, LevelCounts, LostCycles, LostTo, MissDifference, MissOrigins,
    OfOthers, PhysicalPages, PlaceCost, ProcessFacts, ProcessMisses, Simulation, SwitchCause,
    TraceFacts, WorkingSetLoss,
};

pub(crate) const HOSTILE: &str = "cat\u{1b}[2J\u{202e},\"x\"";
pub(crate) const SEGMENTS: u32 = 200;

const LENGTH: u64 = 10_000;

fn design(name: &str) -> switchcost_design::Design {
    let level = |name: &str, holds: &str| serde_json::json!({"name": name, "holds": holds, "size": "64KiB", "line": "16B", "ways": 1, "miss_cycles": 15});
    let cycle_ns = if name == "mogul-1a" {
        serde_json::json!([40.0, 40.0])
    } else {
        serde_json::json!([2.0, 4.0])
    };
    let value = serde_json::json!({
        "schema": "switchcost.design/1", "name": name, "cycle_ns": cycle_ns,
        "level": [level("L1I", "instructions"), level("L1D", "data")],
    });
    serde_json::from_value(value).expect("a design")
}

fn level(name: &str, accesses: u64, misses: u64) -> LevelCounts {
    let name = name.to_owned();
    let cycles = misses * 15;
    LevelCounts {
        name,
        load_accesses: accesses,
        load_misses: misses,
        fills: misses,
        cycles,
        ..LevelCounts::default()
    }
}

fn hierarchy(cycles: u64, misses: u64) -> HierarchyCounts {
    let levels = vec![
        level("L1I", 50_000_000, misses),
        level("L1D", 15_000_000, misses * 3),
    ];
    HierarchyCounts {
        cycles,
        write_stall_cycles: 0,
        levels,
        tlbs: Vec::new(),
    }
}

fn result(name: &str, depth: DetailLevel) -> DesignResult {
    let is_full = depth == DetailLevel::Full;
    DesignResult {
        design: design(name),
        hierarchies: ByView {
            shared: hierarchy(0, 40_000),
            private: hierarchy(0, 10_000),
            flushed: hierarchy(0, 90_000),
        },
        by_process: by_process(),
        physical_pages: is_full.then_some(PhysicalPages {
            recorded: 4_000,
            assigned: 12,
        }),
        detail: is_full.then(detail),
    }
}

/// Makes misses by process that add up to those of `hierarchy`.
fn by_process() -> Vec<ProcessMisses> {
    let of = |process, levels: [[u64; 3]; 2]| {
        let by_view = |[shared, private, flushed]: [u64; 3]| ByView {
            shared,
            private,
            flushed,
        };
        ProcessMisses {
            process,
            misses: levels.map(by_view).into(),
        }
    };
    let first = [[30_000, 8_000, 60_000], [100_000, 25_000, 200_000]];
    vec![
        of(0, first),
        of(1, [[10_000, 2_000, 30_000], [20_000, 5_000, 70_000]]),
    ]
}

fn detail() -> Detail {
    Detail {
        origins: vec![origin()],
        miss_differences: differences(),
        lost_lines: Vec::new(),
        lost_cycles: lost_to(),
        gained_cycles: gained(),
        most_held: vec![4_096, 4_096],
        fill_curve: Vec::new(),
        losses: vec![loss()],
        evictions: evictions(),
        code: vec![code()],
        data: vec![data()],
        evictors: evictors(),
        calls: vec![call()],
        kernel_batches: Vec::new(),
        kernel_functions: Vec::new(),
    }
}

fn origin() -> MissOrigins {
    let level = "L1D".to_owned();
    MissOrigins {
        level,
        intrinsic: 30_000,
        evicted_by_others: 50_000,
        evicted_by_kernel: 20_000,
        aged_by_others: 20_000,
        flushed: 0,
        state: 5_000,
    }
}

fn differences() -> Vec<MissDifference> {
    let of = |level: &str, lost, gained| MissDifference {
        level: level.to_owned(),
        lost,
        gained,
        first_touches: 1_000,
    };
    vec![of("L1I", 35_000, 5_000), of("L1D", 95_000, 5_000)]
}

/// Makes lost cycles of a trace with a kernel.
fn lost_to() -> LostCycles {
    let to = |processes, kernel, aged| LostTo {
        processes,
        kernel,
        aged,
        ..LostTo::default()
    };
    LostCycles {
        programs: to(900_000, 400_000, 300_000),
        kernel: to(200_000, 100_000, 0),
    }
}

fn gained() -> GainedCycles {
    GainedCycles {
        others: 4_000,
        first_touches_of_code: 90_000,
        first_touches_of_data: 12_000,
        state: 0,
    }
}

fn loss() -> WorkingSetLoss {
    let level = "L1D".to_owned();
    WorkingSetLoss {
        level,
        returns: 200,
        resident_at_departure: 400_000,
        lost: 200_000,
        restored: 50_000,
    }
}

fn evictions() -> Vec<Eviction> {
    let pair = |evictor, victim, lines| Eviction {
        level: "L1D".to_owned(),
        evictor,
        victim,
        lines,
    };
    let (one, other, kernel) = (Some(0), Some(1), None);
    vec![
        pair(one, one, 500),
        pair(one, other, 70_000),
        pair(other, one, 60_000),
        pair(kernel, other, 9_000),
    ]
}

fn call() -> CallCost {
    CallCost {
        syscall: "read".to_owned(),
        calls: 1_000,
        with_switch: 20,
        instructions: 600_000,
        cycles: 900_000,
        misses: vec![12_000, 8_000],
        driven_out: vec![5_000, 2_500],
    }
}

fn code() -> PlaceCost {
    PlaceCost {
        program: HOSTILE.to_owned(),
        cause: 1,
        object: Some("/usr/bin/cat".to_owned()),
        build_id: None,
        offset: 0x1234,
        symbol: None,
        line: None,
        excess_cycles: 123_456,
    }
}

/// Makes the cost of a place in the kernel's per-CPU data.
fn data() -> PlaceCost {
    PlaceCost {
        object: None,
        offset: 0xffff_8880_0001_0000,
        symbol: Some("runqueues".to_owned()),
        ..code()
    }
}

fn evictors() -> Vec<EvictorPlace> {
    let evictor = |program, is_code, symbol: &str, lines| EvictorPlace {
        level: "L1D".to_owned(),
        program,
        is_code,
        object: None,
        build_id: None,
        offset: 0xffff_ffff_8100_0000,
        symbol: Some(symbol.to_owned()),
        lines,
    };
    vec![
        evictor(None, false, "task_struct (slab)", 6_000),
        evictor(Some(HOSTILE.to_owned()), false, HOSTILE, 2_000),
    ]
}

fn cause(is_voluntary: bool, entry: &str, syscall: Option<&str>) -> SwitchCause {
    SwitchCause {
        is_voluntary,
        entry: entry.to_owned(),
        syscall: syscall.map(str::to_owned),
    }
}

fn empty_head() -> Simulation {
    let process = |process, name: &str| ProcessFacts {
        process,
        name: name.to_owned(),
        ..ProcessFacts::default()
    };
    Simulation {
        schema: "switchcost.record.simulation/1".to_owned(),
        program_version: "0.1.0".to_owned(),
        started_at: "2025-11-02T10:00:00Z".to_owned(),
        command: vec!["switchcost".to_owned(), "simulate".to_owned()],
        host: None,
        trace: TraceFacts {
            source: "two.trace".to_owned(),
            order: "scheduled".to_owned(),
            quantum_instructions: Some(400_000),
            commands: vec![vec!["magic".to_owned()]],
            instructions: 0,
            loads: 10_000_000,
            stores: 5_000_000,
            voluntary_switches: 50,
            involuntary_switches: 150,
            incomplete: None,
            part: None,
            guest: None,
            notes: Vec::new(),
        },
        interval_instructions: LENGTH,
        intervals: 100,
        private_by: Default::default(),
        processes: vec![process(1, "magic"), process(2, HOSTILE)],
        causes: vec![
            cause(true, "birth", None),
            cause(true, "syscall", Some("read")),
            cause(false, "quantum", None),
        ],
        designs: vec![
            result("mogul-1a", DetailLevel::Full),
            result("mogul-2a", DetailLevel::Counters),
        ],
        prices: None,
    }
}

/// Makes the head and the intervals: those of the first design by segment, those of the second
/// added up.
pub(crate) fn record() -> (Simulation, Vec<Interval>) {
    let (mut head, mut intervals) = (empty_head(), Vec::new());
    let mut sums: std::collections::BTreeMap<(u32, u32, u32), Interval> = Default::default();
    for segment in 0..SEGMENTS {
        let (process, cause, count) = if segment % 4 == 0 {
            (1, 1, 3)
        } else {
            (0, 2, 40)
        };
        head.processes[process as usize].segments += 1;
        for number in 0..count {
            let private = if process == 1 { 20_000 } else { 12_000 };
            let excess = 4000 / u64::from(number + 1) + u64::from(segment * 7 % 11) * 10;
            let cycles = ByView {
                shared: private + excess,
                private,
                flushed: private + 2 * excess,
            };
            let task = process + 1;
            let interval = Interval {
                design: 0,
                segment,
                segments: 1,
                task,
                process,
                cause,
                end: cause,
                number,
                instructions: LENGTH,
                cycles,
                of_others: Some(OfOthers {
                    lost: excess + 12,
                    gained: 20,
                    first_touches: 0,
                }),
            };
            head.trace.instructions += LENGTH;
            head.processes[process as usize].instructions += LENGTH;
            intervals.push(interval);
            let blank = Interval {
                design: 1,
                segments: 0,
                instructions: 0,
                cycles: ByView::default(),
                of_others: None,
                ..interval
            };
            let sum = sums.entry((process, cause, number)).or_insert(blank);
            sum.segments += 1;
            add(sum, &interval);
            for design in &mut head.designs {
                let hierarchies = &mut design.hierarchies;
                hierarchies.shared.cycles += cycles.shared;
                hierarchies.private.cycles += cycles.private;
                hierarchies.flushed.cycles += cycles.flushed;
            }
        }
    }
    intervals.extend(sums.into_values());
    (head, intervals)
}

fn add(sum: &mut Interval, interval: &Interval) {
    sum.instructions += interval.instructions;
    sum.cycles.shared += interval.cycles.shared;
    sum.cycles.private += interval.cycles.private;
    sum.cycles.flushed += interval.cycles.flushed;
}

pub(crate) fn findings(head: &Simulation, intervals: &[Interval]) -> Findings {
    let mut analyser = Analyser::new(head, Options::default());
    analyser.add(intervals);
    analyser.finish()
}

/// Makes the head with its findings.
pub(crate) fn whole() -> (Simulation, Findings) {
    let (head, intervals) = record();
    let findings = findings(&head, &intervals);
    (head, findings)
}
