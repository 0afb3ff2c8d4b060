//! Splits a chunk at its marks: the blocks up to a mark, the mark, the next blocks, and so on.

use switchcost_trace::{BlockRun, Chunk, Mark, Reference};

/// Receiver of the pieces of a chunk.
pub(crate) trait TakePieces {
    /// Takes consecutive blocks without a mark between them. `references` begins with the
    /// references of the taken blocks; the rest is returned.
    fn blocks<'a>(&mut self, blocks: BlockRun<'_>, references: &'a [Reference]) -> &'a [Reference];

    /// Takes a mark between two runs of blocks.
    fn mark(&mut self, mark: &Mark);
}

/// Passes all pieces of a chunk, which must have passed its check, to `taker`.
pub(crate) fn take_pieces(chunk: &Chunk, taker: &mut impl TakePieces) {
    let (mut blocks, mut references) = (chunk.blocks.run(), &chunk.references[..]);
    for placed in &chunk.marks {
        let passed = chunk.blocks.len() - blocks.len();
        let (before, after) = blocks.split_at(placed.before_block as usize - passed);
        references = taker.blocks(before, references);
        blocks = after;
        taker.mark(&placed.mark);
    }
    taker.blocks(blocks, references);
}
