//! Blocks of time, and the groups of them that are left out one by one for an interval.

use std::collections::BTreeSet;
use std::ops::Range;

use super::calls::Call;

/// The shortest blocks, in microseconds.
const BASE: u64 = 125_000;
/// How long groups are, in blocks.
const LENGTHS: [u64; 4] = [1, 2, 4, 8];
/// Groups of a length count if there are so many, of the shortest if there are a few.
const ENOUGH: usize = 10;
const LEAST: usize = 5;
/// Within so many blocks the speed of all is taken as one.
const NEAR: u64 = 2;

/// Blocks in which there is something, in the order of time.
#[derive(Debug)]
pub(super) struct Blocks {
    /// The slice of each, and its number in it.
    all: Vec<(u32, u64)>,
    groups: Vec<Range<usize>>,
    /// Groups of each length.
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

    /// Of all lengths, one behind the other.
    pub(super) fn groups(&self) -> &[Range<usize>] {
        &self.groups
    }

    /// Where in [`Blocks::groups`] those of each length are.
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
