//! Claims on larger pages, which the poster recommends.

use switchcost_analysis::{CaseFinding, Estimate};
use switchcost_units::Bytes;

use crate::claims::{Found, Quantities, ratio};
use crate::exhibit::Cell;
use crate::text::microseconds;
use crate::{Exhibit, Outcome, Records, Site, Step};

/// Array sizes in KiB. The smallest array fills one huge page of 2 MiB.
const SIZES_KIB: [u64; 2] = [2048, 4096];
const PAGES: [&str; 2] = ["base", "huge"];

fn step(pages: &str) -> String {
    format!("michigan-pages-{pages}")
}

pub(super) fn steps(site: &Site<'_>) -> Vec<Step> {
    let sizes: Vec<String> = SIZES_KIB.iter().map(|kib| format!("{kib}KiB")).collect();
    let rest = format!(
        "--size {} --no-counters --precision 0.5% --budget 40s --cpu {}",
        sizes.join(","),
        site.quiet_cpu
    );
    let line = |pages| format!("measure --mechanism pipe --between process --pages {pages} {rest}");
    PAGES
        .iter()
        .map(|pages| Step::new(step(pages), &line(*pages)))
        .collect()
}

/// Returns the total cost of a switch with base or huge pages at one array size.
fn total(records: &Records, pages: &str, kib: u64) -> Outcome<Estimate> {
    let (_, findings) = records.measured(&step(pages))?;
    let is_it = |finding: &&CaseFinding| finding.case.working_set.size_bytes == Bytes::kib(kib);
    let finding = findings
        .results
        .iter()
        .find(is_it)
        .ok_or("the record lacks the size")?;
    finding
        .total_ns
        .clone()
        .ok_or_else(|| "the total cost could not be measured: see the record".to_owned())
}

pub(super) fn exhibit(records: &Records) -> Exhibit {
    let mut exhibit = Exhibit::new(
        "Larger pages",
        "Cost of a switch with pages of 4 KiB, and with huge pages",
        ["size", "base pages, us", "huge pages, us"],
    );
    for kib in SIZES_KIB {
        let mut row: Vec<Cell> = vec![Bytes::kib(kib).into()];
        row.extend(PAGES.map(|pages| {
            let found = total(records, pages, kib);
            let why = found.clone().err().unwrap_or_default();
            Cell::or_missing(
                found
                    .ok()
                    .filter(|total| total.low > 0.0)
                    .map(|total| total.estimate / 1e3),
                3,
                &why,
            )
        }));
        exhibit.row(row);
    }
    exhibit.steps.extend(PAGES.map(step));
    exhibit
}

fn huge_over_base(records: &Records) -> Outcome {
    let term = |kib: &u64| {
        let (huge, base) = (total(records, "huge", *kib)?, total(records, "base", *kib)?);
        let size = Bytes::kib(*kib);
        if base.low <= 0.0 {
            return Err(format!(
                "at {size}, the cost with base pages is not clear of 0"
            ));
        }
        Ok(ratio(size.to_string(), &huge, &base))
    };
    let largest = total(records, "base", SIZES_KIB[SIZES_KIB.len() - 1])?;
    let note = format!(
        "{} with base pages at the largest",
        microseconds(largest.estimate)
    );
    Ok(Found::new(
        SIZES_KIB.iter().map(term).collect::<Result<_, _>>()?,
        note,
    ))
}

pub(super) fn quantities() -> Quantities {
    vec![("larger-pages", huge_over_base)]
}
