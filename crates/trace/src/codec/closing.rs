//! The end of a chunk: its columns are packed and become the body of a record. Needs nothing but the chunk, so that another
//! thread can do it while the next one is written.

use std::io;

use super::columns::Packer;
use super::decoder::ChunkHead;
use super::known::Totals;
use super::marks;
use super::open::Open;
use crate::{Placed, TaskId};

/// Where in the stream a record begins.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Position {
    pub(crate) instruction: u64,
    pub(crate) block: u64,
    pub(crate) running: TaskId,
}

/// Turns chunks into bodies of records, using its memory again.
pub(crate) struct Closer {
    packer: Packer,
    turns: Vec<u8>,
    volume: Volume,
}

impl Closer {
    pub(crate) fn new() -> io::Result<Closer> {
        Ok(Closer { packer: Packer::new()?, turns: Vec::new(), volume: Volume::default() })
    }

    /// Puts a chunk into `body`. The places of the marks are counted from `first_block`.
    pub(crate) fn close(
        &mut self,
        open: &Open,
        marks: &[Placed],
        first_block: usize,
        at: Position,
        body: &mut Vec<u8>,
    ) -> io::Result<ChunkHead> {
        let Open { counts, table, .. } = open;
        let Totals { instructions, references, blocks } = counts.totals();
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
        let turns = &mut self.turns;
        turns.clear();
        open.put_turns(turns);
        let (widths, residuals) = (open.widths(), open.residuals());
        self.volume.instructions += instructions;
        let is_packed =
            self.volume.is_exceeded_by(turns.len() + table.exceptions.len() + widths.len() + residuals.len());
        let mut encoded = Vec::new();
        marks::encode(&mut encoded, marks, first_block)?;
        body.clear();
        head.put(body);
        self.packer.begin(body);
        for (column, is_packed) in [
            (&table.addresses[..], true),
            (&table.shapes, true),
            (&table.references, true),
            (&*turns, is_packed),
            (&table.exceptions, is_packed),
            (widths, is_packed),
            (residuals, is_packed),
            (&encoded, true),
        ] {
            self.packer.put(body, column, is_packed)?;
        }
        self.volume.bytes += body.len() as u64;
        Ok(head)
    }
}

/// Where prediction has left no more than this, packing the rest would cost more time than it is worth in space.
const PLAIN_BYTES_PER_1000_INSTRUCTIONS: u64 = 235;

/// What was closed so far.
#[derive(Debug, Default)]
struct Volume {
    bytes: u64,
    instructions: u64,
}

impl Volume {
    /// Whether so many bytes more are too many for all instructions so far.
    fn is_exceeded_by(&self, bytes: usize) -> bool {
        (self.bytes + bytes as u64) * 1_000 > self.instructions * PLAIN_BYTES_PER_1000_INSTRUCTIONS
    }
}
