use switchcost_analysis::simulation::{
    Cost, DesignFinding, FEWEST_SEGMENTS, Findings, LevelFinding,
};
use switchcost_design::result::{LIVE, PrivateBy, Simulation, TraceFacts};
use switchcost_record::LEFT_OUT;

use super::amount::{as_time, cycles, filled, with_bound};
use super::time_lost;
use crate::Page;
use crate::listing::first_few;
use crate::plain::{as_argument, plain};
use crate::quantity::{count, rounded, share};
use itertools::Itertools;

/// Adds the answer: the cost of a switch on the first design. A detailed answer also has the parts
/// of the cost.
pub(super) fn add(page: &mut Page, head: &Simulation, findings: &Findings, is_detailed: bool) {
    if let Some(text) = part_sentence(&head.trace) {
        page.paragraph(text);
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
        return page.paragraph(alone(findings));
    }
    if switches == 0 {
        return page.paragraph("The cost of a switch is unknown, because the trace has no switch.");
    }
    if let Some((text, command)) = too_few(head, first) {
        page.paragraph(text);
        page.line(format!("  {command}"));
    }
    let parts = if is_detailed {
        parties(first)
    } else {
        String::new()
    };
    let text = sentence(first)
        + &parts
        + &sum_sentence(first, switches)
        + &costliest_code(first)
        + &time_lost::sentence(first)
        + &time_lost::last_level_sentence(first);
    page.paragraph(&text);
    if let Some(text) = too_short(findings) {
        page.paragraph(text);
    }
}

/// Returns a sentence on an incomplete simulation, which covers only the first part of the trace;
/// `None` for a complete one.
pub(super) fn part_sentence(trace: &TraceFacts) -> Option<String> {
    let why = trace.incomplete.as_ref()?;
    Some(format!(
        "Only the first part of the trace was simulated ({}), and all numbers are for that part.",
        plain(why)
    ))
}

/// Describes a trace with one private hierarchy, in which switches cost nothing. The threads of a
/// process count as one, because they share memory.
fn alone(findings: &Findings) -> String {
    if findings.private_by == PrivateBy::Task {
        return "Switches cost nothing here, because the trace has a single task.".to_owned();
    }
    let rest = "To see the cost of switches, trace two programs together: switchcost trace --with COMMAND -- COMMAND.";
    match findings.threads {
        0 => format!("Switches cost nothing here, because the trace has a single process. {rest}"),
        threads => format!(
            "Switches cost nothing here, because the {} threads of the trace's only process share its caches. For the cost that \
             these threads cause each other, use --private-by task. {rest}",
            count(threads + 1)
        ),
    }
}

/// Number of time slices that suffice for a confidence interval.
const WANTED_TURNS: u64 = 60;

/// Returns two sentences on a trace with too few switches for an interval: the problem, and a
/// command that traces more switches. `None` if the trace has enough.
fn too_few(head: &Simulation, design: &DesignFinding) -> Option<(String, String)> {
    let segments = design.groups.first()?.segments;
    let is_alone = design.average_cost_cycles.estimate.is_some()
        && design.average_cost_cycles.interval.is_none();
    if !is_alone || segments >= FEWEST_SEGMENTS {
        return None;
    }
    let text = format!(
        "The cost has no confidence interval, because the trace has only {} of the {FEWEST_SEGMENTS} time slices that are needed. \
         Trace for longer, or simulate shorter time slices (with which a switch costs less):",
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

/// Returns a quantum, in instructions, that would give about [`WANTED_TURNS`] time slices. The
/// quantum is the trace's instructions, or the present quantum times `turns` time slices if that is
/// less, divided by this number.
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

/// Least quantum that is suggested, in instructions.
const MIN_QUANTUM: u64 = 1000;

/// Truncates a number to its first two digits.
fn two_digits(number: u64) -> u64 {
    let unit = 10_u64.pow(number.checked_ilog10().unwrap_or(0).saturating_sub(1));
    number / unit * unit
}

/// Returns a sentence on levels that the trace never filled, where a switch evicts only lines of
/// colliding sets; `None` if the trace filled all levels.
fn too_short(findings: &Findings) -> Option<String> {
    let unfilled = unfilled_levels(findings);
    if unfilled.is_empty() {
        return None;
    }
    let never = never_full_levels(findings);
    let levels = listed(&unfilled);
    let place = if findings.designs.len() > 1 {
        " on some designs"
    } else {
        ""
    };
    if never.len() == unfilled.len() {
        return Some(format!(
            "These programs leave {levels} partly empty{place}, so the cost would be higher for larger programs. A longer trace of the same \
             programs would not change that."
        ));
    }
    Some(format!(
        "The trace is too short to fill {levels}{place}, so a switch evicts fewer lines there than in a longer run. {}.",
        needed_length(findings, &never)
    ))
}

/// Returns the names of levels that the trace did not fill. If there is one design, each name has
/// the share that was filled.
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

/// Number of designs whose levels are considered in the sentence on the length of the trace.
const MOST_DESIGNS: usize = 3;

/// Returns the levels of the first [`MOST_DESIGNS`] designs that the trace did not fill.
fn unfilled_of_first(findings: &Findings) -> impl Iterator<Item = &LevelFinding> {
    let designs = findings.designs.iter().take(MOST_DESIGNS);
    designs
        .flat_map(|design| &design.levels)
        .filter(|level| !level.was_full)
}

/// Returns the names of levels that these programs would not fill in a longer trace either.
fn never_full_levels(findings: &Findings) -> Vec<String> {
    let never = unfilled_of_first(findings).filter(|level| level.is_never_full);
    never.map(|level| level.level.clone()).unique().collect()
}

/// Returns a sentence on how many instructions would fill the unfilled levels, extrapolated from
/// the growth of their contents.
fn needed_length(findings: &Findings, never: &[String]) -> String {
    let most = unfilled_of_first(findings)
        .filter_map(|level| level.full_at_instructions)
        .reduce(f64::max);
    let but = match never {
        [] => String::new(),
        _ => format!(
            ", except for {}, which these programs never fill",
            listed(never)
        ),
    };
    match most {
        None => format!("Trace for longer{but}"),
        Some(most) => format!(
            "At this rate, about {} instructions would be enough{but}",
            rounded(most)
        ),
    }
}

/// Maximum number of names in a list within a sentence.
const NAMED: usize = 4;

/// Joins names for a sentence, such as `L2, L3 and STLB`.
fn listed(names: &[String]) -> String {
    match names {
        _ if names.len() > NAMED => first_few(names, NAMED, ", "),
        [before @ .., last] if !before.is_empty() => format!("{} and {last}", before.join(", ")),
        _ => names.concat(),
    }
}

/// Returns a sentence on the net cost of a switch on a design, in cycles.
fn sentence(design: &DesignFinding) -> String {
    let cost = design.reported_cost();
    let name = &design.name;
    let Some(estimate) = cost.estimate else {
        return format!(
            "The cost of a switch on {name} is unknown: {}.",
            cost.why.as_deref().unwrap_or("no reason is known")
        );
    };
    let misses = if design.hierarchies.shared.tlbs.is_empty() {
        "cache misses"
    } else {
        "cache and TLB misses"
    };
    let mean = design
        .average_of_all_turns()
        .map_or(String::new(), average_sentence);
    if is_gain(cost) {
        return format!(
            "A switch saves {} in {misses} on {name}, because programs find lines that others loaded.{mean}",
            cycles(&cost.as_gain())
        );
    }
    let time = match as_time(estimate, design.cycle_ns) {
        time if time.is_empty() || cost.is_covering_zero() => String::new(),
        time => format!(", or {time}"),
    };
    format!(
        "A switch costs {} in additional {misses} on {name}{time}.{mean}",
        cycles(cost)
    )
}

/// Returns true if the cost of a switch is significantly below 0.
fn is_gain(cost: &Cost) -> bool {
    cost.estimate.is_some_and(|cycles| cycles < 0.0) && !cost.is_covering_zero()
}

/// Returns a sentence on the mean cost over all time slices, for a cost that holds for long time
/// slices.
fn average_sentence(mean: f64) -> String {
    format!(
        " This holds if a long time slice follows; averaged over all time slices, the cost is {} cycles.",
        rounded(mean)
    )
}

/// Returns a sentence on the cycles of all switches together; empty if the interval of a switch's
/// cost covers 0.
fn sum_sentence(design: &DesignFinding, switches: u64) -> String {
    let cost = &design.average_cost_cycles;
    if cost.estimate.is_none() || cost.is_covering_zero() {
        return String::new();
    }
    let all = match switches {
        2.. => format!("All {} switches together", count(switches)),
        _ => "All switches together".to_owned(),
    };
    let is_gain = design.overhead.is_some_and(|share| share < 0.0);
    let verb = if is_gain { "save" } else { "cost" };
    let of_all = share(design.overhead.map(f64::abs));
    format!(" {all} {verb} {of_all} of the simulated cycles.")
}

/// Returns a sentence on the parts of the cost of a switch; empty if the parts are unknown.
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
    let mut parts = vec![format!(
        "reloading lines that other tasks evicted costs {}",
        cycles(lost)
    )];
    if !is_zero(gained) && !gained.is_covering_zero() {
        parts.push(format!(
            "lines that others loaded save {}",
            with_bound(gained)
        ));
    }
    if !is_zero(state) && !state.is_covering_zero() {
        let verb = match state.estimate.is_some_and(|cycles| cycles < 0.0) {
            true => format!("saves {}", with_bound(&state.as_gain())),
            false => format!("costs {}", with_bound(state)),
        };
        parts.push(format!("other replacement and prefetcher state {verb}"));
    }
    let all = match parts.as_slice() {
        [first, second] => format!("{first}, and {second}"),
        [first, second, third] => format!("{first}, {second}, and {third}"),
        _ => parts.concat(),
    };
    format!(" For each switch, {all}.")
}

/// Least share of the excess cycles at which a function is named.
const MUCH: f64 = 0.1;

/// Returns a sentence on the function with the largest share of the excess cycles; empty if this
/// share is small.
fn costliest_code(design: &DesignFinding) -> String {
    let first = design.code.first();
    let most = first.and_then(|place| Some((place, place.share.filter(|of_all| *of_all >= MUCH)?)));
    let Some((place, of_all)) = most else {
        return String::new();
    };
    format!(
        " The most affected code is {} of {}, with {} of the additional cycles.",
        plain(&place.place),
        plain(&place.program),
        share(of_all)
    )
}
