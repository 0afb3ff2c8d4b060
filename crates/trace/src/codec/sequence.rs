//! The order in which the shapes ran: which of two, a bit a block, and what was neither of them.

use super::BadBody;
use super::shapes::{NO_SHAPE, Shape};
use super::varint::Numbers;
use crate::Block;

/// Slots are written so many at once.
const STEP: usize = 8;

/// Unpacks the sequence: blocks, and the slot of each told reference.
pub(super) struct SequenceReader<'a> {
    pub(super) turns: &'a [u8],
    pub(super) exceptions: Numbers<'a>,
}

/// Where the sequence goes.
pub(super) struct Unrolled<'a> {
    pub(super) blocks: &'a mut [Block],
    /// What begins with each block.
    pub(super) starts: &'a mut [Start],
    /// The slot of each told reference, and room behind them.
    pub(super) slots: &'a mut Vec<u32>,
}

/// Where a block's references are.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Start {
    /// The first among the forms.
    pub(super) form: u32,
    /// The first told one among those of the chunk.
    pub(super) told: u32,
}

/// Sums over the sequence.
#[derive(Default)]
pub(super) struct Sums {
    pub(super) references: usize,
    pub(super) instructions: u64,
    pub(super) told: usize,
}

impl SequenceReader<'_> {
    /// Reads it whole. The last of `shapes` is no shape, but where the chunk begins.
    pub(super) fn read(mut self, shapes: &mut [Shape], references: usize, into: Unrolled<'_>) -> Result<Sums, BadBody> {
        let count = shapes.len() - 1;
        let length = into.blocks.len();
        if self.turns.len() != length.div_ceil(8) {
            let (found, need) = (self.turns.len() as u64, length.div_ceil(8) as u64);
            return Err(BadBody::Count { what: "bytes of turns", found, need });
        }
        // Longer than needed by the largest number of references of a block, so that the loop only looks for the end.
        into.slots.resize(references + usize::from(u16::MAX) + STEP, 0);
        let slots = &mut into.slots[..];
        let (mut current, mut seen, mut sums) = (count, 0, Sums::default());
        let mut next_exception = self.next_exception(0, length)?;
        for (number, (block, start)) in into.blocks.iter_mut().zip(into.starts).enumerate() {
            if number == next_exception {
                let next = self.choice(&mut seen, count)?;
                let [first, _] = shapes[current].choices;
                shapes[current].choices = [next, first];
                next_exception = self.next_exception(number, length)?;
            }
            let is_second = self.turns[number / 8] >> (number % 8) & 1 != 0;
            let [first, second] = shapes[current].choices;
            current = if is_second { second } else { first } as usize;
            if current >= count || sums.told > references {
                return Err(refusal(current, count, sums.told, references));
            }
            let shape = &shapes[current];
            *block = shape.block;
            *start = Start { form: shape.first_form, told: sums.told as u32 };
            let wanted = shape.told as usize;
            fill(&mut slots[sums.told..], shape.first_slot, wanted);
            sums.told += wanted;
            sums.references += usize::from(shape.block.references);
            sums.instructions += u64::from(shape.block.instructions);
        }
        self.exceptions.end()?;
        Ok(sums)
    }

    /// The number of the next block that is an exception; that of none where there are no more.
    fn next_exception(&mut self, last: usize, length: usize) -> Result<usize, BadBody> {
        if self.exceptions.rest().is_empty() {
            return Ok(usize::MAX);
        }
        let found = u64::saturating_add(self.exceptions.take()?, last as u64);
        if found >= length as u64 {
            return Err(BadBody::Exception { found, need: length as u64 });
        }
        Ok(found as usize)
    }

    /// 0 is the first shape that has not run yet, any other number one more than a shape's.
    fn choice(&mut self, seen: &mut u32, count: usize) -> Result<u32, BadBody> {
        let number = self.exceptions.take()?;
        let chosen = if number == 0 { u64::from(*seen) } else { number - 1 };
        if chosen >= count as u64 {
            return Err(BadBody::Shape { found: chosen, shapes: count });
        }
        *seen += u32::from(number == 0);
        Ok(chosen as u32)
    }
}

#[inline(always)]
fn fill(slots: &mut [u32], first: u32, wanted: usize) {
    let mut slot = first;
    let mut done = 0;
    for group in slots.chunks_exact_mut(STEP) {
        for (step, into) in group.iter_mut().enumerate() {
            *into = slot + step as u32;
        }
        slot += STEP as u32;
        done += STEP;
        if done >= wanted {
            break;
        }
    }
}

#[cold]
fn refusal(next: usize, count: usize, told: usize, references: usize) -> BadBody {
    if next == NO_SHAPE as usize {
        BadBody::Short { column: "exceptions" }
    } else if next >= count {
        BadBody::Shape { found: next as u64, shapes: count }
    } else {
        BadBody::Count { what: "told references", found: told as u64, need: references as u64 }
    }
}
