use ::injection::{Injection, Plan, Run};
use analysis::Estimate;
use analysis::injection::{Findings, FootprintFinding, USUAL_RATE};
use record::HostManifest;
use schemars::JsonSchema;
use serde::Serialize;
use units::Bytes;

use super::INJECT_REPORT_SCHEMA;
use crate::for_programs::json;

/// What a preemption costs a program.
#[derive(JsonSchema, Serialize)]
#[schemars(rename = "Injection")]
pub(crate) struct View<'a> {
    /// Name and version of this form.
    schema: &'static str,
    /// Of the program that measured.
    program_version: &'a str,
    /// RFC 3339, UTC.
    started_at: &'a str,
    /// The machine.
    host: &'a HostManifest,
    /// The command whose copies ran.
    command: &'a [String],
    /// What was to be done.
    plan: &'a Plan,
    /// Whether it came to its end.
    is_complete: bool,
    /// CPU time of a copy that is not preempted, in nanoseconds.
    cpu_ns: Option<f64>,
    /// The mean clock of the core, at which costs are told.
    core_hertz: Option<f64>,
    /// A second of the program's own time.
    preemptions_per_second: f64,
    /// The footprint that is told first.
    headline_footprint_bytes: Option<Bytes>,
    /// The rate of `share_at_usual_rate`.
    usual_rate_per_second: f64,
    /// One for each footprint.
    footprints: Vec<FootprintView<'a>>,
    /// As in the record.
    runs: &'a [Run],
}

/// A footprint of the other task.
#[derive(JsonSchema, Serialize)]
#[schemars(rename = "Footprint")]
struct FootprintView<'a> {
    /// What the other task touches.
    footprint_bytes: Bytes,
    /// Runs with it.
    runs: usize,
    /// Preemptions in them.
    preemptions: u64,
    /// How long the other task touched it, each time, in nanoseconds.
    away_ns: Option<f64>,
    /// The share of preemptions that took the CPU from the program, by the kernel's count.
    hit: Option<f64>,
    /// A preemption.
    cost_ns: Option<&'a Estimate>,
    /// What of it is more than with nothing touched: cold caches, of the program and of the kernel's switch; null of that one.
    reload_ns: Option<&'a Estimate>,
    /// Of the program's time.
    share_at_usual_rate: Option<f64>,
    /// Why there is no cost.
    why_not_measured: Option<&'a str>,
}

impl<'a> From<&'a FootprintFinding> for FootprintView<'a> {
    fn from(found: &'a FootprintFinding) -> FootprintView<'a> {
        let cost = found.cost_ns.as_ref();
        FootprintView {
            footprint_bytes: found.footprint_bytes,
            runs: found.runs,
            preemptions: found.preemptions,
            away_ns: found.away_ns,
            hit: found.hit,
            cost_ns: cost.ok(),
            reload_ns: found.reload_ns.as_ref().and_then(|reload| reload.as_ref().ok()),
            share_at_usual_rate: cost.ok().map(|cost| cost.estimate * USUAL_RATE / 1e9),
            why_not_measured: cost.err().map(String::as_str),
        }
    }
}

pub(super) fn render(record: &Injection, findings: &Findings) -> String {
    let header = &record.header;
    json(&View {
        schema: INJECT_REPORT_SCHEMA,
        program_version: &header.program_version,
        started_at: &header.started_at,
        host: &header.host,
        command: &header.command,
        plan: &header.plan,
        is_complete: record.end.as_ref().is_some_and(|end| !end.is_interrupted),
        cpu_ns: findings.cpu_ns,
        core_hertz: findings.core_hertz,
        preemptions_per_second: findings.per_second,
        headline_footprint_bytes: findings.first().map(|first| first.footprint_bytes),
        usual_rate_per_second: USUAL_RATE,
        footprints: findings.footprints.iter().map(FootprintView::from).collect(),
        runs: &record.runs,
    })
}
