use std::collections::BTreeMap;

use switchcost_analysis::simulation::{DesignFinding, Findings};
use switchcost_design::result::{DesignResult, Simulation};
use switchcost_units::Bytes;

use crate::figure::{Axis, Chart, Look, Point, Scale, Series};
use crate::quantity::share;
use crate::simulate::amount::{ends, with_bound};
use crate::{Grid, Page};

/// Identity of a technology: cycles of the most expensive miss, and the bits of the least and
/// largest time of a cycle. Designs of one technology differ in size only.
type Technology = (u32, Option<[u64; 2]>);

/// Maximum number of designs in the figures of overhead.
const MOST_DESIGNS: usize = 1000;

/// A design simulated under one workload.
struct Design<'a> {
    workload: &'a str,
    finding: &'a DesignFinding,
    /// Sum of the sizes of all caches, in bytes.
    caches_bytes: u64,
    technology: Technology,
}

impl<'a> Design<'a> {
    fn new(workload: &'a str, result: &DesignResult, finding: &'a DesignFinding) -> Self {
        let levels = &result.design.levels;
        let last_misses = levels.iter().map(|level| level.miss_cycles).max();
        Design {
            workload,
            finding,
            caches_bytes: levels
                .iter()
                .fold(0_u64, |sum, level| sum.saturating_add(level.size.0)),
            technology: (
                last_misses.unwrap_or(0),
                finding.cycle_ns.map(|cycle| cycle.map(f64::to_bits)),
            ),
        }
    }

    /// Returns the geometric mean of the least and largest time of a cycle, in ns; `None` if it is
    /// unknown.
    fn cycle_ns(&self) -> Option<f64> {
        let [short, long] = self.finding.cycle_ns?;
        let middle = (short * long).sqrt();
        (middle.is_finite() && middle > 0.0).then_some(middle)
    }

    fn point(&self, x: f64) -> Option<Point> {
        let overhead = self.finding.overhead?;
        Some(Point::new(x, overhead, share(overhead)).with_note(&self.finding.name))
    }
}

/// Adds figures 8 and 9 of Mogul and Borg for one record; nothing if it has a single design.
pub(super) fn add(page: &mut Page, head: &Simulation, findings: &Findings) {
    add_designs(page, &designs("this record", head, findings));
}

/// Adds figures 8 and 9 of Mogul and Borg for several records, with curves for each record.
pub(super) fn add_of_all(page: &mut Page, records: &[(&str, &Simulation, &Findings)]) {
    let all = records
        .iter()
        .flat_map(|(name, head, findings)| designs(name, head, findings));
    add_designs(page, &all.collect::<Vec<_>>());
}

fn designs<'a>(workload: &'a str, head: &'a Simulation, findings: &'a Findings) -> Vec<Design<'a>> {
    let both = head.designs.iter().zip(&findings.designs);
    both.map(|(result, finding)| Design::new(workload, result, finding))
        .collect()
}

fn add_designs(page: &mut Page, designs: &[Design<'_>]) {
    if !(2..=MOST_DESIGNS).contains(&designs.len()) {
        return;
    }
    page.heading(
        "Overhead by design",
        "average cost x switches / all simulated cycles",
    );
    for chart in [chart_by_technology(designs), chart_by_size(designs)] {
        page.figure(|| chart.hide_numbers());
    }
    page.grid(table(designs));
    page.method(["simulated-cost"]);
}

/// Draws figure 8: the overhead by cycle time, with a curve for designs of the same rank in size.
fn chart_by_technology(designs: &[Design<'_>]) -> Chart {
    let mut lines: BTreeMap<(&str, usize), Vec<Point>> = BTreeMap::new();
    for design in designs {
        let is_smaller = |other: &&Design<'_>| {
            (other.workload, other.technology) == (design.workload, design.technology)
                && other.caches_bytes < design.caches_bytes
        };
        let rank = designs.iter().filter(is_smaller).count();
        let point = design.cycle_ns().and_then(|cycle| design.point(cycle));
        lines
            .entry((design.workload, rank))
            .or_default()
            .extend(point);
    }
    let name = |(workload, rank): &(&str, usize)| match rank {
        0 => format!("{workload}, smallest caches"),
        rank => format!("{workload}, size {}", rank + 1),
    };
    let x = Axis::new(Scale::Time, "time of a cycle (faster machines to the left)");
    let (id, title) = ("technology", "Overhead by technology (figure 8)");
    chart(id, title, x, lines, name)
        .caption("Share of all simulated cycles that switches cost. Lines join designs of the same rank in size.")
}

/// Draws figure 9: the overhead by the size of the caches, with a curve for designs of the same
/// technology.
fn chart_by_size(designs: &[Design<'_>]) -> Chart {
    let mut lines: BTreeMap<(&str, Technology), Vec<Point>> = BTreeMap::new();
    for design in designs {
        let line = lines
            .entry((design.workload, design.technology))
            .or_default();
        line.extend(design.point(design.caches_bytes as f64));
    }
    lines.retain(|_, points| points.len() > 1);
    let name = |key: &(&str, Technology)| {
        let like = designs
            .iter()
            .find(|design| (design.workload, design.technology) == *key);
        format!(
            "{}, like {}",
            key.0,
            like.map_or("", |design| &design.finding.name)
        )
    };
    let x = Axis::new(Scale::Size, "all caches together");
    chart("cache-size", "Overhead by cache size (figure 9)", x, lines, name)
        .caption("Share of all simulated cycles that switches cost. Lines join designs that differ only in size.")
}

fn chart<K: Ord>(
    id: &str,
    title: &str,
    x: Axis,
    lines: BTreeMap<K, Vec<Point>>,
    name: impl Fn(&K) -> String,
) -> Chart {
    let series = lines.into_iter().map(|(key, mut points)| {
        points.sort_by(|a, b| a.place().total_cmp(&b.place()));
        Series::new(Look::Line, name(&key), points)
    });
    Chart::new(
        id,
        title,
        x,
        Axis::new(Scale::Share, "overhead (simulated)"),
    )
    .with(series)
}

fn table(designs: &[Design<'_>]) -> Grid {
    let grid = Grid::new(2).left(["workload", "design"]).right([
        "all caches",
        "cycle",
        "cost (cycles)",
        "interval",
        "overhead",
    ]);
    grid.with_rows(designs.iter().map(|design| {
        let cost = &design.finding.average_cost_cycles;
        let cycle = design.finding.cycle_ns.map(|[short, long]| {
            if short == long {
                format!("{short} ns")
            } else {
                format!("{short} to {long} ns")
            }
        });
        [
            design.workload.to_owned(),
            design.finding.name.clone(),
            Bytes(design.caches_bytes).to_string(),
            cycle.unwrap_or_default(),
            with_bound(cost),
            ends(cost),
            share(design.finding.overhead),
        ]
    }))
}
