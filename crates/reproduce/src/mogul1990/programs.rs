//! Tables 1 and 2 of Mogul and Borg: the programs, and the benchmark sets.

use super::{SETS, Trial, trials};
use crate::exhibit::Cell;
use crate::text::number;
use crate::{Exhibit, Records};

/// Programs of Table 1: name, purpose, memory in MB if the paper gives it, and counterpart in this
/// reproduction.
const PROGRAMS: [(&str, &str, Option<f64>, &str); 8] = [
    (
        "Magic",
        "edits a VLSI layout",
        Some(10.0),
        "the same program, in batch on a synthetic layout",
    ),
    (
        "Tree",
        "compiled Scheme: searches a tree",
        Some(12.0),
        "scm, 2^16 to 2^18 leaves, 6 to 24 MB",
    ),
    (
        "BigTree",
        "the same on a large tree",
        Some(65.0),
        "scm, 2^19 to 2^20 leaves, 33 to 65 MB",
    ),
    (
        "TV",
        "verifies the timing of a VLSI layout",
        Some(3.4),
        "OpenSTA (sta), 2,000 to 4,000 synthetic gates",
    ),
    (
        "make #1",
        "compiles C",
        None,
        "make and gcc, 8 to 16 generated sources",
    ),
    (
        "make #2",
        "links and loads",
        None,
        "make, ar and ld, as many sources",
    ),
    (
        "interactive",
        "a shell loop: cp, cat, ex, rm, ps, ls",
        None,
        "the same loop",
    ),
    (
        "pingpong",
        "a client and a server",
        Some(0.6),
        "our own in C, over a socket: blocks of 1.0 to 1.3 KB of a file of 0.3 MB",
    ),
];

/// Programs of each set in Table 2, and their memory in MB.
const MEMBERS: [(&str, f64); 3] = [
    ("Magic, Tree, make #1, make #2, interactive", 75.0),
    ("BigTree, TV", 69.0),
    ("pingpong", 0.6),
];

pub(super) fn exhibits(records: &Records) -> Vec<Exhibit> {
    vec![table_1(), table_2(records)]
}

fn table_1() -> Exhibit {
    let mut exhibit = Exhibit::new(
        "Table 1",
        "The programs",
        ["program", "does", "published MB", "here"],
    );
    for (program, does, megabytes, here) in PROGRAMS {
        let size = Cell::or_missing(megabytes, 1, "not published");
        exhibit.row(vec![program.into(), does.into(), size, here.into()]);
    }
    exhibit
}

/// Returns Table 2, with the lowest and the highest number over the trials of each set.
fn table_2(records: &Records) -> Exhibit {
    let mut exhibit = Exhibit::new(
        "Table 2",
        "The benchmark sets, lowest to highest trial",
        [
            "set",
            "members",
            "published MB",
            "processes",
            "M instructions",
            "switches",
            "involuntary %",
            "with most instructions",
        ],
    );
    for (set, (members, megabytes)) in SETS.iter().zip(MEMBERS) {
        let trials = trials(records, set);
        let cell = |of: fn(&Trial<'_>) -> f64| match &trials {
            Ok(trials) => range(trials.iter().map(of)).into(),
            Err(why) => Cell::Missing { why: why.clone() },
        };
        let all = trials.as_deref().unwrap_or_default();
        exhibit
            .steps
            .extend(all.iter().map(|trial| trial.step.clone()));
        exhibit.row(vec![
            set.published.into(),
            members.into(),
            Cell::number(megabytes, 1),
            cell(|trial| trial.head.processes.len() as f64),
            cell(|trial| trial.head.trace.instructions as f64 / 1e6),
            cell(|trial| trial.switches() as f64),
            cell(|trial| {
                trial.head.trace.involuntary_switches as f64 / trial.switches().max(1) as f64
                    * 100.0
            }),
            all.first()
                .map_or(String::new(), |trial| most_active(trial.head))
                .into(),
        ]);
    }
    exhibit
}

/// Formats the lowest and the highest of some numbers.
fn range(numbers: impl Iterator<Item = f64>) -> String {
    let numbers: Vec<f64> = numbers.collect();
    let low = numbers.iter().copied().fold(f64::INFINITY, f64::min);
    let high = numbers.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let word = |one: f64| {
        if one.fract() == 0.0 {
            format!("{one:.0}")
        } else {
            number(one)
        }
    };
    match (word(low), word(high)) {
        (low, high) if low == high => low,
        (low, high) => format!("{low} to {high}"),
    }
}

/// Returns the names of the three programs with the most instructions.
fn most_active(head: &switchcost_design::result::Simulation) -> String {
    let mut by_name: std::collections::BTreeMap<&str, u64> = std::collections::BTreeMap::new();
    for process in &head.processes {
        *by_name.entry(&process.name).or_default() += process.instructions;
    }
    let mut names: Vec<(&str, u64)> = by_name.into_iter().collect();
    names.sort_by_key(|(_, instructions)| std::cmp::Reverse(*instructions));
    names
        .iter()
        .take(3)
        .map(|(name, _)| *name)
        .collect::<Vec<_>>()
        .join(", ")
}
