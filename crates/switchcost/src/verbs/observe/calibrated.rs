//! What a switch costs on this machine: from the newest measurement of it as it is now, or measured first.

use std::path::PathBuf;

use switchcost_analysis::observation::calibration;
use switchcost_observation::Calibration;
use switchcost_record::{Case, Header, HostManifest, MeasureRecord, Mechanism};
use time::format_description::well_known::Rfc3339;
use time::{Duration, OffsetDateTime};

use crate::cli::observe::ObserveArguments;
use crate::exit::Failure;
use crate::messages::say;
use crate::runs;
use crate::signals::Interrupt;
use crate::verbs::measure;

/// An older measurement is of another machine, in effect: its neighbours have changed.
const STALE: Duration = Duration::hours(24);

/// Records read in full, the newest that could serve: each takes a part of a second.
const MOST: usize = 8;

/// Records of which the header is read, the newest.
const MOST_HEADERS: usize = 512;

/// The cost of a switch; none where it is not known and not to be measured.
pub(super) fn find(
    host: &HostManifest,
    arguments: &ObserveArguments,
    interrupt: &Interrupt,
) -> Result<Option<Calibration>, Failure> {
    let could_serve = |path: &PathBuf| {
        MeasureRecord::read_header(path).is_ok_and(|header| is_of_all(&header, host))
    };
    let read = |path: PathBuf| of(&MeasureRecord::read(&path).ok()?, host).filter(is_whole);
    let remembered = || newest(runs::measurements().into_iter().rev(), could_serve, read);
    let known = remembered();
    if known.is_some() || arguments.no_calibration {
        return Ok(known);
    }
    // Of several that begin at once one measures: together they would disturb one another.
    let _turn = runs::take_turn("calibration", || interrupt.is_raised());
    if let Some(known) = remembered() {
        return Ok(Some(known));
    }
    say!(
        "no measurement of the last day is of this machine as it is now: measuring what a switch costs first (8 s, kept for later)"
    );
    let record = MeasureRecord::read(&measure::measure_for_observe(
        arguments.redaction,
        interrupt,
    )?)?;
    let calibration = of(&record, host);
    if calibration.is_none() && !interrupt.is_raised() {
        say!(
            "what a switch costs could not be measured (switchcost report says why): switches are counted and not priced"
        );
    }
    Ok(calibration)
}

/// The first that serves: those that could not by their headers are not among the few that are read.
fn newest<R, T>(
    records: impl Iterator<Item = R>,
    could_serve: impl Fn(&R) -> bool,
    read: impl FnMut(R) -> Option<T>,
) -> Option<T> {
    records
        .take(MOST_HEADERS)
        .filter(could_serve)
        .take(MOST)
        .find_map(read)
}

/// Whether a measurement that was begun so is fresh, of this machine, and of all that is needed.
fn is_of_all(header: &Header, host: &HostManifest) -> bool {
    is_fresh(header)
        && is_same(&header.host, host)
        && header.plan.rounds.is_usual()
        && has_all(&header.plan.cases)
}

/// A switch by itself, and one between arrays, over pipes.
fn has_all(cases: &[Case]) -> bool {
    let has = |is_empty| {
        cases.iter().any(|case| {
            case.mechanism == Mechanism::Pipe && case.working_set.is_empty() == is_empty
        })
    };
    has(true) && has(false)
}

fn is_fresh(header: &Header) -> bool {
    OffsetDateTime::parse(&header.started_at, &Rfc3339).is_ok_and(|started| {
        (Duration::ZERO..STALE).contains(&(OffsetDateTime::now_utc() - started))
    })
}

/// Whether it has what reloading costs, likely and at most. Older versions measured less: then it is done again.
fn is_whole(calibration: &Calibration) -> bool {
    !calibration.reloads.is_empty()
        && calibration
            .loads
            .iter()
            .any(|load| load.in_order_ns.is_some())
}

fn of(record: &MeasureRecord, host: &HostManifest) -> Option<Calibration> {
    (is_fresh(&record.header) && is_same(&record.header.host, host))
        .then(|| calibration(record, &switchcost_analysis::analyse(record)))?
}

/// Whether a switch costs the same: the kernel, the processor, and what makes either slower are. A record may have been made to keep the
/// machine's name and the kernel's command line to itself.
pub(super) fn is_same(record: &HostManifest, host: &HostManifest) -> bool {
    let now = if record.is_redacted() {
        host.clone().redacted()
    } else {
        host.clone()
    };
    let of = |host: &HostManifest| {
        (
            (
                host.hostname.clone(),
                host.kernel.clone(),
                host.cpu_model.clone(),
                host.hypervisor.clone(),
            ),
            (
                host.mitigations.clone(),
                host.is_kpti_active.clone(),
                host.has_pcid.clone(),
            ),
            (
                host.governor.clone(),
                host.is_smt_active.clone(),
                host.preemption.clone(),
                host.kernel_command_line.clone(),
            ),
        )
    };
    of(record) == of(&now)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_that_cannot_serve_do_not_hide_an_older_one_that_does() {
        let (serves, parts) = (100, 0..100);
        let records = || parts.clone().chain([serves]);
        let read = |record| (record == serves).then_some(record);
        assert_eq!(
            newest(records(), |record| *record == serves, read),
            Some(serves)
        );
        // Those that could serve and do not are bounded.
        let mut count = 0;
        let found: Option<i32> = newest(
            records(),
            |_| true,
            |_| {
                count += 1;
                None
            },
        );
        assert_eq!((found, count), (None, MOST));
    }
}
