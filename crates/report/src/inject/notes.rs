use switchcost_analysis::injection::Findings;
use switchcost_record::injection::{Injection, Other, Plan};

use super::answer::program;
use super::service;
use crate::observe::name;
use crate::page::Page;
use crate::plain::plain;
use crate::quantity::{share, time};

/// A preemption that finds another task on the CPU is reported.
const NEARLY_ALL: f64 = 0.99;

/// What to know of the numbers.
pub(super) fn add(page: &mut Page, record: &Injection, findings: &Findings) {
    page.heading("Notes", "");
    match &findings.service {
        Some(found) => service::notes(record, found)
            .iter()
            .for_each(|note| page.item(note)),
        None => of_twins(page, record, findings),
    }
    [others(record), unfinished(record)]
        .into_iter()
        .flatten()
        .for_each(|note| page.item(&note));
}

fn of_twins(page: &mut Page, record: &Injection, findings: &Findings) {
    page.item(&what_ran(record, findings));
    page.item(&format!(
        "The switch and its timer is what a preemption costs when the other task touches nothing: the timer's interrupt, in a \
         virtual machine the most of it, and two switches. Cold caches are what it costs more, at the same rate: the program's \
         data and code come back, and the kernel's own for the switch, which a program without data pays, too. Every {} of \
         its time the program was preempted: rarer, and it may have more to lose (--period with a list compares).",
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
}

fn what_ran(record: &Injection, findings: &Findings) -> String {
    let cpu = findings.cpu_ns.map_or(String::new(), |cpu| {
        format!(", each {} of CPU time", time(cpu))
    });
    let clock = findings.core_hertz.map_or(String::new(), |hertz| {
        format!(
            ", in core cycles, converted at {:.2} GHz, the mean of all runs",
            hertz / 1e9
        )
    });
    format!(
        "Twins of {}{cpu}, on CPU {} in turns of {}{clock}. {}",
        program(record),
        record.header.plan.cpu,
        time(record.header.plan.turn_ns.0 as f64),
        record
            .header
            .host
            .cpu_model
            .known()
            .map_or(String::new(), |model| format!("{}.", plain(model)))
    )
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
         Both ended well. {output}"
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
            "Down to {} of the preemptions found the program on the CPU; for the rest it waited.",
            share(Some(least))
        )
    })
}

/// Who else has had the CPU.
fn others(record: &Injection) -> Option<String> {
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
        "Others have had CPU {}, too: {}.",
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
