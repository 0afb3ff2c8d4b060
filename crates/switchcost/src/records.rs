//! Records as files: of which kind one is, and what is found in it.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use switchcost_analysis::simulation::{Analyser, Findings, Options};
use switchcost_simulation_record::SimulationRecord;
use switchcost_simulation_result::Simulation;

use crate::exit::Failure;

/// What a record is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, strum::Display)]
pub(crate) enum Kind {
    #[strum(serialize = "a measurement")]
    Measurement,
    #[strum(serialize = "a simulation")]
    Simulation,
    #[strum(serialize = "an observation")]
    Observation,
    #[strum(serialize = "an injection")]
    Injection,
}

/// The kind of a record; whatever is of no other kind should be one of a measurement.
pub(crate) fn kind(path: &Path) -> Kind {
    match () {
        () if is_simulation(path) => Kind::Simulation,
        () if is_observation(path) => Kind::Observation,
        () if switchcost_injection::is_injection(path) => Kind::Injection,
        () => Kind::Measurement,
    }
}

/// Whether a file begins as the records of simulations do; where it does not begin at all, whether it is named as they are. What
/// cannot be read is for the reader to say.
pub(crate) fn is_simulation(path: &Path) -> bool {
    let mut start = [0; 4];
    match File::open(path).and_then(|mut file| file.read_exact(&mut start)) {
        Ok(()) => &start == b"PAR1",
        Err(_) => path.extension().is_some_and(|extension| extension == "parquet"),
    }
}

/// Whether a file begins as the records of observations do; where it does not begin at all, whether it is named as they are.
pub(crate) fn is_observation(path: &Path) -> bool {
    let head = format!("{{\"schema\":\"{}/", switchcost_observation::OBSERVATION_SCHEMA);
    let mut start = vec![0; head.len()];
    match File::open(path).and_then(|mut file| file.read_exact(&mut start)) {
        Ok(()) => start == head.as_bytes(),
        Err(_) => path.to_string_lossy().ends_with(crate::runs::OBSERVATION),
    }
}

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
