//! The order in which the shapes ran: lengths of right predictions, and a choice behind each of them.
//!
//! Prediction: what ran behind this shape last time runs behind it again. A shape that nothing has run behind yet is
//! expected to be followed by the next one in the table, and the chunk to begin with the first.

use super::BadBody;
use super::shapes::Shape;
use super::varint::Numbers;
use crate::Block;

/// Slots are written so many at once.
const STEP: usize = 8;

/// Unpacks the sequence: blocks, and the slot of each reference.
pub(super) struct SequenceReader<'a> {
    pub(super) runs: Numbers<'a>,
    pub(super) choices: Numbers<'a>,
}

/// Where the sequence goes.
pub(super) struct Unrolled<'a> {
    pub(super) blocks: &'a mut [Block],
    /// The slot of each reference, and room behind them.
    pub(super) slots: &'a mut Vec<u32>,
}

/// Sums over the sequence.
pub(super) struct Sums {
    pub(super) references: usize,
    pub(super) instructions: u64,
}

impl SequenceReader<'_> {
    /// Reads it whole. The last of `shapes` is no shape, but where the chunk begins.
    pub(super) fn read(mut self, shapes: &mut [Shape], references: usize, into: Unrolled<'_>) -> Result<Sums, BadBody> {
        let count = shapes.len() - 1;
        let mut rest = into.blocks;
        // Longer than needed by the largest number of references of a block, so that the loop only looks for the end.
        into.slots.resize(references + usize::from(u16::MAX) + STEP, 0);
        let slots = &mut into.slots[..];
        let mut state = State { current: count, seen: 0, place: 0, instructions: 0 };
        while !rest.is_empty() {
            let run = self.runs.at_most(rest.len() as u64)? as usize;
            let (now, later) = rest.split_at_mut(run);
            rest = later;
            for block in now {
                let next = shapes[state.current].next as usize;
                state.run(next, shapes, count, references, slots, block)?;
            }
            let Some((block, later)) = std::mem::take(&mut rest).split_first_mut() else { break };
            rest = later;
            let next = self.choice(state.seen, count)?;
            shapes[state.current].next = next as u32;
            state.run(next, shapes, count, references, slots, block)?;
        }
        self.runs.end()?;
        self.choices.end()?;
        Ok(Sums { references: state.place, instructions: state.instructions })
    }

    /// 0 is the first shape that has not run yet, any other number one more than a shape's.
    fn choice(&mut self, seen: usize, count: usize) -> Result<usize, BadBody> {
        let number = self.choices.take()?;
        let chosen = if number == 0 { seen as u64 } else { number - 1 };
        if chosen >= count as u64 {
            return Err(BadBody::Shape { found: chosen, shapes: count });
        }
        Ok(chosen as usize)
    }
}

struct State {
    current: usize,
    /// One more than the highest shape that has run.
    seen: usize,
    /// References so far.
    place: usize,
    instructions: u64,
}

impl State {
    #[inline(always)]
    fn run(
        &mut self,
        next: usize,
        shapes: &[Shape],
        count: usize,
        references: usize,
        slots: &mut [u32],
        block: &mut Block,
    ) -> Result<(), BadBody> {
        if next >= count || self.place > references {
            return Err(refusal(next, count, self.place, references));
        }
        let shape = &shapes[next];
        *block = shape.block;
        let wanted = usize::from(shape.block.references);
        fill(&mut slots[self.place..], shape.first_slot, wanted);
        self.place += wanted;
        self.instructions += u64::from(shape.block.instructions);
        self.seen = self.seen.max(next + 1);
        self.current = next;
        Ok(())
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
fn refusal(next: usize, count: usize, place: usize, references: usize) -> BadBody {
    if next >= count {
        BadBody::Shape { found: next as u64, shapes: count }
    } else {
        BadBody::Count { what: "references", found: place as u64, need: references as u64 }
    }
}
