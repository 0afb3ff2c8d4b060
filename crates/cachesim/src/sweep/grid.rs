//! All levels of one number of sets: the stacks of the three views, and how deep lines were found in them.

use std::collections::HashMap;

use crate::machine::Kind;

use super::depths::Depths;
use super::shape::GridShape;
use super::stacks::Stacks;
use super::{FLUSHED, PRIVATE, SHARED, VIEWS};

/// Where the private stacks of all processes are, and those that are in use.
#[derive(Debug)]
pub(super) struct Grid {
    pub(super) sets: usize,
    pub(super) ways: usize,
    /// Of the private ones, those of the running process.
    pub(super) stacks: [Stacks; VIEWS],
    pub(super) depths: Depths,
    running: u32,
    others: HashMap<u32, Stacks>,
}

impl Grid {
    pub(super) fn new(shape: &GridShape) -> Grid {
        let (sets, ways) = (shape.sets, shape.most_ways());
        Grid {
            sets,
            ways,
            stacks: std::array::from_fn(|_| Stacks::new(sets, ways)),
            depths: Depths::new(ways),
            running: 0,
            others: HashMap::new(),
        }
    }

    #[inline]
    pub(super) fn set_of(&self, key: u64) -> usize {
        key as usize & (self.sets - 1)
    }

    /// Another process runs; what was its own comes back.
    pub(super) fn change_process(&mut self, to: u32) {
        if to == self.running {
            return;
        }
        let new = || Stacks::new(self.sets, self.ways);
        let coming = self.others.remove(&to).unwrap_or_else(new);
        let leaving = std::mem::replace(&mut self.stacks[PRIVATE], coming);
        self.others.insert(self.running, leaving);
        self.running = to;
    }

    /// The private stacks of a process are lost, and what is modified there is not written back.
    pub(super) fn drop_process(&mut self, process: u32) {
        let dropped = if process == self.running {
            Some(std::mem::replace(&mut self.stacks[PRIVATE], Stacks::new(self.sets, self.ways)))
        } else {
            self.others.remove(&process)
        };
        if let Some(stacks) = dropped {
            stacks.count_modified(self.depths.kept_mut(PRIVATE));
        }
    }

    /// All lines of the shared view are lost.
    pub(super) fn clear_shared(&mut self) {
        self.stacks[SHARED].clear();
    }

    pub(super) fn clear_flushed(&mut self) {
        self.stacks[FLUSHED].clear();
    }

    /// One request in one view; gives whether it changes nothing here and with more sets.
    #[inline]
    pub(super) fn look_up(&mut self, view: usize, key: u64, kind: Kind, is_store: bool, is_demand: bool) -> bool {
        let set = self.set_of(key);
        let stacks = &mut self.stacks[view];
        let found = stacks.find(set, key, self.ways);
        if let Some((0, beyond)) = found {
            if !is_store || beyond == 0 {
                return true;
            }
            stacks.set_modified_beyond(set, 0, 0);
            self.depths.count_modified(view, beyond);
            return false;
        }
        let depth = found.map_or(self.ways, |(depth, _)| depth);
        let beyond = found.map_or(self.ways, |(depth, beyond)| depth.max(beyond.into())) as u8;
        self.depths.count(view, kind, depth, is_demand);
        if is_store {
            self.depths.count_modified(view, beyond);
        }
        stacks.promote(set, found.map(|(depth, _)| depth), key, if is_store { 0 } else { beyond });
        false
    }

    /// A modified line is given to the levels that hold it.
    pub(super) fn give(&mut self, view: usize, key: u64) {
        let set = self.set_of(key);
        let stacks = &mut self.stacks[view];
        if let Some((depth, beyond)) = stacks.find(set, key, self.ways)
            && depth < usize::from(beyond)
        {
            self.depths.count_modified_between(view, depth as u8, beyond);
            stacks.set_modified_beyond(set, depth, depth as u8);
        }
    }

    /// What is modified in the end stays so.
    pub(super) fn finish(&mut self) {
        for view in 0..VIEWS {
            self.stacks[view].count_modified(self.depths.kept_mut(view));
        }
        for stacks in self.others.values() {
            stacks.count_modified(self.depths.kept_mut(PRIVATE));
        }
    }
}
