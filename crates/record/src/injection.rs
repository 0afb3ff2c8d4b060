//! The record of injected preemptions. For a command, the record has the CPU time of two copies in
//! each run. One of the copies was preempted. For a running service, the record has the CPU time
//! and work of each phase.
//!
//! The writer appends each run to a file of JSON lines (see `docs/formats/json.md`) when the run
//! ends. The reader returns the same values, so that reports can be made later and on other
//! machines. This module computes no statistics, prints nothing and preempts no program.

mod file;
mod service;

use crate::{ClockFacts, CoreClock, HostManifest};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use switchcost_units::{Bytes, CpuId, Nanos};

pub use service::{Arm, Group, Look, Phase, Service};

/// Name of the format of injection records, with the version that this program writes and reads.
/// Version 1 was never released: it had one period, and copies were not moved. Version 2 is the
/// first released one.
pub const INJECTION_FORM: &str = "switchcost.record.injection/2";

/// Least CPU time of a command that can be preempted. A command that uses less ends within a few
/// time slices.
pub const LEAST_CPU: Nanos = Nanos::millis(20);

/// First line of the record of an injection.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Header {
    /// Name and version of the format, [`INJECTION_FORM`].
    pub schema: String,
    /// Version of the program that wrote the record.
    pub program_version: String,
    /// Start of the run (RFC 3339, UTC).
    pub started_at: String,
    /// Command of which two copies ran. For a service, its name, followed by the script if the
    /// service is an interpreter. Untrusted text that must be escaped before it is shown.
    pub command: Vec<String>,
    /// Build ID of the program in hexadecimal; null if the program has none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub build_id: Option<String>,
    /// Digest in hexadecimal that identifies the script of an interpreter; null without a script.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub script: Option<String>,
    /// Seed of the random order of runs.
    pub seed: u64,
    /// Facts about the machine on which the run was made.
    pub host: HostManifest,
    /// Facts about the clock of the run.
    pub clock: ClockFacts,
    /// Facts about the clock of the measured core.
    pub core_clock: CoreClock,
    /// Runs to be made, and their limits.
    pub plan: Plan,
    /// Results of both copies in the first run, in which neither was preempted.
    pub undisturbed: [TwinRun; 2],
    /// The preempted service; `None` if a command was preempted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub service: Option<Service>,
}

/// Plan of an injection: how often, with what and for how long a program is preempted.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct Plan {
    /// CPU that the program and the preempting task share.
    pub cpu: CpuId,
    /// Time between two preemptions in nanoseconds: CPU time of a copy, or time for which a service
    /// has its CPU.
    pub period_ns: Nanos,
    /// Length of a copy's time slice in nanoseconds. For a service, the length of a phase without
    /// the preempting task's time.
    pub turn_ns: Nanos,
    /// Footprints: numbers of bytes that the preempting task touches each time, ascending from 0.
    pub footprints_bytes: Vec<Bytes>,
    /// Time for all runs together, in nanoseconds.
    pub budget_ns: Nanos,
    /// Whether no copy is preempted (for a service: the preempting task touches nothing), as a test
    /// of the instrument.
    pub preempts_nobody: bool,
    /// Whether the outputs of both copies were compared, because different outputs show different
    /// work.
    pub checks_output: bool,
    /// Environment variables that were set for the copies because they had been unset, each as
    /// `NAME=value`.
    pub settings: Vec<String>,
    /// Further periods between preemptions, each with its length of a time slice.
    pub further: Vec<Timing>,
    /// Other CPU of separate runs in which a copy moves to it at one preemption, and back at the
    /// next. `None` if copies are not moved.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub moves_to: Option<CpuId>,
    /// Whether each copy of the command has its own copy of the working directory.
    pub is_apart: bool,
    /// Whether copies are frozen by their control groups between time slices. Otherwise signals
    /// stop them.
    pub is_frozen: bool,
}

impl Plan {
    /// Returns a plan with one period, without moves, and with all other options off.
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

/// Time between preemptions, and length of a copy's time slice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct Timing {
    /// Time between two preemptions in nanoseconds.
    pub period_ns: Nanos,
    /// Length of a copy's time slice in nanoseconds; for a service, the length of a phase.
    pub turn_ns: Nanos,
}

/// One way to preempt a program, of those in a plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Way {
    /// Index of the period and time slice in [`Plan::timings`].
    pub timing: usize,
    /// Index of the footprint in [`Plan::footprints_bytes`].
    pub footprint: usize,
    /// Whether a copy moves to another CPU at one preemption, and returns at the next.
    pub is_moved: bool,
}

impl Plan {
    /// Returns the first period and then the further ones, each with its time slice. Reports show
    /// the first period first.
    pub fn timings(&self) -> Vec<Timing> {
        let first = Timing {
            period_ns: self.period_ns,
            turn_ns: self.turn_ns,
        };
        std::iter::once(first)
            .chain(self.further.iter().copied())
            .collect()
    }

    /// Returns all ways to preempt a command in one block of runs: each footprint at each period,
    /// and moves at the first period with the first footprint.
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

/// Result of one run: two copies of the command from start to end, of which one was preempted.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct Run {
    /// Number of the block of runs. Each block has every way to preempt once.
    pub block: u32,
    /// Index of the footprint in [`Plan::footprints_bytes`].
    pub footprint: u32,
    /// Index of the period in [`Plan::timings`].
    pub timing: u32,
    /// Whether the preempted copy moved to another CPU or back at each preemption.
    pub is_moved: bool,
    /// Number of the preempted copy, 0 or 1.
    pub preempted: u8,
    /// Start of this run in nanoseconds since the start of the first run.
    pub since_start_ns: Nanos,
    /// Wall time of the run in nanoseconds.
    pub wall_ns: Nanos,
    /// Results of the first and the second copy.
    pub twins: [TwinRun; 2],
}

impl Run {
    /// Returns the way in which a copy was preempted in this run.
    pub fn way(&self) -> Way {
        Way {
            timing: self.timing as usize,
            footprint: self.footprint as usize,
            is_moved: self.is_moved,
        }
    }

    /// Returns the result of the copy that was preempted.
    pub fn preempted(&self) -> &TwinRun {
        &self.twins[usize::from(self.preempted & 1)]
    }

    /// Returns the result of the copy that was not preempted.
    pub fn undisturbed(&self) -> &TwinRun {
        &self.twins[usize::from(1 - (self.preempted & 1))]
    }
}

/// Result of one copy of the command from start to end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct TwinRun {
    /// CPU time of the copy and all its children in nanoseconds, as the kernel reports it when the
    /// copy ends.
    pub cpu_ns: Nanos,
    /// Time of a fixed chain of multiplications on the core during the copy's time slices, as a
    /// harmonic mean over time, in picoseconds. This time is inversely proportional to the rate of
    /// the core's clock.
    pub chain_ps: u64,
    /// Number of time slices of the copy.
    pub turns: u64,
    /// Total length of the copy's time slices in nanoseconds.
    pub turns_ns: Nanos,
    /// Number of preemptions of the copy during its time slices. In a control run, the number of
    /// preemptions that were omitted.
    pub preemptions: u64,
    /// Total time for which the preempting task had the CPU, in nanoseconds.
    pub away_ns: Nanos,
    /// Number of switches at which the copy waited. The end of each time slice also counts as one.
    pub voluntary: u64,
    /// Number of involuntary switches of the copy, including those at the ends of time slices.
    pub involuntary: u64,
}

/// Last line of the record of an injection.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct End {
    /// Whether a signal stopped the run before its budget was used up.
    pub is_interrupted: bool,
    /// Duration of all runs together in nanoseconds.
    pub elapsed_ns: Nanos,
    /// Whether the preempted service ended by itself.
    pub has_service_ended: bool,
    /// Other tasks that used the measured CPU for a considerable part of the time.
    pub others: Vec<Other>,
}

/// Another task that ran on the measured CPU.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct Other {
    /// Process ID of the task.
    pub process: u32,
    /// Name of the task's thread, as the kernel stores it; untrusted text that must be escaped
    /// before it is shown.
    pub name: String,
    /// CPU time of the task in nanoseconds, as last seen on the measured CPU.
    pub cpu_ns: Nanos,
}

/// One line of the record of an injection.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "line", rename_all = "kebab-case")]
pub enum Line {
    /// Header of the record, always the first line.
    Header(Box<Header>),
    /// Result of one run of two copies of a command.
    Run(Run),
    /// Results of four phases of a service.
    Group(Group),
    /// Last line of the record. A killed run has none.
    End(End),
}

/// The record of an injection, read back from its file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Injection {
    /// First line of the record: the machine, the plan and the subject.
    pub header: Header,
    /// Results of all runs of a command, in order.
    pub runs: Vec<Run>,
    /// Groups of four phases of a service, in order.
    pub groups: Vec<Group>,
    /// Last line of the record; `None` if the run was killed.
    pub end: Option<End>,
}
