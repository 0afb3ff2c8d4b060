//! Stores costs of a switch on this machine, next to the folder of records. Each complete
//! measurement of the required cases adds its cost, or the fact that it found no cost, even if its
//! record is in another folder.

use std::io::{self, Read};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use switchcost_analysis::Findings;
use switchcost_analysis::observation::calibration;
use switchcost_record::observation::Calibration;
use switchcost_record::trust::open_found;
use switchcost_record::{Case, EndReason, HostManifest, MeasureRecord, Mechanism};
use time::format_description::well_known::Rfc3339;
use time::{Duration, OffsetDateTime};

use crate::home;
use crate::messages::say;

/// Age up to which a calibration is used. Afterwards the load on the machine and its host may have
/// changed.
const STALE: Duration = Duration::hours(24);

/// Time after which a failed or incomplete calibration is repeated. A busy machine mostly stays
/// busy for some time.
pub(crate) const RETRY: Duration = Duration::minutes(10);

const SCHEMA: &str = "switchcost-calibrations/1";

/// Maximum number of stored outcomes. The newest outcomes are kept, which may differ in the
/// settings of the machine.
const MOST: usize = 8;

/// Maximum size of the file with the outcomes, in bytes.
const LONGEST: u64 = 4 << 20;

#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct Outcomes {
    schema: String,
    /// Outcomes of measurements, newest last.
    outcomes: Vec<Outcome>,
}

/// The outcome of a measurement on this machine.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Outcome {
    /// Start of the measurement (RFC 3339, UTC).
    pub(crate) started_at: String,
    host: HostManifest,
    pub(crate) record: PathBuf,
    /// Cost of a switch; `None` if it could not be measured.
    pub(crate) calibration: Option<Calibration>,
}

/// Stores the calibration from a measurement that is complete or has all costs. If a complete
/// measurement has no calibration, this fact is stored. Returns the calibration; `None` if there is
/// none, if the measurement lacks a required case, or if its rounds are not the usual ones.
pub(crate) fn keep(
    record: &MeasureRecord,
    findings: &Findings,
    path: &Path,
) -> Option<Calibration> {
    let header = &record.header;
    if !header.plan.rounds.is_usual() || !has_all(&header.plan.cases) {
        return None;
    }
    let is_complete = record
        .end
        .is_some_and(|end| end.reason == EndReason::Complete);
    let outcome = Outcome {
        started_at: header.started_at.clone(),
        host: header.host.clone(),
        record: path.canonicalize().unwrap_or_else(|_| path.to_owned()),
        calibration: calibration(record, findings),
    };
    let calibration = outcome.calibration.clone();
    if let Some(place) = place().filter(|_| is_complete || outcome.is_whole()) {
        let mut outcomes = Outcomes::read(&place);
        outcomes.add(outcome);
        // A home may be read-only. This was reported when the path of the record was chosen.
        let _ = outcomes.write(&place);
    }
    calibration
}

/// Returns the path of the file with the outcomes, next to the folder of records; `None` without a
/// state folder.
pub(crate) fn place() -> Option<PathBuf> {
    Some(super::folder().ok()?.with_file_name("calibrations.json"))
}

impl Outcomes {
    /// Reads the stored outcomes. If the file cannot be read there are none, and the cost is
    /// measured again.
    pub(crate) fn read(path: &Path) -> Outcomes {
        let read = || -> io::Result<Outcomes> {
            let mut text = String::new();
            open_found(path)?.take(LONGEST).read_to_string(&mut text)?;
            Ok(serde_json::from_str(&text)?)
        };
        let or_say = |error: &io::Error| {
            if error.kind() != io::ErrorKind::NotFound {
                say!("{} is not used: {error}", path.display());
            }
        };
        read()
            .inspect_err(or_say)
            .ok()
            .filter(|outcomes| outcomes.schema == SCHEMA)
            .unwrap_or_default()
    }

    fn write(&self, path: &Path) -> io::Result<()> {
        home::keep(path, &serde_json::to_vec(self)?)
    }

    fn add(&mut self, outcome: Outcome) {
        self.schema = SCHEMA.to_owned();
        self.outcomes.push(outcome);
        let surplus = self.outcomes.len().saturating_sub(MOST);
        self.outcomes.drain(..surplus);
    }

    /// Returns the newest sufficiently recent outcome on the machine `host`, preferably an outcome
    /// with all costs; `None` if there is none.
    pub(crate) fn newest(&self, host: &HostManifest, now: OffsetDateTime) -> Option<&Outcome> {
        let is_fresh = |outcome: &&Outcome| {
            let limit = if outcome.is_whole() { STALE } else { RETRY };
            let started = OffsetDateTime::parse(&outcome.started_at, &Rfc3339);
            started.is_ok_and(|started| (Duration::ZERO..limit).contains(&(now - started)))
        };
        let fresh = self.outcomes.iter().rev().filter(is_fresh);
        let mut fresh = fresh.filter(|outcome| is_same(&outcome.host, host));
        let newest = fresh.clone().next();
        fresh.find(|outcome| outcome.is_whole()).or(newest)
    }
}

/// Returns true if the cases include a pipe switch without a working set, and one with arrays.
fn has_all(cases: &[Case]) -> bool {
    let has = |is_empty| {
        cases.iter().any(|case| {
            case.mechanism == Mechanism::Pipe && case.working_set.is_empty() == is_empty
        })
    };
    has(true) && has(false)
}

impl Outcome {
    /// Returns true if the calibration has the cost of reloading data, too: both the likely cost
    /// and its bound.
    fn is_whole(&self) -> bool {
        self.calibration.as_ref().is_some_and(|calibration| {
            let mut loads = calibration.loads.iter();
            !calibration.reloads.is_empty() && loads.any(|load| load.in_order_ns.is_some())
        })
    }
}

/// Returns true if a switch costs the same on both hosts: the kernel, the processor, and all
/// settings that affect the cost are equal. The kernel's command line is ignored for a redacted
/// record.
pub(crate) fn is_same(record: &HostManifest, host: &HostManifest) -> bool {
    let now = if record.is_redacted() {
        host.clone().redacted()
    } else {
        host.clone()
    };
    let of = |host: &HostManifest| {
        (
            (
                host.kernel.clone(),
                host.cpu_model.clone(),
                host.microcode.clone(),
                host.hypervisor.clone(),
            ),
            (
                host.mitigations.clone(),
                host.is_kpti_active.clone(),
                host.has_pcid.clone(),
            ),
            (
                host.governor.clone(),
                host.is_turbo_on,
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
    use switchcost_record::observation::{Load, Observation};
    use switchcost_units::Bytes;

    use super::*;

    const NOW: OffsetDateTime = time::macros::datetime!(2026-11-28 12:00 UTC);

    fn observation() -> Observation {
        let path = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("../../fuzz/corpus/observation_record/small");
        Observation::read(&path).expect("a record")
    }

    fn whole(age: Duration) -> Outcome {
        let observation = observation();
        let mut calibration = observation.calibration.expect("it has one");
        calibration.loads = vec![Load {
            size_bytes: Bytes::mib(1),
            chase_ns: 5.0,
            emptied_ns: None,
            emptied_by_page_ns: None,
            in_order_ns: Some(1.0),
        }];
        Outcome {
            started_at: (NOW - age).format(&Rfc3339).expect("a date"),
            host: observation.host,
            record: PathBuf::new(),
            calibration: Some(calibration),
        }
    }

    fn partial(age: Duration) -> Outcome {
        let mut outcome = whole(age);
        outcome.calibration.as_mut().expect("whole").reloads.clear();
        outcome
    }

    fn failed(age: Duration) -> Outcome {
        Outcome {
            calibration: None,
            ..whole(age)
        }
    }

    /// Returns the age of the outcome that would be used; `None` if a new measurement is needed.
    fn age(host: &HostManifest, outcomes: &[Outcome]) -> Option<Duration> {
        let mut all = Outcomes::default();
        outcomes.iter().for_each(|outcome| all.add(outcome.clone()));
        let newest = all.newest(host, NOW)?;
        Some(NOW - OffsetDateTime::parse(&newest.started_at, &Rfc3339).expect("a date"))
    }

    #[test]
    fn a_failure_is_remembered_for_a_while_and_hides_no_cost() {
        let host = observation().host;
        let (minutes, hours) = (Duration::minutes, Duration::hours);
        for (outcomes, expected) in [
            (vec![], None),
            (vec![whole(hours(23))], Some(hours(23))),
            (vec![whole(hours(25))], None),
            (vec![whole(-hours(1))], None),
            (vec![failed(minutes(9))], Some(minutes(9))),
            (vec![failed(minutes(11))], None),
            (vec![partial(minutes(9))], Some(minutes(9))),
            (vec![partial(minutes(11))], None),
            (
                vec![whole(hours(1)), failed(minutes(2)), partial(minutes(1))],
                Some(hours(1)),
            ),
            (
                vec![failed(minutes(9)), whole(minutes(1))],
                Some(minutes(1)),
            ),
        ] {
            assert_eq!(age(&host, &outcomes), expected, "{outcomes:#?}");
        }
    }

    #[test]
    fn a_machine_is_another_one_by_what_changes_a_cost_and_not_by_its_name() {
        let host = observation().host;
        let outcomes = [whole(Duration::hours(1))];
        let renamed = HostManifest {
            hostname: "another".to_owned(),
            ..host.clone()
        };
        assert_eq!(age(&renamed, &outcomes), Some(Duration::hours(1)));
        let mut mitigated = host;
        mitigated
            .mitigations
            .insert("spectre_v9".to_owned(), "Mitigation".to_owned());
        assert_eq!(age(&mitigated, &outcomes), None);
    }
}
