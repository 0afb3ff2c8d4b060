//! Content of a sweep's tables: numbers of designs, on planes of two axes.

use switchcost_analysis::simulation::{Axis, DesignFinding};

use super::designs::cpi;

/// A kind of number of a design.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Number {
    Cpi,
    /// Misses per thousand instructions in a level.
    Mpki(String),
}

impl Number {
    pub(super) fn name(&self) -> String {
        match self {
            Number::Cpi => "CPI".to_owned(),
            Number::Mpki(level) => format!("{level} MPKI"),
        }
    }

    pub(super) fn value(&self, design: &DesignFinding) -> Option<f64> {
        match self {
            Number::Cpi => cpi(design),
            Number::Mpki(level) => {
                let found = design.levels.iter().find(|found| found.level == *level)?;
                found.mpki.as_ref().map(|mpki| mpki.shared)
            }
        }
    }
}

/// Two axes of a sweep, with one value of each other axis.
pub(super) struct Plane<'a> {
    pub(super) rows: &'a Axis,
    pub(super) columns: &'a Axis,
    /// Values of the other axes, in words.
    pub(super) rest: String,
    /// Cells, each with row, column and design.
    pub(super) cells: Vec<(usize, usize, &'a DesignFinding)>,
}

impl Plane<'_> {
    pub(super) fn finding(&self, row: usize, column: usize) -> Option<&DesignFinding> {
        self.cells
            .iter()
            .find(|(r, c, _)| (*r, *c) == (row, column))
            .map(|(_, _, design)| *design)
    }
}
