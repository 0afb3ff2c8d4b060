//! Tables 1 and 2: the programs, and the sets that consist of them.

use super::{SETS, trials};
use crate::exhibit::Cell;
use crate::{Exhibit, Records, Table};

/// Programs of Table 1: the program, its work, its memory in megabytes if the paper gives it, and
/// its counterpart here.
const PROGRAMS: [(&str, &str, Option<f64>, &str); 8] = [
    (
        "Magic",
        "edits a VLSI layout",
        Some(10.0),
        "magic, the current version of the same program, in batch on a synthetic layout",
    ),
    (
        "Tree",
        "compiled Scheme: searches a tree",
        Some(12.0),
        "scm, trees of 2^16 to 2^18 leaves by trial, 6 to 24 MB",
    ),
    (
        "BigTree",
        "the same on a large tree",
        Some(65.0),
        "scm, trees of 2^19 to 2^20 leaves by trial, 33 to 65 MB",
    ),
    (
        "TV",
        "verifies the timing of a VLSI layout",
        Some(3.4),
        "OpenSTA (sta), on a synthetic circuit of 2000 to 4000 gates",
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
        "a client and a server, as of a file system",
        Some(0.6),
        "a client and a server in C, written for this, over a socket: blocks of 1.0 to 1.3 KB of a file of 0.3 MB",
    ),
];

/// Members and megabytes of the sets in Table 2.
const MEMBERS: [(&str, f64); 3] = [
    ("Magic, Tree, make #1, make #2, interactive", 75.0),
    ("BigTree, TV", 69.0),
    ("pingpong", 0.6),
];

pub(super) fn exhibits(records: &Records) -> Vec<Exhibit> {
    vec![table_1(), table_2(records)]
}

fn table_1() -> Exhibit {
    let mut exhibit = Exhibit::new("Table 1", "The programs");
    let mut table = Table::new(&["program", "does", "published MB", "here"]);
    for (program, does, megabytes, here) in PROGRAMS {
        let size = Cell::or_missing(megabytes, 1, "not published");
        table.row(vec![program.into(), does.into(), size, here.into()]);
    }
    exhibit.table = table;
    exhibit
}

fn table_2(records: &Records) -> Exhibit {
    let mut exhibit = Exhibit::new(
        "Table 2",
        "The benchmark sets, and how their processes come and go",
    );
    let mut table = Table::new(&[
        "set",
        "members",
        "published MB",
        "trial",
        "processes",
        "M instructions",
        "switches",
        "involuntary %",
        "programs with most instructions",
    ]);
    for (set, (members, megabytes)) in SETS.iter().zip(MEMBERS) {
        match trials(records, set) {
            Ok(trials) => {
                for trial in &trials {
                    let facts = &trial.head.trace;
                    let share =
                        facts.involuntary_switches as f64 / trial.switches().max(1) as f64 * 100.0;
                    table.row(vec![
                        set.published.into(),
                        members.into(),
                        Cell::number(megabytes, 1),
                        Cell::number(trial.number as f64, 0),
                        Cell::number(trial.head.processes.len() as f64, 0),
                        Cell::number(facts.instructions as f64 / 1e6, 0),
                        Cell::number(trial.switches() as f64, 0),
                        Cell::number(share, 1),
                        most_active(trial.head).into(),
                    ]);
                    exhibit.steps.push(trial.step.clone());
                }
            }
            Err(why) => {
                let missing = || Cell::Missing { why: why.clone() };
                let mut row: Vec<Cell> = vec![
                    set.published.into(),
                    members.into(),
                    Cell::number(megabytes, 1),
                ];
                row.extend((0..6).map(|_| missing()));
                table.row(row);
            }
        }
    }
    exhibit.table = table;
    exhibit
}

/// Returns the three programs with the most instructions, by name.
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
