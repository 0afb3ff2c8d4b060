//! Compares private with shared caches, which tells whether traces of single programs are enough to
//! choose a cache size.

use switchcost_analysis::simulation::DesignFinding;

use super::sample::{COMPUTE, Sample, TIMESHARING, geometric, over, samples, trials_of};
use super::{SIZES_STEP, Trial};
use crate::claims::Found;
use crate::exhibit::Cell;
use crate::text::percent;
use crate::{Axis, Chart, Exhibit, Outcome, Records, Series, Style};

/// Sizes of both first-level caches in KiB, in the order of the simulated designs.
const SIZES_KIB: [u64; 9] = [16, 32, 64, 128, 256, 512, 1024, 2048, 4096];

const PRIVATE: usize = 0;
const SHARED: usize = 1;

/// Returns the cycles per instruction in private and in shared caches.
fn cpis(design: &DesignFinding) -> [f64; 2] {
    let hierarchies = &design.hierarchies;
    [&hierarchies.private, &hierarchies.shared]
        .map(|counts| counts.cycles as f64 / design.instructions.max(1) as f64)
}

/// Returns the share of 1a's cycles that 1b saves, in private and in shared caches; `None` if a
/// design was not simulated.
fn saved(trial: &Trial<'_>) -> Option<[f64; 2]> {
    let [small, large] = ["1a", "1b"].map(|name| trial.design(name).map(cpis));
    let (small, large) = small.zip(large)?;
    Some([PRIVATE, SHARED].map(|place| 1.0 - large[place] / small[place]))
}

/// Returns the ratio of two shares, and the inverse ratio: the share of cycles that a four times
/// larger cache saves in shared caches, over the share in private caches.
pub(super) fn saved_otherwise(records: &Records) -> Outcome {
    let of = |place: usize| samples(records, TIMESHARING, |trial| Some(saved(trial)?[place]));
    let ratios = samples(records, TIMESHARING, |trial| {
        saved(trial).map(|[private, shared]| shared / private)
    })?;
    let note = format!(
        "{} and {} of all cycles; {}",
        mean(&of(SHARED)?),
        mean(&of(PRIVATE)?),
        trials_of(&ratios)
    );
    let inverse = samples(records, TIMESHARING, |trial| {
        saved(trial).map(|[private, shared]| private / shared)
    })?;
    let terms = vec![
        geometric("saved in shared caches over private ones", &ratios)?,
        geometric("in private ones over shared ones", &inverse)?,
    ];
    Ok(Found::new(terms, note))
}

/// Returns the ratio of two shares: the share of cycles that a four times larger cache saves in
/// Timesharing, over the share in Compute-bound.
pub(super) fn switching_needs_more(records: &Records) -> Outcome {
    let [switching, computing] = [TIMESHARING, COMPUTE]
        .map(|set| samples(records, set, |trial| Some(saved(trial)?[SHARED])));
    let (switching, computing) = (switching?, computing?);
    let note = format!(
        "{} and {} of all cycles; {}",
        mean(&switching),
        mean(&computing),
        trials_of(&switching)
    );
    let term = geometric(
        "saved in Timesharing over Compute-bound",
        &over(&switching, &computing, false),
    )?;
    Ok(Found::number(term, note))
}

fn mean(samples: &[Sample]) -> String {
    percent(samples.iter().map(|one| one.value).sum::<f64>() / samples.len() as f64)
}

pub(super) fn exhibit(records: &Records) -> Exhibit {
    let title = "Cycles per instruction by cache size, Timesharing on 1a";
    let mut exhibit = Exhibit::new(
        "Caches for one or for all",
        title,
        ["size", "CPI, a cache for each process", "CPI, one for all"],
    );
    exhibit.add_step(SIZES_STEP);
    let found = records
        .simulated(SIZES_STEP)
        .map(|(_, findings)| findings.designs.iter().map(cpis).collect::<Vec<_>>());
    for (kib, cpis) in SIZES_KIB.iter().zip(found.clone().unwrap_or_default()) {
        let name = switchcost_units::Bytes::kib(*kib).to_string();
        exhibit.row(vec![
            name.into(),
            Cell::number(cpis[0], 3),
            Cell::number(cpis[1], 3),
        ]);
    }
    let series = |place: usize, name: &str| {
        let points = SIZES_KIB.iter().zip(found.iter().flatten());
        Series::new(
            name,
            Style::Found,
            points.map(|(kib, cpis)| ((kib << 10) as f64, cpis[place])),
        )
    };
    let lines = vec![
        series(PRIVATE, "a cache for each process"),
        series(SHARED, "one for all"),
    ];
    exhibit.chart = found.is_ok().then(|| {
        Chart::new(
            "size of each first level",
            Axis::Size,
            "cycles per instruction",
            Axis::Linear,
            lines,
        )
    });
    exhibit
}
