//! Replacement policies, which choose the line that leaves a full set. Zeroed memory is a valid
//! initial state.

mod duel;
mod signatures;
mod within;

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{RngCore, SeedableRng};
use switchcost_design::Replacement;

use duel::Duel;
use signatures::Signatures;
pub(super) use within::is_open;

/// SRRIP's re-reference prediction for a new line. Lines with a prediction of one more leave.
const SRRIP_INSERTED: u64 = 2;
const SRRIP_LEAVES: u64 = 3;

/// State of the replacement policy of one level of one hierarchy.
#[derive(Debug)]
pub(super) struct Order {
    policy: Policy,
    ways: usize,
    /// For each way, the time of the last use (LRU) or arrival (FIFO), or the prediction (SRRIP).
    ranks: Vec<u64>,
    now: u64,
    /// Bits of the trees (tree PLRU), in `words` words per set. Node 1 is the root.
    trees: Vec<u64>,
    words: usize,
    generator: Option<Box<ChaCha8Rng>>,
    /// State of set dueling (DRRIP). The state is boxed, like that of SHiP, to keep this struct
    /// small.
    duel: Box<Duel>,
    signatures: Box<Signatures>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Policy {
    /// The sets have one way, so there is no choice.
    Direct,
    Lru,
    Fifo,
    Random,
    Tree,
    Srrip,
    Drrip,
    Ship,
}

impl Policy {
    pub(super) fn new(replacement: Replacement, ways: usize) -> Policy {
        match replacement {
            _ if ways == 1 => Policy::Direct,
            Replacement::Lru => Policy::Lru,
            Replacement::Fifo => Policy::Fifo,
            Replacement::Random => Policy::Random,
            Replacement::TreePlru => Policy::Tree,
            Replacement::Srrip => Policy::Srrip,
            Replacement::Drrip => Policy::Drrip,
            Replacement::Ship => Policy::Ship,
        }
    }

    /// Whether a second lookup of the line that was used last in its set has no effect, so that it
    /// can be skipped. `was_found` says whether the first lookup found the line or brought it in.
    pub(super) fn may_skip_repeat(self, was_found: bool) -> bool {
        match self {
            Policy::Direct | Policy::Lru | Policy::Fifo | Policy::Random | Policy::Tree => true,
            // The first hit predicts that a line is used soon; the next ones change nothing.
            Policy::Srrip | Policy::Drrip => was_found,
            // Each hit is counted for the instruction that brought the line in.
            Policy::Ship => false,
        }
    }

    /// Whether the policy's choices depend only on the contents of the sets and the times of
    /// arrival and use, so that a flush resets them.
    pub(super) fn forgets_when_flushed(self) -> bool {
        match self {
            Policy::Direct | Policy::Lru | Policy::Fifo | Policy::Tree | Policy::Srrip => true,
            // These policies have state that a flush does not reset: random numbers or learned
            // predictions.
            Policy::Random | Policy::Drrip | Policy::Ship => false,
        }
    }

    /// Whether the policy replaces the least recently used line.
    pub(super) fn is_lru(self) -> bool {
        matches!(self, Policy::Direct | Policy::Lru)
    }
}

impl Order {
    pub(super) fn new(policy: Policy, [sets, ways]: [usize; 2], seed: u64) -> Order {
        let lines = sets * ways;
        let ranked = !matches!(policy, Policy::Direct | Policy::Random | Policy::Tree);
        let words = if policy == Policy::Tree {
            ways.div_ceil(64)
        } else {
            0
        };
        let generator =
            (policy == Policy::Random).then(|| Box::new(ChaCha8Rng::seed_from_u64(seed)));
        Order {
            policy,
            ways,
            ranks: vec![0; if ranked { lines } else { 0 }],
            now: 0,
            trees: vec![0; words * sets],
            words,
            generator,
            duel: Box::new(Duel::new(sets)),
            signatures: Box::new(Signatures::new(if policy == Policy::Ship {
                lines
            } else {
                0
            })),
        }
    }

    /// Reads the state of a slot, so that it is in the cache when needed. Policies without such
    /// state read nothing.
    #[inline]
    pub(super) fn read_ahead(&self, slot: usize) -> u64 {
        self.ranks.get(slot).copied().unwrap_or(0)
    }

    /// Updates the state for a line that was found.
    #[inline]
    pub(super) fn found(&mut self, slot: usize) {
        match self.policy {
            Policy::Direct | Policy::Fifo | Policy::Random => {}
            Policy::Lru => self.stamp(slot),
            Policy::Tree => self.turn_away(slot),
            Policy::Srrip | Policy::Drrip => self.ranks[slot] = 0,
            Policy::Ship => {
                self.ranks[slot] = 0;
                self.signatures.found(slot);
            }
        }
    }

    /// Updates the state for a line that came in.
    #[inline]
    pub(super) fn came(&mut self, slot: usize) {
        match self.policy {
            Policy::Direct | Policy::Random => {}
            Policy::Lru | Policy::Fifo => self.stamp(slot),
            Policy::Tree => self.turn_away(slot),
            Policy::Srrip => self.ranks[slot] = SRRIP_INSERTED,
            Policy::Drrip => self.ranks[slot] = self.duel.comes_into(slot / self.ways),
            Policy::Ship => self.ranks[slot] = self.signatures.came(slot),
        }
    }

    /// Sets the address of the instruction for which the next lines are brought in (SHiP).
    pub(super) fn asked_by(&mut self, instruction: u64) {
        self.signatures.asked_by(instruction);
    }

    /// Returns the way whose line leaves. The set must be full.
    pub(super) fn leaving(&mut self, set: usize) -> usize {
        match self.policy {
            Policy::Direct => 0,
            Policy::Lru | Policy::Fifo => self.oldest(set),
            Policy::Random => match &mut self.generator {
                Some(generator) => generator.next_u32() as usize % self.ways,
                None => 0,
            },
            Policy::Tree => self.pointed_at(set),
            Policy::Srrip | Policy::Drrip => self.least_expected(set),
            Policy::Ship => {
                let way = self.least_expected(set);
                self.signatures.left(set * self.ways + way);
                way
            }
        }
    }

    /// Resets the tree of a set (tree PLRU).
    pub(super) fn restart(&mut self, set: usize) {
        if self.policy == Policy::Tree {
            self.trees[set * self.words..][..self.words].fill(0);
        }
    }

    #[inline]
    fn stamp(&mut self, slot: usize) {
        self.now += 1;
        self.ranks[slot] = self.now;
    }

    /// Marks a line as newest, so that it does not leave while [`super::common_lines`] has it
    /// (LRU).
    #[inline]
    pub(super) fn take_shared(&mut self, slot: usize) {
        if let Some(rank) = self.ranks.get_mut(slot) {
            *rank = u64::MAX;
        }
    }

    fn oldest(&self, set: usize) -> usize {
        least(&self.ranks[set * self.ways..][..self.ways])
    }

    fn turn_away(&mut self, slot: usize) {
        let (set, way) = (slot / self.ways, slot % self.ways);
        let tree = &mut self.trees[set * self.words..][..self.words];
        let (mut node, mut half) = (1, self.ways / 2);
        while half > 0 {
            let is_upper = way & half != 0;
            let bit = 1 << (node % 64);
            if is_upper {
                tree[node / 64] &= !bit
            } else {
                tree[node / 64] |= bit
            }
            node = 2 * node + usize::from(is_upper);
            half /= 2;
        }
    }

    fn pointed_at(&self, set: usize) -> usize {
        let tree = &self.trees[set * self.words..][..self.words];
        let mut node = 1;
        while node < self.ways {
            node = 2 * node + (tree[node / 64] >> (node % 64) & 1) as usize;
        }
        node - self.ways
    }

    fn least_expected(&mut self, set: usize) -> usize {
        let ranks = &mut self.ranks[set * self.ways..][..self.ways];
        let most = ranks.iter().copied().max().unwrap_or(SRRIP_LEAVES);
        ranks
            .iter_mut()
            .for_each(|rank| *rank += SRRIP_LEAVES.saturating_sub(most));
        ranks
            .iter()
            .position(|&rank| rank == SRRIP_LEAVES)
            .unwrap_or(0)
    }
}

/// Number of bits of a rank that hold the number of the way. The other bits hold a time.
const WAY_BITS: u32 = 16;

/// Returns the index of the first lowest rank.
#[inline]
pub(super) fn least(ranks: &[u64]) -> usize {
    if ranks.len() > 1 << WAY_BITS {
        return ranks
            .iter()
            .enumerate()
            .min_by_key(|&(_, rank)| rank)
            .map_or(0, |(place, _)| place);
    }
    // Rank and index are combined into one number, so that the minimum needs no branch. A branch
    // for each way could not be predicted.
    let with_place = |(place, rank): (usize, &u64)| rank << WAY_BITS | place as u64;
    let (fours, rest) = ranks.as_chunks::<4>();
    let mut least = [u64::MAX; 4];
    for (number, four) in fours.iter().enumerate() {
        for (lane, rank) in four.iter().enumerate() {
            least[lane] = least[lane].min(with_place((4 * number + lane, rank)));
        }
    }
    for (lane, rank) in rest.iter().enumerate() {
        least[lane] = least[lane].min(with_place((4 * fours.len() + lane, rank)));
    }
    (least.into_iter().min().unwrap_or(0) & ((1 << WAY_BITS) - 1)) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_of_the_least_is_found_however_many_there_are() {
        for ways in (1..40).chain([1 << WAY_BITS, (1 << WAY_BITS) + 1]) {
            for seed in [1_u64, 3, 7] {
                let ranks: Vec<u64> = (0..ways)
                    .map(|way| (way as u64 + 1).wrapping_mul(seed * 0x9e37) % 61)
                    .collect();
                let first = ranks
                    .iter()
                    .position(|rank| Some(rank) == ranks.iter().min());
                assert_eq!(Some(least(&ranks)), first, "{ways} ways, {seed}");
            }
        }
        // Lines of the list must not leave.
        assert_eq!(least(&[u64::MAX, 9, u64::MAX, 8, 8]), 3);
    }
}
