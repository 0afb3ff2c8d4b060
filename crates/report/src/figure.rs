//! Figures: a chart as data, its picture as SVG, and a table of its numbers.

mod chart;
mod colours;
mod draw;
mod label;
mod ruler;

pub(crate) use chart::{Axis, Chart, Look, Mark, Point, Scale, Series, Stretch};
pub(crate) use colours::REST;

use maud::Markup;

use crate::Grid;

/// A figure with its caption and numbers.
#[derive(Clone, Debug)]
pub(crate) struct Figure {
    /// Identifier that is unique on the page, of letters, digits and dashes.
    pub(crate) name: String,
    /// Title of a few words.
    pub(crate) title: String,
    /// Caption that explains how to read the figure, and what it leaves out.
    pub(crate) caption: String,
    /// The picture: an `svg` element that works in a page or as a file.
    pub(crate) svg: Markup,
    /// Table of the figure's numbers; `None` if another table of the section has them.
    pub(crate) table: Option<Grid>,
}
