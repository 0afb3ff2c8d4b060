use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use switchcost_units::{Bytes, Nanos, TickRate, Ticks};

use crate::{
    Cycles, EarlierRuns, HostManifest, KernelSwitches, Plan, RuntimeFacts, RuntimeRun, Sample,
};

/// Name of the format and the version that this program writes and reads.
///
/// Version 1 was never released: its lines had no checksums, and its batches no cycles. Version 2: the first.
pub const MEASURE_FORM: &str = "switchcost.record.measure/2";

/// The clock that gives the readings in ticks.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct ClockFacts {
    /// `tsc` (x86-64), `cntvct` (arm64) or `monotonic-raw` (CLOCK_MONOTONIC_RAW).
    pub source: String,
    /// Reason why this clock was chosen.
    pub reason: String,
    /// Ticks a second, calibrated against CLOCK_MONOTONIC_RAW before the run.
    pub ticks_per_second: TickRate,
    /// Shortest distance between two readings back to back, in ticks.
    pub read_cost: Ticks,
}

/// The core's own clock, read by a chain of dependent multiplications beside every batch.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct CoreClock {
    /// Multiplications in the chain.
    pub chain_length: u32,
    /// Core cycles of one multiplication; `None` if not known for this core. Then no cost is given in cycles.
    pub multiplication_cycles: Option<u32>,
    /// Additions in the probe for a shared core.
    pub additions: u32,
    /// Time that reading the clock adds to a probe.
    pub overhead_ticks: Ticks,
    /// Time of the additions over that of the chain on an unshared core of this kind, in thousandths; `None` if not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unshared_per_mille: Option<u32>,
    /// perf's name of the counter of core cycles; `None` if none gave the known answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub counter: Option<String>,
    /// Cost of sharing the core in earlier runs on this machine; empty if not known.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub shared_costs: Vec<SharedCost>,
}

/// Cost of sharing the core, in one case of one run with cycles on a shared and on an unshared core.
#[derive(Clone, Copy, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct SharedCost {
    /// Time of the additions over that of the chain while the core was shared, in thousandths.
    pub ratio_per_mille: u32,
    /// The cost on the shared core over that on an unshared one, in thousandths.
    pub cost_per_mille: u32,
}

/// On an unshared core the additions take less than this times the least time seen; with a neighbour, 1.15 times or more.
const UNSHARED_WITHIN: f64 = 1.06;

/// On an unshared core whose ratio of additions to chain is known, the measured ratio is less than this times the known one. It allows
/// for the beginning and end of a probe.
const UNSHARED_WITHIN_KNOWN: f64 = 1.15;

impl CoreClock {
    /// The ratio of additions to chain up to which a probe counts as unshared, given the least ratio seen in a run. A core that was
    /// shared throughout never shows its own ratio, so what is known of such cores bounds it, too.
    pub fn unshared_below(&self, least_seen: f64) -> f64 {
        let known = self
            .unshared_per_mille
            .map(|ratio| f64::from(ratio) / 1000.0 * UNSHARED_WITHIN_KNOWN);
        (least_seen * UNSHARED_WITHIN).min(known.unwrap_or(f64::INFINITY))
    }

    /// Core cycles of the chain, if known for this core.
    pub fn chain_cycles(&self) -> Option<f64> {
        self.multiplication_cycles
            .map(|each| f64::from(each) * f64::from(self.chain_length))
    }
}

/// Outcome of a control that the experiment asked for.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ControlOutcome {
    /// The control was in force for every arm.
    Applied,
    /// A flag turned the control off.
    TurnedOff,
    /// The machine does not have it.
    Refused {
        /// Value that was found.
        found: String,
        /// Value that is needed.
        needed: String,
        /// The fix for now.
        fix: String,
        /// The lasting fix.
        lasting_fix: String,
    },
}

/// One control of the environment: affinity, priority, locked memory and so on.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct Control {
    /// `affinity`, `real-time-priority`, `locked-memory` or `fresh-processes`.
    pub name: String,
    /// Setting that the control was asked for.
    pub wanted: String,
    /// Outcome of the control.
    pub outcome: ControlOutcome,
}

/// The first line of a record of a measurement.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Header {
    /// Name and version of the format, [`MEASURE_FORM`].
    pub schema: String,
    /// Version of the program that wrote the record.
    pub program_version: String,
    /// Start of the run (RFC 3339, UTC).
    pub started_at: String,
    /// The command line, program included.
    pub command: Vec<String>,
    /// Seed of the interleaving and of every random pattern.
    pub seed: u64,
    /// The machine on which the run was made.
    pub host: HostManifest,
    /// The clock of the run.
    pub clock: ClockFacts,
    /// The core's own clock.
    pub core_clock: CoreClock,
    /// Controls of the environment and their outcomes.
    pub controls: Vec<Control>,
    /// Language runtimes whose tasks are measured.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub runtimes: Vec<RuntimeFacts>,
    /// Spread between earlier runs, if records of them were named.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub earlier: Option<EarlierRuns>,
    /// The cases to be measured.
    pub plan: Plan,
}

/// Raw result of a pointer chase through memory of one size, which gives the load latency of the cache or memory that holds it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Latency {
    /// Size of the memory walked over.
    pub size_bytes: Bytes,
    /// Loads in each timed walk.
    pub loads: u64,
    /// Time of each walk.
    pub walk_ticks: Vec<Ticks>,
    /// Walks of the same chase, each after walking other memory that exceeds all caches together; `None` for sizes beyond the last
    /// level, and if such memory could not be had.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub emptied: Option<Walks>,
    /// Walks after emptied caches with one load a page, so that each load also needs a translation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub emptied_by_page: Option<Walks>,
    /// Walks of independent loads in order, one a line: as fast as lines arrive.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub in_order: Option<Walks>,
}

/// Timed walks over one piece of memory.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Walks {
    /// Loads in each walk.
    pub loads: u64,
    /// Time of each walk.
    pub walk_ticks: Vec<Ticks>,
}

/// Outcome of a known-answer test of an instrument.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SelfTestOutcome {
    /// The instrument gave the known answer and may be used.
    Admitted,
    /// The instrument is not available.
    Unavailable {
        /// The reason.
        why: String,
    },
    /// The instrument gave another answer, and is not used.
    Wrong {
        /// The lowest correct reading.
        expected_low: u64,
        /// The highest correct reading.
        expected_high: u64,
        /// The reading.
        found: u64,
    },
}

/// A known-answer test of one clock or counter.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct SelfTest {
    /// Name of the clock or counter.
    pub instrument: String,
    /// The workload whose answer is known.
    pub known_answer: String,
    /// Outcome of the test.
    pub outcome: SelfTestOutcome,
}

/// A case, or one repetition of a case, that could not be run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Refusal {
    /// Index into the plan's cases.
    pub case: u32,
    /// Number of the repetition.
    pub repetition: u32,
    /// The reason, and what to do about it.
    pub why: String,
}

/// Why a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum EndReason {
    /// Every case reached its precision or its share of the budget.
    Complete,
    /// A signal asked the run to stop.
    Interrupted,
}

/// Last line of a record, unless the run was cut off.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct End {
    /// Why the run ended.
    pub reason: EndReason,
    /// Duration of the run.
    pub elapsed_ns: Nanos,
    /// The tick rate over the whole run, to show that the first calibration held.
    pub ticks_per_second: TickRate,
    /// Switches of this program and of all processes that it started and waited for, over their whole lives; absent in older records.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub switches: Option<KernelSwitches>,
}

/// One line of a record.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "line", rename_all = "kebab-case")]
pub enum Line {
    /// Header of the record, always the first line.
    Header(Box<Header>),
    /// A known-answer test.
    SelfTest(SelfTest),
    /// A load latency measured on this machine.
    Latency(Latency),
    /// A batch that was run for counters or single hand-offs.
    Sample(Box<Sample>),
    /// Cycles of short batches.
    Cycles(Box<Cycles>),
    /// Report of a runtime on a repetition.
    Runtime(Box<RuntimeRun>),
    /// A repetition that could not be run.
    Refusal(Refusal),
    /// Last line, if the run ended by itself.
    End(End),
}
