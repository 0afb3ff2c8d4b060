//! Results of the papers from other days or machines.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use switchcost_record::Source;
use switchcost_reproduce::{Earlier, Paper};

use crate::exit::{Failure, Outcome};

/// Results from other days or machines, by paper.
pub(super) struct Others(BTreeMap<Paper, Vec<Earlier>>);

impl Others {
    /// Reads results from files that `reproduce` wrote. Each file must have one of the wanted
    /// papers.
    pub(super) fn read(files: &[PathBuf], papers: &[Paper]) -> Outcome<Others> {
        let mut others: BTreeMap<Paper, Vec<Earlier>> = BTreeMap::new();
        for file in files {
            let (paper, earlier) = one(file, papers)?;
            others.entry(paper).or_default().push(earlier);
        }
        Ok(Others(others))
    }

    pub(super) fn results(&self, paper: Paper) -> &[Earlier] {
        self.0.get(&paper).map_or(&[], Vec::as_slice)
    }
}

/// Reads the result of the first wanted paper in a file.
fn one(file: &Path, papers: &[Paper]) -> Outcome<(Paper, Earlier)> {
    let failure = |why: String| {
        Failure::broken(format!(
            "cannot read another result, {}: {why}; name a PAPER.json that reproduce wrote",
            file.display()
        ))
    };
    let text = Source::named(file)
        .read_text()
        .map_err(|error| failure(format!("it cannot be read ({error})")))?;
    let mut why = "it has no paper".to_owned();
    for paper in papers {
        match Earlier::read(&file.display().to_string(), &text, *paper) {
            Ok(earlier) => return Ok((*paper, earlier)),
            Err(error) => why = error.to_string(),
        }
    }
    Err(failure(why))
}
