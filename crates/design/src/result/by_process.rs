//! Numbers of misses of each process, for one design.

use serde::{Deserialize, Serialize};

use crate::result::ByView;

/// Numbers of misses of one process in each hierarchy.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProcessMisses {
    /// Index of the process in [`crate::result::Simulation::processes`].
    pub process: u32,
    /// Number of the process's references that missed, for each cache and then each TLB.
    pub misses: Vec<ByView<u64>>,
}

impl ProcessMisses {
    /// Returns the misses since `before`, which are earlier counts of the same process; `before` is
    /// `None` for a new process.
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

    /// Whether any count of misses is above 0.
    pub fn is_any(&self) -> bool {
        self.misses.iter().any(|all| *all != ByView::default())
    }
}
