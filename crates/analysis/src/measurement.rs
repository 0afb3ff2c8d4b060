//! Findings from the record of a measurement.

pub(crate) mod at_once;
pub(crate) mod bands;
pub(crate) mod bounds;
pub(crate) mod case;
pub(crate) mod causes;
pub(crate) mod cleanliness;
pub(crate) mod core_sharing;
pub(crate) mod counted;
pub(crate) mod counters;
pub(crate) mod curves;
pub(crate) mod deciding;
pub(crate) mod findings;
pub(crate) mod flags;
pub(crate) mod judged;
pub(crate) mod knees;
pub(crate) mod latency;
pub(crate) mod paired;
pub(crate) mod points;
pub(crate) mod reload;
pub(crate) mod repetition;
pub(crate) mod run;
pub(crate) mod run_spread;
pub(crate) mod segments;
pub(crate) mod serialised;
pub(crate) mod speed;
pub(crate) mod stop;
pub(crate) mod tail;
pub(crate) mod turns;
pub(crate) mod verdict;

pub use causes::{Capacity, capacities};
pub use core_sharing::{CoreSharing, core_sharing};
pub use counted::switches_of_repetitions;
pub use findings::{
    BetweenRuns, CaseFinding, CoreFinding, CounterFinding, Curve, CurvePoint, CycleFinding,
    Excluded, Findings, Flag, FlagName, Knee, LoadLatency, LosesMore, Part, Region, Reload, Shared,
    SharedCache, Source, Tail, Verdict, Wanted,
};
pub use points::{Point, points};
pub use run::analyse;
pub use serialised::Conditions;
pub use stop::{MIN_REPETITIONS, has_interval, is_case_done};
