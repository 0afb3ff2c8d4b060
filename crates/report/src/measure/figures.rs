//! The figures of a measurement: the same findings as in the tables, drawn. Times are drawn in seconds, so that the axes
//! name them in ns, us and ms by themselves.

mod accesses;
mod heat;
pub(super) mod ladder;
pub(super) mod latency;
pub(super) mod mechanisms;
pub(super) mod pairs;
pub(super) mod parts;
mod point;
pub(super) mod reload;
mod rings;
pub(super) mod samples;
pub(super) mod shared_cache;
pub(super) mod sizes;
pub(super) mod warm_up;

use switchcost_analysis::Findings;

use crate::page::Page;

/// Nanoseconds in a second.
const NANOS: f64 = 1e9;

/// What the results say together that no table of the terminal holds: by access, by stride, by number of tasks.
pub(super) fn add_comparisons(page: &mut Page, findings: &Findings) {
    accesses::add(page, findings);
    heat::add(page, findings);
    rings::add(page, findings);
}
