//! Entries of a list of reproduced papers, from this run or from the JSON of an earlier one.

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use switchcost_reproduce::{Paper, Verdicts};

use super::{Command, Reproduction, answer};

/// A paper whose page is in the same folder.
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

/// Reads a value of JSON that [`super::render`] wrote; `None` for another version of the format.
fn stored<T: DeserializeOwned>(json: &str, path: &str) -> Option<T> {
    let mut report: Value = serde_json::from_str(json).ok()?;
    serde_json::from_value(report.pointer_mut(path)?.take()).ok()
}

/// Reads the commands of the first paper in JSON that [`super::render`] wrote; none for another format.
pub fn stored_commands(json: &str) -> Vec<Command> {
    stored(json, "/papers/0/commands").unwrap_or_default()
}

impl Listed {
    /// Creates the entry of a paper of this run.
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

    /// Reads the first paper of JSON that [`super::render`] wrote; `None` for another version of the format.
    pub fn read(json: &str) -> Option<Listed> {
        stored(json, "/papers/0")
    }

    pub(crate) fn answer(&self) -> String {
        answer(self.is_judged, &self.verdicts)
    }

    /// Returns the published figures and tables, in one line.
    pub(crate) fn shown(&self) -> String {
        self.exhibits
            .iter()
            .map(|exhibit| format!("{}: {}. ", exhibit.name, exhibit.title))
            .collect()
    }
}
