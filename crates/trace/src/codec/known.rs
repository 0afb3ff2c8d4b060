//! What a capture's encoder knows of shapes, from chunk to chunk.

use std::cell::Cell;

use super::addresses::{LANES, Row};
use crate::Block;
use crate::shape::Form;

/// Instructions in the lower half, references in the upper: a chunk has too few of either to reach the other half.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Sums(pub(super) u64);

impl Sums {
    fn of(block: &Block) -> Sums {
        Sums(u64::from(block.instructions) | u64::from(block.references) << 32)
    }

    pub(crate) fn instructions(self) -> u64 {
        self.0 & 0xffff_ffff
    }

    pub(crate) fn references(self) -> usize {
        (self.0 >> 32) as usize
    }
}

/// What the innermost loop needs to know of a shape. What it knows of the chunk holds in one chunk only.
#[derive(Clone, Debug)]
#[repr(align(128))]
pub(super) struct Hot {
    /// Of the first told references. The loop holds on to the shape before while it changes this of the next.
    pub(super) row: Cell<Row>,
    /// Heads of blocks of the choices, as they were last seen, salted with what they meant: to look a shape up by its head
    /// costs more.
    pub(super) heads: [u64; 2],
    pub(super) choices: [Choice; 2],
    pub(super) sums: Sums,
}

/// A shape that may run next: its id, and how many references it tells. Who knows that needs not wait for the head that
/// comes to know where the next one stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Choice(u32);

impl Choice {
    pub(super) const NONE: Choice = Choice(u32::MAX);
    /// In place of how many, where a block is not to be taken by its head: it tells more than fits a row, or its head is not
    /// known. The head of neither says 0.
    const NOT_BY_HEAD: usize = 0;
    const TOLD_BITS: u32 = 3;
    /// The largest number that fits beside the id.
    pub(super) const MOST: usize = (1 << Choice::TOLD_BITS) - 1;

    pub(super) fn new(id: u32, told: usize) -> Choice {
        debug_assert!(id <= u32::MAX >> Choice::TOLD_BITS, "so many shapes do not fit into memory");
        Choice(id << Choice::TOLD_BITS | if told > LANES { Choice::NOT_BY_HEAD } else { told } as u32)
    }

    #[inline(always)]
    pub(super) fn id(self) -> u32 {
        self.0 >> Choice::TOLD_BITS
    }

    #[inline(always)]
    pub(super) fn told(self) -> usize {
        self.0 as usize & Choice::MOST
    }
}

/// No block has it.
pub(super) const NO_HEAD: u64 = u64::MAX;

impl Hot {
    pub(super) fn new(block: &Block) -> Hot {
        Hot { row: Cell::default(), heads: [NO_HEAD; 2], choices: [Choice::NONE; 2], sums: Sums::of(block) }
    }

    pub(super) fn forget_choices(&mut self) {
        (self.heads, self.choices) = ([NO_HEAD; 2], [Choice::NONE; 2]);
    }

    fn forget_heads(&mut self) {
        (self.heads, self.choices) =
            ([NO_HEAD; 2], self.choices.map(|choice| Choice::new(choice.id(), Choice::NOT_BY_HEAD)));
    }

    /// A shape that told so much ran behind this one. Where its head is not known it is not taken by its head either: any
    /// word may be [`NO_HEAD`].
    pub(super) fn choose(&mut self, turn: usize, id: u32, told: usize, head: u64) {
        let told = if head == NO_HEAD { Choice::NOT_BY_HEAD } else { told };
        (self.choices[turn], self.heads[turn]) = (Choice::new(id, told), head);
    }
}

/// How many rows the told references beyond the first few have.
#[inline(always)]
pub(super) fn more_rows(told: usize) -> usize {
    told.saturating_sub(1) / LANES
}

/// The rest of it.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Cold {
    pub(super) block: Block,
    pub(super) told: u32,
    pub(super) first_form: u32,
    /// Where the rows are of the told references beyond the first few.
    pub(super) first_row: u32,
    /// The chunk that it last occurred in.
    pub(super) chunk: u32,
    /// In that chunk.
    pub(super) number: u32,
}

/// Bits 40 to 55 of heads of blocks are clear ([`super::BlockSource::told`]).
const SALT_SHIFT: u32 = 40;
const SALT_BITS: u32 = 16;

/// What the encoder knows of shapes, by their ids. Number 0 is none: what a chunk begins behind.
#[derive(Debug, Default)]
pub(super) struct Known {
    pub(super) hot: Vec<Hot>,
    pub(super) cold: Vec<Cold>,
    pub(super) rows: Vec<Row>,
    pub(super) forms: Vec<Form>,
    /// References of the shape that has most.
    pub(super) most_references: usize,
    /// The number of the open chunk. Never 0 once there was one, so that no shape seems to belong to it.
    pub(super) chunk: u32,
    /// What [`super::BlockSource::meaning`] was last, but for the bits that heads are salted with.
    pub(super) era: u32,
}

impl Known {
    /// What heads are salted with, so that those of another meaning are not taken for each other.
    pub(super) fn salt(&mut self, meaning: u32) -> u64 {
        let era = meaning >> SALT_BITS;
        if era != self.era {
            self.era = era;
            self.hot.iter_mut().for_each(Hot::forget_heads);
        }
        u64::from(meaning & ((1 << SALT_BITS) - 1)) << SALT_SHIFT
    }

    pub(super) fn forms_of(&self, id: usize) -> &[Form] {
        let Cold { block, first_form, .. } = self.cold[id];
        &self.forms[first_form as usize..][..usize::from(block.references)]
    }

    pub(super) fn clear(&mut self) {
        self.hot.clear();
        self.cold.clear();
        self.rows.clear();
        self.forms.clear();
        self.most_references = 0;
    }
}
