//! Blocks of time in a trace of system calls. Groups of blocks are left out one by one to estimate
//! an interval (block jackknife).

use std::collections::BTreeSet;
use std::ops::Range;

use super::calls::Call;

/// Length of a block in microseconds.
const BASE: u64 = 125_000;
/// Lengths of the groups of blocks, as numbers of blocks.
const LENGTHS: [u64; 4] = [1, 2, 4, 8];
/// Least number of groups of one length. For groups of a single block, [`LEAST`] is enough.
const ENOUGH: usize = 10;
const LEAST: usize = 5;
/// Number of adjacent blocks in which the core is assumed to have a constant speed.
const NEAR: u64 = 2;

/// Blocks that contain calls, in time order, with groups of several lengths.
#[derive(Debug)]
pub(super) struct Blocks {
    /// For each block of time, the number of its slice of the observation (calls are traced in
    /// slices), and its own number within the slice.
    all: Vec<(u32, u64)>,
    groups: Vec<Range<usize>>,
    /// Range in `groups` of the groups of blocks with one length; one entry per length.
    lengths: Vec<Range<usize>>,
}

impl Blocks {
    pub(super) fn new<'a>(calls: impl Iterator<Item = &'a Call>) -> Blocks {
        let all: BTreeSet<(u32, u64)> = calls.map(block_of).collect();
        let all: Vec<(u32, u64)> = all.into_iter().collect();
        let mut blocks = Blocks {
            all,
            groups: Vec::new(),
            lengths: Vec::new(),
        };
        for length in LENGTHS {
            let groups = blocks.groups_of(length);
            let least = if length == LENGTHS[0] { LEAST } else { ENOUGH };
            if groups.len() >= least {
                let first = blocks.groups.len();
                blocks.groups.extend(groups);
                blocks.lengths.push(first..blocks.groups.len());
            }
        }
        blocks
    }

    fn groups_of(&self, length: u64) -> Vec<Range<usize>> {
        let mut groups = Vec::new();
        let mut first = 0;
        for group in self
            .all
            .chunk_by(|a, b| a.0 == b.0 && a.1 / length == b.1 / length)
        {
            groups.push(first..first + group.len());
            first += group.len();
        }
        groups
    }

    pub(super) fn len(&self) -> usize {
        self.all.len()
    }

    pub(super) fn number(&self, call: &Call) -> usize {
        self.all.partition_point(|block| *block < block_of(call))
    }

    /// Returns the groups of all lengths, one length after another, as ranges of block indices.
    pub(super) fn groups(&self) -> &[Range<usize>] {
        &self.groups
    }

    /// Returns, for each length, the range of its groups in [`Blocks::groups`].
    pub(super) fn lengths(&self) -> impl Iterator<Item = Range<usize>> {
        self.lengths.iter().cloned()
    }

    pub(super) fn are_near(&self, a: usize, b: usize) -> bool {
        let (a, b) = (self.all[a], self.all[b]);
        a.0 == b.0 && a.1 / NEAR == b.1 / NEAR
    }
}

fn block_of(call: &Call) -> (u32, u64) {
    (call.slice, call.at_us / BASE)
}
