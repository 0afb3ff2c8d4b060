//! Finds records that are copies of other records.

use switchcost_design::result::Simulation;

use super::designs::is_same;
use super::traces::TraceKey;

/// Indices of two records of which one is a copy of the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Copied {
    /// Two base records have the same trace.
    InBase(usize, usize),
    /// Two new records have the same trace.
    InNew(usize, usize),
    /// A base record and a new record have the same trace.
    OnBothSides(usize, usize),
}

/// Finds the first record that occurs twice. A simulation is deterministic, so on one side the same
/// design on the same trace is a copy, whenever it was made. Between the sides, only the same
/// record is a copy, because a new version of the simulator may count differently.
pub fn copied(base: &[&Simulation], new: &[&Simulation]) -> Option<Copied> {
    let among = |side: &[&Simulation]| {
        pairs(side.len(), side.len()).find(|(a, b)| a < b && repeats(side[*a], side[*b]))
    };
    let across = || pairs(base.len(), new.len()).find(|(a, b)| is_one_record(base[*a], new[*b]));
    among(base)
        .map(|(a, b)| Copied::InBase(a, b))
        .or_else(|| among(new).map(|(a, b)| Copied::InNew(a, b)))
        .or_else(|| across().map(|(a, b)| Copied::OnBothSides(a, b)))
}

fn pairs(first: usize, second: usize) -> impl Iterator<Item = (usize, usize)> {
    (0..first).flat_map(move |a| (0..second).map(move |b| (a, b)))
}

fn repeats(a: &Simulation, b: &Simulation) -> bool {
    let has_alike = |design| a.designs.iter().any(|other| is_same(&other.design, design));
    TraceKey::new(a) == TraceKey::new(b) && b.designs.iter().any(|result| has_alike(&result.design))
}

fn is_one_record(a: &Simulation, b: &Simulation) -> bool {
    a.started_at == b.started_at
        && a.program_version == b.program_version
        && a.trace == b.trace
        && a.designs == b.designs
}
