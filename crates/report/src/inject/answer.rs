use std::path::Path;

use switchcost_analysis::Estimate;
use switchcost_analysis::injection::{Doubt, Findings, FootprintFinding, USUAL_RATE, doubt};
use switchcost_record::injection::Injection;

use crate::observe::name;
use crate::page::Page;
use crate::quantity::{centre, interval, is_cost, rounded, share, time, with_interval};

/// Adds the cost of a preemption, its parts, and its share of the program's time.
pub(super) fn add(page: &mut Page, record: &Injection, findings: &Findings) {
    let Some(first) = findings.first() else {
        return;
    };
    let text = match &first.cost_ns {
        None => {
            let why = first.why_not_measured.as_deref().unwrap_or_default();
            format!(
                "What a preemption costs {} is not known: {why}.",
                program(record)
            )
        }
        Some(cost) if record.header.plan.preempts_nobody => control_sentence(record, cost),
        Some(cost) => cost_sentence(record, findings, first, cost),
    };
    page.paragraph(&text);
}

/// Returns the name of the command's program.
pub(super) fn program(record: &Injection) -> String {
    let word = record.header.command.first().map_or("", String::as_str);
    let file = Path::new(word)
        .file_name()
        .map(|file| file.to_string_lossy().into_owned());
    name(&file.unwrap_or_else(|| word.to_owned()))
}

/// Returns a sentence for runs in which neither copy was preempted: any cost found is an error of
/// the instrument.
fn control_sentence(record: &Injection, cost: &Estimate) -> String {
    let finding = if is_cost(cost) {
        "and yet found a cost of"
    } else {
        "and found what a preemption costs"
    };
    format!(
        "Neither copy of {} was preempted, {finding} {}.",
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
            "What a preemption costs {who}{touches} is {}.",
            with_interval(cost)
        );
    }
    let parts = parts(findings, first).map_or(String::new(), |parts| format!(": {parts}"));
    let mut text = format!(
        "A preemption costs {who} {}{touches} ({}){parts}.",
        centre(cost),
        interval(cost)
    );
    text += &format!(
        " At a typical {USUAL_RATE} preemptions a second that is {}.",
        share_of_time(first, cost)
    );
    text
}

/// Returns a sentence on an impossible result, with its probable cause.
pub(super) fn doubt_sentence(record: &Injection, findings: &Findings) -> Option<String> {
    let what = match doubt(record, findings)? {
        Doubt::BelowSwitches { cost_ns, least_ns } => format!(
            "with nothing touched a preemption would cost {}, less than the two switches that it takes: {} at least by all that is published",
            with_interval(&cost_ns),
            time(least_ns)
        ),
        Doubt::ColdCachesBelowZero { reload_ns } => {
            format!(
                "cold caches would cost {}: less than nothing",
                with_interval(&reload_ns)
            )
        }
    };
    Some(format!(
        "This result cannot be: {what}. {} probably does not do the same work each time, as it has to: a program that stops after some time, \
         its own CPU time included, does not.",
        program(record)
    ))
}

/// Returns a sentence on the cost of a move to another CPU.
pub(super) fn moves_sentence(record: &Injection, findings: &Findings) -> Option<String> {
    let moved = findings.moved.as_ref()?;
    let cost = moved.cost_ns.as_ref()?;
    let (who, home, cpu) = (program(record), record.header.plan.cpu, moved.cpu);
    let more = match &moved.more_than_staying_ns {
        Some(more) if is_cost(more) => {
            format!(
                ", {} more than to be preempted and stay ({})",
                centre(more),
                interval(more)
            )
        }
        Some(more) => format!(
            "; what is more than to be preempted and stay is {}",
            with_interval(more)
        ),
        None => String::new(),
    };
    Some(format!(
        "To be moved from CPU {home} to CPU {cpu}, or back, costs {who} {} each time ({}){more}.",
        centre(cost),
        interval(cost)
    ))
}

pub(super) fn touching(first: &FootprintFinding) -> String {
    if first.footprint_bytes.0 == 0 {
        String::new()
    } else {
        format!(" when the other task touches {}", first.footprint_bytes)
    }
}

/// Returns the parts of a cost, for example `8.80 us for the switch and its timer, 1.70 us for cold
/// caches`.
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
        format!("and what cold caches cost is {}", centre(reload))
    };
    Some(format!(
        "{} for the switch and its timer, {data}",
        time(direct.estimate)
    ))
}

fn share_of_time(first: &FootprintFinding, cost: &Estimate) -> String {
    let of = |estimate: &Estimate| share(Some(estimate.estimate * USUAL_RATE / 1e9));
    match first.reload().filter(|reload| is_cost(reload)) {
        Some(reload) => format!(
            "{} of its time for cold caches, {} in all",
            of(reload),
            of(cost)
        ),
        None => format!("{} of its time", of(cost)),
    }
}

/// Returns the rate of preemptions that the program actually had.
pub(super) fn rate(findings: &Findings) -> String {
    let of = if findings.service.is_some() {
        ""
    } else {
        " of its time"
    };
    format!(
        "{} preemptions a second{of}",
        rounded(findings.preemptions_per_second)
    )
}
