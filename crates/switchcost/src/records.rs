//! What is found in the record of a simulation.

use std::path::Path;

use switchcost_analysis::simulation::{Analyser, Findings, Options};
use switchcost_simulation_record::{Returned, SimulationRecord};
use switchcost_simulation_result::Simulation;

use crate::exit::Failure;

/// The head of a simulation's record, and what is found in its tuples.
pub(crate) fn simulation(path: &Path, options: Options) -> Result<(Simulation, Findings), Failure> {
    let record = SimulationRecord::read(path)?;
    let mut analyser = Analyser::new(&record.head, options);
    for batch in record.tuples()? {
        analyser.add(&batch?);
    }
    let findings = analyser.finish();
    Ok((record.head, findings))
}

/// What is found in the tuples of a simulation that is in no file; none where they cannot be read.
pub(crate) fn unrecorded(head: &Simulation, tuples: Returned) -> Option<Findings> {
    let mut analyser = Analyser::new(head, Options::default());
    for batch in tuples {
        analyser.add(&batch.ok()?);
    }
    Some(analyser.finish())
}
