//! What a switch costs on this machine: from the newest measurement of it as it is now, or measured first.

use switchcost_analysis::observation::calibration;
use switchcost_observation::Calibration;
use switchcost_record::{HostManifest, MeasureRecord};
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

/// Records looked at, the newest: each takes a part of a second to read.
const MOST: usize = 8;

/// The cost of a switch; none where it is not known and not to be measured.
pub(super) fn find(
    host: &HostManifest,
    arguments: &ObserveArguments,
    interrupt: &Interrupt,
) -> Result<Option<Calibration>, Failure> {
    let remembered = runs::measurements().into_iter().rev().take(MOST).find_map(|path| {
        let record = MeasureRecord::read(&path).ok()?;
        of(&record, host).filter(is_whole)
    });
    if remembered.is_some() || arguments.no_calibration {
        return Ok(remembered);
    }
    say!(
        "no measurement of the last day is of this machine as it is now: measuring what a switch costs first (8 s, kept for later)"
    );
    let record = MeasureRecord::read(&measure::measure_for_observe(arguments.redaction, interrupt)?)?;
    let calibration = of(&record, host);
    if calibration.is_none() && !interrupt.is_raised() {
        say!(
            "what a switch costs could not be measured (switchcost report says why): switches are counted and not priced"
        );
    }
    Ok(calibration)
}

/// Whether it has what reloading costs, likely and at most. Older versions measured less: then it is done again.
fn is_whole(calibration: &Calibration) -> bool {
    !calibration.reloads.is_empty() && calibration.loads.iter().any(|load| load.in_order_ns.is_some())
}

fn of(record: &MeasureRecord, host: &HostManifest) -> Option<Calibration> {
    let age = OffsetDateTime::now_utc() - OffsetDateTime::parse(&record.header.started_at, &Rfc3339).ok()?;
    let is_fresh = (Duration::ZERO..STALE).contains(&age);
    (is_fresh && is_same(&record.header.host, host))
        .then(|| calibration(record, &switchcost_analysis::analyse(record)))?
}

/// Whether a switch costs the same: the kernel, the processor, and what makes either slower are. A record may have been made to keep the
/// machine's name and the kernel's command line to itself.
pub(super) fn is_same(record: &HostManifest, host: &HostManifest) -> bool {
    let now = if record.is_redacted() { host.clone().redacted() } else { host.clone() };
    let of = |host: &HostManifest| {
        (
            (host.hostname.clone(), host.kernel.clone(), host.cpu_model.clone(), host.hypervisor.clone()),
            (host.mitigations.clone(), host.is_kpti_active.clone(), host.has_pcid.clone()),
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
