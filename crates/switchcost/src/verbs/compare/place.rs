//! Outputs of a comparison: text, an HTML page, and a folder of figures.

use std::path::PathBuf;

use switchcost_record::Source;
use switchcost_report::Style;
use switchcost_report::html::Html;

use crate::cli::Verbosity;
use crate::cli::compare::CompareArguments;
use crate::exit::Outcome;
use crate::output::Output;
use crate::verbs::report::{self as verb, pictures};

/// Outputs of a comparison, opened before the records are read.
pub(super) struct Place {
    /// Output of the report; `None` if only figures are requested.
    output: Option<Output>,
    is_page: bool,
    figures: Option<PathBuf>,
    verbosity: Verbosity,
}

impl Place {
    pub(super) fn claim(arguments: &CompareArguments, records: &[Source]) -> Outcome<Place> {
        let CompareArguments {
            figures,
            form,
            verbosity,
            ..
        } = arguments;
        let name = form.output.as_deref();
        let is_wanted = form.is_page() || figures.is_none();
        let output = is_wanted.then(|| verb::claim(records, name)).transpose()?;
        let is_page = form.is_page() || figures.is_some();
        Ok(Place {
            output,
            is_page,
            figures: figures.clone(),
            verbosity: *verbosity,
        })
    }

    pub(super) fn write(
        self,
        text: impl FnOnce(Style) -> String,
        page: impl FnOnce() -> Html,
    ) -> Outcome {
        if !self.is_page {
            return self.output.map_or(Ok(()), |output| {
                let text = text(output.style(self.verbosity));
                output.write(&text)
            });
        }
        let html = page();
        self.output
            .map_or(Ok(()), |output| output.write(&html.page))?;
        self.figures
            .map_or(Ok(()), |folder| pictures::write(&html, &folder))
    }
}
