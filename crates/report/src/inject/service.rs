use switchcost_analysis::Estimate;
use switchcost_analysis::injection::{Findings, FootprintFinding, ServiceFindings};
use switchcost_record::injection::{Arm, Group, Injection, Service};

use super::answer::touching;
use crate::observe::name;
use crate::quantity::{
    NO_NUMBER, centre, count, interval, is_below_zero, is_cost, rounded, share, time, with_interval,
};
use crate::{Grid, Page};

/// Share of the service's CPU time used by threads other than the preempted one, above which a
/// sentence reports this share.
const MUCH: f64 = 0.1;

/// Adds sentences on the cost of cold caches after a preemption of a service, and on the cost of
/// the service's natural preemptions.
pub(super) fn add(
    page: &mut Page,
    record: &Injection,
    findings: &Findings,
    found: &ServiceFindings,
) {
    let Some((first, reload)) = findings
        .first()
        .and_then(|first| Some((first, first.reload_ns.as_ref()?)))
    else {
        return;
    };
    let who = name(&found.preempted.name);
    let text = match reload {
        Err(why) => format!("The cost of a preemption for {who} is unknown: {why}."),
        Ok(cost) if record.header.plan.preempts_nobody => control_sentence(&who, cost),
        Ok(cost) => format!("{}{}", cost_sentence(&who, first, cost), own(found, cost)),
    };
    page.paragraph(text);
    if let Some(held_up) = &found.held_up_ns {
        page.paragraph(delay_sentence(found, held_up));
    }
}

fn control_sentence(who: &str, cost: &Estimate) -> String {
    let finding = if is_cost(cost) {
        "but a cost of cold caches was found"
    } else {
        "and no cost of cold caches was found"
    };
    format!(
        "No preemption of {who} touched memory, {finding}: {}.",
        with_interval(cost)
    )
}

fn cost_sentence(who: &str, first: &FootprintFinding, cost: &Estimate) -> String {
    let touches = touching(first);
    if !is_cost(cost) {
        return format!(
            "No cost of cold caches was detected for {who}{touches}: it is {}.",
            with_interval(cost)
        );
    }
    format!(
        "Each preemption costs {who} {} ({}) for cold caches{touches}.",
        centre(cost),
        interval(cost)
    )
}

/// Returns a sentence on the cost of the service's natural preemptions, each priced like an
/// injected one.
fn own(found: &ServiceFindings, cost: &Estimate) -> String {
    let rate = found.preemptions_per_second;
    match found.share_of_own.filter(|_| is_cost(cost)) {
        _ if rate == 0.0 => " Without injection it was not preempted within a second.".to_owned(),
        Some(of_time) => {
            let (rate, of_time) = (rounded(rate), share(of_time));
            format!(
                " Without injection it is preempted {rate} times per second, which costs {of_time} of its CPU time if others touch as much."
            )
        }
        None => format!(
            " Without injection it is preempted {} times per second.",
            rounded(rate)
        ),
    }
}

fn delay_sentence(found: &ServiceFindings, held_up: &Estimate) -> String {
    let long = found
        .held_up_for_ns
        .map_or(String::new(), |ns| format!(" for {}", time(ns)));
    let effect = match held_up {
        cost if is_cost(cost) => format!("costs {} ({})", centre(cost), interval(cost)),
        saved if is_below_zero(saved) => {
            let less = Estimate {
                estimate: -saved.estimate,
                low: -saved.high,
                high: -saved.low,
                ..saved.clone()
            };
            format!(
                "lowers the CPU time by {} ({})",
                centre(&less),
                interval(&less)
            )
        }
        nothing => format!("has a cost that is {}", centre(nothing)),
    };
    format!(
        "If the preempting task only spins{long}, a preemption {effect}, which is not included above: the cost of the switch and its \
         timer, minus the gain from a larger batch afterwards."
    )
}

/// Returns notes on the preempted thread, and on how its preemptions were counted.
pub(super) fn notes(record: &Injection, found: &ServiceFindings) -> Vec<String> {
    let (plan, service) = (&record.header.plan, &found.preempted);
    let before = found.cpu_per_work_before_ns.map_or(String::new(), |ns| {
        format!(": {} of CPU time each", time(ns))
    });
    let meanwhile = meanwhile_sentence(found).unwrap_or_default();
    let mut notes = vec![
        format!(
            "Thread {} of process {} ({}), the busiest one, was alone on CPU {}. Before the measurement it used the CPU for {} of the \
             time and did {} pieces of work per second, counted by {}{before}.{meanwhile}",
            service.thread,
            service.process,
            name(&service.name),
            plan.cpu,
            share(found.cpu_share),
            rounded(found.work_per_second),
            name(&service.work),
        ),
        format!(
            "Four phases of {} give one value: the preempting task touches memory in two of them, and spins for as long in the others. \
             The thread's CPU time per piece of work is compared, in core cycles.",
            time(plan.turn_ns.0 as f64)
        ),
    ];
    notes.extend(add_other_tasks(service));
    notes.extend(missing_work_sentence(record, found));
    notes
}

/// Returns a sentence on the CPU time per piece of work during the measurement, with a remark if
/// the measurement changed the service; `None` if the CPU time is unknown.
fn meanwhile_sentence(found: &ServiceFindings) -> Option<String> {
    let took = time(found.cpu_per_work_ns?);
    let change = match found.is_as_before() {
        Some(false) => {
            ": the measurement changed the service, so the costs above are for the changed service"
        }
        _ => "",
    };
    Some(format!(
        " During the measurement, each took {took}{change}."
    ))
}

fn add_other_tasks(service: &Service) -> Option<String> {
    let (own, others) = (
        service.look.cpu_ns.0 as f64,
        service.look.others_cpu_ns.0 as f64,
    );
    let part = others / (own + others).max(1.0);
    (part > MUCH).then(|| {
        format!(
            "Other threads of the service used {} of its CPU time. They were not preempted and may take over work of the thread that was.",
            share(part)
        )
    })
}

fn missing_work_sentence(record: &Injection, found: &ServiceFindings) -> Option<String> {
    let pauses = match found.held_up_groups {
        0 => String::new(),
        groups => format!(
            " {} of the others measured the pause.",
            count(groups as u64)
        ),
    };
    (found.without_work > 0).then(|| {
        format!(
            "{} of {} groups of phases were excluded, because the thread did not run in a phase, or did fewer than 10 pieces of work \
             in an arm.{pauses}",
            count(found.without_work as u64),
            count(record.groups.len() as u64)
        )
    })
}

/// Adds a table with a row for each group of phases.
pub(super) fn add_groups(page: &mut Page, record: &Injection) {
    page.heading(
        "Groups",
        "four phases each, with the CPU time per piece of work in both arms",
    );
    let grid = Grid::new(1)
        .right([
            "pass",
            "every",
            "preemptor touches",
            "arms",
            "time in the first",
            "time in the second",
            "time slices",
            "involuntary",
        ])
        .with_rows(record.groups.iter().map(|group| row(record, group)));
    page.grid(grid);
}

fn row(record: &Injection, group: &Group) -> Vec<String> {
    let timings = record.header.plan.timings();
    let arms = [group.phases[0].arm, group.phases[1].arm];
    let footprint = record
        .header
        .plan
        .footprints_bytes
        .get(group.footprint as usize);
    let sum = |of: fn(&switchcost_record::injection::Phase) -> u64| {
        count(group.phases.iter().map(of).sum())
    };
    vec![
        (group.block + 1).to_string(),
        timings
            .get(group.timing as usize)
            .map_or(NO_NUMBER.to_owned(), |timing| {
                time(timing.period_ns.0 as f64)
            }),
        footprint.map_or(NO_NUMBER.to_owned(), ToString::to_string),
        arms.map(word).join(" and "),
        arm_cell(group, arms[0]),
        arm_cell(group, arms[1]),
        sum(|phase| phase.turns),
        sum(|phase| phase.involuntary),
    ]
}

fn arm_cell(group: &Group, arm: Arm) -> String {
    let (cpu, work) = group.phases(arm).fold((0, 0), |(cpu, work), phase| {
        (cpu + phase.cpu_ns.0, work + phase.work)
    });
    if work == 0 {
        NO_NUMBER.to_owned()
    } else {
        time(cpu as f64 / work as f64)
    }
}

fn word(arm: Arm) -> &'static str {
    match arm {
        Arm::Touching => "touching",
        Arm::Spinning => "spinning",
        Arm::Idle => "idle",
    }
}
