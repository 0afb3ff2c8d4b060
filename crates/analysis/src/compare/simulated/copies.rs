//! Finds simulation records that repeat another record and so must not be compared as independent.

use switchcost_design::result::Simulation;

use super::designs::is_same;
use super::traces::TraceKey;

/// Two records of the same trace, as indices on their sides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Copied {
    /// Two base records, of which one is a copy of the other.
    InBase(usize, usize),
    /// Two new records, of which one is a copy of the other.
    InNew(usize, usize),
    /// A base record and a new record, of which one is a copy of the other.
    OnBothSides(usize, usize),
}

/// Finds the first pair of records of which one is a copy of the other; `None` if there is none.
/// Two records on one side are copies if they simulate the same design on the same trace, because a
/// simulation is deterministic. Two records on different sides are copies only if they are the same
/// record, because a new version of the simulator may give other numbers.
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
