//! Splits blocks and their references into lookups, in the order defined in this crate's README
//! ("Order of lookups").

use switchcost_trace::{Block, BlockRun, Reference};

/// Longest part of one kernel touch that is simulated, in bytes.
const LONGEST_TOUCH_BYTES: u64 = 1 << 30;
const TOUCH_BYTES: u64 = 64;

/// Receiver of the lookups into which blocks are split.
pub(crate) trait Lookups {
    /// Advances the clock by executed instructions.
    fn advance_clock(&mut self, instructions: u64);
    /// Looks up the code of blocks ahead of their loads and stores, up to the first block that may
    /// miss; returns the number of blocks. Returns 0 if the order of code among loads and stores
    /// matters.
    fn finds_code(&mut self, blocks: BlockRun<'_>) -> usize;
    /// Returns a counter that increases whenever code known to be cached may have been evicted.
    fn code_losses(&self) -> u64;
    /// Looks up loads and stores, up to the first that may miss; returns their number.
    fn finds_data(&mut self, references: &[Reference]) -> usize;
    /// Looks up the first instruction of a block, from its first to its last byte.
    fn first_instruction(&mut self, first: u64, last: u64);
    /// Looks up later code of a block, from the byte after `done` to `last`.
    fn code(&mut self, done: u64, last: u64);
    /// Looks up a load or store of a block.
    fn data(&mut self, block: &Block, reference: Reference);
    /// Attributes to `block` the lookups since the last call.
    fn attribute(&mut self, block: &Block);
}

/// Looks up everything that blocks touch.
pub(crate) fn look_up_all(
    mut blocks: BlockRun<'_>,
    mut references: &[Reference],
    lookups: &mut impl Lookups,
) {
    while let Some(block) = blocks.get(0) {
        let found = lookups.finds_code(blocks);
        let (passed, used) = if found == 0 {
            let own = &references[..usize::from(block.references).min(references.len())];
            lookups.advance_clock(block.instructions.into());
            look_up_in_order(block, own, lookups);
            (1, own.len())
        } else {
            only_data(blocks.slice(0..found), references, lookups)
        };
        blocks = blocks.slice(passed..blocks.len());
        references = &references[used..];
    }
}

/// Looks up loads and stores of blocks whose code was found. Returns the numbers of finished blocks
/// and references.
///
/// Most references hit, whatever their block. So this is one loop over all of them, and the block
/// is determined only if it matters; a loop over the few references of each block would end
/// unpredictably for the branch predictor.
fn only_data(
    blocks: BlockRun<'_>,
    references: &[Reference],
    lookups: &mut impl Lookups,
) -> (usize, usize) {
    let losses = lookups.code_losses();
    let mut left = 0;
    let mut all = 0;
    for block in blocks.iter() {
        left += u64::from(block.instructions);
        all += usize::from(block.references);
    }
    let references = &references[..all.min(references.len())];
    let mut ahead = blocks.iter();
    // The current block, the number of blocks that have begun, and the references up to the current
    // block's end.
    let (mut current, mut begun, mut end) = (None, 0, 0);
    let mut next = 0;
    loop {
        next += lookups.finds_data(&references[next..]);
        let Some(&reference) = references.get(next) else {
            break;
        };
        let mut instructions = 0;
        while next >= end {
            let Some(block) = ahead.next() else { break };
            instructions += u64::from(block.instructions);
            (begun, end) = (begun + 1, end + usize::from(block.references));
            current = Some(block);
        }
        lookups.advance_clock(instructions);
        left -= instructions;
        let Some(block) = current else { break };
        lookups.data(block, reference);
        next += 1;
        if lookups.code_losses() != losses {
            // The code after this reference is looked up again, which has no effect if its line is
            // not lost.
            let (start, end) = (
                end - usize::from(block.references),
                end.min(references.len()),
            );
            let (before, rest) = references[start..end].split_at(next - start);
            let through = before
                .iter()
                .map(|reference| reference.through())
                .max()
                .unwrap_or_default();
            let done = end_of_first(block).max(block.address.saturating_add(through.into()));
            rest_in_order(block, done, rest, lookups);
            return (begun, end);
        }
        lookups.attribute(block);
    }
    lookups.advance_clock(left);
    (blocks.len(), references.len())
}

/// Looks up a block in order: the lines of an instruction before its loads and stores.
#[inline(never)]
fn look_up_in_order(block: &Block, references: &[Reference], lookups: &mut impl Lookups) {
    let done = end_of_first(block);
    lookups.first_instruction(block.address, done);
    rest_in_order(block, done, references, lookups);
}

/// Looks up, in order, the references of a block, and its code after the byte with address `done`.
#[inline(never)]
fn rest_in_order(
    block: &Block,
    mut done: u64,
    references: &[Reference],
    lookups: &mut impl Lookups,
) {
    for &reference in references {
        let reached = block.address.saturating_add(reference.through().into());
        if reached > done {
            lookups.code(done, reached);
            done = reached;
        }
        lookups.data(block, reference);
    }
    let last = last_byte(block);
    if last > done {
        lookups.code(done, last);
    }
    lookups.attribute(block);
}

/// Returns the address of the last byte of a block's first instruction.
fn end_of_first(block: &Block) -> u64 {
    block
        .address
        .saturating_add(u64::from(block.first_bytes).saturating_sub(1))
}

/// Returns the address of the last byte of a block's code.
#[inline(always)]
pub(crate) fn last_byte(block: &Block) -> u64 {
    block
        .address
        .saturating_add(u64::from(block.bytes).saturating_sub(1))
}

/// Returns the addresses of the first and the last byte of a load or store.
#[inline(always)]
pub(crate) fn bytes_of(reference: Reference) -> (u64, u64) {
    let first = reference.address();
    (
        first,
        first.saturating_add(u64::from(reference.bytes()) - 1),
    )
}

/// Splits a touch of the kernel into loads or stores. Returns the addresses of the first and the
/// last byte of each.
pub(crate) fn pieces(address: u64, bytes: u64) -> impl Iterator<Item = (u64, u64)> {
    let last = address.saturating_add(bytes.min(LONGEST_TOUCH_BYTES).saturating_sub(1));
    let mut next = (bytes > 0).then_some(address);
    std::iter::from_fn(move || {
        let first = next?;
        let piece_last = (first | (TOUCH_BYTES - 1)).min(last);
        next = (piece_last < last).then(|| piece_last + 1);
        Some((first, piece_last))
    })
}
