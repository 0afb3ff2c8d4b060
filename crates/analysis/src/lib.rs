//! Internal to switchcost: computes findings from records. Findings are estimates with intervals,
//! knees, bounds and verdicts.
//!
//! The input is the record of a measurement, observation, injection or simulation. The output is
//! findings. The crate uses no clocks, reads no files and prints nothing, so that a record can be
//! analysed years later and on another machine. Floating-point numbers begin here.
//!
//! The modules `measurement`, `observation`, `injection` and `simulation` each analyse one kind of
//! record. `compare` compares several records. `earlier` uses earlier records of the same machine.
//! `statistics` has the computations that the other modules share.
//!
//! A cost is measured in four steps. Each window of rounds is judged. Each round gives one
//! difference between the arms, scaled to one core clock. The rounds of a repetition give one
//! value, and the values of all repetitions give an estimate with its interval. The estimates for
//! all sizes give a curve with knees.

pub mod compare;
mod earlier;
pub mod injection;
mod lists;
mod measurement;
pub mod observation;
pub mod prices;
pub mod simulation;
mod statistics;
#[cfg(test)]
mod testing;

pub use earlier::EarlierRecords;
pub use measurement::{
    BetweenRuns, Capacity, CaseFinding, Conditions, CoreFinding, CoreSharing, CounterFinding,
    Curve, CurvePoint, CycleFinding, Excluded, Findings, Flag, FlagName, Knee, LoadLatency,
    LosesMore, MIN_REPETITIONS, Part, Point, Region, Reload, Shared, SharedCache, Source, Tail,
    Verdict, Wanted, analyse, capacities, core_sharing, has_interval, is_case_done, points,
    switches_of_repetitions,
};
pub use statistics::{Estimate, Interval};
pub use switchcost_record::Band;
