//! Writes the verdicts of a comparison as JUnit XML and Markdown files, in addition to the report.

use std::path::PathBuf;

use switchcost_analysis::compare::Comparison;
use switchcost_record::Source;
use switchcost_report::compare::{junit, markdown};

use crate::cli::compare::VerdictFiles;
use crate::exit::Outcome;
use crate::output::Output;
use crate::verbs::report;

/// Additional files for the verdicts of a comparison.
pub(in crate::verbs) struct Verdicts {
    junit: Option<Output>,
    markdown: Option<Output>,
}

impl Verdicts {
    /// Opens the files for the verdicts.
    ///
    /// # Errors
    ///
    /// Returns an error if one of the files is one of the compared records.
    pub(in crate::verbs) fn claim(files: &VerdictFiles, records: &[Source]) -> Outcome<Verdicts> {
        let claim = |path: &Option<PathBuf>| {
            path.as_deref()
                .map(|path| report::claim(records, Some(path)))
                .transpose()
        };
        Ok(Verdicts {
            junit: claim(&files.junit)?,
            markdown: claim(&files.markdown)?,
        })
    }

    pub(in crate::verbs) fn write(self, comparison: &Comparison) -> Outcome {
        self.junit
            .map_or(Ok(()), |output| output.write(&junit(comparison)))?;
        self.markdown
            .map_or(Ok(()), |output| output.write(&markdown(comparison)))
    }
}
