//! Turns the records of a run into findings: estimates with intervals, knees, bounds and verdicts.
//! Internal to switchcost.
//!
//! The input is a [`switchcost_record::MeasureRecord`], the output is [`Findings`]. The crate is
//! pure: it uses no clocks, reads no files, prints nothing and asks the machine nothing, so that
//! any record can be re-analysed years later on another machine. Floating-point numbers begin here.
//!
//! `measurement`, `observation`, `injection` and `simulation` each judge records of their kind;
//! `compare` judges several records together, and `earlier` judges earlier records of the same
//! machine. `statistics` has the computations that all of them share.
//!
//! A measured number is computed in four steps. Windows of cycles are judged one by one. Each cycle
//! gives one difference of arms, scaled to one speed of the core. The cycles of a repetition become
//! one value, and the values of all repetitions become an estimate with its interval. The estimates
//! of all sizes become a curve with knees.

pub mod compare;
mod earlier;
pub mod injection;
mod lists;
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
