//! Adds up a row of counters by process: the increase of each counter while the process runs.

use std::collections::BTreeMap;

use switchcost_design::result::{ByView, ProcessMisses};

/// Number of views: shared, private and flushed, in this order in all arrays by view.
const VIEWS: usize = 3;

#[derive(Debug)]
pub(crate) struct ByProcess {
    sums: BTreeMap<u32, Vec<u64>>,
    /// Row of counters at the last call of `count`.
    since: Vec<u64>,
}

impl ByProcess {
    /// Makes sums for rows of `width` counters, all 0 at first.
    pub(crate) fn new(width: usize) -> ByProcess {
        ByProcess {
            sums: BTreeMap::new(),
            since: vec![0; width],
        }
    }

    /// Adds to the sums of `process` the increase of each counter since the last call.
    pub(crate) fn count(&mut self, process: u32, row: &[u64]) {
        let sums = self
            .sums
            .entry(process)
            .or_insert_with(|| vec![0; row.len()]);
        for ((sum, then), now) in sums.iter_mut().zip(&mut self.since).zip(row) {
            *sum += now - std::mem::replace(then, *now);
        }
    }

    /// Takes `row` as the new start without adding the increase to any process.
    pub(crate) fn restart(&mut self, row: &[u64]) {
        self.since.copy_from_slice(row);
    }

    /// Returns the misses of each process that ran. Rows must have the misses by level, and within
    /// a level by view.
    pub(crate) fn misses(&self) -> impl Iterator<Item = ProcessMisses> {
        self.sums.iter().map(|(&process, row)| ProcessMisses {
            process,
            misses: split_by_view(row),
        })
    }
}

fn split_by_view(row: &[u64]) -> Vec<ByView<u64>> {
    let (levels, _) = row.as_chunks::<VIEWS>();
    levels
        .iter()
        .map(|&[shared, private, flushed]| ByView {
            shared,
            private,
            flushed,
        })
        .collect()
}
