//! Files that are mapped at the addresses of each process; the last matching change counts.

use std::collections::HashMap;

use switchcost_trace::{Mapping, Mark};

#[derive(Clone)]
enum Change {
    Mapped(Mapping),
    Unmapped(u64, u64),
}

#[derive(Default)]
pub(crate) struct Mappings {
    changes: HashMap<u32, Vec<Change>>,
}

pub(crate) fn covers(start: u64, bytes: u64, address: u64) -> bool {
    address >= start && address - start < bytes
}

impl Mappings {
    pub(crate) fn change(&mut self, process: u32, mark: &Mark) {
        let change = match mark {
            Mark::Map(mapping) => Change::Mapped(mapping.clone()),
            &Mark::Unmap { start, bytes } => Change::Unmapped(start, bytes),
            _ => return,
        };
        self.changes.entry(process).or_default().push(change);
    }

    pub(crate) fn fork(&mut self, parent: u32, child: u32) {
        let copied = self.changes.get(&parent).cloned().unwrap_or_default();
        self.changes.insert(child, copied);
    }

    pub(crate) fn drop_process(&mut self, process: u32) {
        self.changes.remove(&process);
    }

    pub(crate) fn at(&self, process: u32, address: u64) -> Option<&Mapping> {
        let last = self
            .changes
            .get(&process)?
            .iter()
            .rev()
            .find(|change| match change {
                Change::Mapped(mapping) => covers(mapping.start, mapping.bytes, address),
                &&Change::Unmapped(start, bytes) => covers(start, bytes, address),
            });
        match last {
            Some(Change::Mapped(mapping)) => Some(mapping),
            _ => None,
        }
    }
}
