//! Whether a system that switches a lot gains more of larger caches than one that computes.

use super::{COMPUTE_BOUND, LARGER, MACHINES, SETS, TIMESHARING, set_step};
use crate::claims::{Found, Quantities, exact};
use crate::exhibit::Cell;
use crate::text::percent;
use crate::{Exhibit, Records, Table};

/// All cycles of a set with the DECstation's caches, and with those four times as large.
fn cycles(records: &Records, set: usize) -> Result<[f64; 2], String> {
    let (_, findings) = records.simulated(&set_step(set))?;
    let of = |name: &str| {
        let design = findings.designs.iter().find(|design| design.name == name);
        design.map(|design| design.hierarchies.shared.cycles as f64).ok_or(format!("the record has no design {name}"))
    };
    Ok([of(MACHINES[0].design)?, of(LARGER)?])
}

/// The share of them that the larger caches save.
fn saved(records: &Records, set: usize) -> Result<f64, String> {
    let [small, large] = cycles(records, set)?;
    if small > 0.0 { Ok(1.0 - large / small) } else { Err("the record has no cycles".to_owned()) }
}

pub(super) fn exhibit(records: &Records) -> Exhibit {
    let mut exhibit = Exhibit::new("Larger caches", "What four times the cache saves of all cycles (1a to 1b)");
    exhibit.steps.extend([TIMESHARING, COMPUTE_BOUND].map(set_step));
    let mut table = Table::new(&["set", "cycles on 1a (10^6)", "cycles on 1b (10^6)", "saved %"]);
    for set in [TIMESHARING, COMPUTE_BOUND] {
        let (cycles, saved) = (cycles(records, set), saved(records, set));
        let why = cycles.as_ref().err().cloned().unwrap_or_default();
        let millions = |place: usize| Cell::or_missing(cycles.as_ref().ok().map(|all| all[place] / 1e6), 1, &why);
        table.row(vec![
            SETS[set].1.into(),
            millions(0),
            millions(1),
            Cell::or_missing(saved.ok().map(|saved| saved * 100.0), 1, &why),
        ]);
    }
    exhibit.table = table;
    exhibit.notes.push(
        "In the paper 13.2 % of Timesharing and 3.4 % of Compute-bound, by the means of table 4. Here one trace of each set, on both \
         sizes: the counts are exact, and another trace would give others."
            .into(),
    );
    exhibit
}

fn saves_more(records: &Records) -> Result<Found, String> {
    let (switching, computing) = (saved(records, TIMESHARING)?, saved(records, COMPUTE_BOUND)?);
    if computing <= 0.0 {
        return Err("the larger caches save nothing in Compute-bound".to_owned());
    }
    let note = format!("{} and {} of all cycles", percent(switching), percent(computing));
    Ok(Found::new(vec![exact("saved in Timesharing over Compute-bound", switching / computing)], note))
}

pub(super) fn quantities() -> Quantities {
    vec![("larger-caches-for-switching", saves_more)]
}
