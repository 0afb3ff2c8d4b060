use schemars::JsonSchema;
use serde::Serialize;
use switchcost_analysis::Findings;
use switchcost_record::{
    ClockFacts, Control, EarlierRuns, HostManifest, MeasureRecord, RuntimeFacts, SelfTest,
};

use crate::OutputFormat;

/// Report on a measurement.
#[derive(JsonSchema, Serialize)]
pub(crate) struct Report<'a> {
    /// Version of the program that made the measurement.
    program_version: &'a str,
    /// Start of the run (RFC 3339, UTC).
    started_at: &'a str,
    /// Seed of the run: an integer of up to 64 bits.
    seed: u64,
    /// Facts about the machine.
    host: &'a HostManifest,
    /// Clock of the run.
    clock: &'a ClockFacts,
    /// Versions of language runtimes, and their hand-offs; absent if none was measured.
    #[serde(skip_serializing_if = "Option::is_none")]
    runtimes: Option<&'a [RuntimeFacts]>,
    /// Earlier runs of the machine (`--history`), and their spread; absent if none were named.
    #[serde(skip_serializing_if = "Option::is_none")]
    earlier: Option<&'a EarlierRuns>,
    /// Controls, and whether each one was possible.
    controls: &'a [Control],
    /// Known-answer tests of the instruments.
    self_tests: &'a [SelfTest],
    #[serde(flatten)]
    findings: &'a Findings,
}

impl OutputFormat for Report<'_> {
    /// Name of the JSON schema, with its version.
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
