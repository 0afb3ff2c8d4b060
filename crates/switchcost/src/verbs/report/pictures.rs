//! Writes the figures and tables of an HTML page as separate files.

use std::fs;
use std::path::Path;

use switchcost_report::html::Html;

use crate::exit::{Failure, Outcome};
use crate::output::Output;

/// Writes each table as a CSV file and each figure as an SVG file to a folder.
pub(in crate::verbs) fn write(html: &Html, folder: &Path) -> Outcome {
    fs::create_dir_all(folder).map_err(Failure::output(folder))?;
    let tables = html.tables.iter().map(|(name, csv)| (name, "csv", csv));
    let figures = html.figures.iter().map(|(name, svg)| (name, "svg", svg));
    for (name, ending, text) in tables.chain(figures) {
        let file = folder.join(format!("{name}.{ending}"));
        Output::create_in_folder(&file)?.write_bytes(text.as_bytes())?;
    }
    Ok(())
}
