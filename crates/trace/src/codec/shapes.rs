//! Encodes the table of shapes of a chunk, in order of first occurrence.

use super::addresses::ADDRESS_MASK;
use super::varint::{Numbers, put, unzigzag, zigzag};
use super::{BadBody, Unpacked};
use crate::shape::{self, AddressKind, ShapeReference};
use crate::{Block, BlockFlags, Reference};

/// Number that stands for no shape, for example as the successor of a shape that nothing has
/// followed yet.
pub(super) const NO_SHAPE: u32 = u32::MAX;

/// Flag of a block that belongs to the same shape as the block before. The flag is stored together
/// with the block's own flags.
const CONTINUES: u64 = 256;

const STORE: u64 = 32;
const FIXED: u64 = 64;
const RELATIVE: u64 = 128;

/// Columns that hold the table of shapes.
pub(super) struct ShapeColumns<'a> {
    pub(super) addresses: &'a mut Vec<u8>,
    pub(super) shapes: &'a mut Vec<u8>,
    pub(super) references: &'a mut Vec<u8>,
}

impl ShapeColumns<'_> {
    /// Appends a shape. `expected` is the address after the last block of the preceding shape.
    pub(super) fn put(&mut self, expected: u64, blocks: &[Block], forms: &[ShapeReference]) {
        let (mut end, mut continues, mut first) = (expected, 0, 0);
        for block in blocks {
            put(
                self.addresses,
                zigzag(block.address.wrapping_sub(end) as i64),
            );
            let Block {
                bytes,
                instructions,
                references,
                first_bytes,
                flags,
                ..
            } = *block;
            for number in [bytes, instructions, references, first_bytes.into()] {
                put(self.shapes, number.into());
            }
            put(self.shapes, u64::from(flags.0) | continues);
            let behind = first + usize::from(references);
            self.references(block, first, &forms[first..behind]);
            (end, continues, first) = (end_of(block), CONTINUES, behind);
        }
    }

    /// Appends the references of a block. The block's first reference has index `first` in the
    /// shape.
    fn references(&mut self, block: &Block, first: usize, forms: &[ShapeReference]) {
        let mut before = 0;
        for (number, form) in (first..).zip(forms) {
            let reference = form.reference;
            put(self.references, (reference.through() - before).into());
            let kind = u64::from(reference.code()) | if reference.is_store() { STORE } else { 0 };
            match form.place {
                AddressKind::Explicit => put(self.references, kind),
                AddressKind::Fixed(address) => {
                    put(self.references, kind | FIXED);
                    put(self.references, signed(address.wrapping_sub(block.address)));
                }
                AddressKind::Relative { base, offset } => {
                    put(self.references, kind | RELATIVE);
                    put(self.references, number as u64 - u64::from(base));
                    put(self.references, signed(offset));
                }
            }
            before = reference.through();
        }
    }
}

/// Returns the zigzag number of a 48-bit difference of addresses, which is sign-extended.
fn signed(difference: u64) -> u64 {
    zigzag((difference << 16) as i64 >> 16)
}

/// Returns the address after a block, at which the next block is expected.
pub(super) fn end_of(block: &Block) -> u64 {
    block.address.wrapping_add(block.bytes.into())
}

/// A shape as ranges in three tables: blocks, references without addresses (*forms*), and
/// predictions of explicit references (*slots*).
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Shape {
    /// Index of the shape's first block in the table of blocks.
    pub(super) first_block: u32,
    /// Index of the shape's first reference in the table of forms.
    pub(super) first_form: u32,
    /// Index of the shape's first explicit reference in the table of slots.
    pub(super) first_slot: u32,
    pub(super) explicit: u16,
    pub(super) references: u16,
    pub(super) blocks: u8,
    pub(super) instructions: u32,
}

/// Computes the lengths of each shape from the first indices of the next one. Returns the number of
/// explicit references of all shapes.
fn complete(shapes: &mut [Shape], blocks: &[Block], forms: &[ShapeReference]) -> Unpacked<usize> {
    let mut slots = 0;
    for number in 0..shapes.len() {
        let (block_end, form_end) = shapes
            .get(number + 1)
            .map_or((blocks.len(), forms.len()), |next| {
                (next.first_block as usize, next.first_form as usize)
            });
        let shape = &mut shapes[number];
        let (blocks, forms) = (
            &blocks[shape.first_block as usize..block_end],
            &forms[shape.first_form as usize..form_end],
        );
        shape::check_shape(blocks, forms).map_err(|why| BadBody::Unfit { shape: number, why })?;
        shape.first_slot = slots as u32;
        shape.explicit = shape::explicit(forms) as u16;
        shape.references = forms.len() as u16;
        shape.blocks = blocks.len() as u8;
        shape.instructions = blocks
            .iter()
            .map(|block| u32::from(block.instructions))
            .sum();
        slots += usize::from(shape.explicit);
    }
    Ok(slots)
}

/// Reader of a chunk's table of shapes.
pub(super) struct ShapeReader<'a> {
    addresses: Numbers<'a>,
    shapes: Numbers<'a>,
    references: Numbers<'a>,
    expected: u64,
}

impl<'a> ShapeReader<'a> {
    pub(super) fn new(addresses: &'a [u8], shapes: &'a [u8], references: &'a [u8]) -> Self {
        ShapeReader {
            addresses: Numbers::new("shape addresses", addresses),
            shapes: Numbers::new("shapes", shapes),
            references: Numbers::new("shape references", references),
            expected: 0,
        }
    }

    /// Reads a whole table of known size, and checks each shape. Returns the number of explicit
    /// references of all shapes.
    pub(super) fn read(
        mut self,
        block_count: usize,
        form_count: usize,
        blocks: &mut Vec<Block>,
        shapes: &mut Vec<Shape>,
        forms: &mut Vec<ShapeReference>,
    ) -> Unpacked<usize> {
        blocks.clear();
        shapes.clear();
        forms.clear();
        for number in 0..block_count {
            let (block, continues) = self.block()?;
            if !continues || number == 0 {
                let (first_block, first_form) = (number as u32, forms.len() as u32);
                shapes.push(Shape {
                    first_block,
                    first_form,
                    ..Shape::default()
                });
            }
            if forms.len() + usize::from(block.references) > form_count {
                let found = forms.len() as u64 + u64::from(block.references);
                return Err(BadBody::Count {
                    what: "references of shapes",
                    found,
                    need: form_count as u64,
                });
            }
            let before = shapes
                .last()
                .map_or(0, |shape| forms.len() - shape.first_form as usize);
            self.references(&block, before, forms)?;
            blocks.push(block);
        }
        self.addresses.end()?;
        self.shapes.end()?;
        self.references.end()?;
        if forms.len() != form_count {
            let (found, need) = (forms.len() as u64, form_count as u64);
            return Err(BadBody::Count {
                what: "references of shapes",
                found,
                need,
            });
        }
        complete(shapes, blocks, forms)
    }

    /// Reads the next block. Also returns whether the block belongs to the same shape as the one
    /// before.
    fn block(&mut self) -> Unpacked<(Block, bool)> {
        let address = self
            .expected
            .wrapping_add_signed(unzigzag(self.addresses.take()?));
        let mut block = Block {
            address,
            bytes: self.shapes.next_at_most(u16::MAX.into())? as u16,
            instructions: self.shapes.next_at_most(u16::MAX.into())? as u16,
            references: self.shapes.next_at_most(u16::MAX.into())? as u16,
            first_bytes: self.shapes.next_at_most(u8::MAX.into())? as u8,
            flags: BlockFlags::USER,
        };
        let flags = self.shapes.next_at_most(CONTINUES | u64::from(u8::MAX))?;
        block.flags = BlockFlags(flags as u8);
        self.expected = end_of(&block);
        Ok((block, flags & CONTINUES != 0))
    }

    /// Reads the references of a block. `before` is the number of references that earlier blocks of
    /// the shape have.
    fn references(
        &mut self,
        block: &Block,
        before: usize,
        forms: &mut Vec<ShapeReference>,
    ) -> Unpacked {
        let mut through = 0;
        for number in (before as u64..).take(block.references.into()) {
            through += self
                .references
                .next_at_most(u64::from(Reference::LAST_OFFSET - through))?
                as u16;
            let kind = self.references.next_at_most(RELATIVE | 63)?;
            let place = if kind < FIXED {
                AddressKind::Explicit
            } else if kind < RELATIVE {
                AddressKind::Fixed(
                    block.address.wrapping_add_signed(self.difference()?) & ADDRESS_MASK,
                )
            } else {
                let back = self.references.next_at_most(number)?;
                AddressKind::Relative {
                    base: (number - back) as u16,
                    offset: self.difference()? as u64 & ADDRESS_MASK,
                }
            };
            forms.push(ShapeReference {
                reference: Reference::new(0, kind as u8 & 31, through, kind & STORE != 0),
                place,
            });
        }
        Ok(())
    }

    fn difference(&mut self) -> Unpacked<i64> {
        Ok(unzigzag(self.references.next_at_most(ADDRESS_MASK)?))
    }
}
