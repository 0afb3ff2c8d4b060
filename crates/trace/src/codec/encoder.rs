use std::collections::HashMap;
use std::io;

use super::addresses::{ADDRESS_MASK, Slot};
use super::columns::{Column, Packer};
use super::decoder::ChunkHead;
use super::marks;
use super::shapes::{Shape, ShapeColumns, end_of};
use super::varint::put;
use crate::{Block, Placed, Reference, TaskId, UnfitBlock};

/// A part of a chunk that goes into one record.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Piece<'a> {
    pub(crate) blocks: &'a [Block],
    pub(crate) references: &'a [Reference],
    pub(crate) marks: &'a [Placed],
    /// What the places of the marks are counted from.
    pub(crate) first_block: usize,
}

/// Where in the stream a record begins.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Position {
    pub(crate) instruction: u64,
    pub(crate) block: u64,
    pub(crate) running: TaskId,
}

/// Why a chunk cannot be written.
#[derive(Debug)]
pub(crate) enum EncodeError {
    /// This block of the piece is none.
    Unfit { block: usize, why: UnfitBlock },
    /// zstd failed, for want of memory.
    Packing(io::Error),
}

impl From<io::Error> for EncodeError {
    fn from(source: io::Error) -> Self {
        EncodeError::Packing(source)
    }
}

/// Turns chunks into bodies of records, using its memory again.
pub(crate) struct ChunkEncoder {
    packer: Packer,
    shapes: Vec<Shape>,
    slots: Vec<Slot>,
    /// Shapes by the hash of block and references. Those of equal hashes are linked.
    by_hash: HashMap<u64, u32>,
    same_hash: Vec<u32>,
}

const NO_SHAPE: u32 = u32::MAX;

impl ChunkEncoder {
    pub(crate) fn new() -> io::Result<Self> {
        Ok(ChunkEncoder {
            packer: Packer::new()?,
            shapes: Vec::new(),
            slots: Vec::new(),
            by_hash: HashMap::new(),
            same_hash: Vec::new(),
        })
    }

    /// Puts a piece into `body`. Its blocks claim together as many references as it has.
    pub(crate) fn encode(
        &mut self,
        piece: Piece<'_>,
        at: Position,
        body: &mut Vec<u8>,
    ) -> Result<ChunkHead, EncodeError> {
        self.clear();
        let instructions = self.blocks(&piece)?;
        marks::encode(&mut self.packer.columns[Column::Marks as usize], piece.marks, piece.first_block)?;
        let head = ChunkHead {
            blocks: piece.blocks.len() as u32,
            references: piece.references.len() as u32,
            marks: piece.marks.len() as u32,
            shapes: self.shapes.len() as u32,
            slots: self.slots.len() as u32,
            running: at.running,
            instructions,
            first_instruction: at.instruction,
            first_block: at.block,
        };
        body.clear();
        head.put(body);
        self.packer.pack(body)?;
        Ok(head)
    }

    fn clear(&mut self) {
        self.packer.clear();
        self.shapes.clear();
        self.slots.clear();
        self.by_hash.clear();
        self.same_hash.clear();
    }

    fn blocks(&mut self, piece: &Piece<'_>) -> Result<u64, EncodeError> {
        let (mut run, mut predicted, mut instructions) = (0_u64, 0, 0);
        let mut current: Option<usize> = None;
        let mut previous = 0;
        let mut rest = piece.references;
        for (place, block) in piece.blocks.iter().enumerate() {
            let (references, later) = rest.split_at(usize::from(block.references));
            rest = later;
            let seen = self.shapes.len();
            let shape = if self.is_shape(predicted, block, references) {
                predicted
            } else {
                self.find_or_add(block, references).map_err(|why| EncodeError::Unfit { block: place, why })?
            };
            if shape == predicted {
                run += 1;
            } else {
                self.choose(run, shape, seen);
                run = 0;
                if let Some(current) = current {
                    self.shapes[current].next = shape as u32;
                }
            }
            previous = self.addresses(shape, references, previous);
            instructions += u64::from(block.instructions);
            predicted = self.shapes[shape].next as usize;
            current = Some(shape);
        }
        if run > 0 {
            put(self.column(Column::Runs), run);
        }
        Ok(instructions)
    }

    fn column(&mut self, column: Column) -> &mut Vec<u8> {
        &mut self.packer.columns[column as usize]
    }

    fn choose(&mut self, run: u64, shape: usize, seen: usize) {
        put(self.column(Column::Runs), run);
        let choice = if shape == seen { 0 } else { shape as u64 + 1 };
        put(self.column(Column::Choices), choice);
    }

    #[inline]
    fn is_shape(&self, number: usize, block: &Block, references: &[Reference]) -> bool {
        self.shapes.get(number).is_some_and(|shape| {
            shape.block == *block && {
                let slots = &self.slots[shape.first_slot as usize..][..references.len()];
                slots.iter().zip(references).all(|(slot, &reference)| slot.is_alike(reference))
            }
        })
    }

    fn find_or_add(&mut self, block: &Block, references: &[Reference]) -> Result<usize, UnfitBlock> {
        let hash = hash_of(block, references);
        let first = self.by_hash.get(&hash).copied().unwrap_or(NO_SHAPE);
        let mut number = first;
        while number != NO_SHAPE {
            if self.is_shape(number as usize, block, references) {
                return Ok(number as usize);
            }
            number = self.same_hash[number as usize];
        }
        block.check(references)?;
        let added = self.shapes.len();
        self.by_hash.insert(hash, added as u32);
        self.same_hash.push(first);
        self.add(added, block, references);
        Ok(added)
    }

    fn add(&mut self, number: usize, block: &Block, references: &[Reference]) {
        let [addresses, shapes, of_shapes, ..] = &mut self.packer.columns;
        let expected = self.shapes.last().map_or(0, |shape| end_of(&shape.block));
        ShapeColumns { addresses, shapes, references: of_shapes }.put(expected, block, references);
        self.shapes.push(Shape::new(number, *block, self.slots.len()));
        self.slots.extend(references.iter().map(|reference| Slot::new(*reference)));
    }

    #[inline]
    fn addresses(&mut self, shape: usize, references: &[Reference], mut previous: u64) -> u64 {
        let slots = &mut self.slots[self.shapes[shape].first_slot as usize..];
        let columns = &mut self.packer.columns;
        for (slot, reference) in slots.iter_mut().zip(references) {
            let address = reference.0 & ADDRESS_MASK;
            let (class, residual) = slot.encode(previous, address);
            columns[Column::Classes as usize].push(class);
            let width = usize::from(class & 7);
            if width > 0 {
                // Eight bytes at once and back again: quicker than a copy whose length varies.
                let column = &mut columns[Column::Residuals1 as usize + width - 1];
                column.extend_from_slice(&residual.to_le_bytes());
                column.truncate(column.len() - 8 + width);
            }
            previous = address;
        }
        previous
    }
}

fn hash_of(block: &Block, references: &[Reference]) -> u64 {
    /// 2 to the 64 over the golden ratio, odd: Knuth's multiplicative hash.
    const FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;
    let mix = |hash: u64, word: u64| (hash ^ word).wrapping_mul(FACTOR).rotate_left(29);
    let Block { address, bytes, instructions, references: count, first_bytes, flags } = *block;
    let rest = u64::from(bytes)
        | u64::from(instructions) << 16
        | u64::from(count) << 32
        | u64::from(first_bytes) << 48
        | u64::from(flags.0) << 56;
    references.iter().fold(mix(mix(0, address), rest), |hash, reference| mix(hash, reference.0 >> 48))
}
