//! Draws the legend: a name and a sign for each series.

use maud::{Markup, html};

use super::{LETTER, WIDTH, mark, number, px};
use crate::figure::chart::{Kind, Look, Series};
use crate::figure::colours;
use crate::figure::label::label;

/// An entry of the legend: a series and the number of its colour.
pub(super) struct Entry<'a> {
    series: &'a Series,
    number: usize,
}

/// Returns the entries of the legend, one for each name; empty if all series have the same name.
pub(super) fn legend(series: &[Series]) -> Vec<Entry<'_>> {
    let drawn: Vec<&Series> = series.iter().filter(|series| series.is_drawn()).collect();
    let mut entries: Vec<Entry<'_>> = Vec::new();
    for series in &drawn {
        let name = series.listed_name();
        if !entries
            .iter()
            .any(|entry| entry.series.listed_name() == name)
        {
            let number = if series.kind.is_empty() {
                number(&drawn, series)
            } else {
                colours::REST
            };
            entries.push(Entry { series, number });
        }
    }
    // Entries for kinds of series follow those for single series.
    entries.sort_by_key(|entry| !entry.series.kind.is_empty());
    if entries.len() < 2 {
        Vec::new()
    } else {
        entries
    }
}

/// Returns for each entry of the legend its row, and its left and right end in pixels.
pub(super) fn legend_rows(entries: &[Entry<'_>]) -> Vec<(f64, f64, f64)> {
    let mut rows: Vec<(f64, f64, f64)> = Vec::new();
    for entry in entries {
        let width = 48.0 + 1.15 * LETTER * label(entry.series.listed_name()).chars().count() as f64;
        let (row, x) = rows.last().map_or((0.0, 0.0), |(row, _, end)| (*row, *end));
        let (row, x) = if x + width > WIDTH - 140.0 {
            (row + 1.0, 0.0)
        } else {
            (row, x)
        };
        rows.push((row, x, x + width));
    }
    rows
}

impl Entry<'_> {
    pub(super) fn markup(&self, x: f64, y: f64) -> Markup {
        let hue = match self.series.look {
            Look::Range | Look::Band => "currentColor",
            Look::Crosses => colours::LEFT_OUT,
            _ => colours::of_series(self.number),
        };
        let is_dashed = self.series.look == Look::Dashed || self.number >= colours::SERIES.len();
        html! {
            @match self.series.look {
                Look::Bars | Look::Area | Look::Band => {
                    rect x=(px(x)) y=(px(y - 5.0)) width="22" height="10" fill=(hue) fill-opacity="0.8" {}
                }
                Look::Line | Look::Dashed | Look::Range => {
                    path d={ "M" (px(x)) " " (px(y)) "h22" } stroke=(hue) stroke-width="1.6" stroke-dasharray=[is_dashed.then_some("6 4")] {}
                }
                Look::Dots | Look::Cloud | Look::Crosses => {
                    (mark(Kind::Usual, Look::Dots, self.number, x + 11.0, y))
                }
            }
            text x=(px(x + 28.0)) y=(px(y + 4.5)) { (label(self.series.listed_name())) }
        }
    }
}
