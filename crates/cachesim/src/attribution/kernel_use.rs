//! Cost of the kernel by system call and by batch of switches, if the trace has the kernel's
//! instructions.

use switchcost_design::result::{Detail, KernelBatch};

use super::calls::Calls;
use super::kernel_batches::KernelBatches;
use crate::machine::{Departure, Levels, Listener, Lookup, Origin, Requester, Took};

/// Costs of system calls and of batches, and the counts for them that the machine does not keep.
#[derive(Debug)]
pub(crate) struct KernelUse {
    calls: Calls,
    batches: KernelBatches,
    /// Number of lines that the kernel evicted although they belonged to the running process, by
    /// cache.
    driven_out: Vec<u64>,
    /// Number of demand fills for the kernel's addresses, by level.
    fills: Vec<u64>,
    lost_to_processes: u64,
    lost_to_kernel: u64,
}

impl Listener for KernelUse {
    const COMPARES: bool = true;

    fn new(levels: Levels) -> KernelUse {
        KernelUse {
            calls: Calls::none(),
            batches: KernelBatches::none(),
            driven_out: vec![0; levels.caches],
            fills: vec![0; levels.all],
            lost_to_processes: 0,
            lost_to_kernel: 0,
        }
    }

    #[inline]
    fn filled(&mut self, lookup: &Lookup<'_>, level: usize, _: Origin, _: u32) {
        self.fills[level] += u64::from(lookup.requester.is_kernel());
    }

    #[inline]
    fn left(&mut self, lookup: &Lookup<'_>, level: usize, line: Requester, how: Departure) {
        let requester = lookup.requester;
        if requester.is_kernel()
            && line.owner() == requester.process()
            && how.is_eviction()
            && let Some(driven_out) = self.driven_out.get_mut(level)
        {
            *driven_out += 1;
        }
    }

    #[inline]
    fn took(&mut self, _: &Lookup<'_>, took: &Took) {
        match took.lost_to {
            _ if took.longer <= 0 => {}
            Origin::ByOthers => self.lost_to_processes += took.longer.unsigned_abs(),
            Origin::ByKernel => self.lost_to_kernel += took.longer.unsigned_abs(),
            _ => {}
        }
    }

    fn call_entered(&mut self, number: u16, counted: &[u64]) {
        self.calls
            .enter(number, counted.iter().chain(&self.driven_out).copied());
    }

    fn call_ended(&mut self, counted: &[u64], is_switch: bool) {
        self.calls
            .end(counted.iter().chain(&self.driven_out).copied(), is_switch);
    }

    fn task_switched(&mut self, switches: u64, kernel_instructions: u64) {
        if !self.batches.begins(switches) {
            return;
        }
        let [calls, call_instructions, call_cycles] = self.calls.all;
        self.batches.begin(KernelBatch {
            switches,
            instructions: kernel_instructions,
            lost_to_processes: self.lost_to_processes,
            lost_to_kernel: self.lost_to_kernel,
            calls,
            call_instructions,
            call_cycles,
            fills: self.fills.clone(),
        });
    }

    fn parts_begin(&mut self) {
        (self.calls, self.batches) = (Calls::none(), KernelBatches::none());
    }

    fn report(&mut self, _: &[String], detail: &mut Detail) {
        detail.calls = self.calls.costs(self.fills.len());
        detail.kernel_batches = self.batches.batches();
    }
}
