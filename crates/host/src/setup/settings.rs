//! Settings that were changed, and are restored.

use std::collections::BTreeMap;

use switchcost_facts::Root;
use switchcost_facts::settings::{assignment, settings};

/// Settings of the machine with their values before the run.
pub(super) struct Settings(BTreeMap<String, String>);

impl Settings {
    pub(super) fn now() -> Settings {
        Settings(settings(&Root::system()))
    }

    /// Restores the settings that differ now. Returns a complaint for each that could not be written.
    pub(super) fn put_back(&self) -> Vec<String> {
        let now = settings(&Root::system());
        let changed = self
            .0
            .iter()
            .filter(|(name, value)| now.get(*name).is_some_and(|now| now != *value));
        changed
            .filter_map(|(name, value)| put_back(name, value))
            .collect()
    }
}

fn put_back(name: &str, value: &str) -> Option<String> {
    let (file, text) = assignment(name, value);
    let refused = std::fs::write(&file, text).err()?;
    Some(format!("cannot write {value} back to {file} ({refused})"))
}
