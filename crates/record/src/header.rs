use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use switchcost_units::{Bytes, Nanos, TickRate, Ticks};

use crate::{
    Cycles, EarlierRuns, HostManifest, KernelSwitches, Plan, RuntimeFacts, RuntimeRun, Sample,
};

/// Name of the format of measurement records, with the version that this program writes and reads.
///
/// Version 1 was never released: lines had no checksums, and there were no rounds. Version 2 is the
/// first released one.
pub const MEASURE_FORM: &str = "switchcost.record.measure/2";

/// Facts about the clock with which the run measured times in ticks.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct ClockFacts {
    /// Name of the clock: `tsc` (x86-64), `cntvct` (arm64) or `monotonic-raw`
    /// (CLOCK_MONOTONIC_RAW).
    pub source: String,
    /// Reason why the run uses this clock.
    pub reason: String,
    /// Ticks per second, calibrated against CLOCK_MONOTONIC_RAW before the run.
    pub ticks_per_second: TickRate,
    /// Least difference between two consecutive readings of the clock, in ticks.
    pub read_cost: Ticks,
}

/// Facts about the core's clock, whose rate is probed next to every batch by a chain of dependent
/// multiplications.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct CoreClock {
    /// Number of dependent multiplications in the chain.
    pub chain_length: u32,
    /// Latency of one multiplication in core cycles; `None` if unknown for this core. Then no cost
    /// is given in cycles.
    pub multiplication_cycles: Option<u32>,
    /// Number of independent additions in the probe that shows whether the other hardware thread of
    /// the core is busy.
    pub additions: u32,
    /// Ticks that reading the clock adds to the time of a probe.
    pub overhead_ticks: Ticks,
    /// Sharing ratio of an unshared core of this kind, in thousandths: the time of the probe's
    /// additions divided by the time of its multiplications. `None` if unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unshared_per_mille: Option<u32>,
    /// Name of the perf counter of core cycles; `None` if no counter passed its known-answer test.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub counter: Option<String>,
    /// Cost of sharing the core with a busy hardware thread, from earlier runs on this machine;
    /// empty if unknown.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub shared_costs: Vec<SharedCost>,
}

/// Cost of sharing the core with a busy hardware thread, from one case of one run that was measured
/// both with and without sharing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct SharedCost {
    /// Sharing ratio while the core was shared, in thousandths: the time of the probe's additions
    /// divided by the time of its multiplications.
    pub ratio_per_mille: u32,
    /// Cost of the case on the shared core over its cost on the unshared core, in thousandths.
    pub cost_per_mille: u32,
}

/// Largest sharing ratio of an unshared core, as a multiple of the least sharing ratio in the run.
/// With a busy hardware thread on the same core, the multiple is 1.15 or more.
const UNSHARED_WITHIN: f64 = 1.06;

/// Largest sharing ratio of an unshared core, as a multiple of the known ratio of such cores. The
/// limit allows for the beginning and the end of a probe.
const UNSHARED_WITHIN_KNOWN: f64 = 1.15;

impl CoreClock {
    /// Returns the largest sharing ratio (time of the probe's additions divided by time of its
    /// multiplications) at which the core counts as unshared. `least_seen` is the least sharing
    /// ratio in the run. The known ratio of this kind of core also limits the result, because a
    /// core that is shared throughout a run never shows its unshared ratio.
    pub fn unshared_below(&self, least_seen: f64) -> f64 {
        let known = self
            .unshared_per_mille
            .map(|ratio| f64::from(ratio) / 1000.0 * UNSHARED_WITHIN_KNOWN);
        (least_seen * UNSHARED_WITHIN).min(known.unwrap_or(f64::INFINITY))
    }

    /// Returns the number of core cycles of the chain of multiplications; `None` if unknown for
    /// this core.
    pub fn chain_cycles(&self) -> Option<f64> {
        self.multiplication_cycles
            .map(|each| f64::from(each) * f64::from(self.chain_length))
    }
}

/// Outcome of a control: a setting of the environment that the experiment requested.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ControlOutcome {
    /// The control was in force for every arm of the run.
    Applied,
    /// A flag disabled the control.
    TurnedOff,
    /// The machine does not allow the control.
    Refused {
        /// State of the machine as found.
        found: String,
        /// State of the machine that the control needs.
        needed: String,
        /// Command or action that enables the control until the next boot.
        fix: String,
        /// Command or action that enables the control permanently.
        lasting_fix: String,
    },
}

/// A control: a setting of the environment, such as affinity, priority or locked memory, and its
/// outcome.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct Control {
    /// Name of the control: `affinity`, `real-time-priority`, `locked-memory` or `fresh-processes`.
    pub name: String,
    /// Setting that the experiment requested.
    pub wanted: String,
    /// Whether the control was in force, and if not, why.
    pub outcome: ControlOutcome,
}

/// First line of the record of a measurement.
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
    /// Seed of the interleaving of arms and of all random patterns.
    pub seed: u64,
    /// Facts about the machine that was measured.
    pub host: HostManifest,
    /// Facts about the clock of the run.
    pub clock: ClockFacts,
    /// Facts about the clock of the measured core.
    pub core_clock: CoreClock,
    /// Controls of the environment and their outcomes.
    pub controls: Vec<Control>,
    /// Language runtimes whose tasks are measured, with their versions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub runtimes: Vec<RuntimeFacts>,
    /// Spread of costs between earlier runs; `None` if the user named no earlier records.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub earlier: Option<EarlierRuns>,
    /// Cases to be measured, and limits of the run.
    pub plan: Plan,
}

/// Raw times of loads from memory of one size, which show the load latency of the cache (or memory)
/// of that size.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Latency {
    /// Size of the memory that the walks load from.
    pub size_bytes: Bytes,
    /// Number of loads in each timed walk along pointers in random order.
    pub loads: u64,
    /// Time of each walk in ticks.
    pub walk_ticks: Vec<Ticks>,
    /// Times of walks along pointers in random order from empty caches: before each walk, all
    /// caches are filled with other data. `None` for sizes beyond the last-level cache, or if there
    /// was no memory for the other data.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub emptied: Option<Walks>,
    /// Walks from empty caches with one load per page, so that each load also needs a TLB entry.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub emptied_by_page: Option<Walks>,
    /// Walks with independent loads in ascending order, one per line, which show how fast lines
    /// arrive.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub in_order: Option<Walks>,
}

/// Times of repeated walks over one piece of memory.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Walks {
    /// Number of loads in each walk.
    pub loads: u64,
    /// Time of each walk in ticks.
    pub walk_ticks: Vec<Ticks>,
}

/// Outcome of a known-answer test of a clock or counter.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SelfTestOutcome {
    /// The clock or counter gave the known answer, and may be used.
    Admitted,
    /// The clock or counter is not available.
    Unavailable {
        /// Reason why the clock or counter is not available.
        why: String,
    },
    /// The clock or counter gave a wrong answer, and is not used.
    Wrong {
        /// Lowest reading that counts as correct.
        expected_low: u64,
        /// Highest reading that counts as correct.
        expected_high: u64,
        /// Reading of the tested clock or counter.
        found: u64,
    },
}

/// A known-answer test of one clock or counter.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct SelfTest {
    /// Name of the clock or counter that was tested.
    pub instrument: String,
    /// Workload whose correct reading is known.
    pub known_answer: String,
    /// Whether the clock or counter passed the test.
    pub outcome: SelfTestOutcome,
}

/// A case, or one repetition of a case, that could not be run, with the reason.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Refusal {
    /// Index in the plan of the case that could not be run.
    pub case: u32,
    /// Number of the repetition that could not be run.
    pub repetition: u32,
    /// Reason why the case could not be run, and the remedy.
    pub why: String,
}

/// Reason why a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum EndReason {
    /// Every case reached its precision, or used up its share of the budget.
    Complete,
    /// A signal ended the run before every case was complete.
    Interrupted,
}

/// Last line of a record. A killed run has none.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct End {
    /// Reason why the run ended.
    pub reason: EndReason,
    /// Duration of the run in nanoseconds.
    pub elapsed_ns: Nanos,
    /// Ticks per second over the whole run. This rate shows whether the first calibration was
    /// right.
    pub ticks_per_second: TickRate,
    /// Number of switches of this process and of all its child processes that have ended, each over
    /// its whole life. Absent in older records.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub switches: Option<KernelSwitches>,
}

/// One line of the record of a measurement.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "line", rename_all = "kebab-case")]
pub enum Line {
    /// Header of the record, always the first line.
    Header(Box<Header>),
    /// A known-answer test of an instrument.
    SelfTest(SelfTest),
    /// Load latency of memory of one size.
    Latency(Latency),
    /// A batch that was run for counters or for single hand-offs.
    Sample(Box<Sample>),
    /// Times of a window: rounds of batches with and without switches, for up to about 25 ms.
    Cycles(Box<Cycles>),
    /// Report of a language runtime on a repetition.
    Runtime(Box<RuntimeRun>),
    /// A case or repetition that could not be run.
    Refusal(Refusal),
    /// Last line of the record. A killed run has none.
    End(End),
}
