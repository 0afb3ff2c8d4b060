//! Blocks and their references, cut into what is looked up, in its order (`docs/method/simulation.md`, "Order").

use trace::{Block, BlockRun, Reference};

/// How much of one touch of the kernel is simulated.
const LONGEST_TOUCH_BYTES: u64 = 1 << 30;
const TOUCH_BYTES: u64 = 64;

/// Who looks up what blocks touch.
pub(crate) trait Lookups {
    /// A block begins.
    fn enter(&mut self, block: &Block);
    /// Looks up all code of a block, if it is all found and its order among loads and stores does not matter; else changes
    /// nothing that a lookup would not change.
    fn finds_code(&mut self, block: &Block) -> bool;
    /// Looks up a load or store, if that is known to be found; else changes nothing.
    fn finds(&mut self, reference: Reference) -> bool;
    /// Whether a load or store that is not found may take code away that was found.
    fn may_lose_code(&self) -> bool;
    /// The first instruction of a block, from its first to its last byte.
    fn first_instruction(&mut self, first: u64, last: u64);
    /// Later code of a block: what is before `done` has been looked up.
    fn code(&mut self, done: u64, last: u64);
    /// A load or store.
    fn data(&mut self, reference: Reference);
    /// A block ends.
    fn leave(&mut self, block: &Block);
}

/// Everything that blocks touch.
pub(crate) fn look_up_all(blocks: BlockRun<'_>, mut references: &[Reference], lookups: &mut impl Lookups) {
    for block in blocks.iter() {
        let own;
        (own, references) = references.split_at(usize::from(block.references).min(references.len()));
        lookups.enter(block);
        if lookups.finds_code(block) {
            only_data(block, own, lookups);
        } else {
            in_order(block, own, lookups);
        }
        lookups.leave(block);
    }
}

/// Loads and stores of a block all of whose code was found.
#[inline(always)]
fn only_data(block: &Block, references: &[Reference], lookups: &mut impl Lookups) {
    for (number, &reference) in references.iter().enumerate() {
        if lookups.finds(reference) {
            continue;
        }
        if lookups.may_lose_code() {
            // What was found behind this reference may be gone then: it is looked up again, which is the same where it is not.
            let (before, rest) = references.split_at(number);
            let through = before.iter().map(|reference| reference.through()).max().unwrap_or_default();
            let done = end_of_first(block).max(block.address.saturating_add(through.into()));
            return rest_in_order(block, done, rest, lookups);
        }
        lookups.data(reference);
    }
}

#[inline(never)]
fn in_order(block: &Block, references: &[Reference], lookups: &mut impl Lookups) {
    let done = end_of_first(block);
    lookups.first_instruction(block.address, done);
    rest_in_order(block, done, references, lookups);
}

/// All of a block behind a byte of its code: the line of an instruction before its loads and stores.
#[inline(never)]
fn rest_in_order(block: &Block, mut done: u64, references: &[Reference], lookups: &mut impl Lookups) {
    for &reference in references {
        let reached = block.address.saturating_add(reference.through().into());
        if reached > done {
            lookups.code(done, reached);
            done = reached;
        }
        if !lookups.finds(reference) {
            lookups.data(reference);
        }
    }
    let last = last_byte(block);
    if last > done {
        lookups.code(done, last);
    }
}

/// The last byte of a block's first instruction.
fn end_of_first(block: &Block) -> u64 {
    block.address.saturating_add(u64::from(block.first_bytes).saturating_sub(1))
}

/// The last byte of a block's code.
#[inline(always)]
pub(crate) fn last_byte(block: &Block) -> u64 {
    block.address.saturating_add(u64::from(block.bytes).saturating_sub(1))
}

/// The first and the last byte of a load or store.
#[inline(always)]
pub(crate) fn bytes_of(reference: Reference) -> (u64, u64) {
    let first = reference.address();
    (first, first.saturating_add(u64::from(reference.bytes()) - 1))
}

/// A touch of the kernel as loads or stores: their first and last bytes.
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
