//! Closes a chunk: packs its columns into the body of a record. Only the chunk itself is needed, so
//! another thread can close it while the next chunk is filled.

use std::io;

use super::columns::{Body, Packer};
use super::decoder::ChunkHead;
use super::known::Totals;
use super::marks;
use super::open::Open;
use crate::{Placed, TaskId};

/// Position in the stream at which a record begins.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Position {
    pub(crate) instruction: u64,
    pub(crate) block: u64,
    pub(crate) running: TaskId,
}

/// Converter of chunks into bodies of records, which reuses its memory from chunk to chunk.
pub(crate) struct Closer {
    packer: Packer,
    marks: Vec<u8>,
    volume: Volume,
}

impl Closer {
    pub(crate) fn new() -> io::Result<Closer> {
        Ok(Closer {
            packer: Packer::new()?,
            marks: Vec::new(),
            volume: Volume::default(),
        })
    }

    /// Returns the head and the body of a finished chunk. Positions of marks are counted from
    /// `first_block`.
    pub(crate) fn close<'a>(
        &'a mut self,
        open: &'a Open,
        marks: &[Placed],
        first_block: usize,
        at: Position,
    ) -> io::Result<(ChunkHead, Body<'a>)> {
        let Open { counts, table, .. } = open;
        let Totals {
            instructions,
            references,
            blocks,
        } = counts.totals();
        let head = ChunkHead {
            blocks: blocks as u32,
            references: references as u32,
            marks: marks.len() as u32,
            kinds: table.blocks,
            slots: table.forms,
            running: at.running,
            instructions,
            first_instruction: at.instruction,
            first_block: at.block,
        };
        let (indices, widths, residuals) = (open.indices(), open.widths(), open.residuals());
        self.marks.clear();
        marks::encode(&mut self.marks, marks, first_block)?;
        let tables = [
            &table.addresses[..],
            &table.shapes,
            &table.references,
            &self.marks,
        ];
        let sequence = [indices, &table.mispredictions, widths, residuals];
        self.volume.instructions += instructions;
        let length = |columns: [&[u8]; 4]| columns.iter().map(|column| column.len()).sum::<usize>();
        let is_packed = self.volume.is_exceeded_by(length(sequence));
        let is_table_packed = self
            .volume
            .is_exceeded_by(length(tables) + length(sequence));
        let [addresses, shapes, references, marks] = tables.map(|column| (column, is_table_packed));
        let [indices, mispredictions, widths, residuals] =
            sequence.map(|column| (column, is_packed));
        let columns = [
            addresses,
            shapes,
            references,
            indices,
            mispredictions,
            widths,
            residuals,
            marks,
        ];
        let body = self.packer.body(&head.bytes(), columns)?;
        self.volume.bytes += body.length() as u64;
        Ok((head, body))
    }
}

/// Bytes per 1000 instructions above which columns are packed. If prediction leaves fewer bytes,
/// packing costs more time than the saved space is worth.
const PLAIN_BYTES_PER_1000_INSTRUCTIONS: u64 = 235;

/// Bytes and instructions of all chunks closed so far.
#[derive(Debug, Default)]
struct Volume {
    bytes: u64,
    instructions: u64,
}

impl Volume {
    /// Whether `bytes` more bytes would exceed [`PLAIN_BYTES_PER_1000_INSTRUCTIONS`] for all
    /// instructions so far.
    fn is_exceeded_by(&self, bytes: usize) -> bool {
        (self.bytes + bytes as u64) * 1_000 > self.instructions * PLAIN_BYTES_PER_1000_INSTRUCTIONS
    }
}
