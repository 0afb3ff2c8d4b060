//! Tests whether fewer cycles are needed if the scheduler prefers the process that ran last.

use super::{AFFINITY, ROUND_ROBIN};
use crate::claims::{Found, Quantities, exact};
use crate::exhibit::Cell;
use crate::records::require;
use crate::{Exhibit, Outcome, Records};

/// Designs whose caches can hold the arrays of several processes. In a direct-mapped cache with
/// virtual indices, two processes evict all of each other's lines, in any order.
pub(super) const DESIGNS: [&str; 3] = [
    "michigan-xeon-d1541",
    "blog-i7-9850h",
    "xeon-sapphire-rapids",
];

/// Returns the cycles of each design with two orders of processes: round robin, and the process
/// that ran last first.
fn cycles(records: &Records) -> Outcome<Vec<(String, [u64; 2])>> {
    let (in_turn, last_first) = (
        records.simulated(ROUND_ROBIN)?.1,
        records.simulated(AFFINITY)?.1,
    );
    let pairs = in_turn.designs.iter().filter_map(|design| {
        let other = last_first
            .designs
            .iter()
            .find(|other| other.name == design.name)?;
        Some((
            design.name.clone(),
            [design, other].map(|one| one.hierarchies.shared.cycles),
        ))
    });
    let pairs: Vec<_> = pairs.filter(|(_, cycles)| cycles[0] > 0).collect();
    require(pairs, 1, "the records have no design in common")
}

pub(super) fn exhibit(records: &Records) -> Exhibit {
    let mut exhibit = Exhibit::new(
        "The order of turns",
        "Eight processes: round robin, or most recently run first",
        [
            "design",
            "cycles round robin (10^6)",
            "with affinity (10^6)",
        ],
    );
    exhibit
        .steps
        .extend([ROUND_ROBIN, AFFINITY].map(str::to_owned));
    for (design, [in_turn, last_first]) in cycles(records).unwrap_or_default() {
        let millions = |cycles: u64| Cell::number(cycles as f64 / 1e6, 3);
        exhibit.row(vec![design.into(), millions(in_turn), millions(last_first)]);
    }
    exhibit.add_note("Each process walks its own 16 KiB; the time slices of one trace are replayed in both orders. No process is \
         passed over more than eight times.");
    exhibit
}

fn returning(records: &Records) -> Outcome {
    let terms = cycles(records)?
        .into_iter()
        .map(|(design, [in_turn, last_first])| exact(design, last_first as f64 / in_turn as f64));
    Ok(Found::new(terms.collect(), ""))
}

pub(super) fn quantities() -> Quantities {
    vec![("returning-pays", returning)]
}
