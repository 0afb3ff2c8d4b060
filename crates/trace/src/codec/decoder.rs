use std::io;

use super::addresses::{FAR_BYTES, Slot};
use super::columns::{BadBody, Column, Directory, NAMES, Unpacked, Unpacker};
use super::open::zeroed;
use super::references::{KINDS, ROOM, RUNS, Residuals, STEP, put_together};
use super::sequence::{INDEX_BITS, SUCCESSORS, SequenceReader};
use super::shapes::{Shape, ShapeReader};
use super::varint::Numbers;
use super::{limits, marks};
use crate::shape::{ShapeReference, Unfold, unfold};
use crate::{Block, Chunk, Placed, Reference, TaskId};

/// Head of a chunk's body: counts of its contents, and its position in the trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ChunkHead {
    pub(crate) blocks: u32,
    pub(crate) references: u32,
    pub(crate) marks: u32,
    /// Number of blocks in the table of shapes.
    pub(crate) kinds: u32,
    /// Number of references in the table of shapes.
    pub(crate) slots: u32,
    pub(crate) running: TaskId,
    pub(crate) instructions: u64,
    pub(crate) first_instruction: u64,
    pub(crate) first_block: u64,
}

const HEAD_BYTES: usize = 48;

impl ChunkHead {
    pub(super) fn bytes(&self) -> Vec<u8> {
        let words = [
            self.blocks,
            self.references,
            self.marks,
            self.kinds,
            self.slots,
            self.running.0,
        ];
        let long = [self.instructions, self.first_instruction, self.first_block];
        words
            .into_iter()
            .flat_map(u32::to_le_bytes)
            .chain(long.into_iter().flat_map(u64::to_le_bytes))
            .collect()
    }

    /// Reads the head, checks its counts against the limits, and returns it with the rest of the
    /// body.
    pub(crate) fn read(body: &[u8]) -> Unpacked<(Self, &[u8])> {
        let (head, rest) = body.split_at_checked(HEAD_BYTES).ok_or(BadBody::Head)?;
        let u32_at =
            |at: usize| u32::from_le_bytes([head[at], head[at + 1], head[at + 2], head[at + 3]]);
        let u64_at = |at: usize| u64::from(u32_at(at)) | u64::from(u32_at(at + 4)) << 32;
        let head = ChunkHead {
            blocks: u32_at(0),
            references: u32_at(4),
            marks: u32_at(8),
            kinds: u32_at(12),
            slots: u32_at(16),
            running: TaskId(u32_at(20)),
            instructions: u64_at(24),
            first_instruction: u64_at(32),
            first_block: u64_at(40),
        };
        head.check()?;
        Ok((head, rest))
    }

    fn check(&self) -> Unpacked {
        for (what, found, most) in [
            ("blocks", self.blocks, limits::BLOCKS as u32),
            ("references", self.references, limits::REFERENCES as u32),
            ("marks", self.marks, limits::MARKS as u32),
            ("blocks of shapes", self.kinds, self.blocks),
            ("references of shapes", self.slots, self.references),
        ] {
            if found > most {
                return Err(BadBody::Large {
                    what,
                    found: found.into(),
                    most: most.into(),
                });
            }
        }
        Ok(())
    }

    /// Checks each column's length against the largest length that the counts allow.
    fn check_lengths(&self, directory: &Directory<'_>) -> Unpacked {
        let (blocks, references) = (self.blocks as usize, self.references as usize);
        let (kinds, slots) = (self.kinds as usize, self.slots as usize);
        let most = [
            10 * kinds,
            13 * kinds,
            12 * slots,
            (blocks * INDEX_BITS).div_ceil(8),
            6 * blocks,
            references.div_ceil(4),
            FAR_BYTES * references,
            limits::MARK_BYTES,
        ];
        for (column, most) in most.into_iter().enumerate() {
            if directory.length(column) > most {
                return Err(BadBody::Long {
                    column: NAMES[column],
                    bytes: directory.length(column) - most,
                });
            }
        }
        Ok(())
    }
}

/// Decoder of bodies of records into chunks, which reuses its memory.
pub(crate) struct ChunkDecoder {
    unpacker: Unpacker,
    columns: [Vec<u8>; 4],
    shapes: Vec<Shape>,
    forms: Vec<ShapeReference>,
    unfolds: Vec<Unfold>,
    slots: Vec<Slot>,
    predictors: Vec<[u32; SUCCESSORS]>,
    ran: Box<[u32; RUNS]>,
    slot_of_explicit: Box<[u32; ROOM]>,
    explicit: Box<[u64; ROOM]>,
}

impl ChunkDecoder {
    pub(crate) fn new() -> io::Result<Self> {
        Ok(ChunkDecoder {
            unpacker: Unpacker::new()?,
            columns: Default::default(),
            shapes: Vec::new(),
            forms: Vec::new(),
            unfolds: Vec::new(),
            slots: Vec::new(),
            predictors: Vec::new(),
            ran: zeroed(),
            slot_of_explicit: zeroed(),
            explicit: zeroed(),
        })
    }

    /// Decodes a whole body into `chunk`. After an error, `chunk` is empty.
    pub(crate) fn decode(&mut self, body: &[u8], chunk: &mut Chunk) -> Unpacked<ChunkHead> {
        chunk.marks.clear();
        let outcome = self.decode_parts(body, chunk);
        if outcome.is_err() {
            chunk.clear();
        }
        outcome
    }

    fn decode_parts(&mut self, body: &[u8], chunk: &mut Chunk) -> Unpacked<ChunkHead> {
        let (head, rest) = ChunkHead::read(body)?;
        let directory = Directory::read(rest)?;
        head.check_lengths(&directory)?;
        let (kinds, numbers) = chunk.blocks.parts_mut();
        self.table(&head, &directory, kinds)?;
        self.sequence(&head, &directory, numbers, &mut chunk.references)?;
        self.marks(&head, &directory, &mut chunk.marks)?;
        Ok(head)
    }

    fn table(
        &mut self,
        head: &ChunkHead,
        directory: &Directory<'_>,
        blocks: &mut Vec<Block>,
    ) -> Unpacked {
        let [addresses, shapes, references, _] = &mut self.columns;
        self.unpacker
            .column(directory, Column::ShapeAddresses, addresses)?;
        self.unpacker.column(directory, Column::Shapes, shapes)?;
        self.unpacker
            .column(directory, Column::ShapeReferences, references)?;
        let (count, form_count) = (head.kinds as usize, head.slots as usize);
        let reader = ShapeReader::new(addresses, shapes, references);
        let slots = reader.read(count, form_count, blocks, &mut self.shapes, &mut self.forms)?;
        self.slots.clear();
        self.slots.resize(slots, Slot::default());
        self.unfolds.clear();
        for shape in &self.shapes {
            let own = &self.forms[shape.first_form as usize..][..usize::from(shape.references)];
            self.unfolds.extend(unfold(own));
        }
        self.unfolds.resize(form_count + STEP, Unfold::default());
        Ok(())
    }

    /// Decodes the sequence of blocks, and their references: explicit addresses are read, the
    /// others are derived by the rules of the shapes.
    fn sequence(
        &mut self,
        head: &ChunkHead,
        directory: &Directory<'_>,
        numbers: &mut Vec<u32>,
        references: &mut Vec<Reference>,
    ) -> Unpacked {
        let [indices, mispredictions, widths, residuals] = &mut self.columns;
        for (column, into) in [
            (Column::SuccessorIndices, &mut *indices),
            (Column::Mispredictions, &mut *mispredictions),
            (Column::Widths, &mut *widths),
            (Column::Residuals, &mut *residuals),
        ] {
            self.unpacker.column(directory, column, into)?;
        }
        let (blocks, count) = (head.blocks as usize, head.references as usize);
        numbers.resize(blocks + KINDS, 0);
        references.resize(count + STEP, Reference(0));
        let mispredictions = Numbers::new("mispredictions", mispredictions);
        let mut sequence = SequenceReader::new(
            indices,
            mispredictions,
            &mut self.predictors,
            self.shapes.len(),
            blocks,
        )?;
        let mut residuals = Residuals::new(widths, residuals);
        let (mut done, mut at) = (0, 0);
        while done < blocks {
            let step = sequence.read(
                &self.shapes,
                &mut self.ran,
                &mut numbers[done..],
                &mut self.slot_of_explicit,
            )?;
            let (ran, explicit) = (&self.ran[..step.ran], step.explicit);
            residuals.read(
                &self.slot_of_explicit[..explicit],
                &mut self.slots,
                &mut self.explicit[..explicit],
            )?;
            let rest = references.get_mut(at..).unwrap_or_default();
            at += put_together(&self.shapes, &self.unfolds, ran, &self.explicit, rest);
            done += step.blocks;
        }
        numbers.truncate(blocks);
        references.truncate(count);
        residuals.end()?;
        let sums = sequence.end()?;
        for (what, found, need) in [
            ("references", sums.references, head.references.into()),
            ("instructions", sums.instructions, head.instructions),
        ] {
            if found != need {
                return Err(BadBody::Count { what, found, need });
            }
        }
        Ok(())
    }

    fn marks(
        &mut self,
        head: &ChunkHead,
        directory: &Directory<'_>,
        marks: &mut Vec<Placed>,
    ) -> Unpacked {
        let column = &mut self.columns[0];
        self.unpacker.column(directory, Column::Marks, column)?;
        marks::decode(column, head.marks as usize, head.blocks as usize, marks)
    }
}
