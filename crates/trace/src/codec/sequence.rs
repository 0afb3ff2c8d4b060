//! The order in which the shapes ran: which of a few, some bits each, and what was none of them.

use super::BadBody;
use super::references::{KINDS, ROOM, RUNS, SLOTS, TOLD};
use super::shapes::{NO_SHAPE, Shape};
use super::varint::Numbers;

/// How many shapes may run behind each, as long as nothing else is said.
pub(super) const CHOICES: usize = 4;
/// Bits that tell one of them.
pub(crate) const TURN_BITS: u32 = CHOICES.ilog2();

/// Unpacks the sequence, some of it at once.
pub(super) struct SequenceReader<'a> {
    turns: &'a [u8],
    /// Bits of a turn.
    turn_bits: u32,
    exceptions: Numbers<'a>,
    /// The shapes that may run behind each, as long as nothing else is said, and behind the start of the chunk: so many that
    /// a turn tells one.
    choices: &'a mut [u32],
    /// Blocks in the chunk that are not read yet.
    blocks: usize,
    /// Shapes that were read.
    ran: usize,
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

/// How much was read at once.
#[derive(Clone, Copy, Debug)]
pub(super) struct Step {
    pub(super) ran: usize,
    pub(super) blocks: usize,
    pub(super) told: usize,
}

impl<'a> SequenceReader<'a> {
    /// Begins a sequence of so many blocks, whose turns have so many bits, a power of two up to 8. `choices` is memory to be used.
    pub(super) fn new(
        (turns, turn_bits): (&'a [u8], u32),
        exceptions: Numbers<'a>,
        choices: &'a mut Vec<u32>,
        shapes: usize,
        blocks: usize,
    ) -> Result<Self, BadBody> {
        choices.clear();
        choices.resize((shapes + 1) << turn_bits, NO_SHAPE);
        let mut reader = SequenceReader {
            turns,
            turn_bits,
            exceptions,
            choices,
            blocks,
            ran: 0,
            current: shapes,
            seen: 0,
            next_exception: 0,
            sums: Sums::default(),
        };
        reader.next_exception = reader.next_exception(0)?;
        Ok(reader)
    }

    /// The shapes that ran next, as many as fit, the numbers of their blocks, and which slot each of their told references
    /// has. There is room behind the numbers of the chunk's blocks for what is written too much.
    ///
    /// A function of its own, as are the two steps behind it: each needs all registers.
    #[inline(never)]
    pub(super) fn read(
        &mut self,
        shapes: &[Shape],
        into: &mut [u32; RUNS],
        numbers: &mut [u32],
        slots: &mut [u32; ROOM],
    ) -> Result<Step, BadBody> {
        let Sums { mut references, mut instructions } = self.sums;
        let (mut current, mut ran, mut blocks, mut told) = (self.current, 0, 0, 0);
        let (turns, bits, first) = (self.turns, self.turn_bits, self.ran);
        for into in into {
            let number = first + ran;
            if number == self.next_exception {
                self.except(current, shapes.len())?;
            }
            let bit = number << bits.trailing_zeros();
            let Some(&some) = turns.get(bit / 8) else { return Err(BadBody::Short { column: "turns" }) };
            let turn = usize::from(some) >> (bit % 8) & ((1 << bits) - 1);
            current = self.choices[(current << bits) + turn] as usize;
            let Some(shape) = shapes.get(current) else { return Err(refusal(current, shapes.len())) };
            *into = current as u32;
            references += u64::from(shape.references);
            instructions += u64::from(shape.instructions);
            let wanted = usize::from(shape.told);
            fill::<SLOTS>(&mut slots[told..], shape.first_slot, wanted);
            fill::<KINDS>(numbers.get_mut(blocks..).unwrap_or_default(), shape.first_block, shape.blocks.into());
            ran += 1;
            blocks += usize::from(shape.blocks);
            told += wanted;
            if told >= TOLD || blocks >= self.blocks {
                break;
            }
        }
        if blocks > self.blocks {
            return Err(BadBody::Count { what: "blocks", found: blocks as u64, need: self.blocks as u64 });
        }
        (self.current, self.ran, self.blocks) = (current, self.ran + ran, self.blocks - blocks);
        self.sums = Sums { references, instructions };
        Ok(Step { ran, blocks, told })
    }

    /// Behind the last block.
    pub(super) fn end(self) -> Result<Sums, BadBody> {
        if self.next_exception != usize::MAX {
            return Err(BadBody::Exception { found: self.next_exception as u64, need: self.ran as u64 });
        }
        let need = (self.ran * self.turn_bits as usize).div_ceil(8);
        if self.turns.len() != need {
            return Err(BadBody::Count { what: "bytes of turns", found: self.turns.len() as u64, need: need as u64 });
        }
        self.exceptions.end()?;
        Ok(self.sums)
    }

    /// The next shape is an exception.
    #[cold]
    #[inline(never)]
    fn except(&mut self, current: usize, count: usize) -> Result<(), BadBody> {
        let next = self.choice(count)?;
        let choices = &mut self.choices[current << self.turn_bits..][..1 << self.turn_bits];
        choices.rotate_right(1);
        choices[0] = next;
        self.next_exception = self.next_exception(self.next_exception)?;
        Ok(())
    }

    /// The place of the next exception; that of none where there are no more.
    fn next_exception(&mut self, last: usize) -> Result<usize, BadBody> {
        if self.exceptions.rest().is_empty() {
            return Ok(usize::MAX);
        }
        let need = 8 * self.turns.len() / self.turn_bits as usize;
        let found = u64::saturating_add(self.exceptions.take()?, last as u64);
        if found >= need as u64 {
            return Err(BadBody::Exception { found, need: need as u64 });
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
fn fill<const AT_ONCE: usize>(numbers: &mut [u32], first: u32, wanted: usize) {
    let Some((group, rest)) = numbers.split_first_chunk_mut::<AT_ONCE>() else { return };
    *group = std::array::from_fn(|step| first + step as u32);
    if wanted > AT_ONCE {
        fill_on(rest, first + AT_ONCE as u32, wanted - AT_ONCE);
    }
}

/// The same, of the few that need more.
#[cold]
#[inline(never)]
fn fill_on(numbers: &mut [u32], first: u32, wanted: usize) {
    (first..).zip(numbers).take(wanted).for_each(|(number, into)| *into = number);
}

#[cold]
fn refusal(next: usize, count: usize) -> BadBody {
    if next == NO_SHAPE as usize {
        BadBody::Short { column: "exceptions" }
    } else {
        BadBody::Shape { found: next as u64, shapes: count }
    }
}
