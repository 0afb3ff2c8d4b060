use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use strum::{Display, EnumIter};

/// Spread of costs between earlier runs on this machine, from the records that the user named for
/// this run. `docs/method/statistics.md` says which records count.
#[derive(Clone, Debug, Default, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct EarlierRuns {
    /// Number of records found, without this run's own.
    pub found: u32,
    /// Number of records that count for no case, by the reason.
    pub left_out: BTreeMap<String, u32>,
    /// Cases of the plan for which some records count.
    pub cases: Vec<EarlierCase>,
}

/// Spread between earlier runs of one case.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct EarlierCase {
    /// Index of the case in the plan.
    pub case: u32,
    /// Number of runs that count. Any two of them are at least an hour apart.
    pub runs: u32,
    /// Start of the first run (RFC 3339, UTC).
    pub since: String,
    /// Start of the last run (RFC 3339, UTC).
    pub until: String,
    /// Repetitions of the case in one run, on average.
    pub repetitions: u32,
    /// Spread of each cost that is above 0 in all runs; empty if there is only one run.
    pub spreads: Vec<Spread>,
}

/// Spread of a cost between runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct Spread {
    /// Cost whose spread is given.
    pub cost: CostName,
    /// Standard deviation between runs of the cost's logarithm, at one core clock, in millionths.
    pub between_ppm: u64,
    /// Standard deviation within a run of the cost's logarithm (root mean square of all runs), in millionths.
    pub within_ppm: u64,
}

/// A cost of a case, as the JSON of a measurement names it.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize, Display, EnumIter,
)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum CostName {
    /// Cost of a switch without data.
    Direct,
    /// Cost of a switch with a working set.
    Total,
    /// Total cost minus direct cost.
    Indirect,
    /// Part of the indirect cost by which the hand-off takes longer.
    IndirectKernel,
    /// Part of the indirect cost by which the walk takes longer.
    IndirectReload,
    /// Time of a hand-off minus the baseline.
    Handoff,
    /// Time of one round trip.
    RoundTrip,
    /// Time of a task that hands the token to itself.
    Baseline,
    /// Time of a walk without a switch.
    Walk,
}
