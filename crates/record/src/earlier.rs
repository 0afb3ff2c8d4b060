use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use strum::{Display, EnumIter};

/// What earlier runs of this machine differed by, as their records show it that were named for this run. Which of them count is in
/// `docs/method/statistics.md`.
#[derive(Clone, Debug, Default, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct EarlierRuns {
    /// Records that were there, without this run's own.
    pub found: u32,
    /// Those of them that count for no case, by why not.
    pub left_out: BTreeMap<String, u32>,
    /// The cases of the plan for which some count.
    pub cases: Vec<EarlierCase>,
}

/// What earlier runs say of one case.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct EarlierCase {
    /// Its index in the plan.
    pub case: u32,
    /// Runs that count: an hour or more lies between any two of them.
    pub runs: u32,
    /// When the first of them was begun (RFC 3339, UTC).
    pub since: String,
    /// When the last of them was begun.
    pub until: String,
    /// Repetitions of the case in one of them, on average.
    pub repetitions: u32,
    /// Of each cost that all of them have above 0; none of a single run.
    pub spreads: Vec<Spread>,
}

/// How much a cost differed between runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct Spread {
    /// Which cost.
    pub cost: CostName,
    /// Standard deviation of its logarithms between runs, at one clock of the core, in millionths.
    pub between_ppm: u64,
    /// Standard deviation of such a logarithm by what varies within a run (root mean square of all runs), in millionths.
    pub within_ppm: u64,
}

/// A cost of a case, as the JSON of a measurement names it.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize, Display, EnumIter,
)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum CostName {
    /// A switch.
    Direct,
    /// A switch with a working set.
    Total,
    /// Total less direct.
    Indirect,
    /// Of it, what the hand-off takes longer.
    IndirectKernel,
    /// Of it, what the walk takes longer.
    IndirectReload,
    /// A hand-off less the baseline.
    Handoff,
    /// One round trip.
    RoundTrip,
    /// A task that hands the token to itself.
    Baseline,
    /// A walk without a switch.
    Walk,
}
