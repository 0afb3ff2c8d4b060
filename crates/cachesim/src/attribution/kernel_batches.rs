//! Cost of the kernel in batches of consecutive switches, from which confidence intervals are
//! computed.

use switchcost_design::result::KernelBatch;

/// Number of batches, with the one in progress, after pairs of batches were joined. Pairs are
/// joined when twice this number of batches has begun.
const BATCHES: usize = 40;

/// Counts of the kernel's work at the beginning of each batch of switches.
#[derive(Debug)]
pub(crate) struct KernelBatches {
    /// Number of switches in a batch.
    length: u64,
    seen: Vec<KernelBatch>,
}

impl KernelBatches {
    pub(crate) fn none() -> KernelBatches {
        KernelBatches {
            length: 1,
            seen: Vec::new(),
        }
    }

    /// Returns whether a batch begins with switch number `switch`, counted from 0.
    pub(crate) fn begins(&self, switch: u64) -> bool {
        switch.is_multiple_of(self.length)
    }

    /// Begins a batch. `now` has the counts at the beginning of the batch.
    pub(crate) fn begin(&mut self, now: KernelBatch) {
        self.seen.push(now);
        if self.seen.len() == 2 * BATCHES {
            let mut place = 0;
            self.seen.retain(|_| {
                place += 1;
                place % 2 == 1
            });
            self.length *= 2;
        }
    }

    /// Returns the counts of all finished batches, without the batch in progress.
    pub(crate) fn batches(&self) -> Vec<KernelBatch> {
        let is_there = self.seen.last().is_some_and(|last| last.instructions > 0);
        let pairs = self.seen.iter().zip(self.seen.iter().skip(1));
        if is_there {
            pairs.map(|(then, now)| between(then, now)).collect()
        } else {
            Vec::new()
        }
    }
}

fn between(then: &KernelBatch, now: &KernelBatch) -> KernelBatch {
    KernelBatch {
        switches: now.switches - then.switches,
        instructions: now.instructions - then.instructions,
        lost_to_processes: now.lost_to_processes - then.lost_to_processes,
        lost_to_kernel: now.lost_to_kernel - then.lost_to_kernel,
        calls: now.calls - then.calls,
        call_instructions: now.call_instructions - then.call_instructions,
        call_cycles: now.call_cycles - then.call_cycles,
        fills: now
            .fills
            .iter()
            .zip(&then.fills)
            .map(|(now, then)| now - then)
            .collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counted(switches: u64) -> KernelBatch {
        KernelBatch {
            switches,
            instructions: 1000 * switches,
            fills: vec![3 * switches],
            ..KernelBatch::default()
        }
    }

    #[test]
    fn batches_are_as_long_as_leaves_forty_to_seventy_nine_and_add_up() {
        for (switches, length, number) in [
            (30, 1, 29),
            (79, 1, 78),
            (80, 2, 39),
            (161, 4, 40),
            (10_000, 128, 78),
        ] {
            let mut batches = KernelBatches::none();
            for switch in 0..switches {
                if batches.begins(switch) {
                    batches.begin(counted(switch));
                }
            }
            let batches = batches.batches();
            assert_eq!(batches.len(), number, "{switches}");
            let is_whole = |batch: &KernelBatch| *batch == counted(length);
            assert!(batches.iter().all(is_whole), "{switches}: {batches:?}");
        }
    }

    #[test]
    fn without_a_kernel_there_are_none() {
        let mut batches = KernelBatches::none();
        (0..30).for_each(|switches| {
            batches.begin(KernelBatch {
                switches,
                ..KernelBatch::default()
            })
        });
        assert_eq!(batches.batches(), []);
    }
}
