//! Renders notes on the injections that the indirect cost comes from.

use switchcost_record::observation::{KnownBy, KnownReload, Observation};

use super::answer::name;
use crate::plain::plain;
use crate::quantity::count;

pub(super) fn notes(observation: &Observation) -> Vec<String> {
    let injected = observation.known.iter();
    let injected = injected.filter(|known| known.by == KnownBy::Inject);
    injected.map(note).collect()
}

fn note(known: &KnownReload) -> String {
    let whose = match known.processes.as_slice() {
        _ if !known.name.is_empty() => name(&known.name),
        [one] => format!("process {one}"),
        several => format!("{} processes", count(several.len() as u64)),
    };
    format!(
        "The cost of cold caches for {whose} is from {}: {}.",
        known.by,
        plain(&known.file)
    )
}
