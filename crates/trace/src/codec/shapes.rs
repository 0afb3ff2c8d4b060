//! The table of distinct blocks of a chunk, in order of first occurrence.

use super::BadBody;
use super::addresses::Slot;
use super::varint::{Numbers, put, unzigzag, zigzag};
use crate::{Block, BlockFlags, Reference};

/// One distinct block and what follows from the ones that ran before.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Shape {
    pub(super) block: Block,
    /// Place of its first reference among the slots.
    pub(super) first_slot: u32,
    /// The shape that ran behind this one last time.
    pub(super) next: u32,
}

impl Shape {
    /// A shape that has not been seen: the one behind it in the table is the best guess of what follows.
    pub(super) fn new(number: usize, block: Block, first_slot: usize) -> Self {
        Shape { block, first_slot: first_slot as u32, next: number as u32 + 1 }
    }
}

/// The columns of the table.
pub(super) struct ShapeColumns<'a> {
    pub(super) addresses: &'a mut Vec<u8>,
    pub(super) shapes: &'a mut Vec<u8>,
    pub(super) references: &'a mut Vec<u8>,
}

impl ShapeColumns<'_> {
    /// Appends a shape; `expected` is the end of the shape before.
    pub(super) fn put(&mut self, expected: u64, block: &Block, references: &[Reference]) {
        put(self.addresses, zigzag(block.address.wrapping_sub(expected) as i64));
        let Block { bytes, instructions, references: count, first_bytes, flags, .. } = *block;
        for number in [bytes, instructions, count, first_bytes.into(), flags.0.into()] {
            put(self.shapes, number.into());
        }
        let mut before = 0;
        for reference in references {
            put(self.references, (reference.through() - before).into());
            put(self.references, u64::from(reference.code()) | u64::from(reference.is_store()) << 5);
            before = reference.through();
        }
    }
}

/// Where the address of the next shape is expected: where this one ends.
pub(super) fn end_of(block: &Block) -> u64 {
    block.address.wrapping_add(block.bytes.into())
}

/// Reads the table.
pub(super) struct ShapeReader<'a> {
    addresses: Numbers<'a>,
    shapes: Numbers<'a>,
    references: Numbers<'a>,
    expected: u64,
    of_block: Vec<Reference>,
}

impl<'a> ShapeReader<'a> {
    pub(super) fn new(addresses: &'a [u8], shapes: &'a [u8], references: &'a [u8]) -> Self {
        ShapeReader {
            addresses: Numbers::new("shape addresses", addresses),
            shapes: Numbers::new("shapes", shapes),
            references: Numbers::new("shape references", references),
            expected: 0,
            of_block: Vec::new(),
        }
    }

    /// Reads a whole table of known size; every shape in it is a block that can be.
    pub(super) fn read(
        mut self,
        count: usize,
        slot_count: usize,
        shapes: &mut Vec<Shape>,
        slots: &mut Vec<Slot>,
    ) -> Result<(), BadBody> {
        shapes.clear();
        slots.clear();
        for number in 0..count {
            let block = self.block()?;
            if slots.len() + usize::from(block.references) > slot_count {
                let found = slots.len() as u64 + u64::from(block.references);
                return Err(BadBody::Count { what: "references of shapes", found, need: slot_count as u64 });
            }
            shapes.push(Shape::new(number, block, slots.len()));
            self.references(&block)?;
            block.check(&self.of_block).map_err(|why| BadBody::Unfit { shape: number, why })?;
            slots.extend(self.of_block.iter().map(|reference| Slot::new(*reference)));
        }
        self.addresses.end()?;
        self.shapes.end()?;
        self.references.end()?;
        if slots.len() != slot_count {
            let (found, need) = (slots.len() as u64, slot_count as u64);
            return Err(BadBody::Count { what: "references of shapes", found, need });
        }
        Ok(())
    }

    fn block(&mut self) -> Result<Block, BadBody> {
        let address = self.expected.wrapping_add_signed(unzigzag(self.addresses.take()?));
        let block = Block {
            address,
            bytes: self.shapes.at_most(u16::MAX.into())? as u16,
            instructions: self.shapes.at_most(u16::MAX.into())? as u16,
            references: self.shapes.at_most(u16::MAX.into())? as u16,
            first_bytes: self.shapes.at_most(u8::MAX.into())? as u8,
            flags: BlockFlags(self.shapes.at_most(u8::MAX.into())? as u8),
        };
        self.expected = end_of(&block);
        Ok(block)
    }

    fn references(&mut self, block: &Block) -> Result<(), BadBody> {
        self.of_block.clear();
        let mut through = 0;
        for _ in 0..block.references {
            through += self.references.at_most(u64::from(Reference::LAST_OFFSET - through))? as u16;
            let kind = self.references.at_most(63)?;
            self.of_block.push(Reference::new(0, kind as u8 & 31, through, kind & 32 != 0));
        }
        Ok(())
    }
}
