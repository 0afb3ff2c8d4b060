//! What is counted of the kernel, where the trace has its instructions: by system call, and by batches of switches.

use simulation_result::KernelBatch;

use super::{Machine, SHARED, State};

impl Machine {
    /// The running task enters the kernel; `instructions` are those of the whole trace so far.
    pub(crate) fn enter_call(&mut self, number: u16, instructions: u64) {
        let counted = self.state.counted(instructions);
        self.calls.enter(number, counted);
    }

    /// It comes back, or leaves the CPU before it does.
    pub(crate) fn end_call(&mut self, instructions: u64, is_switch: bool) {
        let counted = self.state.counted(instructions);
        self.calls.end(counted, is_switch);
    }

    /// A switch from one task to another, before which there were so many, and so many instructions of the kernel.
    pub(crate) fn count_switch(&mut self, switches: u64, kernel_instructions: u64) {
        if !self.kernel_batches.begins(switches) {
            return;
        }
        let ledger = &self.state.ledger;
        let lost = ledger.lost_cycles();
        let [calls, call_instructions, call_cycles] = self.calls.all;
        let now = KernelBatch {
            switches,
            instructions: kernel_instructions,
            lost_to_processes: lost.programs.processes + lost.kernel.processes,
            lost_to_kernel: lost.programs.kernel + lost.kernel.kernel,
            calls,
            call_instructions,
            call_cycles,
            fills: ledger.fills_of_kernel().collect(),
        };
        self.kernel_batches.begin(now);
    }
}

impl State {
    /// Of the shared view: instructions, cycles, misses by level, and by cache the lines of a process that the kernel drove out
    /// while that process ran.
    fn counted(&self, instructions: u64) -> impl Iterator<Item = u64> {
        let misses = self.levels.iter().map(|level| {
            let own = &level.views[SHARED].counts.misses;
            level.common.misses.iter().chain(own).sum::<u64>()
        });
        let driven_out = self.ledger.driven_out_by_kernel();
        [instructions, self.clocks.now(SHARED)].into_iter().chain(misses).chain(driven_out.iter().copied())
    }
}
