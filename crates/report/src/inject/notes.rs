use switchcost_analysis::injection::Findings;
use switchcost_record::injection::{Injection, Other, Plan};

use super::answer::program;
use super::service;
use crate::observe::name;
use crate::page::Page;
use crate::plain::plain;
use crate::quantity::{share, time};

/// Least share of preemptions that must find the program on the CPU; a smaller share is reported.
const NEARLY_ALL: f64 = 0.99;

/// Adds notes on the numbers.
pub(super) fn add(page: &mut Page, record: &Injection, findings: &Findings) {
    page.heading("Notes", "");
    match &findings.service {
        Some(found) => service::notes(record, found)
            .iter()
            .for_each(|note| page.item(note)),
        None => add_twins(page, record, findings),
    }
    [name_other_tasks(record), unfinished(record)]
        .into_iter()
        .flatten()
        .for_each(|note| page.item(&note));
}

fn add_twins(page: &mut Page, record: &Injection, findings: &Findings) {
    page.item(&describe_runs(record, findings));
    page.item(&format!(
        "The switch and its timer: the cost if the other task touches nothing, that is, the timer's interrupt, in a virtual machine \
         most of it, and two switches. Cold caches: what a preemption costs more, at the same rate, to reload the program's data and \
         code, plus the kernel's own switch path (paid even by a program without data). Preempted every {} of its CPU time; rarer \
         preemptions may cost more each (--period with a list compares).",
        time(record.header.plan.period_ns.0 as f64)
    ));
    page.item(&same_for_both(&record.header.plan));
    if record.header.plan.is_frozen {
        page.item(
            "Between its turns each copy was frozen by a control group, with all that it has started, wherever that went: that takes longer \
             than to stop a process group, and runs differ more.",
        );
    }
    missed(findings).iter().for_each(|note| page.item(note));
    let rows = findings.footprints.iter();
    let why = rows
        .filter_map(|found| found.why_not_measured.as_ref())
        .next();
    why.iter()
        .for_each(|why| page.item(&format!("Not measured: {why}.")));
}

fn describe_runs(record: &Injection, findings: &Findings) -> String {
    let (plan, host) = (&record.header.plan, &record.header.host);
    let cpu = findings.cpu_ns.map_or(String::new(), |cpu| {
        format!(" ({} of CPU time each)", time(cpu))
    });
    let mut text = format!(
        "Two copies of {}{cpu} alternated on CPU {} every {}.",
        program(record),
        plan.cpu,
        time(plan.turn_ns.0 as f64)
    );
    if let Some(hertz) = findings.core_hertz {
        let clock = hertz / 1e9;
        text += &format!(" Cycles are converted at {clock:.2} GHz, the mean of all runs.");
    }
    if let Some(model) = host.cpu_model.known() {
        text += &format!(" {}.", plain(model));
    }
    text
}

fn same_for_both(plan: &Plan) -> String {
    let settings = match plan.settings.as_slice() {
        [] => String::new(),
        settings => format!(" {} were set.", plain(&settings.join(", "))),
    };
    let apart = if plan.is_apart {
        ", as well as the working directory, whose changes were kept in memory"
    } else {
        ""
    };
    let output = if plan.checks_output {
        "Their outputs were the same."
    } else {
        "Their outputs were not compared (--check-output)."
    };
    format!(
        "Both copies have the same addresses each time, which are not randomized, and temporary folders of their own{apart}.{settings} \
         Both copies exited with 0. {output}"
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
            share(Some(least))
        )
    })
}

/// Names the other tasks that had the CPU.
fn name_other_tasks(record: &Injection) -> Option<String> {
    let end = record.end.as_ref().filter(|end| !end.others.is_empty())?;
    let of = |other: &Other| {
        let part = other.cpu_ns.0 as f64 / end.elapsed_ns.0.max(1) as f64;
        format!(
            "{} (process {}, {} of the time)",
            name(&other.name),
            other.process,
            share(Some(part))
        )
    };
    let others: Vec<String> = end.others.iter().map(of).collect();
    Some(format!(
        "Other tasks also ran on CPU {}: {}.",
        record.header.plan.cpu,
        others.join(", ")
    ))
}

fn unfinished(record: &Injection) -> Option<String> {
    match &record.end {
        Some(end) if end.has_service_ended => {
            Some("The service ended before the time was used up.".to_owned())
        }
        None => Some(
            "The record has no end: the program that wrote it was killed. What is in it is whole."
                .to_owned(),
        ),
        Some(end) if end.is_interrupted => {
            Some("It was stopped before its time was used up.".to_owned())
        }
        Some(_) => None,
    }
}
