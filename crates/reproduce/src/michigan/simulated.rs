//! Figure 4, simulated: misses of one task alone and of two in turn.

use simulation_result::{HierarchyCounts, LevelCounts};
use units::Bytes;

use super::{SIMULATED_KIB, simulated_step};
use crate::exhibit::Cell;
use crate::text::number;
use crate::{Axis, Chart, Claim, Exhibit, Records, Series, Shape, Style, Table};

/// Misses a turn of one level, of two processes that share it, and of one that has it alone.
#[derive(Clone, Copy, Debug)]
struct Misses {
    two: f64,
    one: f64,
}

impl Misses {
    fn gap(self) -> f64 {
        self.two - self.one
    }
}

fn level<'a>(counts: &'a HierarchyCounts, name: &str) -> Option<&'a LevelCounts> {
    counts.levels.iter().chain(&counts.tlbs).find(|level| level.name == name)
}

fn misses(records: &Records, kib: u64, name: &str) -> Result<Misses, String> {
    let (head, findings) = records.simulated(&simulated_step(kib))?;
    let design = findings.designs.first().ok_or("the record has no design")?;
    let turns = (head.trace.voluntary_switches + head.trace.involuntary_switches).max(1) as f64;
    let of = |counts: &HierarchyCounts| {
        let found = level(counts, name).ok_or(format!("the design has no {name}"))?;
        // Loads and fetches: what the poster counts.
        Ok::<f64, String>((found.load_misses + found.instruction_misses) as f64 / turns)
    };
    Ok(Misses { two: of(&design.hierarchies.shared)?, one: of(&design.hierarchies.private)? })
}

const LEVELS: [&str; 3] = ["L1D", "L1I", "DTLB"];

pub(super) fn figure_4(records: &Records) -> Exhibit {
    let mut exhibit =
        Exhibit::new("Figure 4, simulated", "Misses of one task alone and of two in turn on the Xeon D-1541");
    let columns = ["size", "L1D alone", "L1D two", "L1I alone", "L1I two", "DTLB alone", "DTLB two"];
    let mut table = Table::new(&columns);
    let mut lines: Vec<Series> = Vec::new();
    for kib in SIMULATED_KIB {
        let mut row: Vec<Cell> = vec![Bytes::kib(kib).to_string().into()];
        for name in LEVELS {
            let found = misses(records, kib, name);
            let why = found.clone().err().unwrap_or_default();
            row.extend(
                [found.as_ref().ok().map(|m| m.one), found.as_ref().ok().map(|m| m.two)]
                    .map(|n| Cell::or_missing(n, 1, &why)),
            );
        }
        table.row(row);
        exhibit.steps.push(simulated_step(kib));
    }
    for name in LEVELS {
        let points =
            SIMULATED_KIB.iter().filter_map(|kib| Some(((kib * 1024) as f64, misses(records, *kib, name).ok()?.gap())));
        lines.push(Series::new(format!("{name}: two less alone"), Style::Found, points));
    }
    lines.retain(|line| !line.x.is_empty());
    exhibit.table = table;
    exhibit.chart = Some(Chart::new("size of each process's array", Axis::Size, "misses a turn", Axis::Linear, lines));
    exhibit.claims = vec![first_maximum(records), falls(records), tlb(records), instructions(records)];
    exhibit.notes.push(
        "The poster's counters were hardware's and counted the kernel, too. Here the walks alone are simulated.".into(),
    );
    exhibit
}

fn gaps(records: &Records, name: &str) -> Result<Vec<(u64, f64)>, String> {
    let found: Vec<_> = SIMULATED_KIB.iter().map(|kib| (*kib, misses(records, *kib, name))).collect();
    let why = found.iter().find_map(|(_, misses)| misses.clone().err()).unwrap_or_default();
    let gaps: Vec<(u64, f64)> = found.into_iter().filter_map(|(kib, misses)| Some((kib, misses.ok()?.gap()))).collect();
    if gaps.len() < 3 { Err(why) } else { Ok(gaps) }
}

/// What two miss more than one at a size.
fn gap_at(gaps: &[(u64, f64)], kib: u64) -> Result<f64, String> {
    let found = gaps.iter().find(|(size, _)| *size == kib);
    found.map(|(_, gap)| *gap).ok_or_else(|| format!("{} was not simulated", Bytes::kib(kib)))
}

fn first_maximum(records: &Records) -> Claim {
    let outcome = gaps(records, "L1D").and_then(|gaps| {
        gap_at(&gaps, 32)?;
        let (kib, most) =
            gaps.iter().copied().fold((0, f64::NEG_INFINITY), |best, next| if next.1 > best.1 { next } else { best });
        let found = format!("{} misses a turn at {}, more than at any other size", number(most), Bytes::kib(kib));
        Ok((found, Shape::of(kib == 32, "the largest loss is not where one array just fills the cache")))
    });
    Claim::decided(
        "What two tasks miss more than one in the L1D is at its maximum at 32 KB, the cache's capacity",
        outcome,
    )
}

fn falls(records: &Records) -> Claim {
    let outcome = gaps(records, "L1D").and_then(|gaps| {
        let (full, beyond) = (gap_at(&gaps, 32)?, gap_at(&gaps, 64)?);
        let found = format!("{} at 32 KB, {} at 64 KB", number(full), number(beyond));
        Ok((found, Shape::of(beyond < full, "more is lost of an array that never fits")))
    });
    Claim::decided("Beyond 32 KB it decreases: one task alone misses as well", outcome)
}

fn tlb(records: &Records) -> Claim {
    let outcome = gaps(records, "DTLB").and_then(|gaps| {
        let first = gap_at(&gaps, 64)?;
        let (largest, last) = gaps[gaps.len() - 1];
        if largest <= 64 {
            return Err("no size above 64 KiB was simulated".to_owned());
        }
        let found = format!("{} misses a turn at 64 KB, {} at {}", number(first), number(last), Bytes::kib(largest));
        Ok((found, Shape::of(last > first && first > 0.0, "the TLB keeps what both tasks need")))
    });
    Claim::decided("Above 64 KB it is the dTLB whose extra misses grow with the array", outcome)
}

fn instructions(records: &Records) -> Claim {
    let outcome = gaps(records, "L1I").map(|gaps| {
        let ((_, first), (_, last)) = (gaps[0], gaps[gaps.len() - 1]);
        let found = format!("{} misses a turn at the smallest array, {} at the largest", number(first), number(last));
        let why = "the walk is one line of code, and this design's second level does not hold what the first one holds: \
                   the poster's finding is about the kernel's code and an inclusive cache";
        (found, Shape::of(last > first, why))
    });
    Claim::decided("Extra misses of the L1I grow with the array's size", outcome)
}
