//! Entries for a list of reproduced papers, made from this run or read from the JSON of an earlier
//! run.

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use switchcost_reproduce::{Paper, Verdicts};

use super::{Command, Reproduction, answer};

/// An entry of a list of papers. The paper's page is in the same folder as the list.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct Listed {
    pub(crate) paper: Paper,
    pub(crate) machine: String,
    is_judged: bool,
    verdicts: Verdicts,
    exhibits: Vec<Named>,
}

#[derive(Clone, Debug, PartialEq, Deserialize)]
struct Named {
    name: String,
    title: String,
}

/// Reads the value at the JSON pointer `path` from a report by [`super::render`]; `None` if the
/// report has no value of this type there.
fn stored<T: DeserializeOwned>(json: &str, path: &str) -> Option<T> {
    let mut report: Value = serde_json::from_str(json).ok()?;
    serde_json::from_value(report.pointer_mut(path)?.take()).ok()
}

/// Reads the commands of the first paper from a report by [`super::render`]; empty if they cannot
/// be read.
pub fn stored_commands(json: &str) -> Vec<Command> {
    stored(json, "/papers/0/commands").unwrap_or_default()
}

impl Listed {
    /// Creates an entry for a paper that was reproduced in this run.
    pub fn new(reproduction: &Reproduction<'_>) -> Listed {
        let named = |exhibit: &switchcost_reproduce::Exhibit| Named {
            name: exhibit.name.clone(),
            title: exhibit.title.clone(),
        };
        Listed {
            paper: reproduction.paper,
            machine: reproduction.machine.to_owned(),
            is_judged: reproduction.is_judged,
            verdicts: reproduction.verdicts,
            exhibits: reproduction.exhibits.iter().map(named).collect(),
        }
    }

    /// Reads an entry from the first paper of a report by [`super::render`]; `None` if a field is
    /// missing.
    pub fn read(json: &str) -> Option<Listed> {
        stored(json, "/papers/0")
    }

    pub(crate) fn answer(&self) -> String {
        answer(self.is_judged, &self.verdicts)
    }

    /// Returns the names and titles of the published figures and tables on one line.
    pub(crate) fn shown(&self) -> String {
        self.exhibits
            .iter()
            .map(|exhibit| format!("{}: {}. ", exhibit.name, exhibit.title))
            .collect()
    }
}
