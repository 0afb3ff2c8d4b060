//! Tests whether two tasks lose more by time-sharing a cache on one CPU, or by using it
//! concurrently from two CPUs.

use switchcost_analysis::SharedCache;
use switchcost_record::HostManifest;

use super::{SHARED_CACHE, sizes_bytes};
use crate::claims::{Found, Quantities, Term};
use crate::exhibit::Cell;
use crate::text::microseconds;
use crate::{Exhibit, Outcome, Records};

/// Returns the results for each array size, and the machine; an error if no tasks ran concurrently.
fn found(records: &Records) -> Outcome<(&[SharedCache], &HostManifest)> {
    let (record, findings) = records.measured(SHARED_CACHE)?;
    match findings.shared_cache.as_slice() {
        [] => Err("the record has no tasks that ran concurrently".to_owned()),
        found => Ok((found, &record.header.host)),
    }
}

pub(super) fn exhibit(records: &Records) -> Exhibit {
    let mut exhibit = Exhibit::new(
        "A shared cache",
        "A cache that two tasks share alternately on one CPU, and concurrently on two",
        [
            "arrays",
            "a walk alone us",
            "alternately, more us",
            "concurrently, more us",
            "alternately minus concurrently, us",
            "low",
            "high",
        ],
    );
    exhibit.add_step(SHARED_CACHE);
    for one in found(records).map(|(found, _)| found).unwrap_or_default() {
        let us = |ns: Option<f64>| {
            Cell::or_missing(
                ns.map(|ns| ns / 1e3),
                3,
                one.why.as_deref().unwrap_or("not measured"),
            )
        };
        let of = |estimate: &Option<switchcost_analysis::Estimate>| {
            us(estimate.as_ref().map(|estimate| estimate.estimate))
        };
        let difference = one.in_turn_less_at_once_ns;
        exhibit.row(vec![
            one.working_set.size_bytes.into(),
            of(&one.alone_ns),
            of(&one.in_turn_ns),
            of(&one.at_once_ns),
            us(difference.map(|found| found.estimate)),
            us(difference.map(|found| found.low)),
            us(difference.map(|found| found.high)),
        ]);
    }
    exhibit.add_note("Each task chases pointers through its own array: alternately on one CPU, a walk per time slice, or \
         concurrently on two CPUs that share a cache, as the machine reports. Arrays of 4 KiB are the control: \
         they fit into every cache, so concurrent use should not slow them down. With n walks per time slice, the loss per walk is n times smaller.");
    exhibit
}

/// Returns the loss by time-sharing minus the loss by concurrent use, at the planned array sizes in
/// ns. The control, about which there is no claim, is left out.
fn turn_excess(records: &Records) -> Outcome {
    let (found, host) = found(records)?;
    let sizes = sizes_bytes(host);
    let mut terms = Vec::new();
    let mut notes = Vec::new();
    for one in found
        .iter()
        .filter(|one| sizes.contains(&one.working_set.size_bytes.0))
    {
        let size = one.working_set.size_bytes;
        if let Some(why) = &one.why {
            return Err(format!("{size}: {why}"));
        }
        let difference = one
            .in_turn_less_at_once_ns
            .ok_or_else(|| format!("{size}: not measured either way"))?;
        terms.push(Term::new(format!("{size}, ns"), difference));
        notes.extend(
            one.alone_ns
                .as_ref()
                .map(|alone| microseconds(alone.estimate)),
        );
    }
    if terms.len() < sizes.len() {
        return Err(format!(
            "{} of {} sizes were measured",
            terms.len(),
            sizes.len()
        ));
    }
    Ok(Found::new(
        terms,
        format!("walks alone: {}", notes.join(", ")),
    ))
}

pub(super) fn quantities() -> Quantities {
    vec![("in-turn-loses-more", turn_excess)]
}
