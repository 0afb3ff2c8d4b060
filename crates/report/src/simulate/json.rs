use schemars::JsonSchema;
use serde::Serialize;
use switchcost_analysis::simulation::Findings;
use switchcost_design::result::{Simulation, TraceFacts};
use switchcost_record::HostManifest;

use crate::for_programs::OutputFormat;

/// The whole report.
#[derive(JsonSchema, Serialize)]
pub(crate) struct Report<'a> {
    /// Version of the program that simulated.
    program_version: &'a str,
    /// RFC 3339, UTC.
    started_at: &'a str,
    /// The command line.
    command: &'a [String],
    /// The machine that simulated (not the one that was simulated).
    host: Option<&'a HostManifest>,
    /// The trace that was simulated.
    trace: &'a TraceFacts,
    #[serde(flatten)]
    findings: &'a Findings,
}

impl OutputFormat for Report<'_> {
    /// Version 1: the first.
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
