//! Shows the traffic on the buses of each design, and the accuracy of its prefetchers.

use switchcost_analysis::simulation::{Findings, TrafficFinding};

use super::detailed;
use crate::quantity::{rounded, share};
use crate::{Entry, Grid, Page};

pub(super) fn add(page: &mut Page, findings: &Findings) {
    let mut grid = Grid::new(2).left(["design", "level"]).right([
        "fills",
        "written back",
        "moved",
        "bus",
        "accuracy",
        "coverage",
        "late",
        "back-invalidated",
    ]);
    for design in detailed(findings) {
        for level in &design.traffic {
            let cells = [design.name.as_str(), level.level.as_str()].map(Entry::from);
            grid.row(cells.into_iter().chain(row(level).map(Entry::from)));
        }
    }
    if !grid.is_empty() {
        page.table(
            "Traffic",
            "bytes per 1,000 instructions between each level and the next, in the shared hierarchy",
            grid,
        );
        page.prose(legend(findings));
    }
}

/// Explanations of the columns after the level, in the order of the table.
const MEANINGS: [&str; 8] = [
    "fills: bytes fetched into the level",
    "written back: bytes of modified lines passed on",
    "moved: passed unmodified to an exclusive level",
    "bus: share of time in use",
    "accuracy: share of prefetched lines that were used",
    "coverage: share of used lines that were prefetched",
    "late: share of stream hits whose line was still in flight",
    "back-invalidated: lines per 1,000 instructions that an inclusive level invalidated",
];

/// Returns the meanings of the columns that are not empty.
fn legend(findings: &Findings) -> String {
    let levels = || detailed(findings).iter().flat_map(|design| &design.traffic);
    let mut shown = Vec::new();
    for (column, meaning) in MEANINGS.iter().enumerate() {
        if levels().any(|level| !row(level)[column].is_empty()) {
            shown.push(*meaning);
        }
    }
    shown.join("; ")
}

/// Returns the cells of a level. Events that a level does not have are empty cells.
fn row(level: &TrafficFinding) -> [String; 8] {
    let any = |number: f64| {
        if number > 0.0 {
            rounded(number)
        } else {
            String::new()
        }
    };
    let of_all = |part: Option<f64>| part.map(share).unwrap_or_default();
    let prefetching = level.prefetching;
    [
        rounded(level.filled_bytes),
        any(level.written_back_bytes),
        any(level.moved_bytes),
        of_all(level.bus_share),
        of_all(prefetching.map(|found| found.accuracy)),
        of_all(prefetching.and_then(|found| found.coverage)),
        of_all(prefetching.and_then(|found| found.late)),
        any(level.back_invalidations),
    ]
}
