//! What a capture's encoder knows of shapes, from chunk to chunk.

use super::addresses::Slot;
use super::shapes::NO_SHAPE;
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
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
pub(super) struct Hot {
    /// Heads of blocks of the choices, as they were last seen: to look a shape up by its head costs much more.
    pub(super) heads: [u64; 2],
    pub(super) choices: [u32; 2],
    /// What the heads mean.
    pub(super) meaning: u32,
    pub(super) first_slot: u32,
    pub(super) told: u32,
    /// The chunk that it last occurred in.
    pub(super) chunk: u32,
    /// In that chunk.
    pub(super) number: u32,
    pub(super) sums: Sums,
}

/// No block has it, or where one has, there is no choice behind it.
pub(super) const NO_HEAD: u64 = u64::MAX;

impl Hot {
    pub(super) fn new(first_slot: usize, told: usize, block: &Block) -> Hot {
        Hot {
            heads: [NO_HEAD; 2],
            choices: [NO_SHAPE; 2],
            meaning: 0,
            first_slot: first_slot as u32,
            told: told as u32,
            chunk: 0,
            number: 0,
            sums: Sums::of(block),
        }
    }

    pub(super) fn forget_choices(&mut self) {
        (self.heads, self.choices) = ([NO_HEAD; 2], [NO_SHAPE; 2]);
    }
}

/// The rest of it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cold {
    pub(super) block: Block,
    pub(super) first_form: u32,
}

/// What the encoder knows of shapes, by their ids. Number 0 is none: what a chunk begins behind.
#[derive(Debug, Default)]
pub(super) struct Known {
    pub(super) hot: Vec<Hot>,
    pub(super) cold: Vec<Cold>,
    pub(super) slots: Vec<Slot>,
    pub(super) forms: Vec<Form>,
    /// References of the shape that has most.
    pub(super) most_references: usize,
    /// The number of the open chunk. Never 0 once there was one, so that no shape seems to belong to it.
    pub(super) chunk: u32,
}

impl Known {
    pub(super) fn forms_of(&self, id: usize) -> &[Form] {
        let Cold { block, first_form } = self.cold[id];
        &self.forms[first_form as usize..][..usize::from(block.references)]
    }

    pub(super) fn clear(&mut self) {
        self.hot.clear();
        self.cold.clear();
        self.slots.clear();
        self.forms.clear();
        self.most_references = 0;
    }
}
