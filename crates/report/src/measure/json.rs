use schemars::JsonSchema;
use serde::Serialize;
use switchcost_analysis::Findings;
use switchcost_record::{
    ClockFacts, Control, EarlierRuns, HostManifest, MeasureRecord, RuntimeFacts, SelfTest,
};

use crate::for_programs::OutputFormat;

/// The whole report.
#[derive(JsonSchema, Serialize)]
pub(crate) struct Report<'a> {
    /// Version of the program that made the measurement.
    program_version: &'a str,
    /// RFC 3339, UTC.
    started_at: &'a str,
    /// Seed of the run, up to 64 bits; read it as an integer.
    seed: u64,
    /// The machine.
    host: &'a HostManifest,
    /// The clock of the run.
    clock: &'a ClockFacts,
    /// The versions of runtimes of languages, and what their hand-offs are; absent if none was measured.
    #[serde(skip_serializing_if = "Option::is_none")]
    runtimes: Option<&'a [RuntimeFacts]>,
    /// The earlier runs of the machine (`--history`), and by how much they differ; absent if none were named.
    #[serde(skip_serializing_if = "Option::is_none")]
    earlier: Option<&'a EarlierRuns>,
    /// What was controlled, and whether that was possible.
    controls: &'a [Control],
    /// Known-answer tests of the instruments.
    self_tests: &'a [SelfTest],
    #[serde(flatten)]
    findings: &'a Findings,
}

impl OutputFormat for Report<'_> {
    /// Version 1: the first.
    const NAME: &'static str = "switchcost.measure/1";
}

pub(super) fn report<'a>(record: &'a MeasureRecord, findings: &'a Findings) -> Report<'a> {
    let header = &record.header;
    Report {
        program_version: &header.program_version,
        started_at: &header.started_at,
        seed: header.seed,
        host: &header.host,
        clock: &header.clock,
        runtimes: (!header.runtimes.is_empty()).then_some(&header.runtimes),
        earlier: header.earlier.as_ref(),
        controls: &header.controls,
        self_tests: &record.self_tests,
        findings,
    }
}
