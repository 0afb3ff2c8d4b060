use itertools::Itertools;
use schemars::JsonSchema;
use serde::Serialize;
use strum::{Display, EnumIter, EnumString};

use crate::for_programs::{Table, csv, json, json_line};
use crate::page::Page;
use crate::style::Style;

/// Output format of a report.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Display, EnumIter, EnumString)]
#[strum(serialize_all = "kebab-case")]
pub enum Format {
    /// Sentences and tables for people. The layout may change with any version of the program.
    #[default]
    Table,
    /// One JSON object, which names its schema.
    Json,
    /// JSON Lines, with one JSON object on each line.
    Jsonl,
    /// CSV for spreadsheets: one line of column names with units, then a row for each result.
    Csv,
}

/// A report that can be rendered in every output format.
pub(crate) trait InEveryFormat {
    /// Adds the report to a page as sentences and tables for people.
    fn add_to(&self, page: &mut Page);

    /// Returns the report as one JSON object with the name of its schema.
    fn document(&self) -> impl Serialize + JsonSchema;

    /// Returns the report as CSV tables. Most reports have one table.
    fn tables(&self) -> Vec<Table>;
}

/// Renders a report in one format, as text that ends in a newline.
pub(crate) fn written(report: &impl InEveryFormat, format: Format, style: Style) -> String {
    match format {
        Format::Table => {
            let mut page = Page::new(style);
            report.add_to(&mut page);
            page.finish()
        }
        Format::Json => json(&report.document()),
        Format::Jsonl => json_line(&report.document()),
        Format::Csv => report
            .tables()
            .into_iter()
            .map(|rows| csv(rows.into_iter()))
            .join("\n"),
    }
}
