//! Replacement in a partition, in which a new line may take only some ways.

use rand_chacha::rand_core::RngCore;

use super::{Order, Policy, SRRIP_LEAVES};

/// Whether a way is in the set `open`, one bit per way.
pub(in crate::machine) fn is_open(open: u64, way: usize) -> bool {
    open >> way & 1 == 1
}

impl Order {
    /// Returns the way whose line leaves. Only ways in `open` are considered; every way in `open`
    /// must hold a line.
    pub(in crate::machine) fn leaving_within(&mut self, set: usize, open: u64) -> usize {
        match self.policy {
            Policy::Direct => 0,
            Policy::Lru | Policy::Fifo => self.oldest_within(set, open),
            Policy::Random => {
                let number = self
                    .generator
                    .as_mut()
                    .map_or(0, |generator| generator.next_u32() % open.count_ones());
                self.open_ways(open).nth(number as usize).unwrap_or(0)
            }
            Policy::Tree => self.pointed_at_within(set, open),
            Policy::Srrip | Policy::Drrip => self.least_expected_within(set, open),
            Policy::Ship => {
                let way = self.least_expected_within(set, open);
                self.signatures.left(set * self.ways + way);
                way
            }
        }
    }

    fn open_ways(&self, open: u64) -> impl Iterator<Item = usize> + Clone + use<> {
        (0..self.ways).filter(move |&way| is_open(open, way))
    }

    fn oldest_within(&self, set: usize, open: u64) -> usize {
        let ranks = &self.ranks[set * self.ways..][..self.ways];
        self.open_ways(open)
            .min_by_key(|&way| ranks[way])
            .unwrap_or(0)
    }

    /// Follows the bits of the tree (tree PLRU) to a way, skipping subtrees without an open way.
    fn pointed_at_within(&self, set: usize, open: u64) -> usize {
        let tree = &self.trees[set * self.words..][..self.words];
        let (mut node, mut first, mut width) = (1, 0, self.ways);
        while width > 1 {
            width /= 2;
            let has_open = |is_upper: bool| {
                let start = first + if is_upper { width } else { 0 };
                open >> start & (u64::MAX >> (64 - width)) != 0
            };
            let pointed = tree[node / 64] >> (node % 64) & 1 == 1;
            let is_upper = if has_open(pointed) { pointed } else { !pointed };
            node = 2 * node + usize::from(is_upper);
            first += if is_upper { width } else { 0 };
        }
        first
    }

    fn least_expected_within(&mut self, set: usize, open: u64) -> usize {
        let ways = self.open_ways(open);
        let ranks = &mut self.ranks[set * self.ways..][..self.ways];
        let most = ways
            .clone()
            .map(|way| ranks[way])
            .max()
            .unwrap_or(SRRIP_LEAVES);
        ways.clone()
            .for_each(|way| ranks[way] += SRRIP_LEAVES.saturating_sub(most));
        ways.clone()
            .find(|&way| ranks[way] == SRRIP_LEAVES)
            .unwrap_or(0)
    }
}
