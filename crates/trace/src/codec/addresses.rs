//! Data addresses: two predictions for each reference of each distinct block, and what is left to say.

use super::varint::{unzigzag, zigzag};
use crate::Reference;

/// Addresses are 48 bits wide, and counted modulo that.
pub(super) const ADDRESS_MASK: u64 = (1 << 48) - 1;

/// Bytes of a residual with each width; width 7 does not exist.
pub(super) const WIDTH_MASKS: [u64; 8] =
    [0, 0xff, 0xffff, 0xff_ffff, 0xffff_ffff, 0xff_ffff_ffff, ADDRESS_MASK, ADDRESS_MASK];

/// What the residual of a class is added to, in its bits 3 and 4.
pub(super) const PICKED: u8 = 0;
pub(super) const OTHER: u8 = 1 << 3;
pub(super) const LAST: u8 = 2 << 3;
pub(super) const PREVIOUS: u8 = 3 << 3;

/// Whether a class is one.
pub(super) fn is_class(class: u8) -> bool {
    class < 32 && class & 7 != 7
}

/// What is known of one reference of one distinct block.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Slot {
    /// Its address last time.
    last: u64,
    /// How far that lay behind the address of the reference before it, whichever that was.
    offset: u64,
    /// How far it is expected to move.
    stride: i32,
    /// How far it moved last time.
    moved: i32,
    /// Bits 48 to 63 as in the [`Reference`]; bit 0 is set where the picked prediction is the one by offset. One word,
    /// always read and written whole: a processor stalls where a load overlaps a narrower store.
    fixed_and_pick: u64,
}

const FIXED_MASK: u64 = !ADDRESS_MASK;
const PICKS_OFFSET: u64 = 1;

impl Slot {
    pub(super) fn new(reference: Reference) -> Self {
        Slot { fixed_and_pick: reference.0 & FIXED_MASK, ..Slot::default() }
    }

    /// Whether the reference is the same but for its address.
    #[inline]
    pub(super) fn is_alike(&self, reference: Reference) -> bool {
        (self.fixed_and_pick ^ reference.0) & FIXED_MASK == 0
    }

    #[inline]
    fn picks_offset(&self) -> bool {
        self.fixed_and_pick & PICKS_OFFSET != 0
    }

    #[inline]
    fn by_stride(&self) -> u64 {
        self.last.wrapping_add_signed(self.stride.into())
    }

    #[inline]
    fn by_offset(&self, previous: u64) -> u64 {
        previous.wrapping_add(self.offset)
    }

    #[inline]
    fn learn(&mut self, address: u64, previous: u64, class: u8) {
        let moved = address.wrapping_sub(self.last) as i32;
        let is_steady = moved == self.moved || moved == 0;
        self.stride = if is_steady { moved } else { self.stride };
        self.moved = moved;
        self.last = address;
        self.offset = address.wrapping_sub(previous);
        self.fixed_and_pick ^= u64::from(class >> 3 == OTHER >> 3);
    }

    /// The reference where the picked prediction is right.
    #[inline(always)]
    pub(super) fn decode_predicted(&mut self, previous: u64) -> Reference {
        let predicted = if self.picks_offset() { self.by_offset(previous) } else { self.by_stride() };
        let address = predicted & ADDRESS_MASK;
        self.learn(address, previous, PICKED);
        Reference(address | self.fixed_and_pick & FIXED_MASK)
    }

    /// The reference that class and residual stand for.
    #[inline(always)]
    pub(super) fn decode(&mut self, previous: u64, class: u8, residual: u64) -> Reference {
        let (by_stride, by_offset) = (self.by_stride(), self.by_offset(previous));
        let is_by_offset = self.picks_offset() ^ (class & OTHER != 0);
        let predicted = if is_by_offset { by_offset } else { by_stride };
        let recent = if class & OTHER != 0 { previous } else { self.last };
        let base = if class & LAST != 0 { recent } else { predicted };
        let address = base.wrapping_add_signed(unzigzag(residual)) & ADDRESS_MASK;
        self.learn(address, previous, class);
        Reference(address | self.fixed_and_pick & FIXED_MASK)
    }

    /// The class and residual for an address, both as short as can be.
    #[inline(always)]
    pub(super) fn encode(&mut self, previous: u64, address: u64) -> (u8, u64) {
        let (class, residual) = self.classify(previous, address);
        self.learn(address, previous, class);
        (class, residual)
    }

    #[inline(always)]
    fn classify(&self, previous: u64, address: u64) -> (u8, u64) {
        let is_stride = self.by_stride() & ADDRESS_MASK == address;
        let is_offset = self.by_offset(previous) & ADDRESS_MASK == address;
        let (picked, other) = if self.picks_offset() { (is_offset, is_stride) } else { (is_stride, is_offset) };
        if picked {
            (PICKED, 0)
        } else if other {
            (OTHER, 0)
        } else {
            let (of_last, of_previous) = (distance(self.last, address), distance(previous, address));
            let (last_width, previous_width) = (width(of_last), width(of_previous));
            if last_width <= previous_width {
                (LAST | last_width, of_last)
            } else {
                (PREVIOUS | previous_width, of_previous)
            }
        }
    }
}

/// The way from one address to another, of 48 bits.
#[inline]
fn distance(from: u64, to: u64) -> u64 {
    let difference = to.wrapping_sub(from);
    zigzag((difference << 16) as i64 >> 16)
}

/// Bytes that a residual takes: 0 to 6.
#[inline]
fn width(residual: u64) -> u8 {
    (64 - residual.leading_zeros() as u8).div_ceil(8)
}
