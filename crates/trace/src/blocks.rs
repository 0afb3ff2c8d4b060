//! The blocks of a chunk: indices into a table of distinct blocks. Most blocks run many times, so
//! an index of four bytes replaces sixteen bytes, and readers can store facts about each distinct
//! block in separate tables.

use std::ops::{Index, Range};

use crate::Block;

/// Number of hash slots for finding an equal block; a power of two.
const RECENT: usize = 4096;

/// Blocks in the order of execution. Two sequences are equal if they consist of equal blocks in the
/// same order.
#[derive(Clone, Debug, Default)]
pub struct Blocks {
    kinds: Vec<Block>,
    numbers: Vec<u32>,
    /// Index of the last distinct block with each hash.
    recent: Vec<u32>,
}

impl Blocks {
    /// Appends an executed block.
    pub fn push(&mut self, block: Block) {
        if self.recent.is_empty() {
            self.recent.resize(RECENT, 0);
        }
        let recent = &mut self.recent[place_of(&block)];
        if self.kinds.get(*recent as usize) != Some(&block) {
            *recent = self.kinds.len() as u32;
            self.kinds.push(block);
        }
        self.numbers.push(*recent);
    }

    /// Removes all blocks, keeping the memory.
    pub fn clear(&mut self) {
        self.kinds.clear();
        self.numbers.clear();
    }

    /// Removes the blocks from index `place` on, and returns them.
    pub(crate) fn split_off(&mut self, place: usize) -> Blocks {
        Blocks {
            kinds: self.kinds.clone(),
            numbers: self.numbers.split_off(place),
            recent: Vec::new(),
        }
    }

    /// Returns the number of executed blocks.
    pub fn len(&self) -> usize {
        self.numbers.len()
    }

    /// Whether no block was executed.
    pub fn is_empty(&self) -> bool {
        self.numbers.is_empty()
    }

    /// Returns all blocks, in order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &Block> + Clone {
        self.run().iter()
    }

    /// Returns the block at an index, if there is one.
    pub fn get(&self, place: usize) -> Option<&Block> {
        self.run().get(place)
    }

    /// Returns all blocks of the chunk as one run.
    pub fn run(&self) -> BlockRun<'_> {
        BlockRun {
            kinds: &self.kinds,
            numbers: &self.numbers,
        }
    }

    /// Returns the table and the indices for the decoder, which fills both. Every index must be
    /// within the table.
    pub(crate) fn parts_mut(&mut self) -> (&mut Vec<Block>, &mut Vec<u32>) {
        (&mut self.kinds, &mut self.numbers)
    }
}

/// Returns the hash slot of a block. The multiplication spreads addresses over the upper bits
/// (Knuth's multiplicative hashing).
fn place_of(block: &Block) -> usize {
    let size = u64::from(block.bytes) << 32 | u64::from(block.references) << 48;
    let hash = (block.address ^ size).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (hash >> (u64::BITS - RECENT.trailing_zeros())) as usize
}

impl PartialEq for Blocks {
    fn eq(&self, other: &Self) -> bool {
        self.len() == other.len() && self.iter().eq(other.iter())
    }
}

impl Eq for Blocks {}

impl Index<usize> for Blocks {
    type Output = Block;

    fn index(&self, place: usize) -> &Block {
        &self.kinds[self.numbers[place] as usize]
    }
}

impl Extend<Block> for Blocks {
    fn extend<T: IntoIterator<Item = Block>>(&mut self, blocks: T) {
        blocks.into_iter().for_each(|block| self.push(block));
    }
}

impl<'a> Extend<&'a Block> for Blocks {
    fn extend<T: IntoIterator<Item = &'a Block>>(&mut self, blocks: T) {
        self.extend(blocks.into_iter().copied());
    }
}

impl FromIterator<Block> for Blocks {
    fn from_iter<T: IntoIterator<Item = Block>>(blocks: T) -> Self {
        let mut all = Blocks::default();
        all.extend(blocks);
        all
    }
}

/// Consecutive blocks of a chunk.
#[derive(Clone, Copy, Debug)]
pub struct BlockRun<'a> {
    kinds: &'a [Block],
    numbers: &'a [u32],
}

impl<'a> BlockRun<'a> {
    /// Returns the number of blocks in the run.
    #[inline]
    pub fn len(self) -> usize {
        self.numbers.len()
    }

    /// Whether the run has no blocks.
    #[inline]
    pub fn is_empty(self) -> bool {
        self.numbers.is_empty()
    }

    /// Returns the blocks, in order.
    #[inline]
    pub fn iter(self) -> impl ExactSizeIterator<Item = &'a Block> + Clone {
        self.numbers
            .iter()
            .map(move |&number| &self.kinds[number as usize])
    }

    /// Returns the distinct blocks of the whole chunk. The table may contain some block twice.
    #[inline]
    pub fn kinds(self) -> &'a [Block] {
        self.kinds
    }

    /// Returns the index of each block of the run in [`BlockRun::kinds`].
    #[inline]
    pub fn numbers(self) -> &'a [u32] {
        self.numbers
    }

    /// Returns the block at an index of the run, if there is one.
    #[inline]
    pub fn get(self, place: usize) -> Option<&'a Block> {
        self.numbers
            .get(place)
            .map(|&number| &self.kinds[number as usize])
    }

    /// Returns the blocks in a range of indices.
    ///
    /// # Panics
    ///
    /// If the range exceeds the run.
    #[inline]
    pub fn slice(self, places: Range<usize>) -> BlockRun<'a> {
        BlockRun {
            numbers: &self.numbers[places],
            ..self
        }
    }

    /// Splits the run before an index.
    ///
    /// # Panics
    ///
    /// If the index exceeds the number of blocks.
    #[inline]
    pub fn split_at(self, place: usize) -> (BlockRun<'a>, BlockRun<'a>) {
        let (before, after) = self.numbers.split_at(place);
        (
            BlockRun {
                numbers: before,
                ..self
            },
            BlockRun {
                numbers: after,
                ..self
            },
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::block;

    #[test]
    fn gives_back_what_was_pushed_and_distinguishes_few_kinds() {
        let some: Vec<Block> = (0..1000).map(|number| block(number % 10 * 4)).collect();
        let blocks: Blocks = some.iter().copied().collect();
        assert_eq!(blocks.len(), 1000);
        assert!(blocks.iter().eq(&some));
        assert!(
            blocks.run().kinds().len() < 30,
            "{} kinds",
            blocks.run().kinds().len()
        );
        assert_eq!(blocks[11], block(4));
    }

    #[test]
    fn any_number_of_kinds_fits() {
        let some: Vec<Block> = (0..3 * RECENT as u64)
            .chain(0..RECENT as u64)
            .map(|at| block(at * 64))
            .collect();
        let blocks: Blocks = some.iter().copied().collect();
        assert!(blocks.iter().eq(&some));
    }

    #[test]
    fn blocks_are_equal_however_they_are_numbered() {
        let mut one: Blocks = [block(0), block(4)].into_iter().collect();
        let mut other: Blocks = [block(4), block(0), block(4)].into_iter().collect();
        assert_ne!(one, other);
        other.clear();
        other.extend([block(0), block(4)]);
        assert_eq!(one, other);
        let (kinds, numbers) = one.parts_mut();
        kinds.swap(0, 1);
        numbers.swap(0, 1);
        assert_eq!(one, other);
    }
}
