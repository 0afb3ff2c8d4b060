//! Figure 4, simulated: misses of one task alone and of two in turn.

use switchcost_design::result::{HierarchyCounts, LevelCounts};
use switchcost_units::Bytes;

use super::{SIMULATED_KIB, simulated_step};
use crate::claims::{Found, Quantities, exact};
use crate::exhibit::Cell;
use crate::text::number;
use crate::{Axis, Chart, Exhibit, Records, Series, Style, Table};

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

pub(super) fn level<'a>(counts: &'a HierarchyCounts, name: &str) -> Option<&'a LevelCounts> {
    counts
        .levels
        .iter()
        .chain(&counts.tlbs)
        .find(|level| level.name == name)
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
    Ok(Misses {
        two: of(&design.hierarchies.shared)?,
        one: of(&design.hierarchies.private)?,
    })
}

const LEVELS: [&str; 3] = ["L1D", "L1I", "DTLB"];

pub(super) fn figure_4(records: &Records) -> Exhibit {
    let mut exhibit = Exhibit::new(
        "Figure 4, simulated",
        "Misses of one task alone and of two in turn on the Xeon D-1541",
    );
    let columns = [
        "size",
        "L1D alone",
        "L1D two",
        "L1I alone",
        "L1I two",
        "DTLB alone",
        "DTLB two",
    ];
    let mut table = Table::new(&columns);
    let mut lines: Vec<Series> = Vec::new();
    for kib in SIMULATED_KIB {
        let mut row: Vec<Cell> = vec![Bytes::kib(kib).to_string().into()];
        for name in LEVELS {
            let found = misses(records, kib, name);
            row.extend([
                Cell::of(&found, 1, |m| m.one),
                Cell::of(&found, 1, |m| m.two),
            ]);
        }
        table.row(row);
        exhibit.steps.push(simulated_step(kib));
    }
    for name in LEVELS {
        let points = SIMULATED_KIB
            .iter()
            .filter_map(|kib| Some(((kib * 1024) as f64, misses(records, *kib, name).ok()?.gap())));
        lines.push(Series::new(
            format!("{name}: two less alone"),
            Style::Found,
            points,
        ));
    }
    lines.retain(|line| !line.x.is_empty());
    exhibit.table = table;
    exhibit.chart = Some(Chart::new(
        "size of each process's array",
        Axis::Size,
        "misses a turn",
        Axis::Linear,
        lines,
    ));
    exhibit.notes.push(
        "The poster's counters were hardware's and counted the kernel, too. Here the walks alone are simulated; with the kernel they are \
         below."
            .into(),
    );
    exhibit
}

fn gaps(records: &Records, name: &str) -> Result<Vec<(u64, f64)>, String> {
    let found: Vec<_> = SIMULATED_KIB
        .iter()
        .map(|kib| (*kib, misses(records, *kib, name)))
        .collect();
    let why = found
        .iter()
        .find_map(|(_, misses)| misses.clone().err())
        .unwrap_or_default();
    let gaps: Vec<(u64, f64)> = found
        .into_iter()
        .filter_map(|(kib, misses)| Some((kib, misses.ok()?.gap())))
        .collect();
    if gaps.len() < 3 { Err(why) } else { Ok(gaps) }
}

/// What two miss more than one at a size.
fn gap_at(gaps: &[(u64, f64)], kib: u64) -> Result<f64, String> {
    let found = gaps.iter().find(|(size, _)| *size == kib);
    found
        .map(|(_, gap)| *gap)
        .ok_or_else(|| format!("{} was not simulated", Bytes::kib(kib)))
}

/// The gap at 32 KiB over the largest at any other size.
fn first_maximum(records: &Records) -> Result<Found, String> {
    let gaps = gaps(records, "L1D")?;
    let full = gap_at(&gaps, 32)?;
    let others = gaps.iter().filter(|(kib, _)| *kib != 32);
    let (kib, most) = others.fold(
        (0, 0.0),
        |best, next| if next.1 > best.1 { *next } else { best },
    );
    let place = if most > 0.0 {
        format!(" ({})", Bytes::kib(kib))
    } else {
        String::new()
    };
    let note = format!(
        "{} misses a turn at 32 KiB, at most {} elsewhere{place}",
        number(full),
        number(most)
    );
    Ok(Found::new(
        vec![exact(
            "gap at 32 KiB less the largest elsewhere",
            full - most,
        )],
        note,
    ))
}

/// Whether one alone exceeds two in turn where an array no longer fits.
fn falls(records: &Records) -> Result<Found, String> {
    let gaps = gaps(records, "L1D")?;
    let (full, beyond) = (gap_at(&gaps, 32)?, gap_at(&gaps, 64)?);
    let note = format!("{} misses a turn more at 32 KiB", number(full));
    Ok(Found::new(
        vec![exact("two less one at 64 KiB", beyond)],
        note,
    ))
}

fn tlb(records: &Records) -> Result<Found, String> {
    let gaps = gaps(records, "DTLB")?;
    let first = gap_at(&gaps, 64)?;
    let (largest, last) = gaps[gaps.len() - 1];
    if largest <= 64 {
        return Err("no size above 64 KiB was simulated".to_owned());
    }
    let note = format!(
        "{} misses a turn at 64 KiB, {} at {}",
        number(first),
        number(last),
        Bytes::kib(largest)
    );
    Ok(Found::new(
        vec![exact(
            "gap at the largest array less that at 64 KiB",
            last - first,
        )],
        note,
    ))
}

pub(super) fn quantities() -> Quantities {
    vec![
        ("simulated-maximum-at-l1", first_maximum),
        ("simulated-falls-beyond", falls),
        ("simulated-dtlb-grows", tlb),
    ]
}
