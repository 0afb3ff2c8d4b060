//! Cost of system calls in the shared view, if the trace has the kernel's instructions.

use std::collections::BTreeMap;

use switchcost_design::result::CallCost;
use switchcost_trace::syscall_name;

/// Sums over all system calls with one number (such as all calls of `read`).
#[derive(Clone, Debug)]
struct Sums {
    calls: u64,
    with_switch: u64,
    /// Counts added up over calls without a switch, in the order of [`Calls::before`].
    counted: Vec<u64>,
}

/// Counts of the system call in progress, and sums of finished system calls.
#[derive(Debug)]
pub(crate) struct Calls {
    open: Option<u16>,
    /// Counts at the entry of the call: instructions, cycles, misses by level, and, for each cache,
    /// the lines of the running process that the kernel has evicted.
    before: Vec<u64>,
    sums: BTreeMap<u16, Sums>,
    /// Number, instructions and cycles of all system calls without a switch.
    pub(crate) all: [u64; 3],
}

/// Index of the first level's misses among the counts of a call, after instructions and cycles.
const FIRST_LEVEL: usize = 2;

impl Calls {
    pub(crate) fn none() -> Calls {
        Calls {
            open: None,
            before: Vec::new(),
            sums: BTreeMap::new(),
            all: [0; 3],
        }
    }

    /// Records that the running task enters the kernel; `counted` has the present counts, in the
    /// order of [`Calls::before`].
    pub(crate) fn enter(&mut self, number: u16, counted: impl Iterator<Item = u64>) {
        self.before.clear();
        self.before.extend(counted);
        self.open = Some(number);
    }

    /// Records the end of the system call. A call ends when its task returns from the kernel or
    /// leaves the CPU.
    pub(crate) fn end(&mut self, counted: impl Iterator<Item = u64>, is_switch: bool) {
        let Some(number) = self.open.take() else {
            return;
        };
        let counted: Vec<u64> = counted
            .zip(&self.before)
            .map(|(now, then)| now - then)
            .collect();
        let [instructions, cycles] = [counted[0], counted[1]];
        if instructions == 0 {
            // The trace does not contain the kernel.
            return;
        }
        let none = || Sums {
            calls: 0,
            with_switch: 0,
            counted: vec![0; counted.len()],
        };
        let sums = self.sums.entry(number).or_insert_with(none);
        if is_switch {
            sums.with_switch += 1;
        } else {
            sums.calls += 1;
            self.all = [
                self.all[0] + 1,
                self.all[1] + instructions,
                self.all[2] + cycles,
            ];
            sums.counted
                .iter_mut()
                .zip(counted)
                .for_each(|(sum, more)| *sum += more);
        }
    }

    /// Returns the cost of each system call number, for calls in which the kernel executed
    /// instructions. `levels` is the number of caches and TLBs.
    pub(crate) fn costs(&self, levels: usize) -> Vec<CallCost> {
        let cost = |(&number, sums): (&u16, &Sums)| {
            let (misses, driven_out) = sums.counted[FIRST_LEVEL..].split_at(levels);
            CallCost {
                syscall: syscall_name(number)
                    .map_or_else(|| format!("syscall {number}"), str::to_owned),
                calls: sums.calls,
                with_switch: sums.with_switch,
                instructions: sums.counted[0],
                cycles: sums.counted[1],
                misses: misses.to_vec(),
                driven_out: driven_out.to_vec(),
            }
        };
        self.sums.iter().map(cost).collect()
    }
}
