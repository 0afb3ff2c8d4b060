//! Matches the simulated designs of base and new records, and finds the differences between the
//! designs and between the environments.

use serde_json::Value;
use switchcost_design::Design;
use switchcost_design::result::{GuestFacts, Simulation};

use super::traces::{Relation, TraceKey};
use super::{Curve, Simulated};
use crate::compare::candidate::SIDES;
use crate::compare::environment::{Facts, different, named};
use crate::compare::{Difference, Part, Place, Subject};
use crate::simulation::{DesignFinding, Group};
use itertools::Itertools;

/// Finding for one design in one record.
#[derive(Clone, Debug)]
pub(super) struct Record<'a> {
    /// Index of the record among those of its side.
    pub(super) place: usize,
    pub(super) trace: TraceKey<'a>,
    pub(super) design: &'a Design,
    pub(super) finding: &'a DesignFinding,
    pub(super) is_whole: bool,
    /// Whether the trace has notes, because its source lacks or assumes something.
    pub(super) has_notes: bool,
}

/// A design with its findings in the records of both sides. A side may lack the design.
#[derive(Debug)]
pub(super) struct Matched<'a> {
    names: [Option<&'a str>; 2],
    pub(super) sides: [Vec<Record<'a>>; 2],
}

/// Returns the designs of both sides, matched by name. If each side has only one design, the two
/// are matched whatever their names.
pub(super) fn matched<'a>(sides: [&[Simulated<'a>]; 2]) -> Vec<Matched<'a>> {
    let pair = |names: [Option<&'a str>; 2]| Matched {
        names,
        sides: [0, 1]
            .map(|side| names[side].map_or_else(Vec::new, |name| records(sides[side], name))),
    };
    let [base, new] = sides.map(names);
    if let ([base], [new]) = (&base[..], &new[..]) {
        return vec![pair([Some(base), Some(new)])];
    }
    let of_base = base
        .iter()
        .map(|name| pair([Some(name), new.contains(name).then_some(name)]));
    let only_new = new.iter().filter(|name| !base.contains(name));
    of_base
        .chain(only_new.map(|name| pair([None, Some(name)])))
        .collect()
}

fn names<'a>(side: &[Simulated<'a>]) -> Vec<&'a str> {
    let results = side.iter().flat_map(|(head, _)| &head.designs);
    results
        .map(|result| result.design.name.as_str())
        .unique()
        .collect()
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
    /// Returns the subject for a part of this design's simulation.
    pub(super) fn subject(&self, part: Part) -> Subject {
        let [base_design, new_design] = self.names.map(|name| name.map(str::to_owned));
        Subject::Simulated(Place {
            base_design,
            new_design,
            part,
        })
    }

    fn slices(&self) -> [&[Record<'a>]; 2] {
        self.sides.each_ref().map(Vec::as_slice)
    }

    /// Returns the relation between the traces of the two sides; `None` if a side lacks the design
    /// or has different designs under its name.
    pub(super) fn relation(&self) -> Option<Relation> {
        let are_there = self.sides.iter().all(|side| !side.is_empty());
        (are_there && self.mixed_side().is_none()).then(|| {
            Relation::new(self.slices().map(|side| -> Vec<&TraceKey<'_>> {
                side.iter().map(|record| &record.trace).collect()
            }))
        })
    }

    pub(super) fn unavailable_because(&self) -> String {
        if let Some(side) = self.mixed_side() {
            return format!("the {side} records mean different designs by this name");
        }
        let side = usize::from(!self.sides[0].is_empty());
        format!("the {} side has no such design", SIDES[side])
    }

    /// Returns the name of a side whose records have different designs under this name; `None` if
    /// there is none. Records with different designs are no repetitions.
    fn mixed_side(&self) -> Option<&'static str> {
        let is_mixed = |side: &[Record<'a>]| {
            side.iter()
                .any(|record| !is_same(record.design, side[0].design))
        };
        let mixed = self.slices().iter().position(|side| is_mixed(side))?;
        Some(SIDES[mixed])
    }

    /// Returns the fields in which the two designs differ, the name first.
    pub(super) fn differences(&self) -> Vec<Difference> {
        let [Some(base), Some(new)] = self.names else {
            return Vec::new();
        };
        different(self.slices(), |record| {
            if base == new {
                return fields(record.design, &format!("design {base}"));
            }
            let name = named([("design", record.design.name.clone())]);
            [name, fields(record.design, "design")].concat()
        })
    }

    /// Returns a difference if the savings of first touches are included in the costs of one side
    /// only; otherwise an empty list.
    pub(super) fn first_touches(&self) -> Vec<Difference> {
        let [Some(name), Some(_)] = self.names else {
            return Vec::new();
        };
        different(self.slices(), |record| {
            let reported = match record.finding.first_touch_cycles {
                Some(_) => "separate",
                None => "in the cost, as a gain",
            };
            vec![(format!("first touches on {name}"), reported.to_owned())]
        })
    }

    pub(super) fn curve(&self) -> Option<Curve> {
        let [base, new] = self
            .slices()
            .map(|side| side.iter().map(|record| line(record.finding)).collect());
        Some(Curve {
            base_design: self.names[0]?.to_owned(),
            new_design: self.names[1]?.to_owned(),
            base,
            new,
        })
    }
}

/// Returns the points of the curve of excess cycles, up to the first point at or after the cut-off.
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

/// Whether two designs describe the same memory system, regardless of name, title and source.
pub(super) fn is_same(a: &Design, b: &Design) -> bool {
    fields(a, "") == fields(b, "")
}

/// Returns the fields of a design by path, except schema, name, title and source. The paths contain
/// the names of levels and TLBs.
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

/// Returns the facts about a simulation's environment. The machine that simulated is left out,
/// because a trace gives the same numbers on every machine.
pub(super) fn facts(head: &Simulation) -> Facts {
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
    let whole = trace
        .incomplete
        .as_ref()
        .map_or("yes".to_owned(), |why| format!("no: {why}"));
    let facts = named([
        ("workload", workload),
        ("order of tasks", trace.order.clone()),
        ("quantum in instructions", quantum),
        ("whole trace simulated", whole),
        (
            "instructions in an interval",
            head.interval_instructions.to_string(),
        ),
        ("intervals recorded", head.intervals.to_string()),
        ("private hierarchies by", head.private_by.to_string()),
        ("switchcost", head.program_version.clone()),
    ]);
    let guest = trace.guest.as_ref().map(guest_facts);
    [facts, guest.unwrap_or_default()].concat()
}

/// Returns the facts about a guest. Of contradictory words on the kernel's command line (`pti=off
/// pti=on`), the last counts.
fn guest_facts(guest: &GuestFacts) -> Facts {
    let slice = guest
        .slice_ns
        .map_or("its scheduler's".to_owned(), |ns| format!("{ns} ns"));
    let mut facts = named([
        ("kernel of the guest", guest.kernel.clone()),
        ("slice of the guest", slice),
        (
            "guest instructions per second",
            guest.instructions_per_second.to_string(),
        ),
    ]);
    let words = guest.command_line.split_whitespace().rev();
    facts.extend(words.map(|word| {
        let (name, value) = word.split_once('=').unwrap_or((word, "given"));
        (format!("{name} of the guest"), value.to_owned())
    }));
    facts
}
