//! The chunk being written: its columns before they are packed.

use super::addresses::FAR_BYTES;
use super::known::{Cold, Hot, Known, Sums, Totals};
use super::limits;
use super::sequence::INDEX_BITS;

/// Counts of the open chunk.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Counts {
    /// Number of executed shapes.
    pub(super) ran: usize,
    pub(super) explicit: usize,
    pub(super) residual_bytes: usize,
    /// Counts of the chunk so far, without the counts that are still in `sums`.
    totals: Totals,
    pub(super) sums: Sums,
    /// Number of shapes that can be taken before the limits of the chunk must be checked again.
    pub(super) room: usize,
    /// ID of the last executed shape.
    pub(super) current: u32,
}

impl Counts {
    pub(super) fn totals(&self) -> Totals {
        self.totals.plus(self.sums.totals())
    }

    /// Moves the counts from `sums`, which overflows after some shapes, to `totals`, and returns
    /// the new totals.
    pub(super) fn add_up(&mut self) -> Totals {
        self.totals = self.totals();
        self.sums = Sums::default();
        self.totals
    }

    /// Resets `room`, because a new shape may be larger than all shapes for which it was computed.
    pub(super) fn forget_room(&mut self) {
        self.room = 0;
    }

    /// Allows one more shape, even in a full chunk.
    pub(super) fn make_room(&mut self) {
        self.room = 1;
    }
}

/// Columns that grow only if a shape is new or was not predicted.
#[derive(Debug, Default)]
pub(super) struct Table {
    pub(super) count: u32,
    pub(super) blocks: u32,
    pub(super) forms: u32,
    pub(super) expected: u64,
    pub(super) last_misprediction: usize,
    pub(super) mispredictions: Vec<u8>,
    pub(super) addresses: Vec<u8>,
    pub(super) shapes: Vec<u8>,
    pub(super) references: Vec<u8>,
}

impl Table {
    fn begin(&mut self) {
        (
            self.count,
            self.blocks,
            self.forms,
            self.expected,
            self.last_misprediction,
        ) = (0, 0, 0, 0, 0);
        let Table {
            mispredictions,
            addresses,
            shapes,
            references,
            ..
        } = self;
        [mispredictions, addresses, shapes, references]
            .into_iter()
            .for_each(Vec::clear);
    }
}

/// Size in bytes of the index column while a chunk is open. A power of two, so that a masked index
/// needs no bounds check.
pub(super) const INDICES: usize = 1 << 19;
pub(super) const WIDTHS: usize = 1 << 21;
pub(super) const RESIDUALS: usize = 1 << 26;
/// Number of spare bytes after the residuals: a group of four residuals is written as 32 bytes, or
/// as at most four times eleven.
pub(super) const SLACK: usize = 64;

const _: () = assert!(INDICES > crate::Chunk::BLOCKS);
const _: () = assert!(4 * WIDTHS >= limits::REFERENCES + 4);
const _: () = assert!(RESIDUALS >= limits::REFERENCES * FAR_BYTES);

/// The chunk being written.
#[derive(Debug)]
pub(crate) struct Open {
    pub(super) counts: Counts,
    pub(super) table: Table,
    /// Index of each executed shape among the predicted successors, 0 to 3, in a byte each while
    /// the chunk is open.
    pub(super) indices: Box<[u8; INDICES]>,
    packed_indices: Vec<u8>,
    /// Width codes of the residuals, two bits each.
    pub(super) widths: Box<[u8; WIDTHS]>,
    pub(super) residuals: Box<[u8; RESIDUALS + SLACK]>,
}

/// Allocates zeroed memory, which the kernel provides only on first use.
pub(super) fn zeroed<T: Copy + Default + std::fmt::Debug, const LENGTH: usize>() -> Box<[T; LENGTH]>
{
    vec![T::default(); LENGTH]
        .into_boxed_slice()
        .try_into()
        .expect("it has this length")
}

impl Open {
    pub(crate) fn totals(&self) -> Totals {
        self.counts.totals()
    }

    pub(crate) fn new() -> Open {
        Open {
            counts: Counts::default(),
            table: Table::default(),
            indices: zeroed(),
            packed_indices: Vec::new(),
            widths: zeroed(),
            residuals: zeroed(),
        }
    }

    /// Begins a new chunk of the trace.
    pub(super) fn begin(&mut self, known: &mut Known) {
        self.counts = Counts::default();
        self.table.begin();
        known.chunk = known.chunk.wrapping_add(1).max(1);
        match known.hot.first_mut() {
            Some(start) => start.reset_predictor(),
            None => {
                known.hot.push(Hot::new(Totals::default(), 0));
                known.cold.push(Cold::default());
            }
        }
    }

    /// Ends the chunk. Packs the index of each executed shape among the predicted successors into
    /// two bits.
    pub(super) fn end(&mut self) {
        const _: () = assert!(INDEX_BITS == 2);
        // Byte i of four goes to bits 24 + 2 * i and 25 + 2 * i of the product.
        const GATHER: u32 = 1 << 24 | 1 << 18 | 1 << 12 | 1 << 6;
        let ran = self.counts.ran;
        self.indices[ran..ran.next_multiple_of(4)].fill(0);
        self.packed_indices.clear();
        let fours = self.indices[..ran.next_multiple_of(4)].as_chunks().0;
        self.packed_indices.extend(
            fours
                .iter()
                .map(|&four| (u32::from_le_bytes(four).wrapping_mul(GATHER) >> 24) as u8),
        );
    }

    /// Returns the index of each executed shape among the predicted successors, two bits each, for
    /// a finished chunk.
    pub(super) fn indices(&self) -> &[u8] {
        &self.packed_indices
    }

    pub(super) fn widths(&self) -> &[u8] {
        &self.widths[..self.counts.explicit.div_ceil(4)]
    }

    pub(super) fn residuals(&self) -> &[u8] {
        &self.residuals[..self.counts.residual_bytes]
    }
}
