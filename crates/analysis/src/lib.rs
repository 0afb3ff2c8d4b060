//! Internal to switchcost: records to findings: estimates with intervals, knees, bounds, verdicts.
//!
//! What comes in: a [`switchcost_record::MeasureRecord`]. What goes out: [`Findings`]. Pure: no clocks, no files, no printing, and
//! no question to the machine, so that any claim can be re-analysed on a laptop years later. Floats begin here.
//!
//! The way of a number: windows of cycles are judged one by one; each cycle gives one difference of arms, at one speed of the
//! core; the cycles of a repetition become one value, the values of all repetitions an estimate with its interval, and the
//! estimates of all sizes a curve with knees.

mod at_once;
mod bands;
mod bounds;
mod case;
mod causes;
mod cleanliness;
pub mod compare;
mod core_sharing;
mod counted;
mod counters;
mod curves;
mod deciding;
mod earlier;
mod estimate;
mod findings;
mod flags;
pub mod injection;
mod judged;
mod knees;
mod latency;
pub mod model;
pub mod observation;
mod order_statistics;
mod paired;
mod points;
mod reload;
mod repetition;
mod run;
mod run_spread;
mod segments;
mod serialised;
mod signed_rank;
pub mod simulation;
mod speed;
mod stop;
mod tail;
#[cfg(test)]
mod testing;
mod turns;
mod verdict;

pub use causes::{Capacity, capacities};
pub use core_sharing::{CoreSharing, core_sharing};
pub use counted::switches_of_repetitions;
pub use earlier::EarlierRecords;
pub use findings::{
    BetweenRuns, CaseFinding, CoreFinding, CounterFinding, Curve, CurvePoint, CycleFinding,
    Difference, Estimate, Excluded, Findings, Flag, Knee, LoadLatency, LosesMore, Part, Region,
    Reload, Shared, SharedCache, Source, Tail, Verdict, Wanted,
};
pub use points::{Point, points};
pub use run::analyse;
pub use serialised::Conditions;
pub use stop::{MIN_REPETITIONS, is_case_done};
pub use switchcost_record::Band;
