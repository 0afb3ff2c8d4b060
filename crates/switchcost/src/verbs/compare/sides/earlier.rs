//! What the usual folder's records say of how much runs of a machine differ.

use analysis::Findings;
use analysis::compare::{Origin, RunSpread};
use record::{HostManifest, MeasureRecord};

use super::{analysed, read};
use crate::runs;

/// Records to look at, the newest: reading one takes some tenths of a second.
const MOST: usize = 12;

/// Two runs show a difference, and no spread to speak of.
const FEWEST: usize = 4;

/// The spread between earlier runs on the machine of this record; `None` where the usual folder has too few of them, or they have
/// no case in common. What cannot be read says nothing.
pub(super) fn run_spread(like: &MeasureRecord) -> Option<RunSpread> {
    let newest = runs::measurements().into_iter().rev().take(MOST);
    let is_alike = |(record, _): &(MeasureRecord, Findings)| is_same_machine(&record.header.host, &like.header.host);
    let earlier: Vec<_> = newest.filter_map(|path| read(&path).ok()).filter(is_alike).collect();
    if earlier.len() < FEWEST {
        return None;
    }
    let found = analysis::compare::run_spread(&analysed(&earlier))?;
    Some(RunSpread { origin: Origin::EarlierRecords, ..found })
}

fn is_same_machine(a: &HostManifest, b: &HostManifest) -> bool {
    a.hostname == b.hostname && a.cpu_model == b.cpu_model && a.kernel == b.kernel
}
