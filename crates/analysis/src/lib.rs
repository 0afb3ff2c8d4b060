//! Records to findings: estimates with intervals, knees, bounds, verdicts.
//!
//! What comes in: a [`record::MeasureRecord`]. What goes out: [`Findings`]. Pure: no clocks, no files, no printing, and
//! no question to the machine, so that any claim can be re-analysed on a laptop years later. Floats begin here.
//!
//! The way of a number: samples are judged one by one, the clean ones of a repetition become
//! one difference of arms, the differences of all repetitions become an estimate with its interval, and the estimates
//! of all sizes become a curve with knees.

mod bands;
mod bounds;
mod case;
mod causes;
mod cleanliness;
pub mod compare;
mod counters;
mod curves;
mod estimate;
mod findings;
mod flags;
mod judged;
mod knees;
mod latency;
mod left_out;
mod order_statistics;
mod repetition;
mod run;
mod segments;
mod signed_rank;
pub mod simulation;
mod stop;
mod tail;
#[cfg(test)]
mod testing;
mod verdict;

pub use causes::{Capacity, capacities};
pub use findings::{
    CaseFinding, CounterFinding, Curve, CurvePoint, Estimate, Excluded, Findings, Flag, Knee, Region, Tail, Verdict,
};
pub use left_out::left_out;
pub use run::analyse;
pub use stop::{MIN_REPETITIONS, is_case_done};
