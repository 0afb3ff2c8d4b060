//! What a capture's encoder knows of shapes, from chunk to chunk.

use std::cell::Cell;

use super::addresses::{LANES, Row};
use crate::Block;
use crate::shape::Form;

/// How much ran.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Totals {
    pub(crate) instructions: u64,
    pub(crate) references: usize,
    pub(crate) blocks: usize,
}

impl Totals {
    pub(super) fn of(blocks: &[Block]) -> Totals {
        blocks.iter().fold(Totals::default(), |sum, block| Totals {
            instructions: sum.instructions + u64::from(block.instructions),
            references: sum.references + usize::from(block.references),
            blocks: sum.blocks + 1,
        })
    }

    pub(super) fn plus(self, other: Totals) -> Totals {
        Totals {
            instructions: self.instructions + other.instructions,
            references: self.references + other.references,
            blocks: self.blocks + other.blocks,
        }
    }

    pub(super) fn largest(self, other: Totals) -> Totals {
        Totals {
            instructions: self.instructions.max(other.instructions),
            references: self.references.max(other.references),
            blocks: self.blocks.max(other.blocks),
        }
    }
}

/// The same in one number, so that a sum of all is one addition: 24 bits of instructions, 24 of references, 16 of blocks.
/// What a few shapes ran fits ([`Sums::room`]).
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Sums(pub(super) u64);

impl Sums {
    const FIELD: u64 = (1 << 24) - 1;

    fn of(totals: Totals) -> Sums {
        debug_assert!(Sums::room(totals) > 0, "a shape fits: {totals:?}");
        Sums(totals.instructions | (totals.references as u64) << 24 | (totals.blocks as u64) << 48)
    }

    pub(super) fn totals(self) -> Totals {
        Totals {
            instructions: self.0 & Sums::FIELD,
            references: (self.0 >> 24 & Sums::FIELD) as usize,
            blocks: (self.0 >> 48) as usize,
        }
    }

    /// So many shapes can be summed up, of which none is larger.
    pub(super) fn room(largest: Totals) -> usize {
        let of = |field: u64, one: u64| (field / one.max(1)) as usize;
        of(Sums::FIELD, largest.instructions)
            .min(of(Sums::FIELD, largest.references as u64))
            .min(of(u16::MAX.into(), largest.blocks as u64))
    }
}

/// What the innermost loop needs to know of a shape. What it knows of the chunk holds in one chunk only.
#[derive(Clone, Debug)]
#[repr(align(128))]
pub(super) struct Hot {
    /// Of the first told references. The loop holds on to the shape before while it changes this of the next.
    pub(super) row: Cell<Row>,
    /// Heads of the choices, as they were last seen, salted with what they meant: to look a shape up by its head
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
    /// In place of how many, where a shape is not to be taken by its head: it tells more than fits a row, or its head is not
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

/// No shape has it.
pub(super) const NO_HEAD: u64 = u64::MAX;

impl Hot {
    pub(super) fn new(totals: Totals) -> Hot {
        Hot { row: Cell::default(), heads: [NO_HEAD; 2], choices: [Choice::NONE; 2], sums: Sums::of(totals) }
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
    pub(super) first_block: u32,
    pub(super) blocks: u32,
    pub(super) told: u32,
    pub(super) first_form: u32,
    pub(super) references: u32,
    /// Where the rows are of the told references beyond the first few.
    pub(super) first_row: u32,
    /// The chunk that it last occurred in.
    pub(super) chunk: u32,
    /// In that chunk.
    pub(super) number: u32,
}

impl Cold {
    /// Its own of all blocks and forms.
    pub(super) fn parts<'a>(&self, blocks: &'a [Block], forms: &'a [Form]) -> (&'a [Block], &'a [Form]) {
        let Cold { first_block, blocks: count, first_form, references, .. } = *self;
        (&blocks[first_block as usize..][..count as usize], &forms[first_form as usize..][..references as usize])
    }
}

/// Bits 40 to 55 of heads are clear ([`super::BlockSource::told`]).
const SALT_SHIFT: u32 = 40;
const SALT_BITS: u32 = 16;

/// What the encoder knows of shapes, by their ids. Number 0 is none: what a chunk begins behind.
#[derive(Debug, Default)]
pub(super) struct Known {
    pub(super) hot: Vec<Hot>,
    pub(super) cold: Vec<Cold>,
    pub(super) rows: Vec<Row>,
    pub(super) blocks: Vec<Block>,
    pub(super) forms: Vec<Form>,
    /// The most that any shape has of each.
    pub(super) largest: Totals,
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

    pub(super) fn parts_of(&self, id: usize) -> (&[Block], &[Form]) {
        self.cold[id].parts(&self.blocks, &self.forms)
    }

    pub(super) fn clear(&mut self) {
        self.hot.clear();
        self.cold.clear();
        self.rows.clear();
        self.blocks.clear();
        self.forms.clear();
        self.largest = Totals::default();
    }
}
