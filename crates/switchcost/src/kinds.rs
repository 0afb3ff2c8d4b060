//! Kinds of records, recognized by the beginning of the file or by its name.

use switchcost_record::Source;
use switchcost_record::injection::INJECTION_FORM;
use switchcost_record::observation::OBSERVATION_FORM;

use crate::exit::{Failure, Outcome};

/// Ending of the file names of measurements.
pub(crate) const MEASURE: &str = "measure.jsonl";
pub(crate) const INJECTION: &str = "injection.jsonl";
pub(crate) const OBSERVATION: &str = "observation.json";
pub(crate) const SIMULATION: &str = "simulation.parquet";
pub(crate) const TRACE: &str = "trace.sct";

/// Kind of a record: what was measured, simulated, observed or injected.
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

/// Returns the kind of a record. An unrecognized file counts as a measurement, whose reader reports
/// the error.
pub(crate) fn kind(source: &Source) -> Kind {
    match () {
        () if is_simulation(source) => Kind::Simulation,
        () if is_observation(source) => Kind::Observation,
        () if is_injection(source) => Kind::Injection,
        () => Kind::Measurement,
    }
}

/// Returns true if a file begins like the record of a simulation. For a file that cannot be read
/// the ending of the name decides, and the reader reports the error later.
pub(crate) fn is_simulation(source: &Source) -> bool {
    match source.begins_with(b"PAR1") {
        Ok(is_one) => is_one,
        Err(_) => source
            .path()
            .extension()
            .is_some_and(|extension| extension == "parquet"),
    }
}

/// Returns true if a file begins like the record of an observation. For a file that cannot be read
/// the ending of the name decides.
pub(crate) fn is_observation(source: &Source) -> bool {
    match source.begins_with(beginning("", OBSERVATION_FORM).as_bytes()) {
        Ok(is_one) => is_one,
        Err(_) => source.path().to_string_lossy().ends_with(OBSERVATION),
    }
}

/// Returns true if a file begins like the record of an injection.
pub(crate) fn is_injection(source: &Source) -> bool {
    let head = beginning("\"line\":\"header\",", INJECTION_FORM);
    source
        .begins_with(head.as_bytes())
        .is_ok_and(|is_one| is_one)
}

/// Returns an error for a trace, which is often given in place of a record.
pub(crate) fn refuse_trace(source: &Source) -> Outcome {
    if source
        .begins_with(b"\x89SCT")
        .is_ok_and(|is_trace| is_trace)
    {
        let path = source.path().display();
        return Err(Failure::record(format!(
            "{path} is a trace, not a record of a run; simulate it with switchcost simulate, or summarize it with \
             switchcost trace info"
        )));
    }
    Ok(())
}

/// Returns the first bytes of a record, which are the same for any version of its format.
fn beginning(before: &str, form: &str) -> String {
    let name = form.trim_end_matches(|letter: char| letter.is_ascii_digit());
    format!("{{{before}\"schema\":\"{name}")
}
