use schemars::JsonSchema;
use serde::Serialize;
use switchcost_units::Bytes;

use crate::{Chart, Claim, Outcome};

/// A cell of a table.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
#[serde(untagged)]
pub enum Cell {
    /// The cell has a text.
    Text(String),
    /// A number, with the number of decimals to print.
    Number {
        /// Value of the number, in the unit of its column.
        value: f64,
        /// Number of decimals to print.
        #[serde(skip)]
        decimals: usize,
    },
    /// The number of the cell is missing.
    Missing {
        /// Reason for the missing number.
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

impl From<Bytes> for Cell {
    fn from(size: Bytes) -> Cell {
        Cell::Text(size.to_string())
    }
}

impl Cell {
    pub(crate) fn number(value: f64, decimals: usize) -> Cell {
        Cell::Number { value, decimals }
    }

    /// Creates a cell with three significant digits for a number of a result, or for the reason why
    /// the result is missing.
    pub(crate) fn rounded<T>(found: &Outcome<T>, number: impl FnOnce(&T) -> f64) -> Cell {
        let number = found.as_ref().map(number).map_err(Clone::clone);
        let decimals = number.as_ref().map_or(0, |number| decimals(*number));
        Cell::new(&number, decimals, |number| *number)
    }

    /// Creates a cell for a number of a result, or for the reason why the result is missing.
    pub(crate) fn new<T>(
        found: &Outcome<T>,
        decimals: usize,
        number: impl FnOnce(&T) -> f64,
    ) -> Cell {
        let why = found.as_ref().err().map_or("", String::as_str);
        Cell::or_missing(found.as_ref().ok().map(number), decimals, why)
    }

    pub(crate) fn or_missing(value: Option<f64>, decimals: usize, why: &str) -> Cell {
        match value {
            Some(value) if value.is_finite() => Cell::Number { value, decimals },
            _ => Cell::Missing {
                why: why.to_owned(),
            },
        }
    }
}

/// Returns the number of decimals with which a number has three significant digits; 0 for a whole
/// number.
pub(crate) fn decimals(number: f64) -> usize {
    if number.fract() == 0.0 {
        return 0;
    }
    let digits_before = number.abs().max(1e-3).log10().floor() as i32 + 1;
    usize::try_from(3 - digits_before).unwrap_or(0)
}

/// Published values and those found, point by point.
#[derive(Clone, Debug, Default, PartialEq, JsonSchema, Serialize)]
pub struct Table {
    /// Names of the columns, each with its unit.
    pub columns: Vec<String>,
    /// Rows with a cell for each column.
    pub rows: Vec<Vec<Cell>>,
}

impl Table {
    pub(crate) fn new<C: ToString>(columns: impl IntoIterator<Item = C>) -> Table {
        Table {
            columns: columns.into_iter().map(|name| name.to_string()).collect(),
            rows: Vec::new(),
        }
    }
}

/// The columns of an exhibit without a table.
pub(crate) const NO_COLUMNS: [&str; 0] = [];

/// A published figure or table, with its reproduction.
#[derive(Clone, Debug, Default, PartialEq, JsonSchema, Serialize)]
pub struct Exhibit {
    /// Name in the paper: `Figure 1`, `Table 4`, `section 3.3`.
    pub name: String,
    /// Title of the exhibit.
    pub title: String,
    /// Claims of the paper about the exhibit.
    pub claims: Vec<Claim>,
    /// Values point by point.
    pub table: Table,
    /// Figure of the exhibit; `None` for a table.
    pub chart: Option<Chart>,
    /// Notes on the comparison.
    pub notes: Vec<String>,
    /// Names of the steps whose records were used.
    pub steps: Vec<String>,
}

impl Exhibit {
    pub(crate) fn new<C: ToString>(
        name: &str,
        title: &str,
        columns: impl IntoIterator<Item = C>,
    ) -> Exhibit {
        Exhibit {
            name: name.to_owned(),
            title: title.to_owned(),
            table: Table::new(columns),
            ..Exhibit::default()
        }
    }

    pub(crate) fn row(&mut self, cells: Vec<Cell>) {
        debug_assert_eq!(cells.len(), self.table.columns.len());
        self.table.rows.push(cells);
    }

    pub(crate) fn add_note(&mut self, note: impl Into<String>) {
        self.notes.push(note.into());
    }

    pub(crate) fn add_step(&mut self, name: impl Into<String>) {
        self.steps.push(name.into());
    }
}
