//! The record of injected preemptions: what two copies of a program used, of which one was preempted, run by run; or what a service that
//! runs used for its work, phase by phase.
//!
//! What comes in: runs as they are taken. What goes out: an append-only file of JSON lines (see `docs/formats/json.md`), and
//! the same values read back, so that any report can be made elsewhere and later. No statistics, no printing, and nothing about how
//! a program is preempted.

mod file;
mod service;

use crate::{ClockFacts, CoreClock, HostManifest};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use switchcost_units::{Bytes, CpuId, Nanos};

pub use service::{Arm, Group, Look, Phase, Service};

/// Name of the format and the version that this program writes and reads. Version 1 was never released: it knew one period and no moves. Version 2:
/// the first.
pub const INJECTION_FORM: &str = "switchcost.record.injection/2";

/// First line of a record.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Header {
    /// [`INJECTION_FORM`].
    pub schema: String,
    /// Version of the program that wrote it.
    pub program_version: String,
    /// RFC 3339, UTC.
    pub started_at: String,
    /// The command that was run as twins; of a service its name and, if it is an interpreter, its script; hostile text until escaped.
    pub command: Vec<String>,
    /// The build ID of its program in hexadecimal; none if it has none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub build_id: Option<String>,
    /// Of an interpreter a digest of what says which script it ran, in hexadecimal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub script: Option<String>,
    /// Seed of the order.
    pub seed: u64,
    /// The machine.
    pub host: HostManifest,
    /// The clock.
    pub clock: ClockFacts,
    /// The core's clock.
    pub core_clock: CoreClock,
    /// What is to be done.
    pub plan: Plan,
    /// One run before, in which neither twin was preempted.
    pub undisturbed: [TwinRun; 2],
    /// The service that was preempted, if it was not a command.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub service: Option<Service>,
}

/// What is to be done.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct Plan {
    /// The CPU of the program and the preemptor.
    pub cpu: CpuId,
    /// How long a twin runs until it is preempted, or a service has its CPU.
    pub period_ns: Nanos,
    /// How long a twin runs until it is the other's turn; of a service, how long a phase lasts without the preemptor's part.
    pub turn_ns: Nanos,
    /// What the preemptor touches each time: first nothing, then in rising order.
    pub footprints_bytes: Vec<Bytes>,
    /// For all runs together.
    pub budget_ns: Nanos,
    /// Whether neither twin is preempted, to see what the instrument makes of nothing; of a service, whether nothing is touched.
    pub preempts_nobody: bool,
    /// Whether the twins' outputs were compared.
    pub checks_output: bool,
    /// Variables that were set for the twins since they were not, `NAME=value` each.
    pub settings: Vec<String>,
    /// Other periods beside the one above, and their turns.
    pub further: Vec<Timing>,
    /// The CPU that a twin is moved to at one preemption, and back from at the next, in runs of their own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub moves_to: Option<CpuId>,
    /// Whether each twin has its own copy of the working directory.
    pub is_apart: bool,
    /// Whether twins are frozen by their control groups between turns; else signals stop them.
    pub is_frozen: bool,
}

impl Plan {
    /// One period, no move, and nothing else that may be asked for.
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

/// How long a program has its CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct Timing {
    /// Until it is preempted.
    pub period_ns: Nanos,
    /// Until it is the other's turn; of a service, in a phase.
    pub turn_ns: Nanos,
}

/// One way to preempt a program, of those of a plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Way {
    /// Which of [`Plan::timings`].
    pub timing: usize,
    /// Which footprint.
    pub footprint: usize,
    /// Whether the twin is moved to another CPU, or back.
    pub is_moved: bool,
}

impl Plan {
    /// The period that is reported first, then the others.
    pub fn timings(&self) -> Vec<Timing> {
        let first = Timing {
            period_ns: self.period_ns,
            turn_ns: self.turn_ns,
        };
        std::iter::once(first)
            .chain(self.further.iter().copied())
            .collect()
    }

    /// All ways in which a command is preempted in a pass. It is moved with nothing touched, at the first period.
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
    /// Which pass through the footprints.
    pub block: u32,
    /// Which footprint of the plan.
    pub footprint: u32,
    /// Which period: 0 is the plan's first, 1 the first of the further ones.
    pub timing: u32,
    /// Whether the preempted twin was moved each time, to another CPU or back.
    pub is_moved: bool,
    /// Which twin was preempted, 0 or 1.
    pub preempted: u8,
    /// When it began, from the first run on.
    pub since_start_ns: Nanos,
    /// How long it took.
    pub wall_ns: Nanos,
    /// The first and the second twin.
    pub twins: [TwinRun; 2],
}

impl Run {
    /// How it was preempted.
    pub fn way(&self) -> Way {
        Way {
            timing: self.timing as usize,
            footprint: self.footprint as usize,
            is_moved: self.is_moved,
        }
    }

    /// The twin that was preempted.
    pub fn preempted(&self) -> &TwinRun {
        &self.twins[usize::from(self.preempted & 1)]
    }

    /// The other one.
    pub fn undisturbed(&self) -> &TwinRun {
        &self.twins[usize::from(1 - (self.preempted & 1))]
    }
}

/// One copy of the program from its start to its end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct TwinRun {
    /// CPU time of it and all its children, as the kernel reports at its end.
    pub cpu_ns: Nanos,
    /// What a chain of multiplications took in its turns, as a harmonic mean over time.
    pub chain_ps: u64,
    /// How often it was its turn.
    pub turns: u64,
    /// How long all of its turns were.
    pub turns_ns: Nanos,
    /// How often it was preempted within a turn; in a control run how often it would have been.
    pub preemptions: u64,
    /// How long the preemptor had the CPU then.
    pub away_ns: Nanos,
    /// Switches that it asked for by waiting; the end of each turn is one.
    pub voluntary: u64,
    /// Switches that it did not ask for; with those at the end of each turn.
    pub involuntary: u64,
}

/// The last line.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct End {
    /// Whether it was asked to stop before its time was used up.
    pub is_interrupted: bool,
    /// How long all of it took.
    pub elapsed_ns: Nanos,
    /// Whether the service had ended by itself.
    pub has_service_ended: bool,
    /// Who else has had the CPU for a considerable part of the time.
    pub others: Vec<Other>,
}

/// Another task on the CPU.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct Other {
    /// The process.
    pub process: u32,
    /// Of its thread, as the kernel keeps it; hostile text until escaped.
    pub name: String,
    /// The CPU time that it had while it was last seen there.
    pub cpu_ns: Nanos,
}

/// One line of a record.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "line", rename_all = "kebab-case")]
pub enum Line {
    /// Always the first.
    Header(Box<Header>),
    /// Two copies run to their ends.
    Run(Run),
    /// Four phases of a service.
    Group(Group),
    /// The last, if all came to its end.
    End(End),
}

/// A record read back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Injection {
    /// Its first line.
    pub header: Header,
    /// All runs in their order.
    pub runs: Vec<Run>,
    /// All groups of a service's phases in their order.
    pub groups: Vec<Group>,
    /// The last line; none if the writer was killed.
    pub end: Option<End>,
}
