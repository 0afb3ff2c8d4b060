use schemars::JsonSchema;
use serde::Serialize;
use switchcost_analysis::simulation::Findings;
use switchcost_design::result::{Simulation, TraceFacts};
use switchcost_record::HostManifest;

use crate::OutputFormat;

/// Report on a simulation.
#[derive(JsonSchema, Serialize)]
pub(crate) struct Report<'a> {
    /// Version of the program that simulated.
    program_version: &'a str,
    /// Start of the simulation (RFC 3339, UTC).
    started_at: &'a str,
    /// Command line of the simulation.
    command: &'a [String],
    /// Machine on which the simulator ran (not the simulated one).
    host: Option<&'a HostManifest>,
    /// Facts about the simulated trace.
    trace: &'a TraceFacts,
    #[serde(flatten)]
    findings: &'a Findings,
}

impl OutputFormat for Report<'_> {
    /// Name of the JSON schema, with its version.
    const NAME: &'static str = "switchcost.simulate/1";
}

pub(super) fn report<'a>(head: &'a Simulation, findings: &'a Findings) -> Report<'a> {
    Report {
        program_version: &head.program_version,
        started_at: &head.started_at,
        command: &head.command,
        host: head.host.as_ref(),
        trace: &head.trace,
        findings,
    }
}
