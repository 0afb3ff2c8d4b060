use std::io;

use super::addresses::{FAR, FAR_BYTES, Slot, bytes_of};
use super::columns::{BadBody, Column, Directory, NAMES, Unpacker};
use super::sequence::{SequenceReader, Start, Unrolled};
use super::shapes::{Shape, ShapeReader};
use super::varint::Numbers;
use super::{limits, marks};
use crate::shape::{Form, Unfold, unfold};
use crate::{Block, Chunk, Placed, Reference, TaskId};

/// What stands at the front of a chunk's body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ChunkHead {
    pub(crate) blocks: u32,
    pub(crate) references: u32,
    pub(crate) marks: u32,
    pub(crate) shapes: u32,
    pub(crate) slots: u32,
    pub(crate) running: TaskId,
    pub(crate) instructions: u64,
    pub(crate) first_instruction: u64,
    pub(crate) first_block: u64,
}

const HEAD_BYTES: usize = 48;
/// Residuals are read eight bytes at once, those that are far in eleven.
const PADDING: usize = 16;
/// References are put together so many at once.
const STEP: usize = 4;

impl ChunkHead {
    pub(super) fn put(&self, body: &mut Vec<u8>) {
        for word in [self.blocks, self.references, self.marks, self.shapes, self.slots, self.running.0] {
            body.extend_from_slice(&word.to_le_bytes());
        }
        for word in [self.instructions, self.first_instruction, self.first_block] {
            body.extend_from_slice(&word.to_le_bytes());
        }
    }

    /// Reads it and checks its counts against the limits.
    pub(crate) fn read(body: &[u8]) -> Result<(Self, &[u8]), BadBody> {
        let (head, rest) = body.split_at_checked(HEAD_BYTES).ok_or(BadBody::Head)?;
        let word = |at: usize| u32::from_le_bytes([head[at], head[at + 1], head[at + 2], head[at + 3]]);
        let long = |at: usize| u64::from(word(at)) | u64::from(word(at + 4)) << 32;
        let head = ChunkHead {
            blocks: word(0),
            references: word(4),
            marks: word(8),
            shapes: word(12),
            slots: word(16),
            running: TaskId(word(20)),
            instructions: long(24),
            first_instruction: long(32),
            first_block: long(40),
        };
        head.check()?;
        Ok((head, rest))
    }

    fn check(&self) -> Result<(), BadBody> {
        for (what, found, most) in [
            ("blocks", self.blocks, limits::BLOCKS as u32),
            ("references", self.references, limits::REFERENCES as u32),
            ("marks", self.marks, limits::MARKS as u32),
            ("shapes", self.shapes, self.blocks),
            ("references of shapes", self.slots, self.references),
        ] {
            if found > most {
                return Err(BadBody::Large { what, found: found.into(), most: most.into() });
            }
        }
        Ok(())
    }

    /// The largest length of each column that these counts allow.
    fn check_lengths(&self, directory: &Directory<'_>) -> Result<(), BadBody> {
        let (blocks, references) = (self.blocks as usize, self.references as usize);
        let (shapes, slots) = (self.shapes as usize, self.slots as usize);
        let most = [
            10 * shapes,
            13 * shapes,
            12 * slots,
            blocks.div_ceil(8),
            6 * blocks,
            references.div_ceil(4),
            FAR_BYTES * references,
            limits::MARK_BYTES,
        ];
        for (column, most) in most.into_iter().enumerate() {
            if directory.length(column) > most {
                return Err(BadBody::Long { column: NAMES[column], bytes: directory.length(column) - most });
            }
        }
        Ok(())
    }
}

/// Turns bodies of records into chunks, using its memory again.
pub(crate) struct ChunkDecoder {
    unpacker: Unpacker,
    columns: [Vec<u8>; 3],
    shapes: Vec<Shape>,
    forms: Vec<Form>,
    unfolds: Vec<Unfold>,
    slots: Vec<Slot>,
    starts: Vec<Start>,
    slot_of_told: Vec<u32>,
    told: Vec<u64>,
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
            starts: Vec::new(),
            slot_of_told: Vec::new(),
            told: Vec::new(),
        })
    }

    /// Decodes a whole body in place of what is in `chunk`, which is empty where this fails.
    pub(crate) fn decode(&mut self, body: &[u8], chunk: &mut Chunk) -> Result<ChunkHead, BadBody> {
        chunk.marks.clear();
        let outcome = self.decode_parts(body, chunk);
        if outcome.is_err() {
            chunk.clear();
        }
        outcome
    }

    /// Decodes the marks alone.
    pub(crate) fn decode_marks(&mut self, body: &[u8], marks: &mut Vec<Placed>) -> Result<ChunkHead, BadBody> {
        marks.clear();
        let (head, rest) = ChunkHead::read(body)?;
        let directory = Directory::read(rest)?;
        head.check_lengths(&directory)?;
        self.marks(&head, &directory, marks)?;
        Ok(head)
    }

    fn decode_parts(&mut self, body: &[u8], chunk: &mut Chunk) -> Result<ChunkHead, BadBody> {
        let (head, rest) = ChunkHead::read(body)?;
        let directory = Directory::read(rest)?;
        head.check_lengths(&directory)?;
        self.table(&head, &directory)?;
        let told = self.sequence(&head, &directory, &mut chunk.blocks)?;
        self.addresses(told, &directory)?;
        self.references(head.references as usize, &chunk.blocks, &mut chunk.references);
        self.marks(&head, &directory, &mut chunk.marks)?;
        Ok(head)
    }

    fn table(&mut self, head: &ChunkHead, directory: &Directory<'_>) -> Result<(), BadBody> {
        let [addresses, shapes, references] = &mut self.columns;
        self.unpacker.column(directory, Column::ShapeAddresses, addresses)?;
        self.unpacker.column(directory, Column::Shapes, shapes)?;
        self.unpacker.column(directory, Column::ShapeReferences, references)?;
        let (count, form_count) = (head.shapes as usize, head.slots as usize);
        let reader = ShapeReader::new(addresses, shapes, references);
        let slots = reader.read(count, form_count, &mut self.shapes, &mut self.forms)?;
        self.slots.clear();
        self.slots.resize(slots, Slot::default());
        self.unfolds.clear();
        for shape in &self.shapes {
            let own = &self.forms[shape.first_form as usize..][..usize::from(shape.block.references)];
            self.unfolds.extend(unfold(own));
        }
        self.unfolds.resize(form_count + STEP, Unfold::default());
        Ok(())
    }

    /// Returns how many references are told.
    fn sequence(
        &mut self,
        head: &ChunkHead,
        directory: &Directory<'_>,
        blocks: &mut Vec<Block>,
    ) -> Result<usize, BadBody> {
        let [turns, exceptions, _] = &mut self.columns;
        self.unpacker.column(directory, Column::Turns, turns)?;
        self.unpacker.column(directory, Column::Exceptions, exceptions)?;
        let reader = SequenceReader { turns, exceptions: Numbers::new("exceptions", exceptions) };
        self.shapes.push(Shape { choices: [super::shapes::NO_SHAPE; 2], ..Shape::default() });
        blocks.resize(head.blocks as usize, Block::default());
        self.starts.resize(head.blocks as usize, Start::default());
        let unrolled = Unrolled { blocks, starts: &mut self.starts, slots: &mut self.slot_of_told };
        let sums = reader.read(&mut self.shapes, head.references as usize, unrolled)?;
        for (what, found, need) in [
            ("references", sums.references as u64, head.references.into()),
            ("instructions", sums.instructions, head.instructions),
        ] {
            if found != need {
                return Err(BadBody::Count { what, found, need });
            }
        }
        Ok(sums.told)
    }

    /// The addresses that are told, in the order of the blocks.
    fn addresses(&mut self, told: usize, directory: &Directory<'_>) -> Result<(), BadBody> {
        let [widths, residuals, _] = &mut self.columns;
        self.unpacker.column(directory, Column::Widths, widths)?;
        self.unpacker.column(directory, Column::Residuals, residuals)?;
        let length = residuals.len();
        residuals.resize(length + PADDING, 0);
        if widths.len() != told.div_ceil(4) {
            let (found, need) = (widths.len() as u64, told.div_ceil(4) as u64);
            return Err(BadBody::Count { what: "bytes of widths", found, need });
        }
        self.told.resize(told + STEP, 0);
        let slots = &mut self.slots[..];
        let mut place = 0;
        let of_told = self.told[..told].iter_mut().zip(&self.slot_of_told).enumerate();
        for (number, (address, &slot)) in of_told {
            let code = widths[number / 4] >> (2 * (number % 4)) & 3;
            let (Some(slot), Some(bytes)) =
                (slots.get_mut(slot as usize), residuals.get(place..).and_then(|rest| rest.first_chunk::<8>()))
            else {
                return Err(BadBody::Short { column: "residuals" });
            };
            let bytes_of_residual = bytes_of(code.into());
            let mut residual = u64::from_le_bytes(*bytes) & ((1 << (8 * bytes_of_residual)) - 1);
            place += bytes_of_residual;
            if residual == FAR {
                residual = far(residuals, place)?;
                place += FAR_BYTES - bytes_of_residual;
            }
            *address = slot.decode(residual);
        }
        if place > length {
            return Err(BadBody::Short { column: "residuals" });
        }
        if place < length {
            return Err(BadBody::Long { column: "residuals", bytes: length - place });
        }
        Ok(())
    }

    /// Puts all references together, from what is told of each block and what is known.
    fn references(&mut self, count: usize, blocks: &[Block], references: &mut Vec<Reference>) {
        references.resize(count + usize::from(u16::MAX) + STEP, Reference(0));
        let mut at = 0;
        for (block, start) in blocks.iter().zip(&self.starts) {
            let wanted = usize::from(block.references);
            let unfolds = &self.unfolds[start.form as usize..];
            let addresses = &self.told[start.told as usize..];
            let groups = references[at..].chunks_exact_mut(STEP).zip(unfolds.chunks_exact(STEP));
            for (into, unfolds) in groups.take(wanted.div_ceil(STEP)) {
                for (reference, unfold) in into.iter_mut().zip(unfolds) {
                    *reference = unfold.at(addresses.get(unfold.source()).copied().unwrap_or(0));
                }
            }
            at += wanted;
        }
        references.truncate(count);
    }

    fn marks(&mut self, head: &ChunkHead, directory: &Directory<'_>, marks: &mut Vec<Placed>) -> Result<(), BadBody> {
        let column = &mut self.columns[0];
        self.unpacker.column(directory, Column::Marks, column)?;
        marks::decode(column, head.marks as usize, head.blocks as usize, marks)
    }
}

/// A residual that did not fit five bytes.
#[cold]
fn far(residuals: &[u8], place: usize) -> Result<u64, BadBody> {
    let bytes = residuals.get(place..place + 6).ok_or(BadBody::Short { column: "residuals" })?;
    Ok(bytes.iter().rev().fold(0, |number, &byte| number << 8 | u64::from(byte)))
}
