//! A run of the event stream: blocks, their references, and marks between blocks.

use crate::{Blocks, Mark, Reference};

/// A mark and where it stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Placed {
    /// Index in the chunk of the block that it stands before; the number of blocks for a mark at the end.
    pub before_block: u32,
    /// The mark.
    pub mark: Mark,
}

/// A run of the event stream: blocks in the order of execution, their references behind one another, and marks between
/// blocks. References of one block are in the order of its instructions, and `references` is as long as the blocks
/// claim together. Marks are in ascending order of `before_block`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Chunk {
    /// The blocks.
    pub blocks: Blocks,
    /// The references of all blocks.
    pub references: Vec<Reference>,
    /// The marks.
    pub marks: Vec<Placed>,
}

impl Chunk {
    /// How many blocks a chunk should hold at most: writers cut here, readers refuse much more.
    pub const BLOCKS: usize = 256 << 10;

    /// Empties it, keeping its memory.
    pub fn clear(&mut self) {
        self.blocks.clear();
        self.references.clear();
        self.marks.clear();
    }

    /// Whether nothing is in it.
    pub fn is_empty(&self) -> bool {
        self.blocks.is_empty() && self.marks.is_empty()
    }

    /// Takes away the blocks from a place on, with their references and the marks before each of them and behind the last.
    ///
    /// # Panics
    /// Where there are not so many blocks.
    pub fn split_off(&mut self, block: usize) -> Chunk {
        let references: usize =
            self.blocks.run().slice(0..block).iter().map(|block| usize::from(block.references)).sum();
        let mark = self.marks.partition_point(|placed| (placed.before_block as usize) < block);
        let mut marks = self.marks.split_off(mark);
        marks.iter_mut().for_each(|placed| placed.before_block -= block as u32);
        Chunk { blocks: self.blocks.split_off(block), references: self.references.split_off(references), marks }
    }

    /// Appends a mark behind everything that is there.
    pub fn mark(&mut self, mark: Mark) {
        self.marks.push(Placed { before_block: self.blocks.len() as u32, mark });
    }

    /// Number of instructions in all blocks.
    pub fn instructions(&self) -> u64 {
        self.blocks.iter().map(|block| u64::from(block.instructions)).sum()
    }
}
