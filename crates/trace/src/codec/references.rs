//! Assembles references, several at a time, from the explicit addresses of the executed shapes and
//! the rules for deriving other addresses.

use super::addresses::{FAR, FAR_BYTES, Slot, WIDTHS};
use super::shapes::Shape;
use super::{BadBody, Unpacked};
use crate::Reference;
use crate::shape::Unfold;

/// Number of references assembled in one step.
pub(super) const STEP: usize = 2;
/// Number of indices of explicit references (*slots*) that are written in one step.
pub(super) const SLOTS: usize = 8;
/// Number of block indices written in one step.
pub(super) const KINDS: usize = 2;
/// Number of zero bytes after the residuals. Residuals are read eight bytes at a time, and a far
/// residual has eleven.
const PADDING: usize = 16;

/// Number of executed shapes, and of explicit references, that are assembled in one round. The
/// intermediate data then stay in the nearest caches.
pub(super) const RUNS: usize = 2048;
pub(super) const EXPLICIT: usize = 1 << 13;
/// Size of the buffer for one round's explicit references, including those of the last shape. A
/// power of two, so that a masked index needs no bounds check.
pub(super) const ROOM: usize = 1 << 17;

const _: () = assert!(ROOM >= EXPLICIT + u16::MAX as usize + SLOTS);

/// Residuals of explicit addresses, in order of execution.
pub(super) struct Residuals<'a> {
    widths: &'a [u8],
    bytes: &'a [u8],
    /// Length of the residuals without the padding, in bytes.
    length: usize,
    /// Number of residuals read; `place` is the number of bytes read.
    number: usize,
    place: usize,
}

impl<'a> Residuals<'a> {
    pub(super) fn new(widths: &'a [u8], bytes: &'a mut Vec<u8>) -> Residuals<'a> {
        let length = bytes.len();
        bytes.resize(length + PADDING, 0);
        Residuals {
            widths,
            bytes,
            length,
            number: 0,
            place: 0,
        }
    }

    /// Reads the addresses of the next explicit references into the upper 48 bits of `addresses`.
    /// `slots` has the prediction of each explicit reference.
    #[inline(never)]
    pub(super) fn read(
        &mut self,
        slot_of_explicit: &[u32],
        slots: &mut [Slot],
        addresses: &mut [u64],
    ) -> Unpacked {
        let mut place = self.place;
        if self.widths.len() < (self.number + slot_of_explicit.len()).div_ceil(4) {
            return Err(BadBody::Short { column: "widths" });
        }
        for (number, (address, &slot)) in
            (self.number..).zip(addresses.iter_mut().zip(slot_of_explicit))
        {
            let (Some(width), Some(slot), Some(bytes)) = (
                self.widths.get(number / 4),
                slots.get_mut(slot as usize),
                self.bytes
                    .get(place..)
                    .and_then(|rest| rest.first_chunk::<8>()),
            ) else {
                return Err(BadBody::Short {
                    column: "residuals",
                });
            };
            let (length, bits) = WIDTHS[usize::from(width >> (2 * (number % 4)) & 3)];
            let mut residual = u64::from_le_bytes(*bytes) & bits;
            place += length;
            if residual == FAR {
                residual = far(self.bytes, place)?;
                place += FAR_BYTES - length;
            }
            *address = slot.decode(residual);
        }
        self.place = place;
        self.number += slot_of_explicit.len();
        Ok(())
    }

    /// Checks that all residuals have been read.
    pub(super) fn end(self) -> Unpacked {
        let used = self.number.div_ceil(4);
        if self.widths.len() > used {
            return Err(BadBody::Long {
                column: "widths",
                bytes: self.widths.len() - used,
            });
        }
        if self.place > self.length {
            return Err(BadBody::Short {
                column: "residuals",
            });
        }
        if self.place < self.length {
            return Err(BadBody::Long {
                column: "residuals",
                bytes: self.length - self.place,
            });
        }
        Ok(())
    }
}

/// Reads a far residual, which does not fit five bytes.
#[cold]
fn far(residuals: &[u8], place: usize) -> Unpacked<u64> {
    let bytes = residuals.get(place..place + 6).ok_or(BadBody::Short {
        column: "residuals",
    })?;
    Ok(bytes
        .iter()
        .rev()
        .fold(0, |number, &byte| number << 8 | u64::from(byte)))
}

/// Assembles the references of executed shapes, and returns their number. The buffer must have room
/// for one more step after the last reference.
#[inline(never)]
pub(super) fn put_together(
    shapes: &[Shape],
    unfolds: &[Unfold],
    ran: &[u32],
    explicit: &[u64; ROOM],
    references: &mut [Reference],
) -> usize {
    // 32 bits suffice: the sums cannot overflow.
    let (mut at, mut next_explicit) = (0_u32, 0_u32);
    for &number in ran {
        let shape = &shapes[number as usize];
        let wanted = u32::from(shape.references);
        let mut done = 0;
        // The loop runs at least once, because a branch on whether a shape has references would be
        // mispredicted.
        loop {
            let (into, form) = (
                at as usize + done as usize,
                shape.first_form as usize + done as usize,
            );
            let (Some(into), Some(unfolds)) = (
                references.get_mut(into..into + STEP),
                unfolds.get(form..form + STEP),
            ) else {
                break;
            };
            for (reference, unfold) in into.iter_mut().zip(unfolds) {
                *reference = unfold.reference_at_upper(
                    explicit[(next_explicit as usize + unfold.source()) & (ROOM - 1)],
                );
            }
            done += STEP as u32;
            if done >= wanted {
                break;
            }
        }
        at += wanted;
        next_explicit += u32::from(shape.explicit);
    }
    at as usize
}
