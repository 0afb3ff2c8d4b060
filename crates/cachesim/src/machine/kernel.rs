//! Reports a machine's counts to its listener at each entry to the kernel and at each return.

use super::listener::Listener;
use super::{Machine, SHARED};

impl<L: Listener> Machine<L> {
    /// Records that the running task enters the kernel; `instructions` is the count of the whole
    /// trace so far.
    pub(crate) fn enter_call(&mut self, number: u16, instructions: u64) {
        let counted = self.counted(instructions);
        self.state.listener.call_entered(number, &counted);
    }

    /// Records the end of a system call: the task returned from the kernel, or left the CPU
    /// (`is_switch`). `instructions` is the count of the whole trace so far.
    pub(crate) fn end_call(&mut self, instructions: u64, is_switch: bool) {
        let counted = self.counted(instructions);
        self.state.listener.call_ended(&counted, is_switch);
    }

    /// Returns the counts of the shared view: instructions, cycles, misses by level.
    fn counted(&self, instructions: u64) -> Vec<u64> {
        let misses = self.state.levels.iter().map(|level| {
            let own = &level.views[SHARED].counts.misses;
            level.common.misses.iter().chain(own).sum::<u64>()
        });
        [instructions, self.state.clocks.now(SHARED)]
            .into_iter()
            .chain(misses)
            .collect()
    }
}
