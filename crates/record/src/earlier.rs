use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use strum::{Display, EnumIter};

/// Spread of costs between earlier runs on this machine, from the records that the user named.
/// `docs/method/statistics.md` says which records count.
#[derive(Clone, Debug, Default, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct EarlierRuns {
    /// Number of earlier records that were found.
    pub found: u32,
    /// Numbers of records that count for no case, by reason.
    pub left_out: BTreeMap<String, u32>,
    /// Cases of the plan for which earlier records count.
    pub cases: Vec<EarlierCase>,
}

/// Spread of one case's costs between earlier runs.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct EarlierCase {
    /// Index of the case in the plan.
    pub case: u32,
    /// Number of earlier runs that count. Any two of them started at least an hour apart.
    pub runs: u32,
    /// Start of the first run that counts (RFC 3339, UTC).
    pub since: String,
    /// Start of the last run that counts (RFC 3339, UTC).
    pub until: String,
    /// Mean number of repetitions of the case per run.
    pub repetitions: u32,
    /// Spread of each cost that is above 0 in all runs. Empty if there is only one run.
    pub spreads: Vec<Spread>,
}

/// Spread of one cost, between runs and within a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct Spread {
    /// Name of the cost that has this spread.
    pub cost: CostName,
    /// Standard deviation between runs of the cost's logarithm, in millionths. Costs are compared
    /// at equal core clocks.
    pub between_ppm: u64,
    /// Standard deviation within a run of the cost's logarithm, in millionths: the root mean square
    /// over all runs.
    pub within_ppm: u64,
}

/// Cost of a case, with its name in the JSON output of a measurement.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize, Display, EnumIter,
)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum CostName {
    /// Cost of a switch without a working set.
    Direct,
    /// Cost of a switch with a working set, including the reload.
    Total,
    /// Total cost minus direct cost: the cost of cold caches.
    Indirect,
    /// Part of the indirect cost that makes the hand-off itself longer.
    IndirectKernel,
    /// Part of the indirect cost: how much longer the walk over the working set is after a switch.
    IndirectReload,
    /// Time of a hand-off minus the time of the baseline.
    Handoff,
    /// Time of one round trip, in which every task gets the token once.
    RoundTrip,
    /// Time in which a task hands the token to itself.
    Baseline,
    /// Time of a walk over the working set without a switch.
    Walk,
}
