//! Misses by process, counted at each change of the running process.

use super::listener::{Listener, NO_PROCESS};
use super::{Machine, VIEWS};

impl<L: Listener> Machine<L> {
    /// Adds to the running process's sums the misses since the last call.
    pub(super) fn count_running(&mut self) {
        let running = self.state.privates.running();
        if running != NO_PROCESS {
            let misses = self.misses();
            self.by_process.count(running, &misses);
        }
    }

    /// Restarts counting after the private view was replaced by another one.
    pub(super) fn restart_running(&mut self) {
        let misses = self.misses();
        self.by_process.restart(&misses);
    }

    /// Returns the misses by level, then by view.
    fn misses(&self) -> Vec<u64> {
        let mut row = Vec::with_capacity(VIEWS * self.state.levels.len());
        for level in &self.state.levels {
            let common: u64 = level.common.misses.iter().sum();
            row.extend(
                level
                    .views
                    .iter()
                    .map(|lines| common + lines.counts.misses.iter().sum::<u64>()),
            );
        }
        row
    }
}
