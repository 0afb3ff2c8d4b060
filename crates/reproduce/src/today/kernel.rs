//! Cost of the kernel's part of a switch, if the kernel's lines are in a more distant cache level.

use switchcost_analysis::CaseFinding;
use switchcost_record::Mechanism;

use super::{KERNEL, results};
use crate::claims::{Found, Quantities, Term};
use crate::exhibit::Cell;
use crate::interval::Interval;
use crate::records::require;
use crate::text::microseconds;
use crate::{Exhibit, Outcome, Records};

/// Returns the results in ascending order of the size of the tasks' arrays.
fn results_by_size(records: &Records) -> Outcome<Vec<&CaseFinding>> {
    let mut found = results(records, KERNEL, Mechanism::Pipe)?;
    found.retain(|finding| finding.indirect_kernel_ns.is_some());
    found.sort_by_key(|finding| finding.case.working_set.size_bytes);
    require(found, 2, "fewer than two sizes could be measured")
}

pub(super) fn exhibit(records: &Records) -> Exhibit {
    let mut exhibit = Exhibit::new(
        "The kernel's lines",
        "The kernel's part of a switch, by where its own lines are",
        [
            "arrays",
            "direct and kernel's lines us",
            "kernel's lines us",
            "low",
            "high",
        ],
    );
    exhibit.add_step(KERNEL);
    for finding in results_by_size(records).unwrap_or_default() {
        let Some(part) = &finding.indirect_kernel_ns else {
            continue;
        };
        exhibit.row(vec![
            finding.case.working_set.size_bytes.into(),
            Cell::or_missing(
                finding
                    .direct_ns
                    .as_ref()
                    .map(|direct| (direct.estimate + part.estimate) / 1e3),
                3,
                "the direct cost was not measured with it",
            ),
            Cell::number(part.estimate / 1e3, 3),
            Cell::number(part.low / 1e3, 3),
            Cell::number(part.high / 1e3, 3),
        ]);
    }
    exhibit.add_note("As arrays grow, they evict the kernel's lines first from L1, then from L2. So the same code runs on the \
         same processor with a larger miss penalty.");
    exhibit
}

fn grows(records: &Records) -> Outcome {
    let found = results_by_size(records)?;
    let part = |finding: &CaseFinding| {
        finding
            .indirect_kernel_ns
            .clone()
            .ok_or("the kernel's part was not measured")
    };
    let (small, large) = (part(found[0])?, part(found[found.len() - 1])?);
    let term = Term::new(
        "largest minus smallest, ns",
        Interval::from(&large) - (&small).into(),
    );
    let note = format!(
        "{} and {}",
        microseconds(small.estimate),
        microseconds(large.estimate)
    );
    Ok(Found::number(term, note))
}

pub(super) fn quantities() -> Quantities {
    vec![("kernel-grows-with-penalty", grows)]
}
