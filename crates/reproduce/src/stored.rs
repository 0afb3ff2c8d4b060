//! A stored result of a paper (`PAPER.json`), whose numbers are judged again by the present table
//! of claims.

use serde::Deserialize;

use crate::claims::{Claim, Entry, Found, ReasonEntry, Setting, Term, judge_numbers, table};
use crate::exhibit::decimals;
use crate::{Cell, Chart, Exhibit, Outcome, Paper, Records, Table};

/// Reason why a file cannot be used as a result of a paper.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EarlierError {
    /// The file has another format; the text says why.
    Form(String),
    /// The file has no result of the wanted paper.
    Paper(Paper),
}

impl std::fmt::Display for EarlierError {
    fn fmt(&self, to: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            EarlierError::Form(why) => {
                write!(to, "this is no JSON of reproduce ({why})")
            }
            EarlierError::Paper(paper) => {
                write!(to, "this is no result of {paper}")
            }
        }
    }
}

impl std::error::Error for EarlierError {}

/// A stored result of a paper, with verdicts by the present rules, and present titles and notes.
#[derive(Clone, Debug, PartialEq)]
pub struct Stored {
    /// Machine of the stored result, in one line.
    pub machine: String,
    /// The paper's figures and tables with the stored numbers.
    pub exhibits: Vec<Exhibit>,
}

impl Stored {
    /// Reads a result from the text of a file that `reproduce` wrote, and judges its claims.
    ///
    /// # Errors
    ///
    /// Returns an error if the text has another format, or has no result of `paper`.
    pub fn judge(text: &str, paper: Paper) -> Result<Stored, EarlierError> {
        let stored = StoredPaper::read(text, paper)?;
        // Without records, the exhibits have only titles and notes.
        let mut exhibits = paper.exhibits(&Records::default());
        for exhibit in &mut exhibits {
            if let Some(kept) = stored
                .exhibits
                .iter()
                .find(|kept| kept.name == exhibit.name)
            {
                kept.fill(exhibit);
            }
            exhibit.claims = table(paper)
                .into_iter()
                .filter(|entry| entry.exhibit == exhibit.name)
                .map(|entry| stored.judge(entry))
                .collect();
        }
        Ok(Stored {
            machine: stored.machine,
            exhibits,
        })
    }
}

#[derive(Deserialize)]
struct StoredReport {
    papers: Vec<StoredPaper>,
}

/// A paper in a stored result.
#[derive(Deserialize)]
pub(crate) struct StoredPaper {
    paper: String,
    pub(crate) machine: String,
    pub(crate) exhibits: Vec<StoredExhibit>,
}

impl StoredPaper {
    pub(crate) fn read(text: &str, paper: Paper) -> Result<StoredPaper, EarlierError> {
        let report: StoredReport =
            serde_json::from_str(text).map_err(|error| EarlierError::Form(error.to_string()))?;
        let mut papers = report.papers.into_iter();
        papers
            .find(|found| found.paper == paper.to_string())
            .ok_or(EarlierError::Paper(paper))
    }

    fn judge(&self, entry: Entry) -> Claim {
        let mut claims = self.exhibits.iter().flat_map(|exhibit| &exhibit.claims);
        let kept = claims.find(|kept| kept.id == entry.id);
        let found = kept
            .ok_or_else(|| NOT_COMPUTED.to_owned())
            .and_then(|kept| kept.found_as(&entry.quantity));
        let reason = |reason: &ReasonEntry| {
            let kept = kept.and_then(|kept| {
                let same = |kept: &&StoredReason| kept.quantity == reason.quantity;
                kept.reasons.iter().find(same)
            });
            kept.map(|kept| numbers(&kept.terms, &kept.found))
                .ok_or_else(|| NOT_COMPUTED.to_owned())
        };
        judge_numbers(entry, found, &reason)
    }
}

/// Reason why a stored result has no number for a claim that is newer.
const NOT_COMPUTED: &str = "the stored result does not have this number";

#[derive(Deserialize)]
pub(crate) struct StoredExhibit {
    name: String,
    pub(crate) claims: Vec<StoredClaim>,
    #[serde(default)]
    table: StoredTable,
    #[serde(default)]
    chart: Option<Chart>,
    #[serde(default)]
    notes: Vec<String>,
    #[serde(default)]
    steps: Vec<String>,
}

impl StoredExhibit {
    fn fill(&self, exhibit: &mut Exhibit) {
        exhibit.table = self.table.decode();
        exhibit.chart.clone_from(&self.chart);
        exhibit.steps.clone_from(&self.steps);
        // Some notes depend on the records, so the stored notes are used if their number differs.
        if exhibit.notes.len() != self.notes.len() {
            exhibit.notes.clone_from(&self.notes);
        }
    }
}

#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
pub(crate) struct StoredClaim {
    pub(crate) id: String,
    pub(crate) quantity: String,
    pub(crate) terms: Vec<Term>,
    #[serde(default)]
    pub(crate) settings: Vec<Setting>,
    #[serde(default)]
    pub(crate) found: String,
    #[serde(default)]
    pub(crate) missing: Option<String>,
    #[serde(default)]
    pub(crate) reasons: Vec<StoredReason>,
}

impl StoredClaim {
    /// Returns the stored numbers of the claim; an error if they are of another quantity, or
    /// missing.
    fn found_as(&self, quantity: &str) -> Outcome {
        if self.quantity != quantity {
            return Err(NOT_COMPUTED.to_owned());
        }
        if self.terms.is_empty() {
            return Err(self.missing.clone().unwrap_or_default());
        }
        Ok(Found {
            settings: self.settings.clone(),
            ..numbers(&self.terms, &self.found)
        })
    }
}

#[derive(Clone, Debug, PartialEq, Deserialize)]
pub(crate) struct StoredReason {
    quantity: String,
    terms: Vec<Term>,
    found: String,
}

/// Returns the numbers with the note that follows them in the stored text.
fn numbers(terms: &[Term], words: &str) -> Found {
    let found = Found::new(terms.to_vec(), "");
    let note = words
        .strip_prefix(&found.words())
        .map(|rest| rest.trim_start_matches("; ").to_owned());
    Found {
        note: note.unwrap_or_default(),
        ..found
    }
}

#[derive(Default, Deserialize)]
struct StoredTable {
    columns: Vec<String>,
    rows: Vec<Vec<StoredCell>>,
}

impl StoredTable {
    fn decode(&self) -> Table {
        let row = |row: &Vec<StoredCell>| row.iter().map(StoredCell::decode).collect();
        Table {
            columns: self.columns.clone(),
            rows: self.rows.iter().map(row).collect(),
        }
    }
}

#[derive(Deserialize)]
#[serde(untagged)]
enum StoredCell {
    Text(String),
    Number { value: f64 },
    Missing { why: String },
}

impl StoredCell {
    /// Converts a stored cell. The number of decimals is not stored, so a number that is not whole
    /// is shown with three significant digits.
    fn decode(&self) -> Cell {
        match self {
            StoredCell::Text(text) => Cell::Text(text.clone()),
            StoredCell::Number { value } => Cell::number(*value, decimals(*value)),
            StoredCell::Missing { why } => Cell::Missing { why: why.clone() },
        }
    }
}
