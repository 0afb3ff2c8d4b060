//! Synthetic records with known answers.

use switchcost_design::result::{
    ByView, DesignResult, Detail, DetailLevel, HierarchyCounts, Interval, LevelCounts, OfOthers,
    ProcessFacts, Simulation, SwitchCause, TraceFacts,
};
use switchcost_design::{Design, Holds, Level, Ways};
use switchcost_units::Bytes;

use super::{Analyser, DesignFinding, Findings, Options};

pub(crate) const LENGTH: u64 = 10_000;
pub(crate) const INTERVALS: u32 = 100;
/// Gained cycles in each interval.
pub(crate) const GAINED_CYCLES: u64 = 3;

/// Returns made-up facts about a guest.
pub(crate) fn guest() -> switchcost_design::result::GuestFacts {
    switchcost_design::result::GuestFacts {
        kernel: "vmlinuz".to_owned(),
        command_line: String::new(),
        slice_ns: None,
        instructions_per_second: 1_000_000_000,
    }
}

/// Index of the cause `read` in the synthetic heads.
pub(crate) const READ: u32 = 1;
pub(crate) const QUANTUM: u32 = 2;

pub(crate) fn design(name: &str) -> Design {
    let level =
        |name, holds| Level::plain(name, holds, Bytes::kib(64), Bytes(16), Ways::Count(1), 15);
    Design {
        schema: switchcost_design::DESIGN_SCHEMA.to_owned(),
        name: name.to_owned(),
        title: String::new(),
        source: String::new(),
        cycle_ns: Some([40.0, 40.0]),
        levels: vec![level("L1I", Holds::Instructions), level("L1D", Holds::Data)],
        tlbs: Vec::new(),
        pages: None,
    }
}

pub(crate) fn counts(name: &str, misses: u64) -> LevelCounts {
    let name = name.to_owned();
    LevelCounts {
        name,
        load_misses: misses,
        fills: misses,
        cycles: misses * 15,
        ..LevelCounts::default()
    }
}

fn result(name: &str, depth: DetailLevel) -> DesignResult {
    let counts = |cycles| HierarchyCounts {
        cycles,
        write_stall_cycles: 0,
        levels: vec![counts("L1I", 0), counts("L1D", 0)],
        tlbs: Vec::new(),
    };
    DesignResult {
        design: design(name),
        hierarchies: ByView {
            shared: counts(0),
            private: counts(0),
            flushed: counts(0),
        },
        by_process: Vec::new(),
        physical_pages: None,
        detail: (depth == DetailLevel::Full).then(Detail::default),
    }
}

fn cause(is_voluntary: bool, entry: &str, syscall: Option<&str>) -> SwitchCause {
    SwitchCause {
        is_voluntary,
        entry: entry.to_owned(),
        syscall: syscall.map(str::to_owned),
    }
}

/// Returns a head with one design and two processes, `long` and `short`, without results.
pub(crate) fn head(depth: DetailLevel) -> Simulation {
    let process = |process, name: &str| ProcessFacts {
        process,
        name: name.to_owned(),
        ..ProcessFacts::default()
    };
    Simulation {
        schema: "switchcost.record.simulation/1".to_owned(),
        program_version: "0.1.0".to_owned(),
        started_at: "2025-11-02T10:00:00Z".to_owned(),
        command: Vec::new(),
        host: None,
        trace: TraceFacts {
            source: "a generator".to_owned(),
            order: "synthetic".to_owned(),
            quantum_instructions: None,
            commands: Vec::new(),
            instructions: 0,
            loads: 0,
            stores: 0,
            voluntary_switches: 0,
            involuntary_switches: 0,
            incomplete: None,
            part: None,
            guest: None,
            notes: Vec::new(),
        },
        interval_instructions: LENGTH,
        intervals: INTERVALS,
        private_by: Default::default(),
        processes: vec![process(1, "long"), process(2, "short")],
        causes: vec![
            cause(true, "birth", None),
            cause(true, "syscall", Some("read")),
            cause(false, "quantum", None),
            cause(false, "page-fault", None),
        ],
        designs: vec![result("mogul-1a", depth)],
        prices: None,
    }
}

/// A record under construction: segments are added one after the other.
#[derive(Debug)]
pub(crate) struct Run {
    pub(crate) head: Simulation,
    pub(crate) intervals: Vec<Interval>,
    segments: u32,
}

impl Run {
    pub(crate) fn new() -> Self {
        Run {
            head: head(DetailLevel::Full),
            intervals: Vec::new(),
            segments: 0,
        }
    }

    /// Adds a segment of `instructions`; each of its intervals has the private CPI `private`, and
    /// the excess CPI that `excess` returns.
    pub(crate) fn segment(
        &mut self,
        process: u32,
        cause: u32,
        instructions: u64,
        private: f64,
        excess: impl Fn(u32) -> f64,
    ) {
        let mut left = instructions;
        for number in 0..=INTERVALS {
            let within = if number == INTERVALS {
                left
            } else {
                left.min(LENGTH)
            };
            if within == 0 {
                break;
            }
            left -= within;
            let cycles = |cpi: f64| (within as f64 * cpi).round() as u64;
            let cycles = ByView {
                shared: cycles(private + excess(number)),
                private: cycles(private),
                flushed: cycles(private + 2.0 * excess(number)),
            };
            self.intervals.push(Interval {
                design: 0,
                segment: self.segments,
                segments: 1,
                task: process + 1,
                process,
                cause,
                end: cause,
                number,
                instructions: within,
                cycles,
                of_others: Some(OfOthers {
                    lost: cycles.shared.saturating_sub(cycles.private) + GAINED_CYCLES,
                    gained: GAINED_CYCLES,
                    first_touches: 0,
                }),
            });
            self.count(process, within, &cycles);
        }
        self.segments += 1;
        self.head.processes[process as usize].segments += 1;
        let trace = &mut self.head.trace;
        let is_voluntary = self.head.causes[cause as usize].is_voluntary;
        *(if is_voluntary {
            &mut trace.voluntary_switches
        } else {
            &mut trace.involuntary_switches
        }) += 1;
    }

    fn count(&mut self, process: u32, instructions: u64, cycles: &ByView<u64>) {
        self.head.trace.instructions += instructions;
        self.head.processes[process as usize].instructions += instructions;
        let hierarchies = &mut self.head.designs[0].hierarchies;
        hierarchies.shared.cycles += cycles.shared;
        hierarchies.private.cycles += cycles.private;
        hierarchies.flushed.cycles += cycles.flushed;
    }

    /// Makes a run with one segment for each entry of `processes`. Each segment has one interval,
    /// with one excess cycle per instruction.
    pub(crate) fn turns(processes: &[u32]) -> Self {
        let mut run = Run::new();
        for process in processes {
            run.segment(*process, QUANTUM, LENGTH, 1.0, |_| 1.0);
        }
        run
    }

    pub(crate) fn findings(&self) -> Findings {
        self.findings_in_batches(7)
    }

    pub(crate) fn findings_in_batches(&self, count: usize) -> Findings {
        let mut analyser = Analyser::new(&self.head, Options::default());
        self.intervals
            .chunks(count)
            .for_each(|part| analyser.add(part));
        analyser.finish()
    }

    pub(crate) fn design(&self) -> DesignFinding {
        self.findings().designs.remove(0)
    }
}
