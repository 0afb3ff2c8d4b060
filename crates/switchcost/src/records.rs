//! What is found in the record of a simulation.

use std::path::Path;

use switchcost_analysis::simulation::{Analyser, Findings, Options};
use switchcost_simulation_record::SimulationRecord;
use switchcost_simulation_result::Simulation;

use crate::exit::Failure;

/// The head of a simulation's record, and what is found in its intervals.
pub(crate) fn simulation(path: &Path, options: Options) -> Result<(Simulation, Findings), Failure> {
    let record = SimulationRecord::read(path)?;
    let mut analyser = Analyser::new(&record.head, options);
    for batch in record.intervals()? {
        analyser.add(&batch?);
    }
    let findings = analyser.finish();
    Ok((record.head, findings))
}
