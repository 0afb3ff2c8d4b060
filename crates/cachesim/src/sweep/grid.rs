//! Levels of several designs that have the same number of sets: the lines of the three views in the
//! order of last use, and the counts of lookups by stack depth.

use crate::machine::Kind;

use super::depths::Depths;
use super::shape::GridShape;
use super::stacks::Beyond;
use super::view_stacks::ViewStacks;
use super::{FLUSHED, PRIVATE, SHARED, VIEWS};

#[derive(Debug)]
pub(super) struct Grid {
    pub(super) sets: usize,
    pub(super) ways: usize,
    pub(super) stacks: ViewStacks<Beyond>,
    pub(super) depths: Depths,
}

impl Grid {
    pub(super) fn new(shape: &GridShape) -> Grid {
        let (sets, ways) = (shape.sets, shape.most_ways());
        Grid {
            sets,
            ways,
            stacks: ViewStacks::new(sets, ways),
            depths: Depths::new(ways),
        }
    }

    #[inline]
    pub(super) fn set_of(&self, key: u64) -> usize {
        key as usize & (self.sets - 1)
    }

    /// Switches to another process and its private stacks.
    pub(super) fn change_process(&mut self, to: u32) {
        self.stacks.change_process(to);
    }

    /// Drops the private stacks of a process. Modified lines in the dropped stacks are not written
    /// back.
    pub(super) fn drop_process(&mut self, process: u32) {
        if let Some(stacks) = self.stacks.drop_process(process) {
            stacks.count_modified(self.depths.kept_mut(PRIVATE));
        }
    }

    /// Drops all lines of the shared view.
    pub(super) fn clear_shared(&mut self) {
        self.stacks.views[SHARED].clear();
    }

    pub(super) fn clear_flushed(&mut self) {
        self.stacks.views[FLUSHED].clear();
    }

    /// Looks up a line in one view. Returns whether the lookup changes nothing in this grid and in
    /// all grids with more sets.
    #[inline]
    pub(super) fn look_up(
        &mut self,
        view: usize,
        key: u64,
        kind: Kind,
        is_store: bool,
        is_demand: bool,
    ) -> bool {
        let set = self.set_of(key);
        let stacks = &mut self.stacks.views[view];
        let found = stacks.find(set, key, self.ways);
        if let Some((0, beyond)) = found {
            if !is_store || beyond == 0 {
                return true;
            }
            stacks.set_mark(set, 0, 0);
            self.depths.count_modified(view, beyond);
            return false;
        }
        let depth = found.map_or(self.ways, |(depth, _)| depth);
        let beyond = found.map_or(self.ways, |(depth, beyond)| depth.max(beyond.into())) as u8;
        self.depths.count(view, kind, depth, is_demand);
        if is_store {
            self.depths.count_modified(view, beyond);
        }
        stacks.promote(
            set,
            found.map(|(depth, _)| depth),
            key,
            if is_store { 0 } else { beyond },
        );
        false
    }

    /// Writes a modified line back to those levels of the grid that hold it.
    pub(super) fn give(&mut self, view: usize, key: u64) {
        let set = self.set_of(key);
        let stacks = &mut self.stacks.views[view];
        if let Some((depth, beyond)) = stacks.find(set, key, self.ways)
            && depth < usize::from(beyond)
        {
            self.depths
                .count_modified_between(view, depth as u8, beyond);
            stacks.set_mark(set, depth, depth as u8);
        }
    }

    /// Ends the trace. Lines that are modified then are counted as not written back.
    pub(super) fn finish(&mut self) {
        for view in 0..VIEWS {
            self.stacks.views[view].count_modified(self.depths.kept_mut(view));
        }
        for stacks in self.stacks.waiting_stacks() {
            stacks.count_modified(self.depths.kept_mut(PRIVATE));
        }
    }
}
