//! Shapes: the constant part of repeatedly executed code, one or more consecutive blocks. Each
//! shape is defined once, and afterwards named by a number.

use std::collections::HashMap;
use std::sync::Arc;

use switchcost_trace::{AddressKind, Block, BlockFlags, Reference, ShapeReference};

use super::{Problem, Take};
use crate::protocol::{KERNEL_BIT, how};

/// Maximum number of shapes (constant parts of executed code) of an address space, which bounds the
/// memory. Valgrind makes fewer translations of real programs.
const MOST_SHAPES: usize = 4 << 20;

/// Flag in the number of a guarded shape, some of whose references may not happen. The flag makes
/// the number larger than all numbers that [`Take`] has. So the loop over simple blocks stops at a
/// guarded shape, as at an undefined one, without a separate check.
const GUARDED: u32 = 1 << 31;

/// A shape some of whose references may not happen at an execution.
#[derive(Clone, Debug)]
pub(super) struct Guarded {
    pub(super) blocks: Vec<Block>,
    pub(super) forms: Vec<ShapeReference>,
}

/// All shapes (constant parts of executed code) of an address space.
#[derive(Clone, Debug, Default)]
pub(super) struct Shapes {
    /// Number that [`Take::define`] returned, by the shape's number in the address space, with the
    /// flag [`GUARDED`] for a guarded shape; 0 for an undefined shape.
    numbers: Vec<u32>,
    guarded: HashMap<u32, Arc<Guarded>>,
}

impl Shapes {
    #[inline(always)]
    pub(super) fn numbers(&self) -> &[u32] {
        &self.numbers
    }

    /// Returns the number in [`Take`] of a shape; `None` if the shape is not defined, or if some of
    /// its references may not happen.
    pub(super) fn plain(&self, id: u32) -> Option<u32> {
        self.numbers
            .get(id as usize)
            .copied()
            .filter(|&number| number != 0 && number < GUARDED)
    }

    pub(super) fn guarded(&self, id: u32) -> Option<&Arc<Guarded>> {
        self.guarded.get(&id)
    }

    /// Defines a shape. The shape replaces an earlier one of the same number.
    pub(super) fn define<T: Take>(
        &mut self,
        head: u64,
        words: &[u64],
        take: &mut T,
    ) -> Result<(), Problem> {
        let (id, blocks) = (head as u32, (head >> 32) as u16);
        if id as usize >= MOST_SHAPES {
            return Err(Problem::TooManyShapes);
        }
        let (Guarded { blocks, forms }, is_guarded, code) = shape(words, blocks.into())?;
        let shape = take.define(&blocks, &forms)?;
        learn(&blocks, &forms, code, take);
        if self.numbers.len() <= id as usize {
            self.numbers.resize(id as usize + 1, 0);
        }
        self.guarded.remove(&id);
        if is_guarded {
            self.guarded.insert(id, Arc::new(Guarded { blocks, forms }));
        }
        self.numbers[id as usize] = shape | if is_guarded { GUARDED } else { 0 };
        Ok(())
    }
}

impl Guarded {
    /// Returns the shape without the explicit references that did not happen. Calls `is_done` with
    /// the index of each explicit reference, in order.
    pub(super) fn remove_undone(
        &self,
        is_done: impl Fn(usize) -> bool,
    ) -> Result<Guarded, Problem> {
        let mut blocks = self.blocks.clone();
        let mut forms = Vec::with_capacity(self.forms.len());
        let mut kept_as = Vec::with_capacity(self.forms.len());
        let (mut explicit, mut rest) = (0, self.forms.iter());
        for block in &mut blocks {
            let kept_before = forms.len();
            for &form in rest.by_ref().take(block.references.into()) {
                let mut form = form;
                let mut is_kept = true;
                match &mut form.place {
                    AddressKind::Explicit => {
                        is_kept = is_done(explicit);
                        explicit += 1;
                    }
                    AddressKind::Fixed(_) => {}
                    AddressKind::Relative { base, .. } => {
                        *base = kept_as
                            .get(usize::from(*base))
                            .copied()
                            .flatten()
                            .ok_or_else(|| {
                                unfit("a reference relative to one that did not happen")
                            })?;
                    }
                }
                kept_as.push(is_kept.then_some(forms.len() as u16));
                if is_kept {
                    forms.push(form);
                }
            }
            block.references = (forms.len() - kept_before) as u16;
        }
        Ok(Guarded { blocks, forms })
    }
}

/// Passes on the code of each block of a shape, if `words` contain it.
fn learn<T: Take>(blocks: &[Block], forms: &[ShapeReference], words: &[u64], take: &mut T) {
    let code: Vec<[u8; 8]> = words.iter().map(|word| word.to_le_bytes()).collect();
    let (mut code, mut forms) = (code.as_flattened(), forms);
    for block in blocks {
        let bytes = usize::from(block.bytes);
        let own = forms.split_off(..usize::from(block.references));
        let Some((own, padded)) = own.zip(code.split_off(..bytes.next_multiple_of(8))) else {
            return;
        };
        take.learn(block, own, &padded[..bytes]);
    }
}

/// Decodes the definition of a shape. Also returns whether some references of the shape may not
/// happen, and the words that contain the shape's code.
fn shape(words: &[u64], block_count: usize) -> Result<(Guarded, bool, &[u64]), Problem> {
    let (heads, rest) = words
        .split_at_checked(2 * block_count)
        .ok_or(Problem::Short)?;
    let blocks = heads
        .as_chunks()
        .0
        .iter()
        .map(block)
        .collect::<Result<Vec<Block>, Problem>>()?;
    let claimed = blocks
        .iter()
        .map(|block| usize::from(block.references))
        .sum();
    let there = || {
        Problem::Unfit(format!(
            "{claimed} references claimed, {} words there",
            rest.len()
        ))
    };
    let (references, mut derived) = rest.split_at_checked(claimed).ok_or_else(there)?;
    let mut is_guarded = false;
    let mut forms = Vec::with_capacity(references.len());
    for &word in references {
        let mut address = || derived.split_off_first().copied().ok_or_else(there);
        let place = match word >> 34 & 3 {
            how::FIXED => AddressKind::Fixed(address()?),
            how::RELATIVE => AddressKind::Relative {
                base: (word >> 40) as u8 as u16,
                offset: address()?,
            },
            how => {
                is_guarded |= how == how::GUARDED;
                AddressKind::Explicit
            }
        };
        forms.push(ShapeReference {
            reference: reference(word)?,
            place,
        });
    }
    let code_words = |block: &Block| usize::from(block.bytes).div_ceil(8);
    if !derived.is_empty() && derived.len() != blocks.iter().map(code_words).sum::<usize>() {
        return Err(there());
    }
    Ok((Guarded { blocks, forms }, is_guarded, derived))
}

fn block(&[address, form]: &[u64; 2]) -> Result<Block, Problem> {
    Ok(Block {
        address,
        bytes: form as u16,
        instructions: (form >> 16) as u16,
        first_bytes: u8::try_from(form >> 32 & 0x7fff)
            .map_err(|_| unfit("a first instruction too long"))?,
        references: (form >> 48) as u16,
        flags: if form >> KERNEL_BIT & 1 == 0 {
            BlockFlags::USER
        } else {
            BlockFlags::KERNEL
        },
    })
}

fn unfit(what: &str) -> Problem {
    Problem::Unfit(what.to_owned())
}

fn reference(word: u64) -> Result<Reference, Problem> {
    let through = word as u16;
    let is_store = word >> 32 & 1 != 0;
    let code = Reference::size_code(word >> 16 & 0xffff)
        .ok_or_else(|| unfit("a reference of no or too much size"))?;
    if through > Reference::LAST_OFFSET {
        return Err(unfit("a reference beyond the longest block"));
    }
    Ok(Reference::new(0, code, through, is_store))
}
