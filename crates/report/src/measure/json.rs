use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;
use switchcost_analysis::{
    CaseFinding, CoreFinding, CounterFinding, Curve, CycleFinding, Estimate, Findings, Flag, Reload, Shared,
    SharedCache, Tail, Verdict,
};
use switchcost_record::{ClockFacts, Control, HostManifest, MeasureRecord, Plan, SelfTest};

use super::MEASURE_REPORT_SCHEMA;
use crate::case::CaseView;
use crate::for_programs::json;

/// The whole report.
#[derive(JsonSchema, Serialize)]
#[schemars(rename = "Report")]
pub(crate) struct ReportView<'a> {
    /// Name and version of this form.
    schema: &'static str,
    /// Of the program that made the measurement.
    program_version: &'a str,
    /// RFC 3339, UTC.
    started_at: &'a str,
    /// Up to 64 bits; read it as an integer.
    seed: u64,
    /// The machine.
    host: &'a HostManifest,
    /// The clock.
    clock: &'a ClockFacts,
    /// What was controlled, and whether that was possible.
    controls: &'a [Control],
    /// Known-answer tests of the instruments.
    self_tests: &'a [SelfTest],
    /// What was asked for.
    plan: PlanView<'a>,
    /// One for each case of the plan, in its order.
    results: Vec<ResultView<'a>>,
    /// One for each set of results that differ in size alone and have four sizes or more.
    curves: &'a [Curve],
    /// One for each size at which two tasks walked [at once](../method/shared-cache.md); empty without `--concurrent`.
    shared_cache: &'a [SharedCache],
    /// Load latency by size, measured in this run.
    latencies_ns: Vec<LatencyView>,
    /// The core's clock; null in records of version 1.
    core: Option<CoreFinding>,
    /// Notes on the run as a whole.
    flags: &'a [Flag],
}

/// What was asked for.
#[derive(JsonSchema, Serialize)]
#[schemars(rename = "Plan")]
struct PlanView<'a> {
    /// The relative half-width asked for: 0.01 is 1 %.
    precision: f64,
    /// Asked for: 0.9 is 90 %.
    confidence: f64,
    /// Name of the ready-made list of cases.
    preset: &'a str,
}

/// Load latency at one size.
#[derive(JsonSchema, Serialize)]
#[schemars(rename = "Latency")]
struct LatencyView {
    /// Size of the memory.
    size_bytes: u64,
    /// A load, in nanoseconds.
    load_ns: f64,
}

/// What was found out about one case.
#[derive(JsonSchema, Serialize)]
#[schemars(rename = "Result")]
struct ResultView<'a> {
    #[serde(flatten)]
    case: CaseView<'a>,
    /// `measured`; `suspect`: there are numbers, read them with the flags; `not-measured`: no number.
    status: &'static str,
    /// If `not-measured`: the reason, and what to do.
    why: Option<&'a str>,
    /// Direct cost of one switch; null across CPUs and where nothing was pinned, where no switch can be priced by
    /// itself.
    direct_ns: &'a Option<Estimate>,
    /// Cost of one switch with the working set (across CPUs: of one hand-off); null without a working set.
    total_ns: &'a Option<Estimate>,
    /// Total less direct, estimated on the difference within each repetition.
    indirect_ns: &'a Option<Estimate>,
    /// Of `indirect_ns`, by how much the hand-off itself is slower: the walks evicted the kernel's lines. Null in
    /// records of version 1.
    indirect_kernel_ns: &'a Option<Estimate>,
    /// Of `indirect_ns`, by how much the walk is slower: the reload of the task's own lines. Null in records of version
    /// 1.
    indirect_reload_ns: &'a Option<Estimate>,
    /// `direct_ns` in [core cycles](../method/core-clock.md); null if the cycles of a multiplication are not known for
    /// this core, and in records of version 1.
    direct_cycles: &'a Option<Estimate>,
    /// Where the case is about the [reload](../method/reload.md). `total_ns` is then the cost of having been away once,
    /// `handoff_ns` the switch, `indirect_reload_ns` the sum of the walks.
    reload: &'a Option<Reload>,
    /// A neighbour on the same core; null in records of version 1.
    shared: &'a Option<Shared>,
    /// Of the [cycles](../method/cycles.md) behind the deciding cost; null in records of version 1.
    cycles: &'a Option<CycleFinding>,
    /// The hand-off latency beyond the baseline: the direct cost times the switches that a hand-off takes.
    handoff_ns: &'a Option<Estimate>,
    /// One round trip through all tasks, system calls included, nothing touched.
    round_trip_ns: &'a Option<Estimate>,
    /// A task handing the token to itself once, nothing touched.
    baseline_ns: &'a Option<Estimate>,
    /// A walk of the working set without a switch (of a `concurrent` case: alone); null without a working set, for the
    /// reload, and in records of version 1.
    walk_ns: &'a Option<Estimate>,
    /// Counted in the switching arm with nothing touched: by the kernel, or by a user-level mechanism.
    switches_per_handoff: Option<f64>,
    /// Share of the kernel's switches that were involuntary; null in user space.
    involuntary_share: Option<f64>,
    /// The deciding cost of each repetition: total with a working set, else direct, else (across CPUs) the hand-off.
    repetitions_ns: &'a [f64],
    /// Single hand-offs, system calls and clock reading included.
    tail_ns: Option<TailView>,
    /// Hardware and kernel counters.
    counters: &'a [CounterFinding],
    /// The most that reloading all lost lines could cost ([how](../method/knees-and-bounds.md)).
    reload_bound_ns: Option<f64>,
    /// Published range.
    sanity_band_ns: Option<BandView>,
    /// Windows of cycles (in version 1: batches) left out of the estimates.
    excluded_samples: usize,
    /// Of how many.
    total_samples: usize,
    /// By [reason](../method/contamination.md); a sample with two reasons counts under each.
    excluded_by_reason: &'a BTreeMap<&'static str, usize>,
    /// Names of the flags below.
    flags: Vec<&'static str>,
    /// One sentence by name: what was seen, what it means.
    flag_details: BTreeMap<&'static str, String>,
}

/// Single timed hand-offs.
#[derive(JsonSchema, Serialize)]
#[schemars(rename = "Tail")]
struct TailView {
    /// Half of them took at most this, in nanoseconds.
    p50: f64,
    /// 99 of 100 took at most this.
    p99: f64,
    /// The longest.
    max: f64,
    /// How many were timed.
    n: usize,
}

/// A published range.
#[derive(JsonSchema, Serialize)]
#[schemars(rename = "Band")]
struct BandView {
    /// Lower end, in nanoseconds.
    low: f64,
    /// Upper end.
    high: f64,
    /// Where it was published.
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
