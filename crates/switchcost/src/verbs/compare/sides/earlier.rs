//! Reads earlier records of a machine in the usual folder, as evidence of the spread between runs.

use switchcost_analysis::Findings;
use switchcost_record::{Header, MeasureRecord};

use super::read;
use crate::runs;

/// Maximum number of records that are read, newest first. Reading a record takes some tenths of a
/// second.
const MOST: usize = 12;

/// Least number of runs that give a spread.
const FEWEST: usize = 4;

/// Returns earlier records of the machine on which both compared records were made. Returns none if
/// there are too few, or if the compared records are from different machines. Records that cannot
/// be read are skipped.
pub(super) fn records(compared: [&MeasureRecord; 2]) -> Vec<(MeasureRecord, Findings)> {
    let [base, new] = compared.map(|record| &record.header);
    if !base.host.is_same_machine(&new.host) {
        return Vec::new();
    }
    let newest = runs::measurements().take(MOST);
    let is_earlier = |(record, _): &(MeasureRecord, Findings)| {
        let header = &record.header;
        header.host.is_same_machine(&base.host)
            && !is_same_run(header, base)
            && !is_same_run(header, new)
    };
    let earlier: Vec<_> = newest
        .filter_map(|source| read(&source).ok())
        .filter(is_earlier)
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
