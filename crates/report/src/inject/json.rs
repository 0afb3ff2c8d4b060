use ::injection::{Injection, Plan, Run};
use analysis::Estimate;
use analysis::injection::{Findings, FootprintFinding, USUAL_RATE};
use record::HostManifest;
use serde::Serialize;
use units::Bytes;

use super::INJECT_REPORT_SCHEMA;
use crate::for_programs::json;

#[derive(Serialize)]
struct View<'a> {
    schema: &'static str,
    program_version: &'a str,
    started_at: &'a str,
    host: &'a HostManifest,
    command: &'a [String],
    plan: &'a Plan,
    is_complete: bool,
    cpu_ns: Option<f64>,
    core_hertz: Option<f64>,
    preemptions_per_second: f64,
    headline_footprint_bytes: Option<Bytes>,
    usual_rate_per_second: f64,
    footprints: Vec<FootprintView<'a>>,
    runs: &'a [Run],
}

#[derive(Serialize)]
struct FootprintView<'a> {
    footprint_bytes: Bytes,
    runs: usize,
    preemptions: u64,
    away_ns: Option<f64>,
    hit: Option<f64>,
    cost_ns: Option<&'a Estimate>,
    reload_ns: Option<&'a Estimate>,
    share_at_usual_rate: Option<f64>,
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
