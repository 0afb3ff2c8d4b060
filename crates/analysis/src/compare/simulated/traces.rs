//! Which records simulate the same trace.

use record::{ProcessFacts, Simulation};

use super::designs::is_same;
use crate::compare::Basis;

/// What makes a trace the one it is. A file may have been renamed, so its name tells nothing; but what a generator made is
/// told apart by its description alone.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct TraceKey<'a> {
    counts: [u64; 5],
    order: &'a str,
    generator: Option<&'a str>,
    commands: &'a [Vec<String>],
    processes: &'a [ProcessFacts],
}

impl<'a> TraceKey<'a> {
    pub(super) fn of(head: &'a Simulation) -> Self {
        let trace = &head.trace;
        TraceKey {
            counts: [
                trace.instructions,
                trace.loads,
                trace.stores,
                trace.voluntary_switches,
                trace.involuntary_switches,
            ],
            order: &trace.order,
            generator: (trace.order == "synthetic").then_some(trace.source.as_str()),
            commands: &trace.commands,
            processes: &head.processes,
        }
    }
}

/// How the traces of two sides belong together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Relation {
    /// The same ones; for each record of the base the place of its partner.
    Same(Vec<usize>),
    /// No trace is on both sides.
    Others {
        /// Whether a side has but one.
        has_single: bool,
    },
    /// Some traces are on both sides, some are not.
    Overlapping,
}

impl Relation {
    pub(super) fn of(base: &[TraceKey<'_>], new: &[TraceKey<'_>]) -> Self {
        let partners: Vec<Option<usize>> = base.iter().map(|key| new.iter().position(|other| other == key)).collect();
        let found = partners.iter().flatten().count();
        match partners.iter().copied().collect::<Option<Vec<usize>>>() {
            Some(partners) if base.len() == new.len() => Relation::Same(partners),
            _ if found > 0 => Relation::Overlapping,
            _ => Relation::Others { has_single: base.len() == 1 || new.len() == 1 },
        }
    }

    pub(super) fn basis(self) -> Basis {
        match self {
            Relation::Same(partners) if partners.len() == 1 => Basis::SameTrace,
            Relation::Same(_) => Basis::SameTraces,
            Relation::Others { has_single: true } => Basis::SingleTrace,
            Relation::Others { has_single: false } | Relation::Overlapping => Basis::OtherTraces,
        }
    }
}

/// Two records of which one is a copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Copied {
    /// Both on the base's side, at these places.
    InBase(usize, usize),
    /// Both on the new side.
    InNew(usize, usize),
    /// One on each side.
    OnBothSides(usize, usize),
}

/// The first record that is there twice. A simulation is the same each time, so on one side the same design on the same
/// trace is a copy, whenever it was made; on both sides only the same record is: a new version may count otherwise.
pub fn copied(base: &[&Simulation], new: &[&Simulation]) -> Option<Copied> {
    let among =
        |side: &[&Simulation]| pairs(side.len(), side.len()).find(|(a, b)| a < b && repeats(side[*a], side[*b]));
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
    TraceKey::of(a) == TraceKey::of(b) && b.designs.iter().any(|result| has_alike(&result.design))
}

fn is_one_record(a: &Simulation, b: &Simulation) -> bool {
    a.started_at == b.started_at
        && a.program_version == b.program_version
        && a.trace == b.trace
        && a.designs == b.designs
}
