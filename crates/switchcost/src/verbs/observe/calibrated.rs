//! Finds the cost of a switch on this machine: from a stored measurement with the present settings,
//! or from a new measurement.

use std::path::Path;

use switchcost_record::observation::Calibration;
use switchcost_record::{HostManifest, MeasureRecord};
use time::OffsetDateTime;

use crate::cli::observe::ObserveArguments;
use crate::exit::Outcome;
use crate::messages::say;
use crate::runs;
use crate::runs::calibrations::{Outcomes, RETRY, keep, place};
use crate::signals::Interrupt;
use crate::verbs::measure;

/// Returns the cost of a switch; `None` if the cost is unknown and may not be measured now, or
/// could not be measured.
pub(super) fn find(
    host: &HostManifest,
    arguments: &ObserveArguments,
    interrupt: &Interrupt,
) -> Outcome<Option<Calibration>> {
    let place = place();
    let known = || remembered(place.as_deref(), host, arguments);
    if let Some(known) = known() {
        return Ok(known);
    }
    // Of several observations that begin together only one measures, because their measurements
    // would disturb each other.
    let _turn = runs::take_turn("calibration", || interrupt.is_raised());
    if let Some(known) = known() {
        return Ok(known);
    }
    let kept = place.as_deref().map_or(String::new(), |place| {
        format!(", kept for 24 h in {}", runs::short(place))
    });
    say!(
        "calibrating: measuring switch cost on this machine (8 to 15 s{kept}; skip with --no-calibration)"
    );
    let path = measure::measure_for_observe(arguments.redaction, interrupt)?;
    let record = MeasureRecord::read(&path)?;
    let calibration = keep(&record, &switchcost_analysis::analyse(&record), &path);
    if calibration.is_none() && !interrupt.is_raised() {
        say!(
            "calibration failed: switches are counted but not priced (switchcost report {} says why); the next try is \
             after {} minutes",
            path.display(),
            RETRY.whole_minutes()
        );
    }
    Ok(calibration)
}

/// Returns the stored cost of a switch. The inner `None` means that no cost is known and that no
/// cost should be measured now. The outer `None` means that the cost should be measured.
fn remembered(
    place: Option<&Path>,
    host: &HostManifest,
    arguments: &ObserveArguments,
) -> Option<Option<Calibration>> {
    let outcomes = place.map(Outcomes::read).unwrap_or_default();
    let newest = outcomes.newest(host, OffsetDateTime::now_utc());
    let calibration = newest.and_then(|outcome| outcome.calibration.clone());
    if calibration.is_some() || arguments.no_calibration {
        return Some(calibration);
    }
    let failed = newest?;
    say!(
        "switches are counted but not priced: the calibration of {} failed (switchcost report {} says why); the next \
         try is after {} minutes",
        failed.started_at,
        failed.record.display(),
        RETRY.whole_minutes()
    );
    Some(None)
}
