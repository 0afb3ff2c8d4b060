//! Encodes the order of the executed shapes: the index of each shape among the successors predicted
//! for the shape before, and mispredictions.

use super::references::{EXPLICIT, KINDS, ROOM, RUNS, SLOTS};
use super::shapes::{NO_SHAPE, Shape};
use super::varint::Numbers;
use super::{BadBody, Unpacked};

/// Number of predicted successors of each shape.
pub(super) const SUCCESSORS: usize = 4;
/// Number of bits of a *successor index*, which selects one of the predicted successors.
pub(super) const INDEX_BITS: usize = SUCCESSORS.ilog2() as usize;

/// Decoder of a chunk's sequence of shapes, which works part by part.
pub(super) struct SequenceReader<'a> {
    indices: &'a [u8],
    mispredictions: Numbers<'a>,
    /// Predicted successors of each shape. The last entry is for the start of the chunk.
    predictors: &'a mut [[u32; SUCCESSORS]],
    /// Number of blocks of the chunk that have not been read yet.
    blocks: usize,
    /// Number of shapes read.
    ran: usize,
    current: usize,
    /// Number of different shapes that have occurred so far.
    seen: u32,
    next_misprediction: usize,
    sums: Sums,
}

/// Sums over the executed shapes of a chunk.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Sums {
    pub(super) references: u64,
    pub(super) instructions: u64,
}

/// Numbers of shapes, blocks and explicit references read in one step.
#[derive(Clone, Copy, Debug)]
pub(super) struct Step {
    pub(super) ran: usize,
    pub(super) blocks: usize,
    pub(super) explicit: usize,
}

impl<'a> SequenceReader<'a> {
    /// Begins to read a sequence of `blocks` blocks. `predictors` is only reused memory.
    pub(super) fn new(
        indices: &'a [u8],
        mispredictions: Numbers<'a>,
        predictors: &'a mut Vec<[u32; SUCCESSORS]>,
        shapes: usize,
        blocks: usize,
    ) -> Unpacked<Self> {
        predictors.clear();
        predictors.resize(shapes + 1, [NO_SHAPE; SUCCESSORS]);
        let mut reader = SequenceReader {
            indices,
            mispredictions,
            predictors,
            blocks,
            ran: 0,
            current: shapes,
            seen: 0,
            next_misprediction: 0,
            sums: Sums::default(),
        };
        reader.next_misprediction = reader.next_misprediction(0)?;
        Ok(reader)
    }

    /// Reads as many executed shapes as fit into the buffers: the indices of their blocks, and the
    /// slot of each of their explicit references. The buffer must have room for one more step after
    /// the indices.
    ///
    /// This step and the two steps after it are separate functions, because each needs all
    /// registers.
    #[inline(never)]
    pub(super) fn read(
        &mut self,
        shapes: &[Shape],
        into: &mut [u32; RUNS],
        numbers: &mut [u32],
        slots: &mut [u32; ROOM],
    ) -> Unpacked<Step> {
        let Sums {
            mut references,
            mut instructions,
        } = self.sums;
        let (mut current, mut ran, mut blocks, mut explicit) = (self.current, 0, 0, 0);
        let (indices, first) = (self.indices, self.ran);
        for into in into {
            let number = first + ran;
            if number == self.next_misprediction {
                self.mispredict(current, shapes.len())?;
            }
            let bit = number * INDEX_BITS;
            let Some(&some) = indices.get(bit / 8) else {
                return Err(BadBody::Short {
                    column: "successor indices",
                });
            };
            let index = usize::from(some) >> (bit % 8) & (SUCCESSORS - 1);
            current = self.predictors[current][index] as usize;
            let Some(shape) = shapes.get(current) else {
                return Err(refusal(current, shapes.len()));
            };
            *into = current as u32;
            references += u64::from(shape.references);
            instructions += u64::from(shape.instructions);
            let wanted = usize::from(shape.explicit);
            fill::<SLOTS>(&mut slots[explicit..], shape.first_slot, wanted);
            fill::<KINDS>(
                numbers.get_mut(blocks..).unwrap_or_default(),
                shape.first_block,
                shape.blocks.into(),
            );
            ran += 1;
            blocks += usize::from(shape.blocks);
            explicit += wanted;
            if explicit >= EXPLICIT || blocks >= self.blocks {
                break;
            }
        }
        if blocks > self.blocks {
            return Err(BadBody::Count {
                what: "blocks",
                found: blocks as u64,
                need: self.blocks as u64,
            });
        }
        (self.current, self.ran, self.blocks) = (current, self.ran + ran, self.blocks - blocks);
        self.sums = Sums {
            references,
            instructions,
        };
        Ok(Step {
            ran,
            blocks,
            explicit,
        })
    }

    /// Ends the sequence after its last block, and returns the sums.
    pub(super) fn end(self) -> Unpacked<Sums> {
        if self.next_misprediction != usize::MAX {
            return Err(BadBody::Misprediction {
                found: self.next_misprediction as u64,
                need: self.ran as u64,
            });
        }
        let need = (self.ran * INDEX_BITS).div_ceil(8);
        if self.indices.len() != need {
            return Err(BadBody::Count {
                what: "bytes of successor indices",
                found: self.indices.len() as u64,
                need: need as u64,
            });
        }
        self.mispredictions.end()?;
        Ok(self.sums)
    }

    /// Takes the next shape from the column of mispredictions and updates the predictor of shape
    /// `current`.
    #[cold]
    #[inline(never)]
    fn mispredict(&mut self, current: usize, count: usize) -> Unpacked {
        let next = self.mispredicted(count)?;
        let predictor = &mut self.predictors[current];
        predictor.rotate_right(1);
        predictor[0] = next;
        self.next_misprediction = self.next_misprediction(self.next_misprediction)?;
        Ok(())
    }

    /// Returns the position of the next misprediction; after the last, a position that no shape
    /// has.
    fn next_misprediction(&mut self, last: usize) -> Unpacked<usize> {
        if self.mispredictions.rest().is_empty() {
            return Ok(usize::MAX);
        }
        let need = 8 * self.indices.len() / INDEX_BITS;
        let found = u64::saturating_add(self.mispredictions.take()?, last as u64);
        if found >= need as u64 {
            return Err(BadBody::Misprediction {
                found,
                need: need as u64,
            });
        }
        Ok(found as usize)
    }

    /// Returns the number of the mispredicted shape. In the column, 0 means the first shape that
    /// has not occurred yet, and n means shape n - 1.
    fn mispredicted(&mut self, count: usize) -> Unpacked<u32> {
        let number = self.mispredictions.take()?;
        let shape = if number == 0 {
            u64::from(self.seen)
        } else {
            number - 1
        };
        if shape >= count as u64 {
            return Err(BadBody::Shape {
                found: shape,
                shapes: count,
            });
        }
        self.seen += u32::from(number == 0);
        Ok(shape as u32)
    }
}

/// Writes consecutive numbers from `first` on. May write up to `AT_ONCE` numbers, even if fewer are
/// `wanted`.
#[inline(always)]
fn fill<const AT_ONCE: usize>(numbers: &mut [u32], first: u32, wanted: usize) {
    let Some((group, rest)) = numbers.split_first_chunk_mut::<AT_ONCE>() else {
        return;
    };
    *group = std::array::from_fn(|step| first + step as u32);
    if wanted > AT_ONCE {
        fill_on(rest, first + AT_ONCE as u32, wanted - AT_ONCE);
    }
}

/// Writes the consecutive numbers that [`fill`] leaves out, for the few shapes with more blocks or
/// explicit references than one step writes.
#[cold]
#[inline(never)]
fn fill_on(numbers: &mut [u32], first: u32, wanted: usize) {
    (first..)
        .zip(numbers)
        .take(wanted)
        .for_each(|(number, into)| *into = number);
}

#[cold]
fn refusal(next: usize, count: usize) -> BadBody {
    if next == NO_SHAPE as usize {
        BadBody::Short {
            column: "mispredictions",
        }
    } else {
        BadBody::Shape {
            found: next as u64,
            shapes: count,
        }
    }
}
