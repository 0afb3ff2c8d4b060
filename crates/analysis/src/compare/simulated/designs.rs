//! Matches the designs of the two sides, and finds the differences between them and between their
//! environments.

use serde_json::Value;
use switchcost_design::Design;
use switchcost_design::result::{GuestFacts, Simulation};

use super::traces::{Relation, TraceKey};
use super::{Curve, Simulated};
use crate::compare::Difference;
use crate::compare::environment::{Facts, different};
use crate::simulation::{DesignFinding, Group};

/// Finding of one design in one record.
#[derive(Clone, Debug)]
pub(super) struct Record<'a> {
    /// Index of the record on its side.
    pub(super) place: usize,
    pub(super) trace: TraceKey<'a>,
    pub(super) design: &'a Design,
    pub(super) finding: &'a DesignFinding,
    pub(super) is_whole: bool,
    /// Whether the trace has notes: its source omitted or invented something.
    pub(super) has_notes: bool,
}

/// A design on both sides; `None` on a side without it.
#[derive(Debug)]
pub(super) struct Matched<'a> {
    pub(super) base_name: Option<&'a str>,
    pub(super) new_name: Option<&'a str>,
    pub(super) base: Vec<Record<'a>>,
    pub(super) new: Vec<Record<'a>>,
}

/// Matches all designs of either side by name, or the only design of each side whatever its name.
pub(super) fn matched<'a>(base: &[Simulated<'a>], new: &[Simulated<'a>]) -> Vec<Matched<'a>> {
    let (base_names, new_names) = (names(base), names(new));
    let pair = |base_name: Option<&'a str>, new_name: Option<&'a str>| Matched {
        base: base_name.map_or_else(Vec::new, |name| records(base, name)),
        new: new_name.map_or_else(Vec::new, |name| records(new, name)),
        base_name,
        new_name,
    };
    if let ([base_name], [new_name]) = (&base_names[..], &new_names[..]) {
        return vec![pair(Some(base_name), Some(new_name))];
    }
    let of_base = base_names
        .iter()
        .map(|name| pair(Some(name), new_names.contains(name).then_some(name)));
    let only_new = new_names.iter().filter(|name| !base_names.contains(name));
    of_base
        .chain(only_new.map(|name| pair(None, Some(name))))
        .collect()
}

fn names<'a>(side: &[Simulated<'a>]) -> Vec<&'a str> {
    let mut names: Vec<&str> = Vec::new();
    for result in side.iter().flat_map(|(head, _)| &head.designs) {
        if !names.contains(&result.design.name.as_str()) {
            names.push(&result.design.name);
        }
    }
    names
}

fn records<'a>(side: &[Simulated<'a>], name: &str) -> Vec<Record<'a>> {
    let of_record = |(record, (head, findings)): (usize, &Simulated<'a>)| {
        let place = head
            .designs
            .iter()
            .position(|result| result.design.name == name)?;
        Some(Record {
            place: record,
            trace: TraceKey::new(head),
            design: &head.designs[place].design,
            finding: findings.designs.get(place)?,
            is_whole: head.trace.incomplete.is_none(),
            has_notes: !head.trace.notes.is_empty(),
        })
    };
    side.iter().enumerate().filter_map(of_record).collect()
}

impl<'a> Matched<'a> {
    /// Returns the relation of the two sides' traces; `None` if the designs cannot be paired.
    pub(super) fn relation(&self) -> Option<Relation> {
        let are_there = !self.base.is_empty() && !self.new.is_empty();
        let traces = |side: &[Record<'a>]| {
            side.iter()
                .map(|record| record.trace.clone())
                .collect::<Vec<_>>()
        };
        (are_there && self.mixed_side().is_none())
            .then(|| Relation::new(&traces(&self.base), &traces(&self.new)))
    }

    pub(super) fn unavailable_because(&self) -> String {
        if let Some(side) = self.mixed_side() {
            return format!("the {side} records mean different designs by this name");
        }
        let side = if self.base.is_empty() { "base" } else { "new" };
        format!("the {side} side has no such design")
    }

    /// Returns the side whose records have different designs under one name, which are no
    /// repetitions of each other.
    fn mixed_side(&self) -> Option<&'static str> {
        let is_mixed = |side: &[Record<'a>]| {
            side.iter()
                .any(|record| !is_same(record.design, side[0].design))
        };
        [("base", &self.base), ("new", &self.new)]
            .into_iter()
            .find(|(_, side)| is_mixed(side))
            .map(|(name, _)| name)
    }

    /// Returns the differences of the designs: the name first, then every field.
    pub(super) fn differences(&self) -> Vec<Difference> {
        let (Some(base_name), Some(new_name)) = (self.base_name, self.new_name) else {
            return Vec::new();
        };
        let is_renamed = base_name != new_name;
        let named = |name: &str| (is_renamed).then(|| ("design".to_owned(), name.to_owned()));
        let title = if is_renamed {
            "design".to_owned()
        } else {
            format!("design {base_name}")
        };
        let of_record = |record: &Record<'a>, name: &str| -> Facts {
            named(name)
                .into_iter()
                .chain(fields(record.design, &title))
                .collect()
        };
        let of = |side: &[Record<'a>], name: &str| {
            side.iter()
                .map(|record| of_record(record, name))
                .collect::<Vec<_>>()
        };
        different(&of(&self.base, base_name), &of(&self.new, new_name))
    }

    /// Returns a difference if first touches are included in the costs of one side only.
    pub(super) fn first_touches(&self) -> Vec<Difference> {
        let (Some(name), Some(_)) = (self.base_name, self.new_name) else {
            return Vec::new();
        };
        let of_record = |record: &Record<'a>| -> Facts {
            let reported = if record.finding.first_touch_cycles.is_some() {
                "separate"
            } else {
                "in the cost, as a gain"
            };
            vec![(format!("first touches on {name}"), reported.to_owned())]
        };
        let of = |side: &[Record<'a>]| side.iter().map(of_record).collect::<Vec<_>>();
        different(&of(&self.base), &of(&self.new))
    }

    pub(super) fn curve(&self) -> Option<Curve> {
        let lines = |side: &[Record<'a>]| side.iter().map(|record| line(record.finding)).collect();
        Some(Curve {
            base_design: self.base_name?.to_owned(),
            new_design: self.new_name?.to_owned(),
            base: lines(&self.base),
            new: lines(&self.new),
        })
    }
}

/// Returns the points of the curve up to the first at or after the cut-off.
fn line(finding: &DesignFinding) -> Vec<(u64, f64)> {
    let Some(all) = finding
        .groups
        .iter()
        .find(|group| group.group == Group::All)
    else {
        return Vec::new();
    };
    let starts: Vec<u64> = all
        .curve
        .iter()
        .map(|point| point.since_switch_instructions)
        .collect();
    let length = starts.get(1).map_or(0, |second| second - starts[0]);
    let within = all
        .curve
        .iter()
        .filter(|point| point.since_switch_instructions < all.cut.instructions);
    within
        .map(|point| {
            (
                point.since_switch_instructions + length,
                point.cumulative_excess_cycles,
            )
        })
        .collect()
}

/// Whether two designs are the same memory system, whatever their names and sources.
pub(super) fn is_same(a: &Design, b: &Design) -> bool {
    fields(a, "") == fields(b, "")
}

/// Returns every field of a design by its path, with the names of levels and TLBs.
fn fields(design: &Design, title: &str) -> Facts {
    let mut fields = Vec::new();
    if let Ok(Value::Object(all)) = serde_json::to_value(design) {
        for (name, value) in all
            .iter()
            .filter(|(name, _)| !["schema", "name", "title", "source"].contains(&name.as_str()))
        {
            let path = if ["level", "tlb"].contains(&name.as_str()) {
                title.to_owned()
            } else {
                join(title, name)
            };
            flatten(&path, value, &mut fields);
        }
    }
    fields
}

fn flatten(path: &str, value: &Value, into: &mut Facts) {
    match value {
        Value::Object(fields) => {
            let name = fields.get("name").and_then(Value::as_str);
            let path = name.map_or_else(|| path.to_owned(), |name| join(path, name));
            for (field, value) in fields.iter().filter(|(field, _)| *field != "name") {
                flatten(&join(&path, field), value, into);
            }
        }
        Value::Array(items) if items.iter().any(Value::is_object) => {
            items.iter().for_each(|item| flatten(path, item, into));
        }
        Value::Null => (),
        Value::String(text) => into.push((path.to_owned(), text.clone())),
        other => into.push((path.to_owned(), other.to_string())),
    }
}

fn join(path: &str, name: &str) -> String {
    let name = name.replace('_', " ");
    if path.is_empty() {
        name
    } else {
        format!("{path} {name}")
    }
}

/// Returns environment differences between the two sides. The simulating machine is left out,
/// because a trace gives the same numbers on any machine.
pub(super) fn facts(base: &[Simulated<'_>], new: &[Simulated<'_>]) -> Vec<Difference> {
    let of = |side: &[Simulated<'_>]| {
        side.iter()
            .map(|(head, _)| facts_of(head))
            .collect::<Vec<Facts>>()
    };
    different(&of(base), &of(new))
}

fn facts_of(head: &Simulation) -> Facts {
    let trace = &head.trace;
    let commands: Vec<String> = trace.commands.iter().map(|words| words.join(" ")).collect();
    let workload = if commands.is_empty() {
        trace.source.clone()
    } else {
        commands.join("; ")
    };
    let quantum = trace
        .quantum_instructions
        .map_or("none".to_owned(), |quantum| quantum.to_string());
    let facts = vec![
        ("workload".to_owned(), workload),
        ("order of tasks".to_owned(), trace.order.clone()),
        ("quantum in instructions".to_owned(), quantum),
        (
            "whole trace simulated".to_owned(),
            trace
                .incomplete
                .clone()
                .map_or("yes".to_owned(), |why| format!("no: {why}")),
        ),
        (
            "instructions in an interval".to_owned(),
            head.interval_instructions.to_string(),
        ),
        ("intervals recorded".to_owned(), head.intervals.to_string()),
        (
            "private hierarchies by".to_owned(),
            head.private_by.to_string(),
        ),
        ("switchcost".to_owned(), head.program_version.clone()),
    ];
    facts
        .into_iter()
        .chain(trace.guest.iter().flat_map(guest_facts))
        .collect()
}

/// Returns the facts of a guest. If words on the kernel command line contradict each other
/// (`pti=off pti=on`), the last one counts.
fn guest_facts(guest: &GuestFacts) -> Facts {
    let slice = guest
        .slice_ns
        .map_or("its scheduler's".to_owned(), |ns| format!("{ns} ns"));
    let mut facts = vec![
        ("kernel of the guest".to_owned(), guest.kernel.clone()),
        ("slice of the guest".to_owned(), slice),
        (
            "instructions a second of the guest".to_owned(),
            guest.instructions_per_second.to_string(),
        ),
    ];
    let words = guest.command_line.split_whitespace().rev();
    facts.extend(words.map(|word| {
        let (name, value) = word.split_once('=').unwrap_or((word, "given"));
        (format!("{name} of the guest"), value.to_owned())
    }));
    facts
}
