use switchcost_analysis::simulation::{
    Cost, DesignFinding, FEWEST_SEGMENTS, Findings, LevelFinding,
};
use switchcost_design::result::{LIVE, PrivateBy, Simulation, TraceFacts};
use switchcost_record::LEFT_OUT;

use super::amount::{as_time, cycles, filled, with_bound};
use super::time_lost;
use crate::entry::Tone;
use crate::page::Page;
use crate::plain::{as_argument, plain};
use crate::quantity::{count, rounded, share};

/// Adds the answer to the user's question for the first design; the table has all.
pub(super) fn add(page: &mut Page, head: &Simulation, findings: &Findings) {
    if let Some(text) = part_sentence(&head.trace) {
        page.paragraph(&text);
    }
    let Some(first) = findings.designs.first() else {
        page.paragraph("Nothing was simulated: the record holds no design.");
        return;
    };
    let switches = head
        .trace
        .voluntary_switches
        .saturating_add(head.trace.involuntary_switches);
    if head
        .processes
        .iter()
        .filter(|process| process.segments > 0)
        .count()
        == 1
    {
        return page.paragraph(&alone(findings));
    }
    if switches == 0 {
        return page.paragraph("Nothing can be said about switches: the trace holds none.");
    }
    if let Some((text, command)) = too_few(head, first) {
        page.paragraph(&text);
        page.line(&format!("  {command}"), Tone::Usual);
    }
    let text =
        sentence(first) + &parties(first) + &costliest_code(first) + &time_lost::sentence(first);
    page.paragraph(&text);
    if let Some(text) = too_short(findings) {
        page.paragraph(&text);
    }
}

/// Returns a sentence on the simulated part of the trace, which qualifies all numbers.
pub(super) fn part_sentence(trace: &TraceFacts) -> Option<String> {
    let why = trace.incomplete.as_ref()?;
    Some(format!(
        "Only a part of the trace was simulated ({}); all numbers are for the part before.",
        plain(why)
    ))
}

/// Returns words for the private hierarchy. Threads share their memory, so the threads of a process
/// count as one.
fn alone(findings: &Findings) -> String {
    if findings.private_by == PrivateBy::Task {
        return "One task ran alone: no other used its caches, so no switch cost it anything."
            .to_owned();
    }
    let rest = "Trace two or more together to see what they cost each other.";
    match findings.threads {
        0 => format!(
            "One process ran alone: no other process used its caches, so no switch cost it anything. {rest}"
        ),
        threads => format!(
            "One process ran alone, in {} threads, which are simulated as one task. --private-by task shows what its threads \
             cost each other. {rest}",
            count(threads + 1)
        ),
    }
}

/// Number of time slices that suffice for an interval.
const WANTED_TURNS: u64 = 60;

/// Returns sentences for a trace with too few switches: there is no interval, and which command
/// gives one.
fn too_few(head: &Simulation, design: &DesignFinding) -> Option<(String, String)> {
    let segments = design.groups.first()?.segments;
    let is_alone =
        design.average_cost_cycles.estimate.is_some() && design.average_cost_cycles.low.is_none();
    if !is_alone || segments >= FEWEST_SEGMENTS {
        return None;
    }
    let text = format!(
        "Too few switches for a confidence interval: {} time slices of the {FEWEST_SEGMENTS} needed. Trace for longer, or \
         simulate shorter time slices (a switch then costs less):",
        count(segments)
    );
    let source = head.trace.source.as_str();
    let named = if source == LEFT_OUT {
        "TRACE".to_owned()
    } else {
        as_argument(source)
    };
    let commands = if source == LIVE { " -- COMMAND" } else { "" };
    Some((
        text,
        format!(
            "switchcost simulate {named} --quantum {}{commands}",
            shorter_quantum(&head.trace, segments)
        ),
    ))
}

/// Returns the quantum that gives this number of time slices, derived from the present quantum. If
/// there is none, or if most of the trace is a single program, it is derived from the number of
/// instructions.
fn shorter_quantum(trace: &TraceFacts, turns: u64) -> u64 {
    let of_all = trace.instructions / WANTED_TURNS;
    let of_turns = |quantum: u64| quantum.saturating_mul(turns) / WANTED_TURNS;
    two_digits(
        trace
            .quantum_instructions
            .map_or(of_all, of_turns)
            .min(of_all),
    )
    .max(MIN_QUANTUM)
}

/// Least quantum that is advised, in instructions.
const MIN_QUANTUM: u64 = 1000;

/// Truncates a number to its first two digits.
fn two_digits(number: u64) -> u64 {
    let unit = 10_u64.pow(number.checked_ilog10().unwrap_or(0).saturating_sub(1));
    number / unit * unit
}

/// Returns a sentence on levels that the trace never filled, in which a switch evicts only lines of
/// colliding sets.
fn too_short(findings: &Findings) -> Option<String> {
    let unfilled = unfilled_levels(findings);
    (!unfilled.is_empty()).then(|| {
        format!(
            "The trace does not fill {}{}, so switches evict less there than from full caches. {}.",
            listed(&unfilled),
            if findings.designs.len() > 1 {
                " on one design or more"
            } else {
                ""
            },
            needed_length(findings)
        )
    })
}

/// Returns the names of levels that the trace did not fill on every design, with the filled share if
/// there is one design.
fn unfilled_levels(findings: &Findings) -> Vec<String> {
    let mut found: Vec<&LevelFinding> = Vec::new();
    let levels = findings.designs.iter().flat_map(|design| &design.levels);
    for level in levels.filter(|level| !level.was_full) {
        if !found.iter().any(|other| other.level == level.level) {
            found.push(level);
        }
    }
    let is_alone = findings.designs.len() == 1;
    let name = |level: &&LevelFinding| match is_alone {
        true => format!("{} ({} full)", level.level, filled(level)),
        false => level.level.clone(),
    };
    found.iter().map(name).collect()
}

/// Returns a sentence on the number of instructions that fill all of these levels, as far as their
/// growth shows it.
fn needed_length(findings: &Findings) -> String {
    let levels = || {
        findings
            .designs
            .iter()
            .take(3)
            .flat_map(|design| &design.levels)
            .filter(|level| !level.was_full)
    };
    let most = levels()
        .filter_map(|level| level.full_at_instructions)
        .reduce(f64::max);
    let mut never: Vec<String> = Vec::new();
    for level in levels().filter(|level| level.is_never_full) {
        if !never.contains(&level.level) {
            never.push(level.level.clone());
        }
    }
    let longer = most.map(|most| {
        format!(
            "About {} instructions would suffice at this rate",
            rounded(most)
        )
    });
    match (longer, never.is_empty()) {
        (None, true) => "Trace for longer".to_owned(),
        (None, false) => format!(
            "These programs touch too little memory to fill {}, however long they run",
            if never.len() == unfilled_levels(findings).len() {
                "them".to_owned()
            } else {
                listed(&never)
            }
        ),
        (Some(longer), true) => longer,
        (Some(longer), false) => format!("{longer}, but not for {}", listed(&never)),
    }
}

/// Maximum number of names that are printed; the table of `--details` has more.
const NAMED: usize = 4;

/// Joins names: `L2, L3 and STLB`.
fn listed(names: &[String]) -> String {
    match names {
        [first @ .., _] if names.len() > NAMED => {
            format!(
                "{} and {} more",
                first[..NAMED].join(", "),
                names.len() - NAMED
            )
        }
        [before @ .., last] if !before.is_empty() => format!("{} and {last}", before.join(", ")),
        _ => names.concat(),
    }
}

/// Returns a sentence on the net cost of a switch.
fn sentence(design: &DesignFinding) -> String {
    let average = design.average_of_all_turns();
    let cost = &design.average_cost_cycles;
    let name = &design.name;
    let Some(estimate) = cost.estimate else {
        return format!(
            "The cost of a switch on {name} is unknown: {}.",
            cost.why.as_deref().unwrap_or("no reason is known")
        );
    };
    if estimate < 0.0 && !cost.is_covering_zero() {
        return format!(
            "A switch saves {} on {name}. All switches together save {}.",
            cycles(&cost.as_gain()),
            share_of_all(design)
        );
    }
    if cost.is_covering_zero() {
        return format!("A switch costs {} on {name}.", cycles(cost));
    }
    let time = as_time(estimate, design.cycle_ns);
    let time = if time.is_empty() {
        time
    } else {
        format!(", or {time}")
    };
    format!(
        "A switch costs {} on {name}{time}{}. All switches together take {}.",
        cycles(cost),
        average.map(average_words).unwrap_or_default(),
        share_of_all(design)
    )
}

/// Returns words for the average over all time slices, if the cost is that of long ones.
fn average_words(mean: f64) -> String {
    format!(
        ", if a long time slice follows (mean over all time slices: {} cycles)",
        rounded(mean)
    )
}

fn share_of_all(design: &DesignFinding) -> String {
    let of_all = share(design.excess_share.map(f64::abs));
    format!("{of_all} of all cycles")
}

/// Returns the parts of the cost, if they are known.
fn parties(design: &DesignFinding) -> String {
    let (lost, gained, state) = (
        &design.lost_cycles,
        &design.gained_cycles,
        &design.state_cycles,
    );
    if lost.estimate.is_none() {
        return String::new();
    }
    let is_zero = |cost: &Cost| cost.estimate.is_none_or(|cycles| cycles == 0.0);
    let mut parts = vec![format!("evictions by other tasks cost {}", cycles(lost))];
    if !is_zero(gained) {
        parts.push(format!("lines loaded by them save {}", with_bound(gained)));
    }
    if !is_zero(state) && !state.is_covering_zero() {
        parts.push(match state.estimate.is_some_and(|cycles| cycles < 0.0) {
            true => format!("other effects save {}", with_bound(&state.as_gain())),
            false => format!("other effects cost {}", with_bound(state)),
        });
    }
    let all = match parts.as_slice() {
        [first, second] => format!("{first}, and {second}"),
        [first, second, third] => format!("{first}, {second}, and {third}"),
        _ => parts.concat(),
    };
    format!(" {}.", all.replacen('e', "E", 1))
}

/// Least share of the excess cycles for which a function is named.
const MUCH: f64 = 0.1;

/// Returns a sentence on the function with the largest share of the excess cycles.
fn costliest_code(design: &DesignFinding) -> String {
    let first = design.code.first();
    let most = first.and_then(|place| Some((place, place.share.filter(|of_all| *of_all >= MUCH)?)));
    let Some((place, of_all)) = most else {
        return String::new();
    };
    format!(
        " The most affected code is {} of {}, with {} of the excess cycles.",
        plain(&place.place),
        plain(&place.program),
        share(Some(of_all))
    )
}
