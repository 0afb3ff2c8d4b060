//! Rows of the table that the bench prints.

use comfy_table::{ContentArrangement, Table, presets};

/// Width of the table in characters, so that it can be pasted into text.
const WIDTH: u16 = 160;

/// A row: a figure with its bound, its measured value and its command.
#[derive(Clone, Debug)]
pub(crate) struct Row {
    pub(crate) what: String,
    pub(crate) must_reach: String,
    pub(crate) measured: String,
    /// Whether the figure meets its bound; `None` without a bound or a measured value.
    pub(crate) is_met: Option<bool>,
    pub(crate) command: String,
}

/// A measured value and whether it meets its bound, or the reason why there is no value.
pub(crate) type Found = Result<(String, Option<bool>), String>;

impl Row {
    pub(crate) fn new(
        what: impl Into<String>,
        must_reach: impl Into<String>,
        command: impl Into<String>,
        found: Found,
    ) -> Row {
        let (measured, is_met) = found.unwrap_or_else(|why| (why, None));
        Row {
            what: what.into(),
            must_reach: must_reach.into(),
            measured,
            is_met,
            command: command.into(),
        }
    }
}

pub(crate) fn table(rows: &[Row]) -> Table {
    let mut table = Table::new();
    table
        .load_preset(presets::UTF8_HORIZONTAL_ONLY)
        .set_content_arrangement(ContentArrangement::Dynamic)
        .set_width(WIDTH);
    table.set_header(["what", "must reach", "measured", "met", "command"]);
    for row in rows {
        let is_met = match row.is_met {
            Some(true) => "yes",
            Some(false) => "NO",
            None => "-",
        };
        table.add_row([
            &row.what,
            &row.must_reach,
            &row.measured,
            is_met,
            &row.command,
        ]);
    }
    table
}
