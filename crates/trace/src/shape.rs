//! Shapes: the constant part of repeatedly executed code, for one block or several consecutive
//! blocks.

use crate::{Block, Reference, UnfitBlock};

/// Rule by which the address of a reference is determined.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum AddressKind {
    /// The address is *explicit*: it is stored at each execution. All other addresses are
    /// *derived*.
    Explicit,
    /// The address is always the same.
    Fixed(u64),
    /// The address is at a constant distance from the address of an earlier explicit reference of
    /// the shape.
    Relative {
        /// Index in the shape of the explicit reference.
        base: u16,
        /// Distance in bytes, modulo 2^48.
        offset: u64,
    },
}

/// A reference of a shape (constant part of executed code), without its address.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ShapeReference {
    /// The reference with 0 as its address.
    pub reference: Reference,
    /// Rule by which the reference's address is determined at an execution.
    pub place: AddressKind,
}

/// Why a shape (constant part of executed code) is invalid. A message prints the reason after "an
/// impossible shape: ".
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum UnfitShape {
    /// The block does not fit its references.
    #[error(transparent)]
    Block(#[from] UnfitBlock),
    /// The base of a relative reference is not an earlier explicit reference.
    #[error(
        "reference {reference} is relative to reference {base}, which is not an earlier one with an explicit address"
    )]
    Base {
        /// Index of the relative reference.
        reference: usize,
        /// Index of the base reference.
        base: u16,
    },
    /// The shape has more or fewer references than its blocks state.
    #[error("{found} references, but the blocks claim {need}")]
    Count {
        /// Number of references of the shape.
        found: usize,
        /// Number of references that the blocks state together.
        need: usize,
    },
    /// The shape has no block, or more blocks than [`MOST_BLOCKS`].
    #[error("{found} blocks, not 1 to {MOST_BLOCKS}")]
    Blocks {
        /// Number of blocks of the shape.
        found: usize,
    },
    /// The shape has more references than [`MOST_REFERENCES`].
    #[error("{found} references, but at most {MOST_REFERENCES} are possible")]
    References {
        /// Number of references of the shape.
        found: usize,
    },
}

/// Maximum number of blocks of a shape.
pub(crate) const MOST_BLOCKS: usize = u8::MAX as usize;

/// Maximum number of references of a shape.
pub(crate) const MOST_REFERENCES: usize = u16::MAX as usize;

/// Checks that a shape is valid, that is, that no reason in [`UnfitShape`] applies.
pub fn check_shape(blocks: &[Block], forms: &[ShapeReference]) -> Result<(), UnfitShape> {
    let need = blocks
        .iter()
        .map(|block| usize::from(block.references))
        .sum();
    if blocks.is_empty() || blocks.len() > MOST_BLOCKS {
        return Err(UnfitShape::Blocks {
            found: blocks.len(),
        });
    }
    if forms.len() != need {
        return Err(UnfitShape::Count {
            found: forms.len(),
            need,
        });
    }
    if need > MOST_REFERENCES {
        return Err(UnfitShape::References { found: need });
    }
    let mut rest = forms;
    for block in blocks {
        let (own, behind) = rest.split_at(usize::from(block.references));
        block.check_ends(own.iter().map(|form| form.reference.through()))?;
        rest = behind;
    }
    for (reference, form) in forms.iter().enumerate() {
        if let AddressKind::Relative { base, .. } = form.place {
            let is_explicit = forms[..reference]
                .get(usize::from(base))
                .is_some_and(|base| base.place == AddressKind::Explicit);
            if !is_explicit {
                return Err(UnfitShape::Base { reference, base });
            }
        }
    }
    Ok(())
}

/// Returns the number of explicit references among `forms`.
pub(crate) fn explicit(forms: &[ShapeReference]) -> usize {
    forms
        .iter()
        .filter(|form| form.place == AddressKind::Explicit)
        .count()
}

/// A reference of a shape, prepared for insertion of its address.
#[derive(Clone, Copy, Debug, Default)]
pub struct Unfold {
    /// Number to be added to the explicit address in the upper 48 bits, where sums wrap. The lower
    /// bits hold the rest of the reference.
    base: u64,
    source: u32,
    /// Mask for the explicit address: -1, or 0 if the reference's address is fixed.
    mask: i32,
}

const ADDRESS_BITS: u32 = 48;
const SHIFT: u32 = u64::BITS - ADDRESS_BITS;

impl Unfold {
    fn new(reference: Reference, address: u64, source: u32, mask: i32) -> Unfold {
        Unfold {
            base: address << SHIFT | reference.0 >> ADDRESS_BITS,
            source,
            mask,
        }
    }

    /// Returns the index of the shape's explicit address from which the reference's address is
    /// derived.
    #[inline(always)]
    pub fn source(&self) -> usize {
        self.source as usize
    }

    /// Returns the reference with its address, computed from the explicit address `explicit`.
    #[inline(always)]
    pub fn reference_at(&self, explicit: u64) -> Reference {
        self.reference_at_upper(explicit << SHIFT)
    }

    /// Returns the reference with its address, computed from an explicit address in the upper 48
    /// bits.
    #[inline(always)]
    pub(crate) fn reference_at_upper(&self, explicit: u64) -> Reference {
        Reference(
            (explicit & i64::from(self.mask) as u64)
                .wrapping_add(self.base)
                .rotate_right(SHIFT),
        )
    }
}

/// Prepares the references of a shape for the insertion of addresses.
pub fn unfold(forms: &[ShapeReference]) -> impl Iterator<Item = Unfold> + '_ {
    let mut next_explicit = 0;
    let mut source_of = vec![0; forms.len()];
    forms
        .iter()
        .enumerate()
        .map(move |(number, form)| match form.place {
            AddressKind::Explicit => {
                let source = next_explicit;
                source_of[number] = source;
                next_explicit += 1;
                Unfold::new(form.reference, 0, source, -1)
            }
            AddressKind::Fixed(address) => Unfold::new(form.reference, address, 0, 0),
            AddressKind::Relative { base, offset } => {
                let source = source_of.get(usize::from(base)).copied().unwrap_or(0);
                Unfold::new(form.reference, offset, source, -1)
            }
        })
}
