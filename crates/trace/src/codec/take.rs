//! Taking blocks into the chunk that is being written: the innermost loops of a capture. No memory is taken in them, and
//! what they count stays in registers.

use super::addresses::{FAR, FAR_BYTES, Slot, bytes_of, code_of, is_far};
use super::known::{Cold, Hot, Known, NO_HEAD};
use super::limits;
use super::open::{Counts, Open, RESIDUALS, TURNS, Table};
use super::shapes::{ShapeColumns, end_of};
use super::varint::put;
use crate::shape::Form;

/// Told addresses that wait for their prediction, so that the loops over blocks and over addresses are both short.
#[derive(Debug)]
pub(super) struct Batch {
    slots: Box<[u32; Batch::ROOM]>,
    addresses: Box<[u64; Batch::ROOM]>,
    length: usize,
}

impl Default for Batch {
    fn default() -> Batch {
        Batch { slots: Box::new([0; Batch::ROOM]), addresses: Box::new([0; Batch::ROOM]), length: 0 }
    }
}

impl Batch {
    const MOST: usize = 1024;
    /// A block with more addresses is taken in parts.
    const LONGEST: usize = 256;
    const ROOM: usize = Batch::MOST + Batch::LONGEST;

    fn is_full(&self) -> bool {
        self.length >= Batch::MOST
    }

    /// Appends addresses, no more than [`Batch::LONGEST`], where it is not full.
    fn extend(&mut self, first_slot: u32, addresses: impl Iterator<Item = u64>) {
        for (slot, address) in (first_slot..).zip(addresses) {
            (self.slots[self.length], self.addresses[self.length]) = (slot, address);
            self.length += 1;
        }
    }
}

/// Where blocks come from.
pub trait BlockSource {
    /// What holds a head or an address.
    type Word;

    /// Heads that are equal stand for blocks of the same shape as long as this is the same, too.
    fn meaning(&self) -> u32;

    /// Blocks as they stand one behind the other, each with its head and then the addresses that are told, and whatever
    /// stands between them. Nothing where they do not stand like this.
    fn words(&self) -> &[Self::Word];

    /// A word as a number. Of an address the lower 48 bits count.
    fn value(word: &Self::Word) -> u64;

    /// Passes over so many words.
    fn pass(&mut self, words: usize);

    /// The number of the next block's shape and the addresses of it that are told; none where the source ends or
    /// something else comes first.
    fn next(&self) -> Option<(u32, &[Self::Word])>;

    /// Passes over that block, which had so many told addresses.
    fn pass_block(&mut self, told: usize);
}

/// Takes blocks until the source has none, or has one that does not fit its shape. Returns whether the chunk is full
/// instead.
pub(super) fn take<S: BlockSource>(known: &mut Known, open: &mut Open, batch: &mut Batch, source: &mut S) -> bool {
    loop {
        if open.counts.room == 0 {
            put_addresses(known, open, batch);
            open.counts.room = room_for(known.most_references, &open.counts);
            if open.counts.room == 0 {
                return source.next().is_some();
            }
        }
        take_expected(known, open, batch, source);
        if batch.is_full() {
            put_addresses(known, open, batch);
        } else if open.counts.room > 0 && !take_any(known, open, batch, source) {
            put_addresses(known, open, batch);
            return false;
        }
    }
}

/// Takes blocks that are one of the two that were expected, as long as there is room.
#[inline(never)]
fn take_expected<S: BlockSource>(known: &Known, open: &mut Open, batch: &mut Batch, source: &mut S) {
    let hot = &known.hot[..];
    let Open { counts, turns, .. } = open;
    let Batch { slots, addresses, length } = batch;
    let meaning = source.meaning();
    let Counts { mut blocks, mut sums, room, mut current, .. } = *counts;
    let end = blocks + room;
    let mut at = *length;
    let Some(mut before) = hot.get(current as usize) else { return };
    let mut rest = source.words();
    let all = rest.len();
    while blocks < end && at < Batch::MOST && before.meaning == meaning {
        let [head, first, second, ..] = rest else { break };
        let head = S::value(head);
        let turn = if head == before.heads[0] {
            0
        } else if head == before.heads[1] {
            1
        } else {
            break;
        };
        let id = before.choices[turn];
        let Some(shape) = hot.get(id as usize) else { break };
        let Hot { first_slot, told, .. } = *shape;
        let told = told as usize;
        let Some(later) = rest.get(1 + told..) else { break };
        if told > Batch::LONGEST {
            break;
        }
        // Two are there in any case, and one loop less to begin is worth more than what is written in vain.
        [addresses[at], addresses[at + 1]] = [S::value(first), S::value(second)];
        [slots[at], slots[at + 1]] = [first_slot, first_slot.wrapping_add(1)];
        for (more, address) in rest[..1 + told].iter().enumerate().skip(3) {
            addresses[at + more - 1] = S::value(address);
            slots[at + more - 1] = first_slot + more as u32 - 1;
        }
        at += told;
        rest = later;
        (before, current) = (shape, id);
        sums.0 += shape.sums.0;
        turns[blocks & (TURNS - 1)] = turn as u8;
        blocks += 1;
    }
    let passed = all - rest.len();
    source.pass(passed);
    *length = at;
    counts.room -= blocks - counts.blocks;
    (counts.blocks, counts.sums, counts.current) = (blocks, sums, current);
}

/// Takes the next block, whatever it is. False where it is none, or does not fit its shape.
#[cold]
#[inline(never)]
fn take_any<S: BlockSource>(known: &mut Known, open: &mut Open, batch: &mut Batch, source: &mut S) -> bool {
    let Known { hot, cold, slots, forms, chunk: open_chunk, .. } = known;
    let Open { counts, table, turns, .. } = open;
    let Some((id, addresses)) = source.next() else { return false };
    let (told, head) = (addresses.len(), source.words().first().map_or(NO_HEAD, S::value));
    let Some(&Hot { chunk, first_slot, told: need, number, sums, .. }) = hot.get(id as usize) else {
        return false;
    };
    let Some(slots) = slots.get_mut(first_slot as usize..(first_slot + need) as usize) else { return false };
    if need as usize != told || hot.len() <= counts.current as usize {
        return false;
    }
    let is_first = chunk != *open_chunk;
    if is_first {
        slots.fill(Slot::default());
        enter(hot, cold, forms, table, id);
        hot[id as usize].chunk = *open_chunk;
    }
    let meaning = source.meaning();
    let before = &mut hot[counts.current as usize];
    if before.meaning != meaning {
        (before.meaning, before.heads) = (meaning, [NO_HEAD; 2]);
    }
    let turn = match before.choices.iter().position(|&choice| choice == id) {
        Some(turn) => {
            before.heads[turn] = head;
            turn
        }
        None => {
            (before.choices, before.heads) = ([id, before.choices[0]], [head, before.heads[0]]);
            except(table, counts.blocks, if is_first { 0 } else { u64::from(number) + 1 });
            0
        }
    };
    turns[counts.blocks & (TURNS - 1)] = turn as u8;
    counts.sums.0 += sums.0;
    counts.blocks += 1;
    counts.room -= 1;
    counts.current = id;
    for (part, first) in addresses.chunks(Batch::LONGEST).zip((first_slot..).step_by(Batch::LONGEST)) {
        if batch.is_full() {
            put_addresses(known, open, batch);
        }
        batch.extend(first, part.iter().map(S::value));
    }
    source.pass_block(told);
    true
}

/// Puts what is left to say of the addresses of the batch.
#[inline(never)]
fn put_addresses(known: &mut Known, open: &mut Open, batch: &mut Batch) {
    let Open { counts, widths, residuals, .. } = open;
    let slots = &mut known.slots[..];
    let mut bytes = counts.residual_bytes;
    let length = batch.length;
    let (own, addresses) = (&batch.slots[..length], &batch.addresses[..length]);
    let widths = &mut widths[counts.told..counts.told + length];
    for ((&slot, &address), width) in own.iter().zip(addresses).zip(widths) {
        let Some(slot) = slots.get_mut(slot as usize) else { break };
        let Some(residual) = slot.encode(address) else { continue };
        let code = code_of(residual);
        *width = code as u8;
        let place = bytes & (RESIDUALS - 1);
        residuals[place..place + 8].copy_from_slice(&residual.to_le_bytes());
        if is_far(residual) {
            residuals[place..place + FAR_BYTES].copy_from_slice(&far(residual));
            bytes += FAR_BYTES - bytes_of(code);
        }
        bytes += bytes_of(code);
    }
    counts.told += length;
    counts.residual_bytes = bytes;
    batch.length = 0;
}

/// So many blocks fit at least; none where the chunk should end here.
#[cold]
#[inline(never)]
fn room_for(most_references: usize, counts: &Counts) -> usize {
    let &Counts { blocks, residual_bytes, sums, .. } = counts;
    let (most, references) = (most_references.max(1), sums.references());
    if blocks >= crate::Chunk::BLOCKS
        || references >= limits::CUT_REFERENCES
        || residual_bytes >= limits::CUT_RESIDUAL_BYTES
    {
        return 0;
    }
    let of_references = (limits::CUT_REFERENCES - references) / most;
    let of_residuals = (limits::CUT_RESIDUAL_BYTES - residual_bytes) / (FAR_BYTES * most);
    (crate::Chunk::BLOCKS - blocks).min(of_references).min(of_residuals).max(1)
}

/// A block that was none of the two that were expected.
#[cold]
#[inline(never)]
fn except(table: &mut Table, blocks: usize, choice: u64) {
    put(&mut table.exceptions, (blocks - table.last_exception) as u64);
    put(&mut table.exceptions, choice);
    table.last_exception = blocks;
}

/// A shape's first occurrence in the chunk.
#[cold]
#[inline(never)]
fn enter(hot: &mut [Hot], cold: &[Cold], forms: &[Form], table: &mut Table, id: u32) {
    let known = &mut hot[id as usize];
    known.forget_choices();
    known.number = table.count;
    let Cold { block, first_form } = &cold[id as usize];
    let own = &forms[*first_form as usize..][..usize::from(block.references)];
    let mut columns =
        ShapeColumns { addresses: &mut table.addresses, shapes: &mut table.shapes, references: &mut table.references };
    columns.put(table.expected, block, own);
    table.expected = end_of(block);
    table.count += 1;
    table.forms += u32::from(block.references);
}

/// A residual that does not fit five bytes.
#[cold]
#[inline(never)]
fn far(residual: u64) -> [u8; FAR_BYTES] {
    let mut bytes = [0; FAR_BYTES];
    bytes[..5].copy_from_slice(&FAR.to_le_bytes()[..5]);
    bytes[5..].copy_from_slice(&residual.to_le_bytes()[..6]);
    bytes
}
