use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use switchcost_units::{Bytes, Nanos, TickRate, Ticks};

use crate::{
    Cycles, EarlierRuns, HostManifest, KernelSwitches, Plan, RuntimeFacts, RuntimeRun, Sample,
};

/// Name of the format and the version that this program writes and reads.
///
/// Version 1 was never released: lines had no checksums, and batches no cycles. Version 2 is the
/// first.
pub const MEASURE_FORM: &str = "switchcost.record.measure/2";

/// The clock whose readings are in ticks.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct ClockFacts {
    /// Name of the clock: `tsc` (x86-64), `cntvct` (arm64) or `monotonic-raw`
    /// (CLOCK_MONOTONIC_RAW).
    pub source: String,
    /// Reason why this clock was chosen.
    pub reason: String,
    /// Ticks per second, calibrated against CLOCK_MONOTONIC_RAW before the run.
    pub ticks_per_second: TickRate,
    /// Shortest distance between two consecutive readings of the clock, in ticks.
    pub read_cost: Ticks,
}

/// The core's own clock, measured next to every batch by a chain of dependent multiplications.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct CoreClock {
    /// Number of multiplications in the chain.
    pub chain_length: u32,
    /// Core cycles of one multiplication; `None` if unknown for this core, in which case no cost is
    /// given in cycles.
    pub multiplication_cycles: Option<u32>,
    /// Number of additions in the probe that shows whether the core is shared.
    pub additions: u32,
    /// Time that reading the clock adds to a probe.
    pub overhead_ticks: Ticks,
    /// Ratio of the time of the additions to that of the chain on an unshared core of this kind, in
    /// thousandths; `None` if unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unshared_per_mille: Option<u32>,
    /// perf's name of the counter of core cycles; `None` if none gave the known answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub counter: Option<String>,
    /// Cost of sharing the core in earlier runs on this machine; empty if unknown.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub shared_costs: Vec<SharedCost>,
}

/// Cost of sharing the core: one case of one run that has cycles on both a shared and an unshared
/// core.
#[derive(Clone, Copy, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct SharedCost {
    /// Ratio of the time of the additions to that of the chain while the core was shared, in
    /// thousandths.
    pub ratio_per_mille: u32,
    /// Ratio of the cost on the shared core to that on an unshared core, in thousandths.
    pub cost_per_mille: u32,
}

/// Limit of the additions' time on an unshared core, as a multiple of the least time in the run;
/// with a neighbour the time is 1.15 times the least or more.
const UNSHARED_WITHIN: f64 = 1.06;

/// Limit of the ratio of additions to chain on an unshared core, as a multiple of the known ratio.
/// The limit allows for the beginning and the end of a probe.
const UNSHARED_WITHIN_KNOWN: f64 = 1.15;

impl CoreClock {
    /// Returns the limit up to which a probe counts as unshared: a ratio of the time of the
    /// additions to that of the chain. `least_seen` is the least ratio in the run. A core that was
    /// shared throughout never shows its own ratio, so the known ratio of such cores is a limit,
    /// too.
    pub fn unshared_below(&self, least_seen: f64) -> f64 {
        let known = self
            .unshared_per_mille
            .map(|ratio| f64::from(ratio) / 1000.0 * UNSHARED_WITHIN_KNOWN);
        (least_seen * UNSHARED_WITHIN).min(known.unwrap_or(f64::INFINITY))
    }

    /// Returns the core cycles of the chain, if known for this core.
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
    /// The machine does not have the control.
    Refused {
        /// State of the machine that was found.
        found: String,
        /// State of the machine that the control needs.
        needed: String,
        /// Command or action that enables the control until the next boot.
        fix: String,
        /// Command or action that enables the control permanently.
        lasting_fix: String,
    },
}

/// A control of the environment: affinity, priority, locked memory and so on.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct Control {
    /// Name of the control: `affinity`, `real-time-priority`, `locked-memory` or `fresh-processes`.
    pub name: String,
    /// Setting that the experiment asked for.
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
    /// Command line of the run, including the program.
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

/// Raw result of a pointer chase through memory of one size, which shows the load latency of the
/// cache or memory of that size.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Latency {
    /// Size of the memory walked over.
    pub size_bytes: Bytes,
    /// Loads in each timed walk.
    pub loads: u64,
    /// Time of each walk.
    pub walk_ticks: Vec<Ticks>,
    /// Walks of this chase with empty caches: each follows a walk through other memory, larger than
    /// all caches together. `None` for sizes beyond the last level, or if there was no memory of
    /// that size.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub emptied: Option<Walks>,
    /// Walks through emptied caches with one load per page, so that each load also needs a
    /// translation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub emptied_by_page: Option<Walks>,
    /// Walks of independent loads in order, one per line: as fast as lines arrive.
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
    /// The instrument is not available, so it was not tested.
    Unavailable {
        /// Reason why the instrument is not available.
        why: String,
    },
    /// The instrument gave a wrong answer, and is not used.
    Wrong {
        /// The lowest correct reading.
        expected_low: u64,
        /// The highest correct reading.
        expected_high: u64,
        /// The reading of the instrument.
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
    /// Index of the refused case in the plan.
    pub case: u32,
    /// Number of the refused repetition.
    pub repetition: u32,
    /// Reason of the refusal, and what to do about it.
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
    /// Tick rate over the whole run; it shows that the first calibration held.
    pub ticks_per_second: TickRate,
    /// Switches of this program and of all processes that it started and waited for, over the whole
    /// life of each; absent in older records.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub switches: Option<KernelSwitches>,
}

/// A line of the record of a measurement.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "line", rename_all = "kebab-case")]
pub enum Line {
    /// Header of the record, always the first line.
    Header(Box<Header>),
    /// A known-answer test of an instrument.
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
    /// Last line of the record; missing if the run was cut off.
    End(End),
}
