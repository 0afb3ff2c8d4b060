//! The order in which the shapes ran: which of two, a bit a block, and what was neither of them.

use super::BadBody;
use super::references::{ROOM, SLOTS, TOLD};
use super::shapes::{NO_SHAPE, Shape};
use super::varint::Numbers;

/// Unpacks the sequence, some blocks at once.
pub(super) struct SequenceReader<'a> {
    turns: &'a [u8],
    exceptions: Numbers<'a>,
    /// The two shapes that may run behind each, as long as nothing else is said, and behind the start of the chunk.
    choices: &'a mut [u32],
    /// Blocks in the chunk.
    length: usize,
    /// Those that are read.
    blocks: usize,
    current: usize,
    /// Shapes that have run.
    seen: u32,
    next_exception: usize,
    sums: Sums,
}

/// Sums over the sequence.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Sums {
    pub(super) references: u64,
    pub(super) instructions: u64,
}

impl<'a> SequenceReader<'a> {
    /// Begins a sequence of so many blocks. `choices` is memory to be used.
    pub(super) fn new(
        turns: &'a [u8],
        exceptions: Numbers<'a>,
        choices: &'a mut Vec<u32>,
        shapes: usize,
        length: usize,
    ) -> Result<Self, BadBody> {
        if turns.len() != length.div_ceil(8) {
            let (found, need) = (turns.len() as u64, length.div_ceil(8) as u64);
            return Err(BadBody::Count { what: "bytes of turns", found, need });
        }
        choices.clear();
        choices.resize(2 * (shapes + 1), NO_SHAPE);
        let mut reader = SequenceReader {
            turns,
            exceptions,
            choices,
            length,
            blocks: 0,
            current: shapes,
            seen: 0,
            next_exception: 0,
            sums: Sums::default(),
        };
        reader.next_exception = reader.next_exception(0)?;
        Ok(reader)
    }

    /// The numbers of the next blocks, as many as fit, and which slot each of their told references has. Gives how many of
    /// both there are.
    ///
    /// A function of its own, as are the two steps behind it: each needs all registers.
    #[inline(never)]
    pub(super) fn read(
        &mut self,
        shapes: &[Shape],
        numbers: &mut [u32],
        slots: &mut [u32; ROOM],
    ) -> Result<(usize, usize), BadBody> {
        let Sums { mut references, mut instructions } = self.sums;
        let (mut current, mut blocks, mut told) = (self.current, 0, 0);
        let (turns, first) = (self.turns, self.blocks);
        for into in numbers {
            let number = first + blocks;
            if number == self.next_exception {
                self.except(current, shapes.len())?;
            }
            let turn = turns[number / 8] >> (number % 8) & 1;
            current = self.choices[2 * current + usize::from(turn)] as usize;
            let Some(shape) = shapes.get(current) else { return Err(refusal(current, shapes.len())) };
            *into = current as u32;
            references += u64::from(shape.references);
            instructions += u64::from(shape.instructions);
            let wanted = usize::from(shape.told);
            fill(&mut slots[told..], shape.first_slot, wanted);
            blocks += 1;
            told += wanted;
            if told >= TOLD {
                break;
            }
        }
        (self.current, self.blocks) = (current, self.blocks + blocks);
        self.sums = Sums { references, instructions };
        Ok((blocks, told))
    }

    /// Behind the last block.
    pub(super) fn end(self) -> Result<Sums, BadBody> {
        self.exceptions.end()?;
        Ok(self.sums)
    }

    /// The next block is an exception.
    #[cold]
    #[inline(never)]
    fn except(&mut self, current: usize, count: usize) -> Result<(), BadBody> {
        let next = self.choice(count)?;
        self.choices[2 * current + 1] = self.choices[2 * current];
        self.choices[2 * current] = next;
        self.next_exception = self.next_exception(self.next_exception)?;
        Ok(())
    }

    /// The number of the next block that is an exception; that of none where there are no more.
    fn next_exception(&mut self, last: usize) -> Result<usize, BadBody> {
        if self.exceptions.rest().is_empty() {
            return Ok(usize::MAX);
        }
        let found = u64::saturating_add(self.exceptions.take()?, last as u64);
        if found >= self.length as u64 {
            return Err(BadBody::Exception { found, need: self.length as u64 });
        }
        Ok(found as usize)
    }

    /// 0 is the first shape that has not run yet, any other number one more than a shape's.
    fn choice(&mut self, count: usize) -> Result<u32, BadBody> {
        let number = self.exceptions.take()?;
        let chosen = if number == 0 { u64::from(self.seen) } else { number - 1 };
        if chosen >= count as u64 {
            return Err(BadBody::Shape { found: chosen, shapes: count });
        }
        self.seen += u32::from(number == 0);
        Ok(chosen as u32)
    }
}

/// Writes the numbers from the first on; there is room for some more than are wanted.
#[inline(always)]
fn fill(slots: &mut [u32], first: u32, wanted: usize) {
    let (mut slot, mut done) = (first, 0);
    for group in slots.chunks_exact_mut(SLOTS) {
        for (step, into) in group.iter_mut().enumerate() {
            *into = slot + step as u32;
        }
        slot += SLOTS as u32;
        done += SLOTS;
        if done >= wanted {
            break;
        }
    }
}

#[cold]
fn refusal(next: usize, count: usize) -> BadBody {
    if next == NO_SHAPE as usize {
        BadBody::Short { column: "exceptions" }
    } else {
        BadBody::Shape { found: next as u64, shapes: count }
    }
}
