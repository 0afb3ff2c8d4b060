use switchcost_analysis::simulation::{
    DesignFinding, Findings, Group, GroupFinding, Growth, SurvivorBias,
};
use switchcost_analysis::{Flag, FlagName};
use switchcost_design::result::{DetailLevel, PhysicalPages};

use super::DETAILED;
use crate::Page;
use crate::listing::{first_few, grouped};
use crate::quantity::{count, number, rounded, share};

/// Adds a section with notes on the simulated numbers.
pub(super) fn add(page: &mut Page, findings: &Findings) {
    let mut notes = list_notes(findings);
    if findings.designs.len() > DETAILED {
        let all = findings.designs.len();
        notes.push(format!(
            "details are shown for {DETAILED} of {all} designs; --format json has all"
        ));
    }
    notes.extend(method(findings));
    page.notes(notes);
}

/// Returns all notes: flags, reasons for missing intervals, and distortions by short segments,
/// among others.
fn list_notes(findings: &Findings) -> Vec<String> {
    let mut notes = record_notes(findings, named);
    notes.extend(notes_by_design(findings, |design| {
        flags(design, |_| true, named)
    }));
    notes.extend(notes_by_design(findings, missing_intervals));
    notes.extend(notes_by_design(findings, gains));
    notes.extend(notes_by_design(findings, physical_pages));
    notes.extend(notes_by_design(findings, missing_model));
    notes.extend(notes_by_design(findings, |design| {
        survivor_bias(design, |bias| describe_bias(bias) + &explain_bias(bias))
    }));
    notes
}

/// Returns the notes that a reader of the costs needs on a screen, without notes that the answer
/// and the table of costs already contain.
pub(super) fn short_notes(findings: &Findings) -> Vec<String> {
    let unnamed = |flag: &Flag| flag.detail.clone();
    let mut notes = record_notes(findings, unnamed);
    notes.extend(notes_by_design(findings, |design| {
        // The answer and the table of costs already contain this note.
        flags(
            design,
            |name| name != FlagName::NotDistinguishableFrom0,
            unnamed,
        )
    }));
    notes.extend(notes_by_design(findings, gains));
    notes.extend(notes_by_design(findings, |design| {
        large_bias(design).into_iter().collect()
    }));
    notes
}

/// Returns the text of a flag as `name: detail`, with the name from the machine-readable formats.
fn named(flag: &Flag) -> String {
    format!("{}: {}", flag.name, flag.detail)
}

fn record_notes(findings: &Findings, words: impl Fn(&Flag) -> String) -> Vec<String> {
    let mut notes: Vec<String> = findings.flags.iter().map(words).collect();
    notes.extend((findings.threads > 0).then(|| {
        format!(
            "The threads of a process count as one task ({} more threads); --private-by task shows what they cost each other.",
            count(findings.threads)
        )
    }));
    notes
}

/// Maximum number of designs that a note names.
const NAMED: usize = 3;

/// Returns each note once. If there are several designs, a note begins with the names of its
/// designs.
fn notes_by_design(
    findings: &Findings,
    notes: impl Fn(&DesignFinding) -> Vec<String>,
) -> Vec<String> {
    if let [only] = findings.designs.as_slice() {
        return notes(only);
    }
    let designs = findings.designs.iter();
    let found = designs.flat_map(|design| {
        let notes = notes(design).into_iter();
        notes.map(|note| (note, &design.name))
    });
    grouped(found)
        .into_iter()
        .map(|(note, names)| format!("{}: {note}", first_few(&names, NAMED, ", ")))
        .collect()
}

fn flags(
    design: &DesignFinding,
    is_wanted: impl Fn(FlagName) -> bool,
    words: impl Fn(&Flag) -> String,
) -> Vec<String> {
    let flags = design.flags.iter().filter(|flag| is_wanted(flag.name));
    flags.map(words).collect()
}

fn missing_intervals(design: &DesignFinding) -> Vec<String> {
    // A flag says so already.
    if design.depth == DetailLevel::Counters {
        return Vec::new();
    }
    let why = |group: &GroupFinding| {
        let name = match &group.group {
            Group::All => "all switches",
            Group::Class(name) | Group::Tasks(name) => name,
            Group::Cause(_) | Group::EndClass(_) => return None,
        };
        group
            .cost_cycles
            .why
            .as_ref()
            .map(|why| format!("{name}: {why}"))
    };
    design.groups.iter().filter_map(why).collect()
}

/// Returns notes on classes of switches whose cost is negative. For all switches together, the
/// answer explains a negative cost.
fn gains(design: &DesignFinding) -> Vec<String> {
    let name = |group: &GroupFinding| match &group.group {
        Group::Class(name) => Some(*name),
        Group::All | Group::Cause(_) | Group::EndClass(_) | Group::Tasks(_) => None,
    };
    let is_gain = |group: &&GroupFinding| {
        group
            .cost_cycles
            .estimate
            .is_some_and(|cycles| cycles < 0.0)
    };
    let names: Vec<&str> = design
        .groups
        .iter()
        .filter(is_gain)
        .filter_map(name)
        .collect();
    if names.is_empty() {
        return Vec::new();
    }
    vec![format!(
        "A cost below 0 is a gain (here after {}): a process finds lines, such as library code, that another process loaded.",
        names.join(", ")
    )]
}

/// Returns a note on whether physical page frames are from the trace or were assigned by the
/// simulator.
fn physical_pages(design: &DesignFinding) -> Vec<String> {
    let Some(PhysicalPages { recorded, assigned }) = design.physical_pages else {
        return Vec::new();
    };
    let said = match (recorded, assigned) {
        (0, _) => {
            return vec!["physical addresses were assigned, since the trace has none".to_owned()];
        }
        (_, 0) => String::new(),
        (_, frames) => format!("; {} frames were assigned to other pages", count(frames)),
    };
    vec![format!(
        "physical addresses are from the trace, which places a page {} times{said}",
        count(recorded)
    )]
}

fn missing_model(design: &DesignFinding) -> Vec<String> {
    match &design.agarwal {
        None => design
            .agarwal_why
            .iter()
            .map(|why| format!("Agarwal's model gives no estimate: {why}"))
            .collect(),
        Some(model) if model.is_beyond_range => vec![format!(
            "Agarwal's model is beyond its range: others touch more lines between two time slices than a level holds; its \
             plain form gives {} cycles",
            rounded(model.cycles_per_switch)
        )],
        Some(_) => Vec::new(),
    }
}

fn survivor_bias(
    design: &DesignFinding,
    reported: impl Fn(&SurvivorBias) -> String,
) -> Vec<String> {
    let biases = design.survivor_bias.iter().filter(|bias| bias.bites);
    biases.map(reported).collect()
}

/// Least relative difference between the cost over surviving segments and the reported cost, at
/// which a screen has a note on survivor bias.
const LEAST_BIAS: f64 = 0.1;

/// Returns a note on the first survivor bias that changes the cost by more than [`LEAST_BIAS`];
/// `None` if there is none.
fn large_bias(design: &DesignFinding) -> Option<String> {
    let cost = design.average_cost_cycles.estimate?;
    let differs = |bias: &&SurvivorBias| {
        (bias.cost_of_survivors_cycles - cost).abs() > LEAST_BIAS * cost.abs()
    };
    let mut biases = design.survivor_bias.iter().filter(|bias| bias.bites);
    biases.find(differs).map(describe_bias)
}

fn describe_bias(bias: &SurvivorBias) -> String {
    let which = match &bias.group {
        Group::Class(_) => " after involuntary switches",
        _ => "",
    };
    let survivors = share(bias.survivors as f64 / bias.segments as f64);
    format!(
        "Only {survivors} of the {} time slices{which} last to the end of the cost curve; these alone give {} cycles per switch \
         (survivor bias).",
        count(bias.segments),
        rounded(bias.cost_of_survivors_cycles),
    )
}

fn explain_bias(bias: &SurvivorBias) -> String {
    let grows = bias.grows.as_ref().map(
        |Growth {
             program,
             share_at_start,
             share_at_cut,
         }| {
            let (start, end) = (share(*share_at_start), share(*share_at_cut));
            format!("; the share of {program} grows from {start} to {end} of the segments")
        },
    );
    format!(
        " At the start their private CPI is {}, against {} for all: part of the curve's fall is due to short segments that end, \
         not to caches that fill{}.",
        number(bias.early_private_cpi_of_survivors),
        number(bias.early_private_cpi),
        grows.unwrap_or_default()
    )
}

/// Returns a sentence on the method of the confidence intervals; `None` if there are no intervals.
fn method(findings: &Findings) -> Option<String> {
    let mut costs = findings
        .designs
        .iter()
        .map(|design| &design.average_cost_cycles);
    let cost = costs.find(|cost| cost.method.is_some())?;
    let confidence = cost.confidence.unwrap_or_default() * 100.0;
    Some(format!(
        "intervals: {confidence:.0} % confidence, {} ({} of them); they cover the spread within this trace, and another trace of \
         the same programs may differ by more",
        cost.method?, cost.n?
    ))
}
