//! Shows the details for which a terminal has no room: the verdict on the environment, all
//! controls, the machine and the plan.

use itertools::Itertools;
use switchcost_analysis::{Findings, Verdict};
use switchcost_record::{
    Control, ControlOutcome, EndReason, Fact, HostManifest, MeasureRecord, SelfTestOutcome,
};
use switchcost_units::format_cpu_list;

use super::conditions::label;
use crate::quantity::time;
use crate::{Entry, Grid, Page, Tone};

/// Adds a sentence on the environment: controls in force, contaminated samples, and suspect or
/// missing results.
pub(super) fn add_environment(page: &mut Page, record: &MeasureRecord, findings: &Findings) {
    if !page.has_figures() {
        return;
    }
    let controls = &record.header.controls;
    let applied = controls
        .iter()
        .filter(|control| control.outcome == ControlOutcome::Applied)
        .count();
    let total: usize = findings
        .results
        .iter()
        .map(|finding| finding.excluded.total)
        .sum();
    let of: usize = findings
        .results
        .iter()
        .map(|finding| finding.excluded.of)
        .sum();
    let count = |is: fn(&Verdict) -> bool| {
        findings
            .results
            .iter()
            .filter(|finding| is(&finding.verdict))
            .count()
    };
    let suspect = count(|verdict| *verdict == Verdict::Suspect);
    let missing = count(|verdict| matches!(verdict, Verdict::NotMeasured { .. }));
    let verdict = if suspect + missing == 0 && applied == controls.len() {
        "quiet and controlled"
    } else {
        "with reservations"
    };
    page.prose(format!(
        "environment: {verdict}: {applied} of {} controls in force, {total} of {of} samples left out, {suspect} of {} \
         results suspect, {missing} not measured",
        controls.len(),
        findings.results.len()
    ));
}

/// Adds tables of excluded samples, controls, the machine, the plan and known-answer tests.
pub(super) fn add(page: &mut Page, record: &MeasureRecord, findings: &Findings) {
    if !page.has_figures() {
        return;
    }
    add_excluded(page, findings);
    add_controls(page, &record.header.controls);
    add_machine(page, &record.header.host);
    add_plan(page, record);
    add_self_tests(page, record);
}

fn add_excluded(page: &mut Page, findings: &Findings) {
    let mut grid = Grid::new(1)
        .left(["result"])
        .right(["left out", "of"])
        .left(["by reason"])
        .right(["repetitions"])
        .left(["interval by"]);
    for finding in &findings.results {
        let excluded = &finding.excluded;
        let reasons = excluded
            .by_reason
            .iter()
            .map(|(reason, n)| format!("{reason} {n}"))
            .join(", ");
        let estimate = finding
            .total_ns
            .as_ref()
            .or(finding.direct_ns.as_ref())
            .or(finding.handoff_ns.as_ref());
        grid.row(entries![
            label(&finding.case),
            excluded.total.to_string(),
            excluded.of.to_string(),
            reasons,
            estimate.map(|estimate| estimate.n.to_string()),
            estimate.map(|estimate| estimate.method)
        ]);
    }
    page.heading("Samples left out, and how intervals were found", "");
    page.grid(grid);
    page.method(["contamination", "statistics"]);
}

fn add_controls(page: &mut Page, controls: &[Control]) {
    let mut grid = Grid::new(1).left([
        "control",
        "wanted",
        "outcome",
        "found",
        "needed",
        "fix now",
        "permanent fix",
    ]);
    for control in controls {
        let mut row: Vec<Entry> = entries![&control.name, &control.wanted];
        match &control.outcome {
            ControlOutcome::Applied => row.push(Entry::new("in force", Tone::Good)),
            ControlOutcome::TurnedOff => row.push("turned off".into()),
            ControlOutcome::Refused {
                found,
                needed,
                fix,
                lasting_fix,
            } => {
                row.push(Entry::new("refused", Tone::Suspect));
                row.extend([found, needed, fix, lasting_fix].map(Entry::from));
            }
        }
        grid.row(row);
    }
    page.table("Controls of the environment", "", grid);
}

fn add_machine(page: &mut Page, host: &HostManifest) {
    page.table(
        "The machine",
        "as the run found it",
        Grid::facts("fact", facts(host)),
    );
}

fn said<T>(fact: &Fact<T>, text: impl Fn(&T) -> String) -> String {
    match fact {
        Fact::Known(value) => text(value),
        Fact::Unknown { unknown } => format!("not known: {unknown}"),
    }
}

fn yes(value: &bool) -> String {
    if *value {
        "yes".to_owned()
    } else {
        "no".to_owned()
    }
}

fn facts(host: &HostManifest) -> Vec<(String, String)> {
    let mut facts: Vec<(String, String)> = [
        ("host name", host.hostname.clone()),
        ("CPU", said(&host.cpu_model, String::clone)),
        ("architecture", host.architecture.clone()),
        ("kernel", host.kernel.clone()),
        ("distribution", said(&host.distribution, String::clone)),
        ("hypervisor", said(&host.hypervisor, String::clone)),
        ("CPUs online", format_cpu_list(&host.cpus_online)),
        ("CPUs allowed", format_cpu_list(&host.cpus_allowed)),
        ("CPUs isolated", format_cpu_list(&host.cpus_isolated)),
        (
            "hardware threads share cores",
            said(&host.is_smt_active, yes),
        ),
        ("memory", host.memory_bytes.to_string()),
        ("memory available", host.memory_available_bytes.to_string()),
        ("page", host.page_bytes.to_string()),
        ("huge pages", said(&host.huge_pages, String::clone)),
        ("governor", said(&host.governor, String::clone)),
        (
            "kernel's clock source",
            said(&host.clock_source, String::clone),
        ),
        (
            "the CPU's counter at a constant rate",
            yes(&host.is_tsc_invariant),
        ),
        (
            "kernel page tables isolated",
            said(&host.is_kpti_active, yes),
        ),
        (
            "address spaces tagged in the TLB",
            said(&host.has_pcid, yes),
        ),
        (
            "timer ticks per second",
            said(&host.timer_hz, u32::to_string),
        ),
        (
            "preemption of the kernel",
            said(&host.preemption, String::clone),
        ),
        (
            "kernel command line",
            said(&host.kernel_command_line, String::clone),
        ),
    ]
    .map(|(name, value)| (name.to_owned(), value))
    .to_vec();
    for cache in &host.caches {
        let ways = cache
            .ways
            .map(|ways| format!(", {ways} ways"))
            .unwrap_or_default();
        let sharers = format_cpu_list(&cache.shared_by);
        let value = format!(
            "{}, lines of {}{ways}, shared by CPUs {sharers}",
            cache.size_bytes, cache.line_bytes
        );
        facts.push((format!("L{} cache ({})", cache.level, cache.kind), value));
    }
    facts.extend(tlbs(host));
    facts.extend(
        host.is_turbo_on
            .map(|on| ("turbo".to_owned(), if on { "on" } else { "off" }.to_owned())),
    );
    facts.extend(
        host.microcode
            .iter()
            .map(|revision| ("microcode".to_owned(), revision.clone())),
    );
    facts.extend(host.scheduler.iter().flat_map(|scheduler| {
        [
            (
                "preemption models of the kernel",
                said(&scheduler.preemption_models, |models| models.join(", ")),
            ),
            (
                "time slices extended in critical sections (rseq)",
                said(&scheduler.slice_extension, yes),
            ),
            (
                "tasks of a process kept on CPUs that share a cache",
                said(&scheduler.is_cache_aware, yes),
            ),
        ]
        .map(|(name, value)| (name.to_owned(), value))
    }));
    facts.extend(
        host.mitigations
            .iter()
            .map(|(name, state)| (format!("mitigation: {name}"), state.clone())),
    );
    facts
}

fn tlbs(host: &HostManifest) -> Vec<(String, String)> {
    match &host.tlbs {
        Fact::Unknown { unknown } => vec![("TLBs".to_owned(), format!("not known: {unknown}"))],
        Fact::Known(tlbs) => {
            let name = |tlb: &switchcost_record::Tlb| {
                format!(
                    "L{} TLB ({}, pages of {})",
                    tlb.level, tlb.kind, tlb.page_bytes
                )
            };
            let is_doubted =
                |tlb: &switchcost_record::Tlb| tlb.level > 1 && host.doubted_tlb().is_some();
            let entries = |tlb: &switchcost_record::Tlb| {
                let said = if is_doubted(tlb) {
                    ", made up by the hypervisor: not used"
                } else {
                    ""
                };
                format!("{} entries, reach {}{said}", tlb.entries, tlb.reach())
            };
            tlbs.iter().map(|tlb| (name(tlb), entries(tlb))).collect()
        }
    }
}

fn add_plan(page: &mut Page, record: &MeasureRecord) {
    let header = &record.header;
    let plan = &header.plan;
    let percent = |per_mille: u32| format!("{} %", f64::from(per_mille) / 10.0);
    let end = match record.end {
        None => "cut off".to_owned(),
        Some(end) => {
            let how = if end.reason == EndReason::Complete {
                "complete"
            } else {
                "interrupted"
            };
            format!("{how} after {}", time(end.elapsed_ns.0 as f64))
        }
    };
    let rows = [
        ("command", header.command.join(" ")),
        ("started", header.started_at.clone()),
        ("end", end),
        ("program", format!("switchcost {}", header.program_version)),
        ("record", header.schema.clone()),
        ("preset", plan.preset.clone()),
        ("cases", plan.cases.len().to_string()),
        ("seed", header.seed.to_string()),
        (
            "order",
            "cases and arms in random order, drawn from the seed".to_owned(),
        ),
        ("wanted precision", percent(plan.precision_per_mille)),
        ("confidence", percent(plan.confidence_per_mille)),
        ("budget", time(plan.budget_ns.0 as f64)),
        ("repetitions at most", plan.max_repetitions.to_string()),
        ("length of a batch", time(plan.batch_ns.0 as f64)),
        ("rounds", plan.rounds.to_string()),
        (
            "clock",
            format!("{} ({})", header.clock.source, header.clock.reason),
        ),
        ("windows of rounds", record.cycles.len().to_string()),
        ("other samples", record.samples.len().to_string()),
        ("refused repetitions", record.refusals.len().to_string()),
    ];
    page.table(
        "The plan, its seed and order",
        "",
        Grid::facts("plan", rows),
    );
    page.method(["statistics", "clock"]);
}

fn add_self_tests(page: &mut Page, record: &MeasureRecord) {
    let mut grid = Grid::new(1).left(["instrument", "known answer", "outcome"]);
    for test in &record.self_tests {
        let outcome = match &test.outcome {
            SelfTestOutcome::Admitted => Entry::new("passed", Tone::Good),
            SelfTestOutcome::Unavailable { why } => {
                Entry::new(format!("not available: {why}"), Tone::Usual)
            }
            SelfTestOutcome::Wrong {
                expected_low,
                expected_high,
                found,
            } => Entry::new(
                format!("refused: it counted {found}, expected {expected_low} to {expected_high}"),
                Tone::Bad,
            ),
        };
        grid.row(entries![&test.instrument, &test.known_answer, outcome]);
    }
    if !grid.is_empty() {
        page.table("Known answers", "each instrument before it was used", grid);
        page.method(["validation"]);
    }
}
