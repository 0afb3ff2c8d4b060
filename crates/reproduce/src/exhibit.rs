use std::ops::Range;

use serde::Serialize;

use crate::Chart;
use crate::text::number;

/// Whether what a paper shows also shows here.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case", tag = "verdict", content = "why")]
pub enum Shape {
    /// It does.
    Holds,
    /// It does not, and a possible reason, which nothing here has tested.
    Differs(String),
    /// It cannot be told: what is missing.
    NotShown(String),
}

impl Shape {
    /// `Holds` or `Differs`.
    pub fn of(holds: bool, why_not: impl Into<String>) -> Shape {
        if holds { Shape::Holds } else { Shape::Differs(why_not.into()) }
    }

    /// Whether a number lies in a range, where only its interval is known: neither is said where the interval allows both.
    pub(crate) fn of_interval((low, high): (f64, f64), wanted: Range<f64>, why_not: impl Into<String>) -> Shape {
        if wanted.start <= low && high < wanted.end {
            Shape::Holds
        } else if high < wanted.start || wanted.end <= low {
            Shape::Differs(why_not.into())
        } else {
            let ends = [low, high].map(number);
            Shape::NotShown(format!("the interval, {} to {}, allows both; more time would narrow it", ends[0], ends[1]))
        }
    }
}

/// One thing that a paper shows.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Claim {
    /// What the paper shows, as a statement about a shape.
    pub statement: String,
    /// The numbers found here that decide it; empty where there are none.
    pub found: String,
    /// Whether it shows here.
    #[serde(flatten)]
    pub shape: Shape,
}

impl Claim {
    /// A claim that is decided, or not, by numbers: `Err` says what is missing.
    pub(crate) fn decided(statement: &str, outcome: Result<(String, Shape), String>) -> Claim {
        let (found, shape) = outcome.unwrap_or_else(|why| (String::new(), Shape::NotShown(why)));
        Claim { statement: statement.to_owned(), found, shape }
    }
}

/// A cell of a table.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Cell {
    /// Words.
    Text(String),
    /// A number, with so many decimals when it is printed.
    Number {
        /// The number, in the unit of its column.
        value: f64,
        /// Decimals to print.
        #[serde(skip)]
        decimals: usize,
    },
    /// A number that could not be had.
    Missing {
        /// Why.
        why: String,
    },
}

impl From<&str> for Cell {
    fn from(text: &str) -> Cell {
        Cell::Text(text.to_owned())
    }
}

impl From<String> for Cell {
    fn from(text: String) -> Cell {
        Cell::Text(text)
    }
}

impl Cell {
    pub(crate) fn number(value: f64, decimals: usize) -> Cell {
        Cell::Number { value, decimals }
    }

    pub(crate) fn or_missing(value: Option<f64>, decimals: usize, why: &str) -> Cell {
        match value {
            Some(value) if value.is_finite() => Cell::Number { value, decimals },
            _ => Cell::Missing { why: why.to_owned() },
        }
    }
}

/// Values point by point, published and found.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Table {
    /// Names of the columns, each with its unit.
    pub columns: Vec<String>,
    /// Rows with a cell for each column.
    pub rows: Vec<Vec<Cell>>,
}

impl Table {
    pub(crate) fn new(columns: &[&str]) -> Table {
        Table { columns: columns.iter().map(|&name| name.to_owned()).collect(), rows: Vec::new() }
    }

    pub(crate) fn row(&mut self, cells: Vec<Cell>) {
        debug_assert_eq!(cells.len(), self.columns.len());
        self.rows.push(cells);
    }
}

/// One published figure or table, redone.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Exhibit {
    /// Its name in the paper: `Figure 1`, `Table 4`, `section 3.3`.
    pub name: String,
    /// What it shows.
    pub title: String,
    /// What the paper shows there, and whether it shows here.
    pub claims: Vec<Claim>,
    /// Point by point.
    pub table: Table,
    /// The figure; none where the paper has a table.
    pub chart: Option<Chart>,
    /// What to know when the two are compared.
    pub notes: Vec<String>,
    /// Names of the steps whose records are behind it.
    pub steps: Vec<String>,
}

impl Exhibit {
    pub(crate) fn new(name: &str, title: &str) -> Exhibit {
        Exhibit {
            name: name.to_owned(),
            title: title.to_owned(),
            claims: Vec::new(),
            table: Table::default(),
            chart: None,
            notes: Vec::new(),
            steps: Vec::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_an_interval_leaves_open_is_not_said() {
        let shape = |interval| Shape::of_interval(interval, 1.5..3.0, "because");
        assert_eq!(shape((1.6, 2.9)), Shape::Holds);
        assert_eq!(shape((3.0, 9.0)), Shape::Differs("because".to_owned()));
        assert_eq!(shape((0.9, 1.4)), Shape::Differs("because".to_owned()));
        for open in [(1.0, 2.0), (2.0, 4.0), (1.0, 4.0), (f64::NAN, 2.0)] {
            assert!(matches!(shape(open), Shape::NotShown(_)), "{open:?}");
        }
    }
}
