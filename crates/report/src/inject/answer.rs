use std::path::Path;

use switchcost_analysis::Estimate;
use switchcost_analysis::injection::{Doubt, Findings, FootprintFinding, USUAL_RATE, doubt};
use switchcost_record::injection::Injection;

use crate::Page;
use crate::observe::name;
use crate::quantity::{centre, interval, is_cost, rounded, share, time, with_interval};

/// Adds sentences on the cost of a preemption, its parts, and its share of the program's time.
pub(super) fn add(page: &mut Page, record: &Injection, findings: &Findings) {
    let Some(first) = findings.first() else {
        return;
    };
    let text = match &first.cost_ns {
        None => {
            let why = first.why_not_measured.as_deref().unwrap_or_default();
            format!(
                "The cost of a preemption for {} is unknown: {why}.",
                program(record)
            )
        }
        Some(cost) if record.header.plan.preempts_nobody => control_sentence(record, cost),
        Some(cost) => cost_sentence(record, findings, first, cost),
    };
    page.paragraph(text);
}

/// Returns the name of the program in the record's command.
pub(super) fn program(record: &Injection) -> String {
    let word = record.header.command.first().map_or("", String::as_str);
    let file = Path::new(word)
        .file_name()
        .map(|file| file.to_string_lossy().into_owned());
    name(&file.unwrap_or_else(|| word.to_owned()))
}

/// Returns a sentence on a control experiment, in which neither copy was preempted. Any cost found
/// is an error of the instrument.
fn control_sentence(record: &Injection, cost: &Estimate) -> String {
    let finding = if is_cost(cost) {
        "but a cost was found"
    } else {
        "and no cost was found"
    };
    format!(
        "Neither copy of {} was preempted, {finding}: {}.",
        program(record),
        with_interval(cost)
    )
}

fn cost_sentence(
    record: &Injection,
    findings: &Findings,
    first: &FootprintFinding,
    cost: &Estimate,
) -> String {
    let who = program(record);
    let touches = touching(first);
    if !is_cost(cost) {
        return format!(
            "The cost of a preemption for {who}{touches} is {}.",
            with_interval(cost)
        );
    }
    let parts = parts(findings, first).map_or(String::new(), |parts| format!(" Of this, {parts}."));
    format!(
        "A preemption costs {who} {} ({}){touches}.{parts} At {USUAL_RATE} preemptions per second (typical of a shared CPU), this is {}.",
        centre(cost),
        interval(cost),
        share_of_time(first, cost)
    )
}

/// Returns a sentence on an implausible result, with its probable cause; `None` if the result is
/// plausible.
pub(super) fn doubt_sentence(record: &Injection, findings: &Findings) -> Option<String> {
    let what = match doubt(record, findings)? {
        Doubt::BelowSwitches { cost_ns, least_ns } => format!(
            "a preemption that touches nothing would cost {}, less than two switches ({} at least, by all published values)",
            with_interval(&cost_ns),
            time(least_ns)
        ),
        Doubt::ColdCachesBelowZero { reload_ns } => {
            format!(
                "the cost of cold caches would be negative ({})",
                with_interval(&reload_ns)
            )
        }
    };
    Some(format!(
        "This result is impossible: {what}. {} probably does not do the same work each time (a program that stops after a \
         certain time does not).",
        program(record)
    ))
}

/// Returns a sentence on the cost of a move to another CPU; `None` if moves were not measured.
pub(super) fn moves_sentence(record: &Injection, findings: &Findings) -> Option<String> {
    let moved = findings.moved.as_ref()?;
    let cost = moved.cost_ns.as_ref()?;
    let (who, home, cpu) = (program(record), record.header.plan.cpu, moved.cpu);
    let more = match &moved.more_than_staying_ns {
        Some(more) if is_cost(more) => {
            format!(
                ", {} more than a preemption without a move ({})",
                centre(more),
                interval(more)
            )
        }
        Some(more) => format!(
            "; the difference to a preemption without a move is {}",
            with_interval(more)
        ),
        None => String::new(),
    };
    Some(format!(
        "A move from CPU {home} to CPU {cpu}, or back, costs {who} {} ({}){more}.",
        centre(cost),
        interval(cost)
    ))
}

pub(super) fn touching(first: &FootprintFinding) -> String {
    if first.footprint_bytes.0 == 0 {
        String::new()
    } else {
        format!(" if the preempting task touches {}", first.footprint_bytes)
    }
}

/// Describes the parts of a cost, such as `8.80 us is for the switch and its timer, and 1.70 us for
/// cold caches`; `None` if the parts were not measured.
fn parts(findings: &Findings, first: &FootprintFinding) -> Option<String> {
    let direct = findings
        .direct()?
        .cost_ns
        .as_ref()
        .filter(|direct| is_cost(direct))?;
    let reload = first.reload()?;
    let data = if is_cost(reload) {
        format!("{} for cold caches", time(reload.estimate))
    } else {
        format!("the cost of cold caches is {}", centre(reload))
    };
    Some(format!(
        "{} is for the switch and its timer, and {data}",
        time(direct.estimate)
    ))
}

fn share_of_time(first: &FootprintFinding, cost: &Estimate) -> String {
    let of = |estimate: &Estimate| share(estimate.estimate * USUAL_RATE / 1e9);
    match first.reload().filter(|reload| is_cost(reload)) {
        Some(reload) => format!("{} of its time ({} for cold caches)", of(cost), of(reload)),
        None => format!("{} of its time", of(cost)),
    }
}

/// Describes the rate of injected preemptions, per second or per second of CPU time.
pub(super) fn rate(findings: &Findings) -> String {
    let of = if findings.service.is_some() {
        "second"
    } else {
        "second of CPU time"
    };
    format!(
        "{} preemptions per {of}",
        rounded(findings.preemptions_per_second)
    )
}
