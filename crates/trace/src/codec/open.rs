//! The columns of the chunk that is being written, block by block. The innermost loop of a capture: no memory is taken
//! in it, and what it counts stays in registers.

use super::addresses::{FAR, FAR_BYTES, Slot, bytes_of, code_of, is_far};
use super::limits;
use super::shapes::{NO_SHAPE, ShapeColumns, end_of};
use super::varint::put;
use crate::Block;
use crate::shape::Form;

/// What the innermost loop needs to know of a shape. What it knows of the chunk holds in one chunk only.
#[derive(Clone, Copy, Debug)]
#[repr(align(32))]
pub(super) struct Hot {
    /// The chunk that it last occurred in.
    chunk: u32,
    first_slot: u32,
    /// In that chunk.
    number: u32,
    choices: [u32; 2],
    /// Blocks of it.
    count: u32,
    told: u16,
    references: u16,
    instructions: u16,
}

impl Hot {
    pub(super) fn new(first_slot: usize, told: usize, block: &Block) -> Hot {
        Hot {
            chunk: 0,
            first_slot: first_slot as u32,
            number: 0,
            choices: [NO_SHAPE; 2],
            count: 0,
            told: told as u16,
            references: block.references,
            instructions: block.instructions,
        }
    }
}

/// The rest of it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cold {
    pub(super) block: Block,
    pub(super) first_form: u32,
}

/// What the encoder knows of shapes, by their ids. Number 0 is none: what a chunk begins behind.
#[derive(Debug, Default)]
pub(super) struct Known {
    pub(super) hot: Vec<Hot>,
    pub(super) cold: Vec<Cold>,
    pub(super) slots: Vec<Slot>,
    pub(super) forms: Vec<Form>,
    /// References of the shape that has most.
    pub(super) most_references: usize,
}

impl Known {
    pub(super) fn forms_of(&self, id: usize) -> &[Form] {
        let Cold { block, first_form } = self.cold[id];
        &self.forms[first_form as usize..][..usize::from(block.references)]
    }

    pub(super) fn clear(&mut self) {
        self.hot.clear();
        self.cold.clear();
        self.slots.clear();
        self.forms.clear();
        self.most_references = 0;
    }
}

/// Places in the open chunk.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Counts {
    pub(super) blocks: usize,
    pub(super) told: usize,
    pub(super) residual_bytes: usize,
    /// So many blocks fit at least before it must be seen whether the chunk is full.
    room: usize,
    /// Id of the shape of the last block.
    current: u32,
}

impl Counts {
    /// Lets a chunk that is full take one block more.
    pub(super) fn make_room(&mut self) {
        self.room = 1;
    }
}

/// What all blocks of the open chunk have together.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Sums {
    pub(super) references: usize,
    pub(super) instructions: u64,
}

/// Columns that grow where a shape is new or comes unexpectedly.
#[derive(Debug, Default)]
pub(super) struct Table {
    /// Never 0 once it is open, so that no shape seems to belong to it.
    chunk: u32,
    pub(super) count: u32,
    pub(super) forms: u32,
    expected: u64,
    last_exception: usize,
    /// Ids of the shapes that occur.
    entered: Vec<u32>,
    pub(super) exceptions: Vec<u8>,
    pub(super) addresses: Vec<u8>,
    pub(super) shapes: Vec<u8>,
    pub(super) references: Vec<u8>,
}

impl Table {
    fn begin(&mut self) {
        self.chunk = self.chunk.wrapping_add(1).max(1);
        (self.count, self.forms, self.expected, self.last_exception) = (0, 0, 0, 0);
        self.entered.clear();
        let Table { exceptions, addresses, shapes, references, .. } = self;
        [exceptions, addresses, shapes, references].into_iter().for_each(Vec::clear);
    }
}

/// As long as the longest chunk needs, and a power of two, so that no place need be looked at twice: a masked one is
/// always inside.
const TURNS: usize = 1 << 19;
const WIDTHS: usize = 1 << 23;
const RESIDUALS: usize = 1 << 26;
/// Residuals are written eight bytes at once, those that are far in eleven.
const SLACK: usize = 16;

const _: () = assert!(TURNS >= crate::Chunk::BLOCKS);
const _: () = assert!(WIDTHS >= limits::REFERENCES);
const _: () = assert!(RESIDUALS >= limits::REFERENCES * FAR_BYTES);

/// The chunk that is being written.
#[derive(Debug)]
pub(super) struct Open {
    pub(super) counts: Counts,
    pub(super) table: Table,
    /// A byte each, until the chunk ends: 0 or 1.
    turns: Box<[u8; TURNS]>,
    /// A byte each: 0 to 3.
    widths: Box<[u8; WIDTHS]>,
    residuals: Box<[u8; RESIDUALS + SLACK]>,
}

/// Memory that is only there where it is used.
pub(super) fn zeroed<T: Copy + Default + std::fmt::Debug, const LENGTH: usize>() -> Box<[T; LENGTH]> {
    vec![T::default(); LENGTH].into_boxed_slice().try_into().expect("it has this length")
}

impl Open {
    pub(super) fn new() -> Open {
        Open {
            counts: Counts::default(),
            table: Table::default(),
            turns: zeroed(),
            widths: zeroed(),
            residuals: zeroed(),
        }
    }

    /// Begins a chunk.
    pub(super) fn begin(&mut self, known: &mut Known) {
        self.counts = Counts::default();
        self.table.begin();
        match known.hot.first_mut() {
            Some(start) => start.choices = [NO_SHAPE; 2],
            None => {
                known.hot.push(Hot::new(0, 0, &Block::default()));
                known.cold.push(Cold { block: Block::default(), first_form: 0 });
            }
        }
    }

    /// Appends a bit for each turn.
    pub(super) fn put_turns(&self, column: &mut Vec<u8>) {
        // Byte i of eight goes to bit 56 + i of the product.
        const GATHER: u64 = 0x0102_0408_1020_4080;
        let groups = self.turns[..self.counts.blocks].chunks(8);
        column.extend(groups.map(|group| {
            let mut eight = [0; 8];
            eight[..group.len()].copy_from_slice(group);
            (u64::from_le_bytes(eight).wrapping_mul(GATHER) >> 56) as u8
        }));
    }

    /// Appends two bits for each width.
    pub(super) fn put_widths(&self, column: &mut Vec<u8>) {
        let groups = self.widths[..self.counts.told].chunks(4);
        column.extend(groups.map(|group| {
            let mut four = [0; 4];
            four[..group.len()].copy_from_slice(group);
            let bits = u32::from_le_bytes(four);
            (bits | bits >> 6 | bits >> 12 | bits >> 18) as u8
        }));
    }

    pub(super) fn residuals(&self) -> &[u8] {
        &self.residuals[..self.counts.residual_bytes]
    }
}

impl Table {
    /// What the blocks of the chunk have together.
    pub(super) fn sums(&self, hot: &[Hot]) -> Sums {
        let mut sums = Sums::default();
        for hot in self.entered.iter().filter_map(|&id| hot.get(id as usize)) {
            sums.references += usize::from(hot.references) * hot.count as usize;
            sums.instructions += u64::from(hot.instructions) * u64::from(hot.count);
        }
        sums
    }
}

/// Where blocks come from.
pub trait BlockSource {
    /// An address that is told.
    type Address;

    /// The number of the next block's shape and the addresses of it that are told; none where the source ends or
    /// something else comes first.
    fn next(&self) -> Option<(u32, &[Self::Address])>;

    /// The address as a number, of which the lower 48 bits count.
    fn value(address: &Self::Address) -> u64;

    /// Passes over that block, which had so many told addresses.
    fn pass(&mut self, told: usize);
}

/// Takes blocks until the source has none, or has one that does not fit its shape. Returns whether the chunk is full
/// instead.
///
/// A function of its own, with what it counts in variables of its own: registers are what it is short of.
#[inline(never)]
pub(super) fn take<S: BlockSource>(known: &mut Known, open: &mut Open, source: &mut S) -> bool {
    let Known { hot, cold, slots, forms, most_references } = known;
    let (hot, slots) = (&mut hot[..], &mut slots[..]);
    let Open { counts, table, turns, widths, residuals } = open;
    let chunk = table.chunk;
    let mut is_full = false;
    let Counts { mut blocks, told: mut all_told, mut residual_bytes, mut room, mut current } = *counts;
    while let Some((id, addresses)) = source.next() {
        let told = addresses.len();
        if room == 0 {
            room = room_for(table, hot, *most_references, blocks, residual_bytes);
            is_full = room == 0;
            if is_full {
                break;
            }
        }
        let Some(&Hot { chunk: last_chunk, first_slot, told: need, .. }) = hot.get(id as usize) else { break };
        let first_slot = first_slot as usize;
        let Some(slots) = slots.get_mut(first_slot..first_slot + usize::from(need)) else { break };
        if slots.len() != told {
            break;
        }
        room -= 1;
        let is_first = last_chunk != chunk;
        if is_first {
            slots.fill(Slot::default());
            enter(hot, cold, forms, table, id);
        }
        hot[id as usize].count += 1;
        let Some(before) = hot.get_mut(current as usize) else { break };
        let [first, second] = before.choices;
        if (first != id) & (second != id) {
            before.choices = [id, first];
            let choice = if is_first { 0 } else { u64::from(hot[id as usize].number) + 1 };
            except(table, blocks, choice);
        }
        current = id;
        turns[blocks & (TURNS - 1)] = u8::from((first != id) & (second == id));
        blocks += 1;
        for (slot, address) in slots.iter_mut().zip(addresses) {
            let residual = slot.encode(S::value(address));
            let code = code_of(residual);
            widths[all_told & (WIDTHS - 1)] = code as u8;
            all_told += 1;
            let place = residual_bytes & (RESIDUALS - 1);
            residuals[place..place + 8].copy_from_slice(&residual.to_le_bytes());
            if is_far(residual) {
                residuals[place..place + FAR_BYTES].copy_from_slice(&far(residual));
                residual_bytes += FAR_BYTES - bytes_of(code);
            }
            residual_bytes += bytes_of(code);
        }
        source.pass(told);
    }
    *counts = Counts { blocks, told: all_told, residual_bytes, room, current };
    is_full
}

/// So many blocks fit at least; none where the chunk should end here.
#[cold]
#[inline(never)]
fn room_for(table: &Table, hot: &[Hot], most_references: usize, blocks: usize, residual_bytes: usize) -> usize {
    let most = most_references.max(1);
    let references = table.sums(hot).references;
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
    (known.chunk, known.number, known.choices, known.count) = (table.chunk, table.count, [NO_SHAPE; 2], 0);
    table.entered.push(id);
    let references = known.references;
    let Cold { block, first_form } = &cold[id as usize];
    let own = &forms[*first_form as usize..][..usize::from(references)];
    let mut columns =
        ShapeColumns { addresses: &mut table.addresses, shapes: &mut table.shapes, references: &mut table.references };
    columns.put(table.expected, block, own);
    table.expected = end_of(block);
    table.count += 1;
    table.forms += u32::from(references);
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
