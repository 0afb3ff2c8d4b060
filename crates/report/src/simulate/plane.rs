//! Data for the tables of a sweep over designs: a number of each design over two fields.

use switchcost_analysis::simulation::{Axis, DesignFinding};

use super::designs::cpi;

/// A number of a design that a table shows.
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

/// Two fields of a sweep, with fixed values of all other fields.
pub(super) struct Plane<'a> {
    pub(super) rows: &'a Axis,
    pub(super) columns: &'a Axis,
    /// Fixed values of all fields except `rows` and `columns`, as text.
    pub(super) rest: String,
    /// The cells: row, column, and findings of the design.
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
