//! Draws the cells of a heat map, and its colour scale.

use maud::{Markup, html};

use super::{Plane, px};
use crate::figure::chart::Chart;
use crate::figure::colours;
use crate::quantity;

impl Plane {
    pub(super) fn cells(
        &self,
        chart: &Chart,
        rows: &[Vec<(Option<f64>, String)>],
        hues: &Hues,
    ) -> Markup {
        html! {
            @for (row, cells) in rows.iter().enumerate() {
                @for (column, (value, text)) in cells.iter().enumerate() {
                    @let (row, column) = (row as f64, column as f64);
                    @let ((x0, y1), (x1, y0)) = (self.at(column - 0.5, row - 0.5), self.at(column + 0.5, row + 0.5));
                    @let hue = value.map_or("none".to_owned(), |value| hues.colour(value));
                    rect x=(px(x0)) y=(px(y0)) width=(px(x1 - x0)) height=(px(y1 - y0)) fill=(hue) pointer-events="all" {
                        title {
                            (chart.x.scale.words(column)) ", " (chart.y.title) ": " (chart.y.scale.words(row)) "\n" (crate::plain::plain(text))
                        }
                    }
                }
            }
        }
    }
}

/// Colour scale of a heat map: the range of the values, and whether the scale is logarithmic.
pub(super) struct Hues {
    is_log: bool,
    from: f64,
    to: f64,
}

impl Hues {
    pub(super) fn new(rows: &[Vec<(Option<f64>, String)>], is_time: bool) -> Self {
        let is_log = is_time;
        let values = || rows.iter().flatten().filter_map(|(value, _)| *value);
        let shown = values().filter(|value| value.is_finite() && (!is_log || *value > 0.0));
        let (from, to) = shown.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| {
            (low.min(value), high.max(value))
        });
        let (from, to) = if from < to {
            (from, to)
        } else {
            (0.9 * from, 1.1 * to)
        };
        Hues { is_log, from, to }
    }

    fn measure(&self, value: f64) -> f64 {
        if self.is_log {
            value.max(f64::MIN_POSITIVE).ln()
        } else {
            value
        }
    }

    fn colour(&self, value: f64) -> String {
        let (from, to) = (self.measure(self.from), self.measure(self.to));
        colours::viridis((self.measure(value) - from) / (to - from))
    }

    /// Draws the colour scale with its labels next to the heat map.
    pub(super) fn scale(&self, width: f64, height: f64) -> Markup {
        const STEPS: usize = 32;
        const NAMED: usize = 8;
        let value = |step: usize| {
            let part = step as f64 / STEPS as f64;
            let (from, to) = (self.measure(self.from), self.measure(self.to));
            let value = from + part * (to - from);
            if self.is_log { value.exp() } else { value }
        };
        let name = if self.is_log {
            quantity::time
        } else {
            quantity::rounded
        };
        let (x, step_height) = (width + 14.0, height / (STEPS + 1) as f64);
        html! {
            @for step in 0..=STEPS {
                @let y = height - step_height * (step + 1) as f64;
                rect x=(px(x)) y=(px(y)) width="16" height=(px(step_height + 0.5)) fill=(self.colour(value(step))) {}
                @if step % NAMED == 0 {
                    text x=(px(x + 22.0)) y=(px(y + step_height / 2.0 + 4.5)) { (name(value(step))) }
                }
            }
        }
    }
}
