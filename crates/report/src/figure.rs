//! Figures as data: what plotly.js draws, and the table that says the same in numbers.

mod axes;
mod chart;
mod draw;
mod drawing;
mod label;
mod marks;
mod treemap;

pub(crate) use chart::{Axis, Chart, Look, Mark, Point, Scale, Series, Stretch};
pub(crate) use drawing::Drawing;
pub(crate) use marks::REST;
pub(crate) use treemap::{Tile, tiles};

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
    /// The same in numbers; `None` if the table that follows has them.
    pub(crate) table: Option<Grid>,
}
