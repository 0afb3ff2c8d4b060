//! Cost of a switch by the vector registers in use, which the kernel must save and restore.

use switchcost_analysis::{CaseFinding, Estimate};
use switchcost_record::Mechanism;

use super::time_lost::over_time_lost;
use super::{VECTORS, results};
use crate::claims::{Found, Quantities, Term};
use crate::exhibit::Cell;
use crate::interval::Interval;
use crate::records::require;
use crate::text::number;
use crate::{Exhibit, Outcome, Records};

/// Returns the results in ascending order of the registers in use, with their direct costs.
fn results_by_state(records: &Records) -> Outcome<Vec<(&CaseFinding, &Estimate)>> {
    let found = results(records, VECTORS, Mechanism::Pipe)?;
    let mut found: Vec<(&CaseFinding, &Estimate)> = found
        .into_iter()
        .filter(|finding| finding.case.vectors.is_some())
        .filter_map(|finding| Some((finding, finding.direct_ns.as_ref()?)))
        .collect();
    found.sort_by_key(|(finding, _)| finding.case.vectors.map(|vectors| vectors.state));
    require(
        found,
        2,
        "fewer than two sets of registers could be measured",
    )
}

/// Returns the time in ns that all registers in use add to a switch, and a note that names the
/// registers.
fn added(records: &Records) -> Outcome<(Interval, String)> {
    let found = results_by_state(records)?;
    let ((_, none), (most, all)) = (found[0], found[found.len() - 1]);
    let [none, all] = [none, all].map(Estimate::estimate_within_run);
    let more = all - none;
    let vectors = most
        .case
        .vectors
        .map(|vectors| vectors.to_string())
        .unwrap_or_default();
    Ok((
        more,
        format!("{vectors}: {} ns more", number(more.estimate)),
    ))
}

pub(super) fn exhibit(records: &Records) -> Exhibit {
    let title =
        "A switch over a pipe, by the vector registers that are in use when the kernel switches";
    let mut exhibit = Exhibit::new(
        "Registers in use",
        title,
        [
            "registers in use",
            "XSAVE writes B",
            "direct us",
            "low",
            "high",
            "more than none ns",
        ],
    );
    exhibit.add_step(VECTORS);
    let found = results_by_state(records).unwrap_or_default();
    for (finding, direct) in &found {
        let Some(vectors) = finding.case.vectors else {
            continue;
        };
        let us = |ns: f64| Cell::number(ns / 1e3, 3);
        exhibit.row(vec![
            vectors.state.to_string().into(),
            Cell::number(vectors.xsave_bytes.0 as f64, 0),
            us(direct.estimate),
            us(direct.low),
            us(direct.high),
            Cell::number(direct.estimate - found[0].1.estimate, 1),
        ]);
    }
    exhibit.add_note("Each task loads the registers right before it hands on the token, in both arms. XSAVE skips registers in \
         their initial state (\"init\").");
    exhibit
}

fn dearer(records: &Records) -> Outcome {
    let (more, note) = added(records)?;
    Ok(Found::number(
        Term::new("all registers minus none, ns", more),
        note,
    ))
}

pub(super) fn quantities() -> Quantities {
    vec![
        ("vector-registers-small", |records| {
            over_time_lost(records, added(records)?.0)
        }),
        ("vector-registers-cost", dearer),
    ]
}
