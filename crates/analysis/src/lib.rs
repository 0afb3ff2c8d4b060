//! Internal to switchcost: turns records into findings: estimates with intervals, knees, bounds, verdicts.
//!
//! What comes in: a [`switchcost_record::MeasureRecord`]. What goes out: [`Findings`]. Pure: no clocks, no files, no printing, and
//! no question to the machine, so that any claim can be re-analysed on a laptop years later. Floats begin here.
//!
//! `measurement`, `observation`, `injection` and `simulation` each judge records of their kind; `compare` those of several runs, and
//! `earlier` those of the same machine before. `statistics` has what all of them compute.
//!
//! The way of a measured number: windows of cycles are judged one by one; each cycle gives one difference of arms, at one speed of the
//! core; the cycles of a repetition become one value, the values of all repetitions an estimate with its interval, and the
//! estimates of all sizes a curve with knees.

pub mod compare;
mod earlier;
pub mod injection;
mod measurement;
pub mod model;
pub mod observation;
pub mod simulation;
mod statistics;
#[cfg(test)]
mod testing;

pub use earlier::EarlierRecords;
pub use measurement::{
    BetweenRuns, Capacity, CaseFinding, Conditions, CoreFinding, CoreSharing, CounterFinding,
    Curve, CurvePoint, CycleFinding, Difference, Excluded, Findings, Flag, FlagName, Knee,
    LoadLatency, LosesMore, MIN_REPETITIONS, Part, Point, Region, Reload, Shared, SharedCache,
    Source, Tail, Verdict, Wanted, analyse, capacities, core_sharing, has_interval, is_case_done,
    points, switches_of_repetitions,
};
pub use statistics::Estimate;
pub use switchcost_record::Band;
