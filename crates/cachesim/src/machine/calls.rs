//! What system calls take in the shared view, where the trace has the kernel's instructions.

use std::collections::BTreeMap;

use simulation_result::CallCost;
use trace::syscall_name;

use super::plan::Plan;
use super::{Machine, SHARED};

/// Of one number.
#[derive(Clone, Debug)]
struct Sums {
    calls: u64,
    with_switch: u64,
    /// As [`Machine::counted`], calls without a switch.
    counted: Vec<u64>,
}

/// The call under way, and those that are over.
#[derive(Debug)]
pub(super) struct Calls {
    open: Option<u16>,
    /// What had been counted when it was entered.
    before: Vec<u64>,
    sums: BTreeMap<u16, Sums>,
    /// All calls without a switch, their instructions and cycles.
    pub(super) all: [u64; 3],
}

/// Before misses by level: instructions and cycles.
const FIRST_LEVEL: usize = 2;

impl Calls {
    pub(super) fn none() -> Calls {
        Calls { open: None, before: Vec::new(), sums: BTreeMap::new(), all: [0; 3] }
    }

    /// Those during which the kernel executed anything, by number.
    pub(super) fn into_costs(self, plan: &Plan) -> Vec<CallCost> {
        let cost = |(number, sums): (u16, Sums)| {
            let (misses, driven_out) = sums.counted[FIRST_LEVEL..].split_at(plan.levels.len());
            CallCost {
                syscall: syscall_name(number).map_or_else(|| format!("syscall {number}"), str::to_owned),
                calls: sums.calls,
                with_switch: sums.with_switch,
                instructions: sums.counted[0],
                cycles: sums.counted[1],
                misses: misses.to_vec(),
                driven_out: driven_out.to_vec(),
            }
        };
        self.sums.into_iter().map(cost).collect()
    }
}

impl Machine {
    /// The running task enters the kernel; `instructions` are those of the whole trace so far.
    pub(crate) fn enter_call(&mut self, number: u16, instructions: u64) {
        let mut before = std::mem::take(&mut self.calls.before);
        before.clear();
        before.extend(self.counted(instructions));
        self.calls.before = before;
        self.calls.open = Some(number);
    }

    /// It comes back, or leaves the CPU before it does.
    pub(crate) fn end_call(&mut self, instructions: u64, is_switch: bool) {
        let Some(number) = self.calls.open.take() else { return };
        if self.calls.before[0] == instructions {
            // The kernel is not in this trace.
            return;
        }
        let counted: Vec<u64> =
            self.counted(instructions).zip(&self.calls.before).map(|(now, then)| now - then).collect();
        let none = || Sums { calls: 0, with_switch: 0, counted: vec![0; counted.len()] };
        let sums = self.calls.sums.entry(number).or_insert_with(none);
        if is_switch {
            sums.with_switch += 1;
        } else {
            sums.calls += 1;
            self.calls.all = [self.calls.all[0] + 1, self.calls.all[1] + counted[0], self.calls.all[2] + counted[1]];
            sums.counted.iter_mut().zip(counted).for_each(|(sum, more)| *sum += more);
        }
    }

    /// Instructions, cycles, misses by level, and by cache the lines of a process that the kernel drove out while that process ran.
    fn counted(&self, instructions: u64) -> impl Iterator<Item = u64> {
        let levels = self.state.levels.iter();
        let misses = levels.map(|level| {
            let own = &level.views[SHARED].counts.misses;
            level.common.misses.iter().chain(own).sum::<u64>()
        });
        let driven_out = self.state.ledger.driven_out_by_kernel();
        [instructions, self.state.clocks.now(SHARED)].into_iter().chain(misses).chain(driven_out.iter().copied())
    }
}
