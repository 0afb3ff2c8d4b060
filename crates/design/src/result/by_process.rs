//! Misses of each process, in one design.

use serde::{Deserialize, Serialize};

use crate::result::ByView;

/// Misses of one process in each hierarchy.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProcessMisses {
    /// Index of the process in [`crate::result::Simulation::processes`].
    pub process: u32,
    /// References of the process that missed, for each level, then for each TLB.
    pub misses: Vec<ByView<u64>>,
}

impl ProcessMisses {
    /// Returns the misses since `before`, which are earlier counts of the same process, or `None`
    /// for a new process.
    pub(crate) fn since(mut self, before: Option<&ProcessMisses>) -> ProcessMisses {
        for (now, then) in self
            .misses
            .iter_mut()
            .zip(before.into_iter().flat_map(|before| &before.misses))
        {
            *now = ByView {
                shared: now.shared - then.shared,
                private: now.private - then.private,
                flushed: now.flushed - then.flushed,
            };
        }
        self
    }

    /// Whether the process missed anything.
    pub fn is_any(&self) -> bool {
        self.misses.iter().any(|all| *all != ByView::default())
    }
}
