use std::collections::BTreeMap;

use analysis::{
    CaseFinding, CoreFinding, CounterFinding, Curve, CycleFinding, Estimate, Findings, Flag, Reload, Shared,
    SharedCache, Tail, Verdict,
};
use record::{ClockFacts, Control, HostManifest, MeasureRecord, Plan, SelfTest};
use serde::Serialize;

use super::MEASURE_REPORT_SCHEMA;
use crate::case::CaseView;
use crate::for_programs::json;

/// The whole report.
#[derive(Serialize)]
struct ReportView<'a> {
    schema: &'static str,
    program_version: &'a str,
    started_at: &'a str,
    seed: u64,
    host: &'a HostManifest,
    clock: &'a ClockFacts,
    controls: &'a [Control],
    self_tests: &'a [SelfTest],
    plan: PlanView<'a>,
    results: Vec<ResultView<'a>>,
    curves: &'a [Curve],
    shared_cache: &'a [SharedCache],
    latencies_ns: Vec<LatencyView>,
    core: Option<CoreFinding>,
    flags: &'a [Flag],
}

#[derive(Serialize)]
struct PlanView<'a> {
    precision: f64,
    confidence: f64,
    preset: &'a str,
}

#[derive(Serialize)]
struct LatencyView {
    size_bytes: u64,
    load_ns: f64,
}

#[derive(Serialize)]
struct ResultView<'a> {
    #[serde(flatten)]
    case: CaseView<'a>,
    status: &'static str,
    why: Option<&'a str>,
    direct_ns: &'a Option<Estimate>,
    total_ns: &'a Option<Estimate>,
    indirect_ns: &'a Option<Estimate>,
    indirect_kernel_ns: &'a Option<Estimate>,
    indirect_reload_ns: &'a Option<Estimate>,
    direct_cycles: &'a Option<Estimate>,
    reload: &'a Option<Reload>,
    shared: &'a Option<Shared>,
    cycles: &'a Option<CycleFinding>,
    handoff_ns: &'a Option<Estimate>,
    round_trip_ns: &'a Option<Estimate>,
    baseline_ns: &'a Option<Estimate>,
    walk_ns: &'a Option<Estimate>,
    switches_per_handoff: Option<f64>,
    involuntary_share: Option<f64>,
    repetitions_ns: &'a [f64],
    tail_ns: Option<TailView>,
    counters: &'a [CounterFinding],
    reload_bound_ns: Option<f64>,
    sanity_band_ns: Option<BandView>,
    excluded_samples: usize,
    total_samples: usize,
    excluded_by_reason: &'a BTreeMap<&'static str, usize>,
    flags: Vec<&'static str>,
    flag_details: BTreeMap<&'static str, String>,
}

#[derive(Serialize)]
struct TailView {
    p50: f64,
    p99: f64,
    max: f64,
    n: usize,
}

#[derive(Serialize)]
struct BandView {
    low: f64,
    high: f64,
    source: &'static str,
}

/// One object, indented, and a newline.
pub(super) fn render(record: &MeasureRecord, findings: &Findings) -> String {
    json(&report(record, findings))
}

fn report<'a>(record: &'a MeasureRecord, findings: &'a Findings) -> ReportView<'a> {
    let header = &record.header;
    ReportView {
        schema: MEASURE_REPORT_SCHEMA,
        program_version: &header.program_version,
        started_at: &header.started_at,
        seed: header.seed,
        host: &header.host,
        clock: &header.clock,
        controls: &header.controls,
        self_tests: &record.self_tests,
        plan: plan(&header.plan),
        results: findings.results.iter().map(result).collect(),
        curves: &findings.curves,
        shared_cache: &findings.shared_cache,
        latencies_ns: findings.latencies_ns.iter().map(latency).collect(),
        core: findings.core,
        flags: &findings.flags,
    }
}

fn plan(plan: &Plan) -> PlanView<'_> {
    let precision = f64::from(plan.precision_per_mille) / 1000.0;
    PlanView { precision, confidence: f64::from(plan.confidence_per_mille) / 1000.0, preset: &plan.preset }
}

fn latency((size_bytes, load_ns): &(u64, f64)) -> LatencyView {
    LatencyView { size_bytes: *size_bytes, load_ns: *load_ns }
}

fn result(finding: &CaseFinding) -> ResultView<'_> {
    ResultView {
        case: CaseView::from(&finding.case),
        status: status(&finding.verdict),
        why: why(&finding.verdict),
        direct_ns: &finding.direct_ns,
        total_ns: &finding.total_ns,
        indirect_ns: &finding.indirect_ns,
        indirect_kernel_ns: &finding.indirect_kernel_ns,
        indirect_reload_ns: &finding.indirect_reload_ns,
        direct_cycles: &finding.direct_cycles,
        reload: &finding.reload,
        shared: &finding.shared,
        cycles: &finding.cycles,
        handoff_ns: &finding.handoff_ns,
        round_trip_ns: &finding.round_trip_ns,
        baseline_ns: &finding.baseline_ns,
        walk_ns: &finding.walk_ns,
        switches_per_handoff: finding.switches_per_handoff,
        involuntary_share: finding.involuntary_share,
        repetitions_ns: &finding.repetitions_ns,
        tail_ns: finding.tail.as_ref().map(tail),
        counters: &finding.counters,
        reload_bound_ns: finding.reload_bound_ns,
        sanity_band_ns: finding.sanity_band_ns.map(|(low, high, source)| BandView { low, high, source }),
        excluded_samples: finding.excluded.total,
        total_samples: finding.excluded.of,
        excluded_by_reason: &finding.excluded.by_reason,
        flags: finding.flags.iter().map(|flag| flag.name).collect(),
        flag_details: flag_details(&finding.flags),
    }
}

/// Sentences by name; where a result has a flag twice, one behind the other.
fn flag_details(flags: &[Flag]) -> BTreeMap<&'static str, String> {
    let mut details: BTreeMap<&str, String> = BTreeMap::new();
    for flag in flags {
        let detail = details.entry(flag.name).or_default();
        if !detail.is_empty() {
            detail.push(' ');
        }
        detail.push_str(&flag.detail);
    }
    details
}

fn tail(tail: &Tail) -> TailView {
    TailView { p50: tail.p50_ns, p99: tail.p99_ns, max: tail.max_ns, n: tail.n }
}

/// The name of a verdict in every format for programs.
pub(super) fn status(verdict: &Verdict) -> &'static str {
    match verdict {
        Verdict::Measured => "measured",
        Verdict::Suspect => "suspect",
        Verdict::NotMeasured { .. } => "not-measured",
    }
}

fn why(verdict: &Verdict) -> Option<&str> {
    match verdict {
        Verdict::NotMeasured { why } => Some(why),
        Verdict::Measured | Verdict::Suspect => None,
    }
}
