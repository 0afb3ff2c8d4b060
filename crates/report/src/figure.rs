//! Figures as data: what plotly.js draws, and the table that says the same in numbers.

mod axes;
mod drawing;
mod label;
mod marks;
mod treemap;

pub(crate) use axes::{
    edges_axis, linear_axis, list_axis, log_axis, rows_axis, share_axis, size_axis, time_axis,
};
pub(crate) use drawing::{Drawing, GREY, layout, outline, rows_of_bars};
pub(crate) use label::label;
pub(crate) use marks::{Beside, colour, interval_bars, names_of_marks, note, region, upright};
pub(crate) use treemap::{Tile, Treemap};

use crate::grid::Grid;

/// A figure.
#[derive(Clone, Debug)]
pub(crate) struct Figure {
    /// Names it among all figures of a page; made of letters, digits and dashes.
    pub(crate) name: String,
    /// What it shows, in a few words.
    pub(crate) title: String,
    /// How to read it, and what is not in it.
    pub(crate) caption: String,
    /// What is drawn.
    pub(crate) drawing: Drawing,
    /// The same in numbers; `None` where the table that follows has them.
    pub(crate) table: Option<Grid>,
}
