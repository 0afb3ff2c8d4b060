//! Figures: a chart as data, the picture of it as SVG, and the table that says the same in numbers.

mod chart;
mod colours;
mod draw;
mod label;
mod ruler;

pub(crate) use chart::{Axis, Chart, Look, Mark, Point, Scale, Series, Stretch};
pub(crate) use colours::REST;

use maud::Markup;

use crate::grid::Grid;

/// A figure with its caption and numbers.
#[derive(Clone, Debug)]
pub(crate) struct Figure {
    /// Its unique name on a page, of letters, digits and dashes.
    pub(crate) name: String,
    /// What it shows, in a few words.
    pub(crate) title: String,
    /// How to read it, and what it leaves out.
    pub(crate) caption: String,
    /// The picture: an `svg` element that stands alone or in a page.
    pub(crate) svg: Markup,
    /// Its numbers; `None` if the table that follows has them.
    pub(crate) table: Option<Grid>,
}
