//! Records to findings: estimates with intervals, knees, bounds, verdicts.
//!
//! What comes in: a [`record::MeasureRecord`]. What goes out: [`Findings`]. Pure: no clocks, no files, no printing, and
//! no question to the machine, so that any claim can be re-analysed on a laptop years later. Floats begin here.

mod findings;

pub use findings::{
    CaseFinding, CounterFinding, Curve, CurvePoint, Estimate, Excluded, Findings, Flag, Knee, Region, Tail, Verdict,
};
