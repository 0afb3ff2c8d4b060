//! Reads results of `inject` for the observed programs, from the newest records in the usual
//! folder.

use std::path::Path;

use switchcost_analysis::Estimate;
use switchcost_analysis::injection::{FootprintFinding, analyse, doubt};
use switchcost_record::injection::{Header, Injection};
use switchcost_record::observation::{Cost, KnownBy, KnownPoint, KnownReload};
use switchcost_record::{HostManifest, Source};
use switchcost_units::Nanos;

use super::programs::{Program, Programs};
use crate::program_id::ProgramId;
use crate::runs;
use crate::runs::calibrations::is_same;

/// Maximum number of records whose headers are read, newest first.
const MOST_HEADERS: usize = 512;

/// Returns the costs of cold caches from the newest usable record of each program. An incomplete
/// run or a control experiment does not hide an older record.
pub(super) fn find(mut programs: Programs, host: &HostManifest) -> Vec<KnownReload> {
    let mut known = Vec::new();
    for record in runs::injections().take(MOST_HEADERS) {
        let Some((header, program)) = served(&record, &programs, host) else {
            continue;
        };
        let Some(found) = Injection::read(&record).ok().as_ref().and_then(costs) else {
            continue;
        };
        programs.remove(&program);
        known.push(injected(header, found, record.path(), program));
    }
    known
}

/// Returns the header of a record, and the observed program that the record applies to; `None` if
/// it applies to none.
fn served(source: &Source, programs: &Programs, host: &HostManifest) -> Option<(Header, Program)> {
    let header = Injection::read_header(source).ok()?;
    if header.plan.preempts_nobody || !is_same(&header.host, host) {
        return None;
    }
    let id = ProgramId {
        build_id: header.build_id.clone()?,
        script: header.script.clone(),
    };
    let program = programs.find(&id, &header.command, ProgramId::identify_command)?;
    Some((header, program))
}

fn injected(
    header: Header,
    Costs { preemption, points }: Costs,
    path: &Path,
    Program { name, processes }: Program,
) -> KnownReload {
    KnownReload {
        by: KnownBy::Inject,
        file: path
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned(),
        command: header.command,
        measured_at: header.started_at,
        processes,
        name,
        points,
        preemption,
    }
}

/// Costs of a preemption from a record of `inject`.
#[derive(Debug, PartialEq)]
struct Costs {
    /// Cost of a preemption by a task that touches no memory; `None` for a service.
    preemption: Option<Cost>,
    /// Costs of cold caches, by footprint and period.
    points: Vec<KnownPoint>,
}

/// Returns the costs from a record; `None` if the run is incomplete or found no cost, or if a cost
/// is implausible.
fn costs(record: &Injection) -> Option<Costs> {
    let is_whole = record.end.as_ref().is_some_and(|end| !end.is_interrupted);
    let findings = analyse(record);
    if !is_whole || doubt(record, &findings).is_some() {
        return None;
    }
    let first = (record.header.plan.period_ns, &findings.footprints);
    let periods = findings.periods.iter().skip(1);
    let further = periods.map(|period| (period.period_ns, &period.footprints));
    let mut points = Vec::new();
    for (ran_ns, footprints) in [first].into_iter().chain(further) {
        points.extend(footprints.iter().filter_map(|found| point(found, ran_ns)));
    }
    points.sort_by_key(|point| (point.away_bytes, point.ran_ns));
    let direct = findings.direct().and_then(|found| found.cost_ns.as_ref());
    (!points.is_empty()).then(|| Costs {
        preemption: direct.map(cost),
        points,
    })
}

fn cost(found: &Estimate) -> Cost {
    Cost {
        ns: found.estimate.max(0.0),
        low_ns: found.low,
        high_ns: found.high,
    }
}

fn point(found: &FootprintFinding, ran_ns: Nanos) -> Option<KnownPoint> {
    let reload = found.reload().filter(|_| found.footprint_bytes.0 > 0)?;
    Some(KnownPoint {
        away_bytes: found.footprint_bytes,
        away_ns: found.away_ns.map(|ns| Nanos(ns as u64)),
        ran_ns,
        cost: cost(reload),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record() -> Injection {
        let path =
            Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus/injection_record/small");
        Injection::read(&path).expect("a record of this version")
    }

    #[test]
    fn a_result_that_cannot_be_is_not_used() {
        let mut record = record();
        assert!(costs(&record).is_some());
        // Makes a larger footprint cost less.
        record
            .runs
            .iter_mut()
            .for_each(|run| run.footprint = 1 - run.footprint.min(1));
        assert_eq!(costs(&record), None);
    }

    #[test]
    fn what_was_cut_off_is_not_used() {
        let mut record = record();
        record.end.as_mut().expect("it is whole").is_interrupted = true;
        assert_eq!(costs(&record), None);
        record.end = None;
        assert_eq!(costs(&record), None);
    }
}
