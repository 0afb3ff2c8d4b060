use std::collections::BTreeMap;

use plotly::layout::Axis;
use switchcost_analysis::simulation::{DesignFinding, Findings};
use switchcost_design::result::{DesignResult, Simulation};
use switchcost_units::Bytes;

use super::series::{Point, line};
use crate::figure::{Drawing, Figure, layout, share_axis, size_axis, time_axis};
use crate::grid::Grid;
use crate::page::Page;
use crate::simulate::amount::{ends, share, with_bound};

/// Cycles of the dearest miss, and the shortest and longest cycle as bits of their numbers, which have an order: designs of
/// one technology differ in size alone.
type Technology = (u32, Option<[u64; 2]>);

/// Of more designs a figure shows nothing any more.
const MOST_DESIGNS: usize = 1000;

/// One design under one workload.
struct Design<'a> {
    workload: &'a str,
    finding: &'a DesignFinding,
    /// All caches together.
    caches_bytes: u64,
    technology: Technology,
}

impl<'a> Design<'a> {
    fn of(workload: &'a str, result: &DesignResult, finding: &'a DesignFinding) -> Self {
        let levels = &result.design.levels;
        let caches_bytes = levels
            .iter()
            .fold(0_u64, |sum, level| sum.saturating_add(level.size.0));
        let last_misses = levels
            .iter()
            .map(|level| level.miss_cycles)
            .max()
            .unwrap_or(0);
        let technology = (
            last_misses,
            finding.cycle_ns.map(|cycle| cycle.map(f64::to_bits)),
        );
        Design {
            workload,
            finding,
            caches_bytes,
            technology,
        }
    }

    /// The middle of the range of its cycle time, on a logarithmic scale.
    fn cycle_ns(&self) -> Option<f64> {
        let [short, long] = self.finding.cycle_ns?;
        let middle = (short * long).sqrt();
        (middle.is_finite() && middle > 0.0).then_some(middle)
    }

    fn hover(&self) -> String {
        let (workload, design) = (
            crate::figure::label(self.workload),
            crate::figure::label(&self.finding.name),
        );
        format!(
            "{workload}<br>{design}: {} of all simulated cycles",
            share(self.finding.overhead)
        )
    }
}

/// Figures 8 and 9 of the paper where one record holds several designs.
pub(super) fn add(page: &mut Page, head: &Simulation, findings: &Findings) {
    add_designs(page, &designs("this record", head, findings));
}

/// The same over several records, a curve for each.
pub(crate) fn add_of_all(page: &mut Page, records: &[(&str, &Simulation, &Findings)]) {
    let all = records
        .iter()
        .flat_map(|(name, head, findings)| designs(name, head, findings));
    add_designs(page, &all.collect::<Vec<_>>());
}

fn designs<'a>(workload: &'a str, head: &'a Simulation, findings: &'a Findings) -> Vec<Design<'a>> {
    head.designs
        .iter()
        .zip(&findings.designs)
        .map(|(result, finding)| Design::of(workload, result, finding))
        .collect()
}

fn add_designs(page: &mut Page, designs: &[Design<'_>]) {
    if !(2..=MOST_DESIGNS).contains(&designs.len()) {
        return;
    }
    page.heading(
        "Overhead by design",
        "average cost times switches over all simulated cycles",
    );
    page.figure(|| by_technology(designs));
    page.figure(|| by_size(designs));
    page.grid(&table(designs));
    page.method(&["simulated-cost"]);
}

/// Figure 8: designs of the same rank in size, over the time of a cycle.
fn by_technology(designs: &[Design<'_>]) -> Option<Figure> {
    let mut lines: BTreeMap<(&str, usize), Vec<Point>> = BTreeMap::new();
    for design in designs {
        let is_alike = |other: &&Design<'_>| {
            (other.workload, other.technology) == (design.workload, design.technology)
                && other.caches_bytes < design.caches_bytes
        };
        let rank = designs.iter().filter(is_alike).count();
        if let (Some(cycle_ns), Some(overhead)) = (design.cycle_ns(), design.finding.overhead) {
            lines.entry((design.workload, rank)).or_default().push((
                cycle_ns / 1e9,
                overhead,
                design.hover(),
            ));
        }
    }
    let name = |(workload, rank): &(&str, usize)| match rank {
        0 => format!("{workload}, smallest caches"),
        rank => format!("{workload}, size {}", rank + 1),
    };
    let axis = time_axis("time of a cycle (faster machines to the left)");
    figure(
        lines,
        name,
        axis,
        "technology",
        "Overhead by technology (figure 8)",
        "Designs of the same rank in size, joined.",
    )
}

/// Figure 9: designs of one technology, over the size of their caches.
fn by_size(designs: &[Design<'_>]) -> Option<Figure> {
    let mut lines: BTreeMap<(&str, Technology), Vec<Point>> = BTreeMap::new();
    for design in designs {
        if let Some(overhead) = design.finding.overhead {
            let point = (design.caches_bytes as f64, overhead, design.hover());
            lines
                .entry((design.workload, design.technology))
                .or_default()
                .push(point);
        }
    }
    lines.retain(|_, points| points.len() > 1);
    let like = |key: &(&str, Technology)| {
        designs
            .iter()
            .find(|design| (design.workload, design.technology) == *key)
            .map_or("", |d| &d.finding.name)
    };
    let name = |key: &(&str, Technology)| format!("{}, like {}", key.0, like(key));
    let sizes: Vec<u64> = designs.iter().map(|design| design.caches_bytes).collect();
    let axis = size_axis("all caches together", &sizes);
    figure(
        lines,
        name,
        axis,
        "cache-size",
        "Overhead by cache size (figure 9)",
        "Designs that differ in size alone, joined.",
    )
}

fn figure<K: Ord>(
    lines: BTreeMap<K, Vec<Point>>,
    name: impl Fn(&K) -> String,
    x_axis: Axis,
    short: &str,
    title: &str,
    caption: &str,
) -> Option<Figure> {
    let curves = lines
        .into_iter()
        .enumerate()
        .map(|(number, (key, mut points))| {
            points.sort_by(|a, b| a.0.total_cmp(&b.0));
            line(number, &name(&key), points.into_iter())
        });
    let traces: Vec<_> = curves.collect();
    (!traces.is_empty()).then(|| Figure {
        name: short.to_owned(),
        title: title.to_owned(),
        caption: format!("{caption} Share of all simulated cycles that switches cost."),
        drawing: Drawing::new(
            traces,
            layout()
                .x_axis(x_axis)
                .y_axis(share_axis("overhead (simulated)")),
        ),
        table: None,
    })
}

fn table(designs: &[Design<'_>]) -> Grid {
    let mut grid = Grid::new(2).left(["workload", "design"]).right([
        "all caches",
        "cycle",
        "cost (cycles)",
        "interval",
        "overhead",
    ]);
    for design in designs {
        let cost = &design.finding.average_cost_cycles;
        let cycle = design.finding.cycle_ns.map(|[a, b]| {
            if a == b {
                format!("{a} ns")
            } else {
                format!("{a} to {b} ns")
            }
        });
        grid.row(vec![
            design.workload.into(),
            design.finding.name.as_str().into(),
            Bytes(design.caches_bytes).to_string().into(),
            cycle.unwrap_or_default().into(),
            with_bound(cost).into(),
            ends(cost).into(),
            share(design.finding.overhead).into(),
        ]);
    }
    grid
}
