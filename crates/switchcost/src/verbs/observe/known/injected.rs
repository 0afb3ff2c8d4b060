//! What `inject` has found of observed programs: from its newest records in the usual folder.

use std::path::Path;

use switchcost_injection::Injection;
use switchcost_observation::{Cost, KnownBy, KnownPoint, KnownReload};
use switchcost_record::HostManifest;

use super::programs::{Program, Programs};
use crate::build_ids;
use crate::runs;
use crate::verbs::observe::calibrated::is_same;

/// Records looked at, the newest.
const RECORDS: usize = 32;

pub(super) fn find(mut programs: Programs, host: &HostManifest) -> Vec<KnownReload> {
    let found = |path: &std::path::PathBuf| {
        let record = Injection::read(path).ok()?;
        let is_here = is_same(&record.header.host, host);
        let program = record.header.build_id.as_deref().filter(|_| is_here)?;
        injected(
            &record,
            path,
            programs.take(program, &record.header.command, build_ids::of_command)?,
        )
    };
    runs::injections()
        .iter()
        .rev()
        .take(RECORDS)
        .filter_map(found)
        .collect()
}

/// None where it was not found what cold caches cost, or what was found cannot be.
fn injected(record: &Injection, path: &Path, program: Program) -> Option<KnownReload> {
    let ran_ns = record.header.plan.period_ns;
    let point = |found: &switchcost_analysis::injection::FootprintFinding| {
        let reload = found.reload()?;
        let cost = Cost {
            ns: reload.estimate.max(0.0),
            low_ns: reload.low,
            high_ns: reload.high,
        };
        Some(KnownPoint {
            away_bytes: found.footprint_bytes,
            ran_ns,
            cost,
        })
    };
    let findings = switchcost_analysis::injection::analyse(record);
    if switchcost_analysis::injection::doubt(record, &findings).is_some() {
        return None;
    }
    let points: Vec<KnownPoint> = findings.footprints.iter().filter_map(point).collect();
    let file = path.file_name()?.to_string_lossy().into_owned();
    let Program { name, processes } = program;
    (!points.is_empty()).then_some(KnownReload {
        by: KnownBy::Inject,
        file,
        processes,
        name,
        points,
        most_lines: Vec::new(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_result_that_cannot_be_is_not_used() {
        let path =
            Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus/injection_record/small");
        let mut record = Injection::read(&path).expect("a record of this version");
        let program = || Program {
            name: "gzip".to_owned(),
            processes: vec![7],
        };
        assert!(injected(&record, &path, program()).is_some());
        // As if more touched cost less.
        record
            .runs
            .iter_mut()
            .for_each(|run| run.footprint = 1 - run.footprint.min(1));
        assert_eq!(injected(&record, &path, program()), None);
    }
}
