//! Shapes that an encoder knows. Shapes stay known from chunk to chunk.

use std::cell::Cell;

use super::addresses::{LANES, Row};
use super::sequence::SUCCESSORS;
use crate::Block;
use crate::shape::ShapeReference;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Totals {
    pub(crate) instructions: u64,
    pub(crate) references: usize,
    pub(crate) blocks: usize,
}

impl Totals {
    pub(super) fn count(blocks: &[Block]) -> Totals {
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

/// Three counts packed into one word, so that one addition adds all: 24 bits of instructions, 24 of
/// references, 16 of blocks. [`Sums::room`] says how many shapes can be added.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Sums(pub(super) u64);

impl Sums {
    const FIELD: u64 = (1 << 24) - 1;

    fn new(totals: Totals) -> Sums {
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

    /// Returns the number of shapes that can be added without overflow, if none has larger counts
    /// than `largest`.
    pub(super) fn room(largest: Totals) -> usize {
        let of = |field: u64, one: u64| (field / one.max(1)) as usize;
        of(Sums::FIELD, largest.instructions)
            .min(of(Sums::FIELD, largest.references as u64))
            .min(of(u16::MAX.into(), largest.blocks as u64))
    }
}

/// Data of a shape that the innermost loop needs, in two cache lines. The loop learns late which
/// shape is next, and then waits for each line. Data about the open chunk are reset when a chunk
/// begins.
#[derive(Clone, Debug)]
#[repr(align(128))]
pub(super) struct Hot {
    /// Predictions of the addresses of the shape's first [`LANES`] explicit references. In a `Cell`,
    /// because the encoding loop changes the row of one shape while it borrows another shape.
    pub(super) row: Cell<Row>,
    /// Predicted successors: the shapes that followed this shape without being predicted, the
    /// latest first. All differ, except for entries of [`NONE`].
    pub(super) predictor: [u32; SUCCESSORS],
    /// Number of explicit references; if there are more than a row holds, a number that no head can
    /// have.
    pub(super) explicit: u64,
    pub(super) sums: Sums,
}

const _: () = assert!(size_of::<Hot>() == 128);

/// Number that is the ID of no shape.
const NONE: u32 = u32::MAX;

impl Hot {
    pub(super) fn new(totals: Totals, explicit: usize) -> Hot {
        let explicit = if explicit > LANES {
            u64::MAX
        } else {
            explicit as u64
        };
        Hot {
            row: Cell::default(),
            predictor: [NONE; SUCCESSORS],
            explicit,
            sums: Sums::new(totals),
        }
    }

    pub(super) fn reset_predictor(&mut self) {
        self.predictor = [NONE; SUCCESSORS];
    }

    /// Records that shape `id` followed without being predicted: it becomes the first predicted
    /// successor, and the last one is dropped.
    pub(super) fn update_predictor(&mut self, id: u32) {
        self.predictor.rotate_right(1);
        self.predictor[0] = id;
    }

    /// Resets the data about the open chunk.
    pub(super) fn forget(&mut self) {
        self.reset_predictor();
        self.row.take();
    }
}

/// Returns the number of rows that a shape needs beyond its first one.
#[inline(always)]
pub(super) fn more_rows(explicit: usize) -> usize {
    explicit.saturating_sub(1) / LANES
}

/// Data of a shape that the innermost loop does not need.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Cold {
    pub(super) first_block: u32,
    pub(super) blocks: u32,
    pub(super) explicit: u32,
    pub(super) first_form: u32,
    pub(super) references: u32,
    /// Index of the shape's second row in the table of rows.
    pub(super) first_row: u32,
    /// Number of the last chunk in which the shape occurred.
    pub(super) chunk: u32,
    /// Number of the shape in the table of shapes of the last chunk in which the shape occurred.
    pub(super) number: u32,
}

impl Cold {
    /// Returns the shape's part of two tables: the blocks of all shapes, and their references
    /// without addresses (*forms*).
    pub(super) fn parts<'a>(
        &self,
        blocks: &'a [Block],
        forms: &'a [ShapeReference],
    ) -> (&'a [Block], &'a [ShapeReference]) {
        let Cold {
            first_block,
            blocks: count,
            first_form,
            references,
            ..
        } = *self;
        (
            &blocks[first_block as usize..][..count as usize],
            &forms[first_form as usize..][..references as usize],
        )
    }
}

/// All shapes known to the encoder, by ID. ID 0 is a pseudo-shape that precedes the first shape of
/// each chunk.
#[derive(Debug, Default)]
pub(super) struct Known {
    pub(super) hot: Vec<Hot>,
    pub(super) cold: Vec<Cold>,
    pub(super) rows: Vec<Row>,
    pub(super) blocks: Vec<Block>,
    pub(super) forms: Vec<ShapeReference>,
    /// Largest number of blocks, of references and of instructions of any shape.
    pub(super) largest: Totals,
    /// Number of the open chunk, at least 1. Shapes that have occurred in no chunk have chunk 0.
    pub(super) chunk: u32,
}

impl Known {
    pub(super) fn parts_of(&self, id: usize) -> (&[Block], &[ShapeReference]) {
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
