//! Reads and analyses the records of simulations.

use switchcost_analysis::simulation::{Analyser, Findings, Options};
use switchcost_design::result::Simulation;
use switchcost_record::Source;
use switchcost_simulation_record::{Returned, SimulationRecord};

use crate::exit::Outcome;

/// Reads the record of a simulation, and returns its head and the findings from its intervals.
pub(crate) fn simulation(
    source: impl Into<Source>,
    options: Options,
) -> Outcome<(Simulation, Findings)> {
    let record = SimulationRecord::read(source)?;
    let mut analyser = Analyser::new(&record.head, options);
    for batch in record.intervals()? {
        analyser.add(&batch?);
    }
    let findings = analyser.finish();
    Ok((record.head, findings))
}

/// Returns the findings from intervals that are not in a file; `None` if the intervals cannot be
/// read.
pub(crate) fn unrecorded(head: &Simulation, intervals: Box<Returned>) -> Option<Findings> {
    let mut analyser = Analyser::new(head, Options::default());
    for batch in intervals {
        analyser.add(&batch.ok()?);
    }
    Some(analyser.finish())
}
