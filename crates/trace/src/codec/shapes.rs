//! The table of shapes of a chunk, in order of first occurrence.

use super::BadBody;
use super::addresses::ADDRESS_MASK;
use super::varint::{Numbers, put, unzigzag, zigzag};
use crate::shape::{self, Form, Place};
use crate::{Block, BlockFlags, Reference};

/// No shape: what nothing has run behind yet.
pub(super) const NO_SHAPE: u32 = u32::MAX;

const STORE: u64 = 32;
const FIXED: u64 = 64;
const RELATIVE: u64 = 128;

/// The columns of the table.
pub(super) struct ShapeColumns<'a> {
    pub(super) addresses: &'a mut Vec<u8>,
    pub(super) shapes: &'a mut Vec<u8>,
    pub(super) references: &'a mut Vec<u8>,
}

impl ShapeColumns<'_> {
    /// Appends a shape; `expected` is the end of the shape before.
    pub(super) fn put(&mut self, expected: u64, block: &Block, forms: &[Form]) {
        put(self.addresses, zigzag(block.address.wrapping_sub(expected) as i64));
        let Block { bytes, instructions, references: count, first_bytes, flags, .. } = *block;
        for number in [bytes, instructions, count, first_bytes.into(), flags.0.into()] {
            put(self.shapes, number.into());
        }
        let mut before = 0;
        for (number, form) in forms.iter().enumerate() {
            let reference = form.reference;
            put(self.references, (reference.through() - before).into());
            let kind = u64::from(reference.code()) | if reference.is_store() { STORE } else { 0 };
            match form.place {
                Place::Told => put(self.references, kind),
                Place::Fixed(address) => {
                    put(self.references, kind | FIXED);
                    put(self.references, signed(address.wrapping_sub(block.address)));
                }
                Place::Relative { base, offset } => {
                    put(self.references, kind | RELATIVE);
                    put(self.references, number as u64 - u64::from(base));
                    put(self.references, signed(offset));
                }
            }
            before = reference.through();
        }
    }
}

/// A difference of addresses, of 48 bits.
fn signed(difference: u64) -> u64 {
    zigzag((difference << 16) as i64 >> 16)
}

/// Where the address of the next shape is expected: where this one ends.
pub(super) fn end_of(block: &Block) -> u64 {
    block.address.wrapping_add(block.bytes.into())
}

/// A shape, but for its block: where in other tables its references are.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Shape {
    /// Place of its first reference among the forms.
    pub(super) first_form: u32,
    /// Place of its first told reference among the slots.
    pub(super) first_slot: u32,
    pub(super) told: u16,
    pub(super) references: u16,
    pub(super) instructions: u16,
}

/// Reads the table.
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

    /// Reads a whole table of known size; every shape in it is one that can be. Returns how many references are told.
    pub(super) fn read(
        mut self,
        count: usize,
        form_count: usize,
        blocks: &mut Vec<Block>,
        shapes: &mut Vec<Shape>,
        forms: &mut Vec<Form>,
    ) -> Result<usize, BadBody> {
        blocks.clear();
        shapes.clear();
        forms.clear();
        let mut slots = 0;
        for number in 0..count {
            let block = self.block()?;
            let first_form = forms.len();
            if first_form + usize::from(block.references) > form_count {
                let found = first_form as u64 + u64::from(block.references);
                return Err(BadBody::Count { what: "references of shapes", found, need: form_count as u64 });
            }
            self.references(&block, forms)?;
            let own = &forms[first_form..];
            shape::check_shape(&block, own).map_err(|why| BadBody::Unfit { shape: number, why })?;
            let told = shape::told(own);
            blocks.push(block);
            shapes.push(Shape {
                first_form: first_form as u32,
                first_slot: slots as u32,
                told: told as u16,
                references: block.references,
                instructions: block.instructions,
            });
            slots += told;
        }
        self.addresses.end()?;
        self.shapes.end()?;
        self.references.end()?;
        if forms.len() != form_count {
            let (found, need) = (forms.len() as u64, form_count as u64);
            return Err(BadBody::Count { what: "references of shapes", found, need });
        }
        Ok(slots)
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

    fn references(&mut self, block: &Block, forms: &mut Vec<Form>) -> Result<(), BadBody> {
        let mut through = 0;
        for number in 0..u64::from(block.references) {
            through += self.references.at_most(u64::from(Reference::LAST_OFFSET - through))? as u16;
            let kind = self.references.at_most(RELATIVE | 63)?;
            let place = if kind < FIXED {
                Place::Told
            } else if kind < RELATIVE {
                Place::Fixed(block.address.wrapping_add_signed(self.difference()?) & ADDRESS_MASK)
            } else {
                let back = self.references.at_most(number)?;
                Place::Relative { base: (number - back) as u16, offset: self.difference()? as u64 & ADDRESS_MASK }
            };
            forms.push(Form { reference: Reference::new(0, kind as u8 & 31, through, kind & STORE != 0), place });
        }
        Ok(())
    }

    fn difference(&mut self) -> Result<i64, BadBody> {
        Ok(unzigzag(self.references.at_most(ADDRESS_MASK)?))
    }
}
