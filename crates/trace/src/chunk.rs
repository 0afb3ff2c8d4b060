//! A chunk: a run of the event stream, with blocks, their references, and marks between blocks.

use crate::{Block, Blocks, Mark, Reference};

/// A mark with its position in a chunk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Placed {
    /// Index in the chunk of the block that follows the mark; the number of blocks if none follows.
    pub before_block: u32,
    /// The mark that is placed.
    pub mark: Mark,
}

/// A run of the event stream: blocks in the order of execution, their references, and marks between
/// blocks. References of one block are in the order of its instructions. `references` has as many
/// elements as the blocks state together. Marks are in ascending order of `before_block`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Chunk {
    /// The blocks of the chunk.
    pub blocks: Blocks,
    /// References of all blocks, in order.
    pub references: Vec<Reference>,
    /// The marks of the chunk.
    pub marks: Vec<Placed>,
}

/// The next event of a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event<'a> {
    /// A mark of the stream.
    Mark(&'a Mark),
    /// A block with its references.
    Block(&'a Block, &'a [Reference]),
}

impl Chunk {
    /// Maximum number of blocks that a writer should put into one chunk. Readers accept somewhat
    /// larger chunks.
    pub const BLOCKS: usize = 256 << 10;

    /// Empties the chunk, keeping the memory.
    pub fn clear(&mut self) {
        self.blocks.clear();
        self.references.clear();
        self.marks.clear();
    }

    /// Whether the chunk has no blocks and no marks.
    pub fn is_empty(&self) -> bool {
        self.blocks.is_empty() && self.marks.is_empty()
    }

    /// Removes the blocks from index `block` on and returns them as a chunk with their references.
    /// Marks directly before these blocks, and marks after the last block, move with them.
    ///
    /// # Panics
    ///
    /// If the chunk has fewer than `block` blocks.
    pub fn split_off(&mut self, block: usize) -> Chunk {
        let references: usize = self
            .blocks
            .run()
            .slice(0..block)
            .iter()
            .map(|block| usize::from(block.references))
            .sum();
        let mark = self
            .marks
            .partition_point(|placed| (placed.before_block as usize) < block);
        let mut marks = self.marks.split_off(mark);
        marks
            .iter_mut()
            .for_each(|placed| placed.before_block -= block as u32);
        Chunk {
            blocks: self.blocks.split_off(block),
            references: self.references.split_off(references),
            marks,
        }
    }

    /// Appends a mark at the end of the chunk.
    pub fn mark(&mut self, mark: Mark) {
        self.marks.push(Placed {
            before_block: self.blocks.len() as u32,
            mark,
        });
    }

    /// Returns the blocks and marks, in order. A block that states more references than the chunk
    /// has left gets the remaining ones.
    pub fn events(&self) -> impl Iterator<Item = Event<'_>> {
        let mut marks = self.marks.iter().peekable();
        let mut blocks = self.blocks.iter().zip(0u32..).peekable();
        let mut references = self.references.as_slice();
        std::iter::from_fn(move || {
            let next = blocks.peek().map(|&(_, index)| index);
            if let Some(placed) =
                marks.next_if(|placed| next.is_none_or(|next| placed.before_block <= next))
            {
                return Some(Event::Mark(&placed.mark));
            }
            let (block, _) = blocks.next()?;
            let (own, rest) =
                references.split_at(usize::from(block.references).min(references.len()));
            references = rest;
            Some(Event::Block(block, own))
        })
    }

    /// Returns the number of instructions in all blocks.
    pub fn instructions(&self) -> u64 {
        self.blocks
            .iter()
            .map(|block| u64::from(block.instructions))
            .sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{TaskId, testing};

    #[test]
    fn events_are_in_their_order_and_a_block_has_the_references_that_are_there() {
        let block = |references| Block {
            references,
            ..testing::block(0)
        };
        let exit = |task| Mark::Exit { task: TaskId(task) };
        let references = [1, 2, 3].map(|address| Reference::new(address, 7, 3, false));
        let mut chunk = Chunk::default();
        chunk.mark(exit(1));
        chunk.blocks.push(block(1));
        chunk.blocks.push(block(0));
        chunk.mark(exit(2));
        chunk.mark(exit(3));
        chunk.blocks.push(block(3));
        chunk.mark(exit(4));
        chunk.references.extend(references);
        let events: Vec<Event<'_>> = chunk.events().collect();
        let expected = [
            Event::Mark(&exit(1)),
            Event::Block(&block(1), &references[..1]),
            Event::Block(&block(0), &[]),
            Event::Mark(&exit(2)),
            Event::Mark(&exit(3)),
            Event::Block(&block(3), &references[1..]),
            Event::Mark(&exit(4)),
        ];
        assert_eq!(events, expected);
    }
}
