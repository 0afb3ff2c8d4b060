//! Identifies records that simulate the same trace.

use switchcost_design::result::{ProcessFacts, Simulation};

use crate::compare::Basis;

/// Identity of a simulated trace. The file name is ignored, because a file may have been renamed. A
/// generated trace is identified by its description.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct TraceKey<'a> {
    counts: [u64; 5],
    order: &'a str,
    generator: Option<&'a str>,
    commands: &'a [Vec<String>],
    processes: &'a [ProcessFacts],
}

impl<'a> TraceKey<'a> {
    pub(super) fn new(head: &'a Simulation) -> Self {
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

/// Relation between the traces of the base records and those of the new records.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Relation {
    /// Both sides have the same traces. The list has, for each base record, the index of the new
    /// record of the same trace.
    Same(Vec<usize>),
    /// The two sides have no trace in common.
    Others {
        /// Whether one of the sides has only one trace.
        has_single: bool,
    },
    /// Some traces are on both sides, and other traces are on only one side.
    Overlapping,
}

impl Relation {
    pub(super) fn new([base, new]: [Vec<&TraceKey<'_>>; 2]) -> Self {
        let partners: Vec<Option<usize>> = base
            .iter()
            .map(|key| new.iter().position(|other| other == key))
            .collect();
        let found = partners.iter().flatten().count();
        match partners.iter().copied().collect::<Option<Vec<usize>>>() {
            Some(partners) if base.len() == new.len() => Relation::Same(partners),
            _ if found > 0 => Relation::Overlapping,
            _ => Relation::Others {
                has_single: base.len() == 1 || new.len() == 1,
            },
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
