//! The record of injected preemptions: the CPU time of two copies of a program, one of them preempted, run by run; or the CPU time and work
//! of a running service, phase by phase.
//!
//! The input is runs as they are made; the output is an append-only file of JSON lines (see `docs/formats/json.md`), and the same values
//! read back, so that any report can be made elsewhere and later. This module has no statistics and no printing, and does not know how a
//! program is preempted.

mod file;
mod service;

use crate::{ClockFacts, CoreClock, HostManifest};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use switchcost_units::{Bytes, CpuId, Nanos};

pub use service::{Arm, Group, Look, Phase, Service};

/// Name of the format and the version that this program writes and reads. Version 1 was never
/// released: it had one period and no moves. Version 2 is the first.
pub const INJECTION_FORM: &str = "switchcost.record.injection/2";

/// Least CPU time of a program that is preempted: a program that uses less ends within a few time
/// slices.
pub const LEAST_CPU: Nanos = Nanos::millis(20);

/// The first line of a record of an injection.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Header {
    /// Name and version of the format, [`INJECTION_FORM`].
    pub schema: String,
    /// Version of the program that wrote the record.
    pub program_version: String,
    /// Start of the run (RFC 3339, UTC).
    pub started_at: String,
    /// Command of which two copies ran; for a service its name and, if it is an interpreter, its
    /// script. Hostile text until escaped.
    pub command: Vec<String>,
    /// Build ID of the program in hexadecimal; null if the program has none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub build_id: Option<String>,
    /// For an interpreter a hexadecimal digest that identifies its script.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub script: Option<String>,
    /// Seed of the order of runs.
    pub seed: u64,
    /// The machine on which the run was made.
    pub host: HostManifest,
    /// The clock of the run.
    pub clock: ClockFacts,
    /// The clock of the measured core.
    pub core_clock: CoreClock,
    /// The runs to be made.
    pub plan: Plan,
    /// A run before all others, in which neither copy was preempted.
    pub undisturbed: [TwinRun; 2],
    /// The preempted service; `None` if a command was run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub service: Option<Service>,
}

/// The plan of an injection.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct Plan {
    /// The CPU of the program and of the preemptor.
    pub cpu: CpuId,
    /// Time that a copy runs, or that a service has its CPU, until it is preempted.
    pub period_ns: Nanos,
    /// Length of a copy's time slice; for a service the length of a phase without the preemptor's part.
    pub turn_ns: Nanos,
    /// Bytes that the preemptor touches each time: first 0, then in ascending order.
    pub footprints_bytes: Vec<Bytes>,
    /// Time for all runs together.
    pub budget_ns: Nanos,
    /// Whether no copy is preempted (for a service: nothing is touched), as a check of the instrument.
    pub preempts_nobody: bool,
    /// Whether the outputs of both copies were compared.
    pub checks_output: bool,
    /// Environment variables that were set for the copies because they were unset, each `NAME=value`.
    pub settings: Vec<String>,
    /// Further periods and their time slices.
    pub further: Vec<Timing>,
    /// CPU to which a copy is moved at one preemption, and from which it returns at the next, in
    /// separate runs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub moves_to: Option<CpuId>,
    /// Whether each copy has its own copy of the working directory.
    pub is_apart: bool,
    /// Whether copies are frozen by their control groups between time slices; otherwise signals stop them.
    pub is_frozen: bool,
}

impl Plan {
    /// Makes a plan with one period, no moves and no other options.
    pub fn plain(
        cpu: CpuId,
        timing: Timing,
        footprints_bytes: Vec<Bytes>,
        budget_ns: Nanos,
    ) -> Plan {
        Plan {
            cpu,
            period_ns: timing.period_ns,
            turn_ns: timing.turn_ns,
            footprints_bytes,
            budget_ns,
            preempts_nobody: false,
            checks_output: false,
            settings: Vec::new(),
            further: Vec::new(),
            moves_to: None,
            is_apart: false,
            is_frozen: false,
        }
    }
}

/// Period of the preemptions, and length of a time slice of a copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct Timing {
    /// Time until the program is preempted.
    pub period_ns: Nanos,
    /// Length of a copy's time slice; for a service the length of a phase.
    pub turn_ns: Nanos,
}

/// One way of a plan to preempt a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Way {
    /// Index of the period in [`Plan::timings`].
    pub timing: usize,
    /// Index of the footprint in [`Plan::footprints_bytes`].
    pub footprint: usize,
    /// Whether the copy is moved to another CPU and back.
    pub is_moved: bool,
}

impl Plan {
    /// Returns all periods with their time slices, beginning with the period that is reported
    /// first.
    pub fn timings(&self) -> Vec<Timing> {
        let first = Timing {
            period_ns: self.period_ns,
            turn_ns: self.turn_ns,
        };
        std::iter::once(first)
            .chain(self.further.iter().copied())
            .collect()
    }

    /// Returns all ways in which a command is preempted in one pass. A copy is moved only at the
    /// first period, with nothing touched.
    pub fn ways(&self) -> Vec<Way> {
        let of = |timing| {
            (0..self.footprints_bytes.len()).map(move |footprint| Way {
                timing,
                footprint,
                is_moved: false,
            })
        };
        let moved = self.moves_to.map(|_| Way {
            timing: 0,
            footprint: 0,
            is_moved: true,
        });
        (0..=self.further.len()).flat_map(of).chain(moved).collect()
    }
}

/// Two copies run to their ends, one of them preempted.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct Run {
    /// Number of the pass through the footprints.
    pub block: u32,
    /// Index of the footprint in the plan's footprints.
    pub footprint: u32,
    /// Index of the period: 0 is the plan's first, 1 the first of the further ones.
    pub timing: u32,
    /// Whether the preempted copy was moved each time, to another CPU or back.
    pub is_moved: bool,
    /// The preempted copy, 0 or 1.
    pub preempted: u8,
    /// Start of this run, since the start of the first run.
    pub since_start_ns: Nanos,
    /// Wall time of the run.
    pub wall_ns: Nanos,
    /// Measurements of the first and the second copy.
    pub twins: [TwinRun; 2],
}

impl Run {
    /// Returns the way in which the preempted copy was preempted.
    pub fn way(&self) -> Way {
        Way {
            timing: self.timing as usize,
            footprint: self.footprint as usize,
            is_moved: self.is_moved,
        }
    }

    /// Returns the copy that was preempted.
    pub fn preempted(&self) -> &TwinRun {
        &self.twins[usize::from(self.preempted & 1)]
    }

    /// Returns the copy that was not preempted.
    pub fn undisturbed(&self) -> &TwinRun {
        &self.twins[usize::from(1 - (self.preempted & 1))]
    }
}

/// One copy of the program from its start to its end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct TwinRun {
    /// CPU time of the copy and all its children, as the kernel reports it at the copy's end.
    pub cpu_ns: Nanos,
    /// Time of a chain of multiplications in the copy's time slices, as a harmonic mean over time, in picoseconds.
    pub chain_ps: u64,
    /// Number of the copy's time slices.
    pub turns: u64,
    /// Total length of the time slices of the copy.
    pub turns_ns: Nanos,
    /// Number of preemptions of the copy within its time slices; in a control run, the number of
    /// preemptions that were left out.
    pub preemptions: u64,
    /// Total time for which the preemptor had the CPU.
    pub away_ns: Nanos,
    /// Switches because the copy waited; the end of each time slice counts as one.
    pub voluntary: u64,
    /// Involuntary switches of the copy, including those at the ends of time slices.
    pub involuntary: u64,
}

/// The last line of a record of an injection.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct End {
    /// Whether a signal stopped the run before its time was used up.
    pub is_interrupted: bool,
    /// Time that all runs took.
    pub elapsed_ns: Nanos,
    /// Whether the service ended by itself.
    pub has_service_ended: bool,
    /// Other tasks that had the CPU for a considerable part of the time.
    pub others: Vec<Other>,
}

/// Another task on the measured CPU.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct Other {
    /// Process ID of the task.
    pub process: u32,
    /// Name of the task's thread, as the kernel keeps it; hostile text until escaped.
    pub name: String,
    /// CPU time of the task while it was last seen on the measured CPU.
    pub cpu_ns: Nanos,
}

/// A line of the record of an injection.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "line", rename_all = "kebab-case")]
pub enum Line {
    /// Header of the record, always the first line.
    Header(Box<Header>),
    /// Two copies run to their ends.
    Run(Run),
    /// Four phases of a service.
    Group(Group),
    /// Last line, if the run ended by itself.
    End(End),
}

/// A record of an injection, read back from its file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Injection {
    /// The first line of the record.
    pub header: Header,
    /// All runs in their order.
    pub runs: Vec<Run>,
    /// All groups of a service's phases in their order.
    pub groups: Vec<Group>,
    /// Last line of the record; `None` if the writer was killed.
    pub end: Option<End>,
}
