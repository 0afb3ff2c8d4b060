//! Adds executed shapes to the chunk being written, in the innermost loop of a capture. The loop
//! allocates no memory, keeps its counts in registers, and encodes several addresses in one step.

use super::addresses::{FAR_BYTES, LANES, Row};
use super::known::{Cold, Known, Sums, Totals, more_rows};
use super::limits;
use super::open::{Counts, INDICES, Open, Table};
use super::residuals::Waiting;
use super::shapes::{ShapeColumns, end_of};
use super::varint::put;
use crate::Block;
use crate::shape::ShapeReference;

/// Reads words from memory that another process may write at the same time.
pub trait ReadWords {
    /// Representation of one word in memory.
    type Word;

    /// Returns a word as a number.
    fn one(word: &Self::Word) -> u64;

    /// Reads four consecutive words.
    fn four(words: &[Self::Word; 4]) -> [u64; 4];
}

/// Words in memory that only this process uses.
#[derive(Clone, Copy, Debug)]
pub enum OwnWords {}

impl ReadWords for OwnWords {
    type Word = u64;

    #[inline(always)]
    fn one(word: &u64) -> u64 {
        *word
    }

    #[inline(always)]
    fn four(words: &[u64; 4]) -> [u64; 4] {
        *words
    }
}

/// Executed shapes as words: a head for each shape, then its explicit addresses, of which the lower
/// 48 bits count. The lower half of a head is the shape's index in `numbers`, the upper half the
/// number of addresses.
pub(super) struct Ran<'a, R: ReadWords> {
    pub(super) words: &'a [R::Word],
    /// ID of each shape by the caller's number. A number without a shape has 0, or an ID that no
    /// shape has.
    pub(super) numbers: &'a [u32],
}

impl<'a, R: ReadWords> Ran<'a, R> {
    /// Returns the next shape's ID and its explicit addresses; `None` if the remaining words
    /// contain no complete known shape.
    #[inline(always)]
    fn next(&self) -> Option<(u32, &'a [R::Word])> {
        let (head, rest) = self.words.split_first()?;
        let head = R::one(head);
        let shape = self
            .numbers
            .get(head as u32 as usize)
            .copied()
            .filter(|&shape| shape != 0)?;
        Some((shape, rest.get(..(head >> 32) as usize)?))
    }

    /// Skips `words` words.
    #[inline(always)]
    fn pass(&mut self, words: usize) {
        self.words = self.words.get(words..).unwrap_or_default();
    }
}

/// Adds shapes until the words end, the chunk is full, or a shape does not fit its definition.
/// Returns whether the chunk is full.
pub(super) fn take<R: ReadWords>(
    known: &mut Known,
    open: &mut Open,
    waiting: &mut Waiting,
    source: &mut Ran<'_, R>,
) -> bool {
    loop {
        if open.counts.room == 0 {
            waiting.put(open);
            open.counts.room = room_for(known.largest, &mut open.counts);
            if open.counts.room == 0 {
                return source.next().is_some();
            }
        }
        let has_more = waiting.wide.call(
            #[inline(always)]
            || take_some(known, open, waiting, source),
        );
        if !has_more {
            return false;
        }
        if waiting.is_full() {
            waiting.put(open);
        }
    }
}

/// Adds shapes until the chunk has no room, many distances wait, or no complete known shape
/// follows. Returns whether more shapes may follow.
#[inline(always)]
fn take_some<R: ReadWords>(
    known: &mut Known,
    open: &mut Open,
    waiting: &mut Waiting,
    source: &mut Ran<'_, R>,
) -> bool {
    while open.counts.room > 0 {
        if take_predicted(known, open, waiting, source) || waiting.is_full() {
            return true;
        }
        if !take_any(known, open, waiting, source) {
            return false;
        }
    }
    true
}

/// Adds correctly predicted shapes whose explicit references fit one row, while there is room.
/// Returns whether more shapes may follow.
#[inline(always)]
fn take_predicted<R: ReadWords>(
    known: &mut Known,
    open: &mut Open,
    waiting: &mut Waiting,
    source: &mut Ran<'_, R>,
) -> bool {
    let (words, numbers, hot) = (source.words, source.numbers, &known.hot[..]);
    let Counts {
        ran,
        mut sums,
        room,
        mut current,
        ..
    } = open.counts;
    let differences = &mut *waiting.differences;
    let mut at = waiting.length;
    let Some(mut before) = hot.get(current as usize) else {
        return false;
    };
    let most = room.min((Waiting::ROOM - at) / LANES);
    let indices = open.indices.get_mut(ran..ran + most).unwrap_or_default();
    let most = indices.len();
    let (mut taken, mut passed) = (0, 0);
    for into in indices {
        let rest = words.get(passed..).unwrap_or_default();
        // As many words are read as the largest of these shapes has, whether or not all belong to
        // this shape: reads of constant length need no loop. Shapes so close to the end of the
        // buffer that fewer words follow are left to `take_any`.
        let Some([head, addresses @ ..]) = rest.first_chunk::<{ 1 + LANES }>() else {
            break;
        };
        let head = R::one(head);
        let Some(&id) = numbers.get(head as u32 as usize) else {
            break;
        };
        let Some(shape) = hot.get(id as usize) else {
            break;
        };
        let explicit = head >> 32;
        // Which successor follows is as unpredictable as the program's own branches, so the
        // comparison has no branch.
        let hits = before.predictor.map(|successor| successor == id);
        let hits = (0..)
            .zip(hits)
            .fold(0, |bits, (index, is_hit)| bits | u32::from(is_hit) << index);
        if explicit != shape.explicit || hits == 0 {
            break;
        }
        let index = hits.trailing_zeros();
        *into = index as u8;
        // Excess residuals are overwritten by those of the next shape. The masked position needs no
        // bounds check.
        let (mut row, place) = (shape.row.get(), at & (Waiting::ROOM - 1));
        differences[place..place + LANES]
            .copy_from_slice(&row.encode(waiting.wide, R::four(addresses)));
        shape.row.set(row);
        at += explicit as usize;
        passed += 1 + explicit as usize;
        sums.0 += shape.sums.0;
        (before, current) = (shape, id);
        taken += 1;
    }
    source.pass(passed);
    waiting.length = at;
    let counts = &mut open.counts;
    counts.room -= taken;
    (counts.ran, counts.sums, counts.current) = (ran + taken, sums, current);
    taken == most
}

/// Adds the next shape, predicted or not. Returns false if no complete known shape follows.
#[inline(always)]
fn take_any<R: ReadWords>(
    known: &mut Known,
    open: &mut Open,
    waiting: &mut Waiting,
    source: &mut Ran<'_, R>,
) -> bool {
    let Known {
        hot,
        cold,
        rows,
        blocks,
        forms,
        chunk: open_chunk,
        ..
    } = known;
    let Open {
        counts,
        table,
        indices,
        ..
    } = open;
    let Some((id, addresses)) = source.next() else {
        return false;
    };
    let explicit = addresses.len();
    let (
        Some(&Cold {
            chunk,
            first_row,
            number,
            explicit: need,
            ..
        }),
        Some(shape),
    ) = (cold.get(id as usize), hot.get(id as usize))
    else {
        return false;
    };
    let Some(rows) = rows.get_mut(first_row as usize..first_row as usize + more_rows(explicit))
    else {
        return false;
    };
    if need as usize != explicit || hot.len() <= counts.current as usize {
        return false;
    }
    counts.sums.0 += shape.sums.0;
    let is_first = chunk != *open_chunk;
    if is_first {
        rows.fill(Row::default());
        hot[id as usize].forget();
        cold[id as usize].chunk = *open_chunk;
        enter(&mut cold[id as usize], blocks, forms, table);
    }
    let before = &mut hot[counts.current as usize];
    let index = before
        .predictor
        .iter()
        .position(|&successor| successor == id)
        .unwrap_or_else(|| {
            before.update_predictor(id);
            mispredict(
                table,
                counts.ran,
                if is_first { 0 } else { u64::from(number) + 1 },
            );
            0
        });
    indices[counts.ran & (INDICES - 1)] = index as u8;
    counts.ran += 1;
    counts.room -= 1;
    counts.current = id;
    let rows = std::iter::once(hot[id as usize].row.get_mut()).chain(rows);
    for (row, some) in rows.zip(addresses.chunks(LANES)) {
        if waiting.is_full() {
            waiting.put(open);
        }
        let addresses = some
            .first_chunk()
            .map_or_else(|| padded::<R>(some), R::four);
        // The row is copied and written back. A change in place would become partial stores, and
        // take many times as long.
        let mut known = *row;
        waiting.differences[waiting.length..][..LANES]
            .copy_from_slice(&known.encode(waiting.wide, addresses));
        *row = known;
        waiting.length += some.len();
    }
    source.pass(1 + explicit);
    true
}

/// Reads fewer addresses than a row holds, and fills the rest of the row with zeros.
fn padded<R: ReadWords>(words: &[R::Word]) -> [u64; LANES] {
    let mut addresses = [0; LANES];
    addresses
        .iter_mut()
        .zip(words)
        .for_each(|(address, word)| *address = R::one(word));
    addresses
}

/// Returns how many shapes, none larger than `largest`, may be added before the next check, at
/// least 1; 0 if the chunk should end.
#[cold]
#[inline(never)]
fn room_for(largest: Totals, counts: &mut Counts) -> usize {
    let Totals {
        references, blocks, ..
    } = counts.add_up();
    let residual_bytes = counts.residual_bytes;
    if blocks >= crate::Chunk::BLOCKS
        || references >= limits::CUT_REFERENCES
        || residual_bytes >= limits::CUT_RESIDUAL_BYTES
    {
        return 0;
    }
    let most = largest.references.max(1);
    let of_blocks = (crate::Chunk::BLOCKS - blocks) / largest.blocks.max(1);
    let of_references = (limits::CUT_REFERENCES - references) / most;
    let of_residuals = (limits::CUT_RESIDUAL_BYTES - residual_bytes) / (FAR_BYTES * most);
    of_blocks
        .min(of_references)
        .min(of_residuals)
        .min(Sums::room(largest))
        .max(1)
}

/// Records a misprediction: shape number `shape` was executed as number `ran`.
#[cold]
#[inline(never)]
fn mispredict(table: &mut Table, ran: usize, shape: u64) {
    put(
        &mut table.mispredictions,
        (ran - table.last_misprediction) as u64,
    );
    put(&mut table.mispredictions, shape);
    table.last_misprediction = ran;
}

/// Adds a shape to the chunk's table of shapes at its first occurrence.
#[cold]
#[inline(never)]
fn enter(shape: &mut Cold, blocks: &[Block], forms: &[ShapeReference], table: &mut Table) {
    shape.number = table.count;
    let (blocks, forms) = shape.parts(blocks, forms);
    let mut columns = ShapeColumns {
        addresses: &mut table.addresses,
        shapes: &mut table.shapes,
        references: &mut table.references,
    };
    columns.put(table.expected, blocks, forms);
    table.expected = blocks.last().map_or(table.expected, end_of);
    table.count += 1;
    table.blocks += blocks.len() as u32;
    table.forms += forms.len() as u32;
}
