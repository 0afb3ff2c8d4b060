use schemars::JsonSchema;
use serde::Serialize;
use switchcost_analysis::Estimate;
use switchcost_analysis::injection::{Findings, FootprintFinding, PeriodFinding, ServiceFindings, USUAL_RATE};
use switchcost_injection::{Group, Injection, Other, Plan, Run, Service};
use switchcost_record::HostManifest;
use switchcost_units::{Bytes, CpuId, Nanos};

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
    /// The command whose copies ran, or the name of the service.
    command: &'a [String],
    /// What was to be done.
    plan: &'a Plan,
    /// Whether it came to its end.
    is_complete: bool,
    /// CPU time of a copy that is not preempted, in nanoseconds.
    cpu_ns: Option<f64>,
    /// The mean clock of the core, at which costs are reported.
    core_hertz: Option<f64>,
    /// A second of the program's own time; of a service, of wall time.
    preemptions_per_second: f64,
    /// The footprint that is reported first.
    headline_footprint_bytes: Option<Bytes>,
    /// The rate of `share_at_usual_rate`.
    usual_rate_per_second: f64,
    /// One for each footprint, at the first period.
    footprints: Vec<FootprintView<'a>>,
    /// The same at each period; empty where there is one alone.
    periods: Vec<PeriodView<'a>>,
    /// To be moved to another CPU, or back; null where that was not tried.
    moved: Option<MovedView<'a>>,
    /// As in the record.
    runs: &'a [Run],
    /// The service that was preempted where it runs; null where it was a command.
    service: Option<ServiceView<'a>>,
    /// As in the record, of a service.
    groups: &'a [Group],
    /// Who else has had the CPU for a considerable part of the time.
    others: &'a [Other],
}

/// A service, and what was found of it beside cold caches.
#[derive(JsonSchema, Serialize)]
#[schemars(rename = "ServiceFound")]
struct ServiceView<'a> {
    /// Who it was.
    preempted: &'a Service,
    /// What a preemption that touches nothing costs beside not being preempted; below 0 where it finds more to do at once afterwards.
    held_up_ns: Option<&'a Estimate>,
    /// For how long it was held up then, in nanoseconds.
    held_up_for_ns: Option<f64>,
    /// CPU time for a piece of work, in nanoseconds.
    cpu_per_work_ns: Option<f64>,
    /// Pieces of work a second, before.
    work_per_second: f64,
    /// Its share of a CPU, before.
    cpu_share: f64,
    /// By itself, before.
    preemptions_per_second: f64,
    /// Of its CPU time, that its own preemptions take in cold caches at the price of the first footprint.
    share_of_own: Option<f64>,
    /// Groups of phases that were left out.
    without_work: usize,
}

impl<'a> ServiceView<'a> {
    fn of(service: &'a Service, found: &'a ServiceFindings, findings: &Findings) -> ServiceView<'a> {
        let first = findings.first().and_then(|first| first.reload_ns.as_ref()?.as_ref().ok());
        ServiceView {
            preempted: service,
            held_up_ns: found.held_up_ns.as_ref().ok(),
            held_up_for_ns: found.held_up_for_ns,
            cpu_per_work_ns: found.cpu_per_work_ns,
            work_per_second: found.work_per_second,
            cpu_share: found.cpu_share,
            preemptions_per_second: found.preemptions_per_second,
            share_of_own: first.and_then(|cost| found.share(cost.estimate)),
            without_work: found.without_work,
        }
    }
}

/// One of several periods.
#[derive(JsonSchema, Serialize)]
#[schemars(rename = "Period")]
struct PeriodView<'a> {
    /// How long the program runs until it is preempted.
    period_ns: Nanos,
    /// A second of the program's own time; of a service, of wall time.
    preemptions_per_second: f64,
    /// One for each footprint.
    footprints: Vec<FootprintView<'a>>,
    /// What cold caches cost more than at the first period, with the footprint that is reported first; where that is nothing, what a
    /// preemption does; null of the first.
    more_than_first_ns: Option<&'a Estimate>,
}

impl<'a> From<&'a PeriodFinding> for PeriodView<'a> {
    fn from(found: &'a PeriodFinding) -> PeriodView<'a> {
        PeriodView {
            period_ns: found.period_ns,
            preemptions_per_second: found.per_second,
            footprints: found.footprints.iter().map(FootprintView::from).collect(),
            more_than_first_ns: found.more_than_first_ns.as_ref().and_then(|more| more.as_ref().ok()),
        }
    }
}

/// What it costs to be moved.
#[derive(JsonSchema, Serialize)]
#[schemars(rename = "Moved")]
struct MovedView<'a> {
    /// The other CPU.
    cpu: CpuId,
    /// How often, in all runs.
    moves: u64,
    /// Each time, with nothing touched.
    cost_ns: Option<&'a Estimate>,
    /// What of it is more than to be preempted and stay.
    more_than_staying_ns: Option<&'a Estimate>,
}

impl<'a> MovedView<'a> {
    fn of(cpu: CpuId, found: &'a FootprintFinding) -> MovedView<'a> {
        MovedView {
            cpu,
            moves: found.preemptions,
            cost_ns: found.cost_ns.as_ref().ok(),
            more_than_staying_ns: found.reload_ns.as_ref().and_then(|more| more.as_ref().ok()),
        }
    }
}

/// A footprint of the other task.
#[derive(JsonSchema, Serialize)]
#[schemars(rename = "Footprint")]
struct FootprintView<'a> {
    /// What the other task touches.
    footprint_bytes: Bytes,
    /// Runs with it, or groups of phases.
    runs: usize,
    /// Preemptions in them.
    preemptions: u64,
    /// How long the other task touched it, each time, in nanoseconds.
    away_ns: Option<f64>,
    /// The share of preemptions that took the CPU from the program, by the kernel's count; of a service, of those after which it ran before
    /// the next.
    hit: Option<f64>,
    /// A preemption.
    cost_ns: Option<&'a Estimate>,
    /// What of it is more than with nothing touched: cold caches, of the program and of the kernel's switch; null of that one, but for a
    /// service, of which it is 0 but for the instrument.
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
        periods: findings.periods.iter().map(PeriodView::from).collect(),
        moved: findings.moved.as_ref().map(|(cpu, found)| MovedView::of(*cpu, found)),
        runs: &record.runs,
        service: header
            .service
            .as_ref()
            .zip(findings.service.as_ref())
            .map(|(service, found)| ServiceView::of(service, found, findings)),
        groups: &record.groups,
        others: record.end.as_ref().map_or(&[], |end| &end.others),
    })
}
