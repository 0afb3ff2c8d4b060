//! The way through a chunk: the blocks up to a mark, the mark, and on.

use trace::{BlockRun, Chunk, Mark, Reference};

use super::SimulationError;

/// Whoever takes a chunk piece by piece.
pub(crate) trait TakePieces {
    /// Blocks without a mark between them, of which the references are the first. Gives the references that are left.
    fn blocks<'a>(&mut self, blocks: BlockRun<'_>, references: &'a [Reference]) -> &'a [Reference];

    /// What stands between two of them.
    fn mark(&mut self, mark: &Mark);

    /// How many processes there are so far, and how many can be told apart.
    fn processes(&self) -> (u64, u64);
}

/// Hands over all pieces of a chunk, which must have passed its check.
///
/// # Errors
/// More processes than can be told apart.
pub(crate) fn take_pieces(chunk: &Chunk, taker: &mut impl TakePieces) -> Result<(), SimulationError> {
    let (mut blocks, mut references) = (chunk.blocks.run(), &chunk.references[..]);
    for placed in &chunk.marks {
        let passed = chunk.blocks.len() - blocks.len();
        let (before, after) = blocks.split_at(placed.before_block as usize - passed);
        references = taker.blocks(before, references);
        blocks = after;
        taker.mark(&placed.mark);
        check_processes(taker)?;
    }
    taker.blocks(blocks, references);
    check_processes(taker)
}

fn check_processes(taker: &impl TakePieces) -> Result<(), SimulationError> {
    let (found, most) = taker.processes();
    if found <= most { Ok(()) } else { Err(SimulationError::TooManyProcesses { found, most }) }
}
