//! Reads earlier records of a machine in the usual folder, as evidence of the spread between runs.

use switchcost_analysis::Findings;
use switchcost_record::{Header, MeasureRecord};

use super::read;
use crate::runs;

/// Maximum number of records that are read in full, newest first. Reading one takes some tenths of a
/// second.
const MOST: usize = 12;

/// Least number of runs that give a spread.
const FEWEST: usize = 4;

/// Returns records of the machine on which both compared records were made, which began before the
/// later one of them. Returns none if there are too few, or if the compared records are from
/// different machines. Records that cannot be read are skipped.
pub(super) fn records(compared: [&MeasureRecord; 2]) -> Vec<(MeasureRecord, Findings)> {
    let [base, new] = compared.map(|record| &record.header);
    if !base.host.is_same_machine(&new.host) {
        return Vec::new();
    }
    // Times in UTC sort as text.
    let last = (&base.started_at).max(&new.started_at);
    let is_earlier = |header: Header| {
        header.started_at < *last
            && header.host.is_same_machine(&base.host)
            && !is_same_run(&header, base)
            && !is_same_run(&header, new)
    };
    let earlier: Vec<_> = runs::measurements()
        .filter(|source| MeasureRecord::read_header(source).is_ok_and(is_earlier))
        .take(MOST)
        .filter_map(|source| read(&source).ok())
        .collect();
    if earlier.len() < FEWEST {
        Vec::new()
    } else {
        earlier
    }
}

fn is_same_run(a: &Header, b: &Header) -> bool {
    (&a.started_at, a.seed) == (&b.started_at, b.seed)
}
