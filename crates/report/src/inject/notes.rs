use itertools::Itertools;
use switchcost_analysis::injection::Findings;
use switchcost_record::injection::{Injection, Other, Plan};

use super::answer::program;
use super::service;
use crate::Page;
use crate::observe::name;
use crate::plain::plain;
use crate::quantity::{share, time};

/// Note that explains the two parts of the cost of a preemption.
const PARTS: &str = "The switch and its timer: the cost if the preempting task touches nothing, which is two switches and the timer interrupt. \
                     Cold caches: the additional cost of reloading the program's data and code and the kernel's switch path.";

/// Share of preemptions that found the program on the CPU, below which the share is reported.
const NEARLY_ALL: f64 = 0.99;

/// Adds notes on the runs and on their limits.
pub(super) fn add(page: &mut Page, record: &Injection, findings: &Findings) {
    if page.is_detailed() {
        page.heading("Notes", "");
    } else {
        page.gap();
    }
    match &findings.service {
        Some(found) => page.items(service::notes(record, found)),
        None => add_twins(page, record, findings),
    }
    page.items(name_other_tasks(record));
    page.items(unfinished(record));
}

fn add_twins(page: &mut Page, record: &Injection, findings: &Findings) {
    page.item(describe_runs(record, findings, page.is_detailed()));
    page.item(format!(
        "That copy was preempted every {} of its CPU time; rarer preemptions may cost more each (compare with --period LIST).",
        time(record.header.plan.period_ns.0 as f64)
    ));
    if page.is_detailed() {
        page.item(PARTS);
        page.item(same_for_both(&record.header.plan));
    }
    if record.header.plan.is_frozen {
        page.item("Each copy and its children were frozen by a control group while the other copy ran. This takes longer than stopping a \
             process group, and runs differ more.");
    }
    page.items(missed(findings));
    let rows = findings.footprints.iter();
    let why = rows
        .filter_map(|found| found.why_not_measured.as_ref())
        .next();
    page.items(why.map(|why| format!("Not measured: {why}.")));
}

fn describe_runs(record: &Injection, findings: &Findings, is_detailed: bool) -> String {
    let (plan, host) = (&record.header.plan, &record.header.host);
    let cpu = findings.cpu_ns.map_or(String::new(), |cpu| {
        format!(" ({} of CPU time each)", time(cpu))
    });
    let mut text = format!(
        "In each run, two copies of {}{cpu} alternated on CPU {} every {}, and the preemptor interrupted only one of them.",
        program(record),
        plan.cpu,
        time(plan.turn_ns.0 as f64)
    );
    if let Some(hertz) = findings.core_hertz.filter(|_| is_detailed) {
        let clock = hertz / 1e9;
        text += &format!(" Cycles are converted at {clock:.2} GHz, the mean of all runs.");
    }
    if let Some(model) = host.cpu_model.known() {
        text += &format!(" The processor is {}.", plain(model));
    }
    text
}

fn same_for_both(plan: &Plan) -> String {
    let settings = match plan.settings.as_slice() {
        [] => String::new(),
        settings => format!(" Settings: {}.", plain(&settings.join(", "))),
    };
    let apart = if plan.is_apart {
        " and working directories (changes to these are kept in memory)"
    } else {
        ""
    };
    let output = if plan.checks_output {
        "Their outputs were the same."
    } else {
        "Their outputs were not compared (--check-output)."
    };
    format!(
        "Both copies exited with 0, had the same (not randomized) addresses, and separate temporary folders{apart}.{settings} \
         {output}"
    )
}

fn missed(findings: &Findings) -> Option<String> {
    let least = findings
        .footprints
        .iter()
        .filter_map(|found| found.hit)
        .reduce(f64::min)?;
    (least < NEARLY_ALL).then(|| {
        format!(
            "In the worst run, {} of the preemptions hit the program while it ran; for the rest it waited.",
            share(least)
        )
    })
}

/// Returns a sentence that names the other tasks that used the CPU; `None` if no task used much of
/// it.
fn name_other_tasks(record: &Injection) -> Option<String> {
    let end = record.end.as_ref().filter(|end| !end.others.is_empty())?;
    let of = |other: &Other| {
        let part = other.cpu_ns.0 as f64 / end.elapsed_ns.0.max(1) as f64;
        format!(
            "{} (process {}, {} of the time)",
            name(&other.name),
            other.process,
            share(part)
        )
    };
    let others = end.others.iter().map(of).join(", ");
    Some(format!(
        "Other tasks also ran on CPU {}: {others}.",
        record.header.plan.cpu
    ))
}

fn unfinished(record: &Injection) -> Option<String> {
    match &record.end {
        Some(end) if end.has_service_ended => {
            Some("The service exited before the end of the measurement.".to_owned())
        }
        None => Some(
            "The record has no end, because its writer was killed; all complete runs are included."
                .to_owned(),
        ),
        Some(end) if end.is_interrupted => Some("The measurement was interrupted.".to_owned()),
        Some(_) => None,
    }
}
