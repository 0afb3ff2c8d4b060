//! What blocks look like: defined once, named by a number from then on.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use trace::{Block, BlockFlags, Reference};

use super::Problem;
use crate::protocol::NOT_DONE;

/// More translations than any program has; the bound of memory for one address space.
const MOST_SHAPES: usize = 4 << 20;
const MOST_TEMPLATES: usize = 64 << 20;

const ADDRESS_MASK: u64 = (1 << 48) - 1;

/// A reference without its address.
#[derive(Clone, Copy, Debug)]
pub(super) struct Template(u64);

impl Template {
    pub(super) fn at(self, address: u64) -> Reference {
        Reference(self.0 | address & ADDRESS_MASK)
    }
}

/// A block without the addresses of its references. A shape of 0 instructions is not defined.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Shape {
    pub(super) block: Block,
    first: u32,
}

/// All shapes of an address space.
#[derive(Clone, Debug, Default)]
pub(super) struct Shapes {
    shapes: Vec<Shape>,
    templates: Vec<Template>,
}

impl Shapes {
    #[inline]
    pub(super) fn get(&self, id: u32) -> Option<&Shape> {
        self.shapes.get(id as usize).filter(|shape| shape.block.instructions > 0)
    }

    #[inline]
    pub(super) fn templates(&self, shape: &Shape) -> &[Template] {
        let first = shape.first as usize;
        &self.templates[first..first + usize::from(shape.block.references)]
    }

    /// Defines a shape, in place of any of the same number.
    pub(super) fn define(&mut self, id: u64, words: &[u64]) -> Result<(), Problem> {
        let [address, form, references @ ..] = words else { return Err(Problem::Short) };
        let block = Block {
            address: *address,
            bytes: *form as u16,
            instructions: (form >> 16) as u16,
            first_bytes: u8::try_from(form >> 32 & 0xffff).map_err(|_| unfit("a first instruction too long"))?,
            references: (form >> 48) as u16,
            flags: BlockFlags::USER,
        };
        if usize::from(block.references) != references.len() {
            return Err(Problem::Unfit(format!("{} references told, {} there", block.references, references.len())));
        }
        let whole = references.iter().map(|&word| reference(word)).collect::<Result<Vec<_>, _>>()?;
        block.check(&whole).map_err(|error| Problem::Unfit(error.to_string()))?;
        let id = usize::try_from(id).ok().filter(|&id| id < MOST_SHAPES).ok_or(Problem::TooManyShapes)?;
        if self.templates.len() + whole.len() > MOST_TEMPLATES {
            return Err(Problem::TooManyShapes);
        }
        if self.shapes.len() <= id {
            self.shapes.resize(id + 1, Shape::default());
        }
        self.shapes[id] = Shape { block, first: self.templates.len() as u32 };
        self.templates.extend(whole.into_iter().map(|reference| Template(reference.0)));
        Ok(())
    }
}

fn unfit(what: &str) -> Problem {
    Problem::Unfit(what.to_owned())
}

fn reference(word: u64) -> Result<Reference, Problem> {
    let through = word as u16;
    let is_store = word >> 32 & 1 != 0;
    let code = Reference::size_code(word >> 16 & 0xffff).ok_or_else(|| unfit("a reference of no or too much size"))?;
    if through > Reference::LAST_OFFSET {
        return Err(unfit("a reference beyond the longest block"));
    }
    Ok(Reference::new(0, code, through, is_store))
}

/// Moves those guarded references of a block that did happen to the front; returns how many there are.
#[cold]
pub(super) fn leave_undone_out(references: &mut [Reference], addresses: &[AtomicU64]) -> u16 {
    let mut kept = 0;
    for (index, address) in addresses.iter().enumerate() {
        if address.load(Relaxed) != NOT_DONE {
            references[kept] = references[index];
            kept += 1;
        }
    }
    kept as u16
}
