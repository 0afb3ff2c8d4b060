use schemars::JsonSchema;
use serde::Serialize;
use switchcost_analysis::injection::{Doubt, Findings, ServiceFindings, doubt};
use switchcost_record::HostManifest;
use switchcost_record::injection::{Group, Injection, Other, Plan, Run};

use crate::OutputFormat;

/// Cost of a preemption to a program.
#[derive(JsonSchema, Serialize)]
pub(crate) struct Report<'a> {
    /// Version of the program that measured.
    program_version: &'a str,
    /// Start of the run (RFC 3339, UTC).
    started_at: &'a str,
    /// Facts about the machine.
    host: &'a HostManifest,
    /// Command whose copies ran, or name of the service.
    command: &'a [String],
    /// Plan of the run.
    plan: &'a Plan,
    /// Whether the measurement was completed.
    is_complete: bool,
    /// Why the result is implausible; null if it is plausible.
    doubt: Option<Doubt>,
    #[serde(flatten)]
    findings: &'a Findings,
    /// Runs, as in the record.
    runs: &'a [Run],
    /// The service that was preempted in place; null if a command was run.
    service: Option<&'a ServiceFindings>,
    /// Groups of phases of a service, as in the record.
    groups: &'a [Group],
    /// Tasks besides the copies that had the CPU for a considerable part of the time.
    others: &'a [Other],
}

impl OutputFormat for Report<'_> {
    /// Name of the JSON schema, with its version.
    const NAME: &'static str = "switchcost.inject/1";
}

pub(super) fn report<'a>(record: &'a Injection, findings: &'a Findings) -> Report<'a> {
    let header = &record.header;
    Report {
        program_version: &header.program_version,
        started_at: &header.started_at,
        host: &header.host,
        command: &header.command,
        plan: &header.plan,
        is_complete: record.end.as_ref().is_some_and(|end| !end.is_interrupted),
        doubt: doubt(record, findings),
        findings,
        runs: &record.runs,
        service: findings.service.as_ref(),
        groups: &record.groups,
        others: record.end.as_ref().map_or(&[], |end| &end.others),
    }
}
