//! Stacks of the three views. The private view has stacks for each process.

use std::collections::HashMap;

use super::stacks::Stacks;
use super::{PRIVATE, VIEWS};

/// Stacks of the three views, and the private stacks of the processes that do not run.
#[derive(Debug)]
pub(super) struct ViewStacks<M> {
    sets: usize,
    ways: usize,
    /// Stacks by view. The private view has the stacks of the running process.
    pub(super) views: [Stacks<M>; VIEWS],
    running: u32,
    others: HashMap<u32, Stacks<M>>,
}

impl<M: Copy + Default + PartialEq> ViewStacks<M> {
    pub(super) fn new(sets: usize, ways: usize) -> ViewStacks<M> {
        let views = std::array::from_fn(|_| Stacks::new(sets, ways));
        ViewStacks {
            sets,
            ways,
            views,
            running: 0,
            others: HashMap::new(),
        }
    }

    /// Switches to another process and its private stacks.
    pub(super) fn change_process(&mut self, to: u32) {
        if to == self.running {
            return;
        }
        let coming = self
            .others
            .remove(&to)
            .unwrap_or_else(|| Stacks::new(self.sets, self.ways));
        let leaving = std::mem::replace(&mut self.views[PRIVATE], coming);
        self.others.insert(self.running, leaving);
        self.running = to;
    }

    /// Removes the private stacks of a process, and returns them.
    pub(super) fn drop_process(&mut self, process: u32) -> Option<Stacks<M>> {
        if process == self.running {
            return Some(std::mem::replace(
                &mut self.views[PRIVATE],
                Stacks::new(self.sets, self.ways),
            ));
        }
        self.others.remove(&process)
    }

    /// Returns the stacks of processes that do not run.
    pub(super) fn waiting_stacks(&self) -> impl Iterator<Item = &Stacks<M>> {
        self.others.values()
    }
}
