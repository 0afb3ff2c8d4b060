use plotly::HeatMap;
use plotly::common::{ColorBar, ColorScale, ColorScalePalette};
use switchcost_analysis::{CaseFinding, Findings};
use switchcost_record::Case;
use switchcost_units::Bytes;
use switchcost_workload::WorkingSet;

use crate::entry::Entry;
use crate::figure::{Drawing, Figure, layout, list_axis};
use crate::grid::Grid;
use crate::measure::conditions::label;
use crate::measure::row::{has_numbers, tone};
use crate::page::Page;
use crate::quantity::{is_cost, with_interval};

/// A plan of more sizes and strides is no grid.
const MOST_CELLS: usize = 10_000;

/// What is drawn against the size.
#[derive(Clone, Copy)]
struct Second {
    name: &'static str,
    /// What its figures are called.
    figures: &'static str,
    heading: &'static str,
    method: &'static str,
    of: fn(&Case) -> Option<Bytes>,
    /// The case without it.
    erased: fn(Case) -> Case,
}

const STRIDE: Second = Second {
    name: "stride",
    figures: "strides",
    heading: "Size and stride",
    method: "total-and-indirect-cost",
    of: |case| {
        Some(case.working_set.stride_bytes)
            .filter(|_| case.away.is_none() && case.mechanism.hands_over())
    },
    erased: |case| Case {
        working_set: WorkingSet {
            stride_bytes: Bytes(0),
            ..case.working_set
        },
        ..case
    },
};

/// My footprint, and the neighbour's.
const AWAY: Second = Second {
    name: "away",
    figures: "footprints",
    heading: "Own size and what is touched meanwhile",
    method: "reload",
    of: |case| case.away,
    erased: |case| Case { away: None, ..case },
};

/// The total cost by size and stride, and by what the others touch, wherever there are at least two of each.
pub(super) fn add(page: &mut Page, findings: &Findings) {
    if !page.has_figures() {
        return;
    }
    for second in [STRIDE, AWAY] {
        let maps = maps(findings, second)
            .into_iter()
            .filter(Map::is_worth_drawing);
        for (number, map) in maps.enumerate() {
            page.heading(second.heading, &label(&map.like));
            page.figure(|| Some(map.draw(number)));
            page.method(&[second.method]);
        }
    }
}

/// Results that differ in size and the second condition alone.
struct Map<'a> {
    like: Case,
    second: Second,
    sizes: Vec<Bytes>,
    seconds: Vec<Bytes>,
    members: Vec<&'a CaseFinding>,
}

fn maps(findings: &Findings, second: Second) -> Vec<Map<'_>> {
    let mut maps: Vec<Map<'_>> = Vec::new();
    let has_both = |finding: &&CaseFinding| {
        !finding.case.working_set.is_empty() && (second.of)(&finding.case).is_some()
    };
    for finding in findings.results.iter().filter(has_both) {
        let set = WorkingSet {
            size_bytes: Bytes(0),
            ..finding.case.working_set
        };
        let like = (second.erased)(Case {
            working_set: set,
            ..finding.case.clone()
        });
        match maps.iter_mut().find(|map| map.like == like) {
            Some(map) => map.members.push(finding),
            None => maps.push(Map {
                like,
                second,
                sizes: Vec::new(),
                seconds: Vec::new(),
                members: vec![finding],
            }),
        }
    }
    for map in &mut maps {
        let all = |value: &dyn Fn(&Case) -> Option<Bytes>| {
            let mut values: Vec<Bytes> = map
                .members
                .iter()
                .filter_map(|finding| value(&finding.case))
                .collect();
            values.sort_unstable();
            values.dedup();
            values
        };
        let (sizes, seconds) = (
            all(&|case| Some(case.working_set.size_bytes)),
            all(&second.of),
        );
        (map.sizes, map.seconds) = (sizes, seconds);
    }
    maps
}

impl Map<'_> {
    fn is_worth_drawing(&self) -> bool {
        let (sizes, seconds) = (self.sizes.len(), self.seconds.len());
        // No more results than sizes, or seconds, make a line.
        let is_grid = self.members.len() > sizes.max(seconds);
        sizes > 1 && seconds > 1 && is_grid && sizes.saturating_mul(seconds) <= MOST_CELLS
    }

    fn at(&self, size: Bytes, second: Bytes) -> Option<&CaseFinding> {
        let is_there = |f: &&&CaseFinding| {
            f.case.working_set.size_bytes == size && (self.second.of)(&f.case) == Some(second)
        };
        self.members.iter().find(is_there).copied()
    }

    /// The logarithm of the cost; nothing where there is none distinguishable from 0.
    fn height(&self, size: Bytes, second: Bytes) -> Option<f64> {
        let finding = self
            .at(size, second)
            .filter(|finding| has_numbers(finding))?;
        let total = finding.total_ns.as_ref().filter(|total| is_cost(total))?;
        Some(total.estimate.log10())
    }

    fn text(&self, size: Bytes, second: Bytes) -> String {
        let finding = self.at(size, second);
        finding
            .and_then(|finding| finding.total_ns.as_ref())
            .map(with_interval)
            .unwrap_or("not measured".to_owned())
    }

    fn draw(&self, number: usize) -> Figure {
        let rows = |cell: &dyn Fn(Bytes, Bytes) -> String| -> Vec<Vec<String>> {
            self.seconds
                .iter()
                .map(|second| self.sizes.iter().map(|size| cell(*size, *second)).collect())
                .collect()
        };
        let heights: Vec<Vec<Option<f64>>> = self
            .seconds
            .iter()
            .map(|second| {
                self.sizes
                    .iter()
                    .map(|size| self.height(*size, *second))
                    .collect()
            })
            .collect();
        let name = self.second.name;
        let hover =
            rows(&|size, second| format!("{size}, {name} {second}<br>{}", self.text(size, second)));
        let trace = HeatMap::new_z(heights)
            .hover_text_matrix(hover)
            .hover_template("%{hovertext}<extra></extra>")
            .hover_on_gaps(true)
            .color_scale(ColorScale::Palette(ColorScalePalette::Viridis))
            .color_bar(
                ColorBar::new()
                    .tick_vals((0..10).map(f64::from).collect())
                    .tick_text(decades()),
            );
        let names = |values: &[Bytes]| values.iter().map(Bytes::to_string).collect::<Vec<_>>();
        let layout = layout()
            .x_axis(list_axis("size of each task's array", &names(&self.sizes)).tick_angle(-40.0))
            .y_axis(list_axis(name, &names(&self.seconds)));
        Figure {
            name: format!("{}-{}", self.second.figures, number + 1),
            title: format!("Total cost by size and {name}"),
            caption:
                "Total cost of a switch, on a logarithmic scale. A gap: not measured, or not distinguishable from 0; \
                      the pointer and the table say which."
                    .to_owned(),
            drawing: Drawing::new(vec![trace], layout),
            table: Some(self.table()),
        }
    }

    fn table(&self) -> Grid {
        let mut grid = Grid::new(1).right(["size"]).right(
            self.seconds
                .iter()
                .map(|second| format!("{} {second}", self.second.name)),
        );
        for size in &self.sizes {
            let cell = |second: &Bytes| {
                self.at(*size, *second).map_or_else(Entry::default, |f| {
                    Entry::new(self.text(*size, *second), tone(f))
                })
            };
            grid.row(
                std::iter::once(Entry::from(size.to_string()))
                    .chain(self.seconds.iter().map(cell))
                    .collect(),
            );
        }
        grid
    }
}

/// 1 ns, 10 ns and so on, by their exponent.
fn decades() -> Vec<String> {
    (0..10)
        .map(|exponent| crate::quantity::time(10_f64.powi(exponent)))
        .collect()
}
