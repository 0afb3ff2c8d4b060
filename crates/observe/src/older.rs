//! Children that observed processes started before the observation. Such children are not observed,
//! but may do all the work, as in a server that forks before it serves.

use std::collections::{BTreeMap, BTreeSet};

use switchcost_facts::Root;
use switchcost_record::observation::OlderChildren;

use crate::subject::is_there;

/// Maximum number of children whose switches are read.
const MOST: usize = 1024;

/// Earlier children of the observed processes, with the kernel's count of switches of each at the
/// start.
#[derive(Debug, Default)]
pub(crate) struct Older {
    parents: BTreeSet<u32>,
    before: BTreeMap<u32, u64>,
}

impl Older {
    /// Finds the children of the observed processes, and their descendants.
    pub(crate) fn new(root: &Root, observed: &[u32]) -> Older {
        let (mut older, mut ahead) = (Older::default(), observed.to_vec());
        while let Some(parent) = ahead.pop() {
            for child in children(root, parent) {
                let is_known = observed.contains(&child) || older.before.contains_key(&child);
                if is_known || older.before.len() == MOST || !is_there(root, child) {
                    continue;
                }
                older.parents.insert(parent);
                older.before.insert(child, switches(root, child));
                ahead.push(child);
            }
        }
        older
    }

    /// Returns the number of switches of the older children since the start, without children that
    /// have ended; `None` if there are no older children.
    pub(crate) fn since(&self, root: &Root) -> Option<OlderChildren> {
        let since = |(&child, &before): (&u32, &u64)| switches(root, child).saturating_sub(before);
        (!self.before.is_empty()).then(|| OlderChildren {
            processes: self.before.len() as u64,
            parents: self.parents.iter().copied().collect(),
            switches: self.before.iter().map(since).sum(),
        })
    }
}

fn threads(root: &Root, process: u32) -> impl Iterator<Item = String> {
    root.names(&format!("/proc/{process}/task"))
        .into_iter()
        .map(move |thread| format!("/proc/{process}/task/{thread}"))
}

fn children(root: &Root, process: u32) -> Vec<u32> {
    let of_thread = |folder: String| root.read(&format!("{folder}/children")).unwrap_or_default();
    let numbers = |text: String| {
        text.split_whitespace()
            .filter_map(|child| child.parse().ok())
            .collect::<Vec<u32>>()
    };
    threads(root, process)
        .map(of_thread)
        .flat_map(numbers)
        .collect()
}

/// Returns the number of switches of all threads of a process, by the kernel's own counters; 0 if
/// the process has ended.
fn switches(root: &Root, process: u32) -> u64 {
    let of_thread = |folder: String| -> u64 {
        let status = root.read(&format!("{folder}/status")).unwrap_or_default();
        let fields = status
            .lines()
            .filter_map(|line| line.split_once("voluntary_ctxt_switches:"));
        fields
            .filter_map(|(_, value)| value.trim().parse::<u64>().ok())
            .sum()
    };
    threads(root, process).map(of_thread).sum()
}
