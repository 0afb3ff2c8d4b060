use analysis::{CaseFinding, Findings};
use plotly::HeatMap;
use plotly::common::{ColorBar, ColorScale, ColorScalePalette};
use record::Case;
use units::Bytes;
use workload::WorkingSet;

use crate::entry::{Entry, Side};
use crate::figure::{Drawing, Figure, layout, list_axis};
use crate::grid::Grid;
use crate::measure::conditions::label;
use crate::measure::row::{has_numbers, tone};
use crate::page::Page;
use crate::quantity::{is_cost, with_interval};

/// A plan of more sizes and strides is no grid.
const MOST_CELLS: usize = 10_000;

/// The total cost by size and stride, wherever there are at least two of each.
pub(super) fn add(page: &mut Page, findings: &Findings) {
    if !page.has_figures() {
        return;
    }
    let maps = maps(findings).into_iter().filter(Map::is_worth_drawing);
    for (number, map) in maps.enumerate() {
        page.heading("Size and stride", &label(&map.like));
        page.figure(|| Some(map.draw(number)));
        page.method(&["total-and-indirect-cost"]);
    }
}

/// Results that differ in size and stride alone.
struct Map<'a> {
    like: Case,
    sizes: Vec<Bytes>,
    strides: Vec<Bytes>,
    members: Vec<&'a CaseFinding>,
}

fn maps(findings: &Findings) -> Vec<Map<'_>> {
    let mut maps: Vec<Map<'_>> = Vec::new();
    for finding in findings.results.iter().filter(|finding| !finding.case.working_set.is_empty()) {
        let set = WorkingSet { size_bytes: Bytes(0), stride_bytes: Bytes(0), ..finding.case.working_set };
        let like = Case { working_set: set, ..finding.case.clone() };
        match maps.iter_mut().find(|map| map.like == like) {
            Some(map) => map.members.push(finding),
            None => maps.push(Map { like, sizes: Vec::new(), strides: Vec::new(), members: vec![finding] }),
        }
    }
    for map in &mut maps {
        let all = |value: fn(&CaseFinding) -> Bytes| {
            let mut values: Vec<Bytes> = map.members.iter().map(|finding| value(finding)).collect();
            values.sort_unstable();
            values.dedup();
            values
        };
        let (sizes, strides) = (all(|f| f.case.working_set.size_bytes), all(|f| f.case.working_set.stride_bytes));
        (map.sizes, map.strides) = (sizes, strides);
    }
    maps
}

impl Map<'_> {
    fn is_worth_drawing(&self) -> bool {
        let (sizes, strides) = (self.sizes.len(), self.strides.len());
        sizes > 1 && strides > 1 && sizes.saturating_mul(strides) <= MOST_CELLS
    }

    fn at(&self, size: Bytes, stride: Bytes) -> Option<&CaseFinding> {
        let set =
            |f: &&&CaseFinding| (f.case.working_set.size_bytes, f.case.working_set.stride_bytes) == (size, stride);
        self.members.iter().find(set).copied()
    }

    /// The logarithm of the cost; nothing where there is none to be told from 0.
    fn height(&self, size: Bytes, stride: Bytes) -> Option<f64> {
        let finding = self.at(size, stride).filter(|finding| has_numbers(finding))?;
        let total = finding.total_ns.as_ref().filter(|total| is_cost(total))?;
        Some(total.estimate.log10())
    }

    fn text(&self, size: Bytes, stride: Bytes) -> String {
        let finding = self.at(size, stride);
        finding.and_then(|finding| finding.total_ns.as_ref()).map(with_interval).unwrap_or("not measured".to_owned())
    }

    fn draw(&self, number: usize) -> Figure {
        let rows = |cell: &dyn Fn(Bytes, Bytes) -> String| -> Vec<Vec<String>> {
            self.strides.iter().map(|stride| self.sizes.iter().map(|size| cell(*size, *stride)).collect()).collect()
        };
        let heights: Vec<Vec<Option<f64>>> = self
            .strides
            .iter()
            .map(|stride| self.sizes.iter().map(|size| self.height(*size, *stride)).collect())
            .collect();
        let hover = rows(&|size, stride| format!("{size}, stride {stride}<br>{}", self.text(size, stride)));
        let trace = HeatMap::new_z(heights)
            .hover_text_matrix(hover)
            .hover_template("%{hovertext}<extra></extra>")
            .hover_on_gaps(true)
            .color_scale(ColorScale::Palette(ColorScalePalette::Viridis))
            .color_bar(ColorBar::new().tick_vals((0..10).map(f64::from).collect()).tick_text(decades()));
        let names = |values: &[Bytes]| values.iter().map(Bytes::to_string).collect::<Vec<_>>();
        let layout = layout()
            .x_axis(list_axis("size of each task's array", &names(&self.sizes)).tick_angle(-40.0))
            .y_axis(list_axis("stride", &names(&self.strides)));
        Figure {
            name: format!("strides-{}", number + 1),
            title: "Total cost by size and stride".to_owned(),
            caption:
                "Total cost of a switch, on a logarithmic scale. A gap: not measured, or not distinguishable from 0; \
                      the pointer and the table say which."
                    .to_owned(),
            drawing: Drawing::new(vec![trace], layout),
            table: Some(self.table()),
        }
    }

    fn table(&self) -> Grid {
        let mut grid = Grid::new(1);
        grid.column("size", Side::Right);
        self.strides.iter().for_each(|stride| grid.column(format!("stride {stride}"), Side::Right));
        for size in &self.sizes {
            let cell = |stride: &Bytes| {
                self.at(*size, *stride).map_or_else(Entry::default, |f| Entry::new(self.text(*size, *stride), tone(f)))
            };
            grid.row(std::iter::once(Entry::from(size.to_string())).chain(self.strides.iter().map(cell)).collect());
        }
        grid
    }
}

/// 1 ns, 10 ns and so on, by their exponent.
fn decades() -> Vec<String> {
    (0..10).map(|exponent| crate::quantity::time(10_f64.powi(exponent))).collect()
}
