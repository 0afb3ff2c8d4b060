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
    /// Sentences and tables for people; may change with any version.
    #[default]
    Table,
    /// One JSON object with a schema name, for programs.
    Json,
    /// JSON Lines, with one JSON object on each line.
    Jsonl,
    /// One row for each result under one line of names with units, for spreadsheets.
    Csv,
}

/// A report that has every output format.
pub(crate) trait InEveryFormat {
    /// Adds sentences and tables for people to a page.
    fn add_to(&self, page: &mut Page);

    /// Returns the report as one object with a schema's name.
    fn document(&self) -> impl Serialize + JsonSchema;

    /// Returns tables for spreadsheets; most reports have one.
    fn tables(&self) -> Vec<Table>;
}

/// Renders a report as text that ends in a newline.
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
            .collect::<Vec<_>>()
            .join("\n"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_format_prints_and_parses_as_a_flag() {
        for (format, text) in [
            (Format::Table, "table"),
            (Format::Json, "json"),
            (Format::Jsonl, "jsonl"),
            (Format::Csv, "csv"),
        ] {
            assert_eq!(format.to_string(), text);
            assert_eq!(text.parse(), Ok(format));
        }
        assert!("JSON5".parse::<Format>().is_err());
    }
}
