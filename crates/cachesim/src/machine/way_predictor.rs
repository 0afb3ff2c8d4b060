//! Predicts the slot of a first level that holds a virtual line; this answers nearly every lookup
//! of a program.
//!
//! A *prediction* is one word, stored at an index given by the low bits of the line's number. The
//! word contains all conditions of a correct prediction, so one comparison decides whether it is
//! correct.
//!
//! | bits | of a prediction |
//! |---|---|
//! | 0 to 15 | slot |
//! | 16 | set if a store to the line changes something |
//! | 17 | set, so that 0 is none |
//! | 18 to 63 | number of the virtual line |

use std::ops::Range;

use switchcost_trace::Reference;

use crate::address::{VIRTUAL_BITS, VIRTUAL_MASK};

const SLOT_BITS: u32 = u16::BITS;
/// Maximum number of slots of a level with predictions.
const MOST_SLOTS: usize = 1 << SLOT_BITS;
const IS_UNSTORED: u64 = 1 << SLOT_BITS;
const IS_ANY: u64 = IS_UNSTORED << 1;
const LINE_SHIFT: u32 = SLOT_BITS + 2;
/// Least line size of a level with predictions, as a power of two. Numbers of shorter lines have
/// more bits than a prediction stores.
const FEWEST_LINE_BITS: u32 = VIRTUAL_BITS + LINE_SHIFT - u64::BITS;
/// Least number of predictions per line of a level, unless the low bits of a line's number are its
/// slot. With fewer, lines whose numbers end in the same bits replace each other too often.
const PREDICTIONS_A_LINE: usize = 2;
/// Maximum number of code lines of a block whose slots are stored together. Most blocks have no
/// more.
const MOST_KNOWN: usize = 3;

/// Slots of the code lines of one block.
pub(super) type Slots = [u16; MOST_KNOWN];

/// Time of each slot's last use. The array covers every slot number that a prediction can store, so
/// no index is checked. Unused elements take no physical memory.
pub(super) type Stamps = [u64; MOST_SLOTS];

/// Returns the number of the virtual line that contains an address.
#[inline(always)]
fn line_of(address: u64, line_bits: u32) -> u64 {
    (address & VIRTUAL_MASK) >> line_bits
}

/// Returns the correct prediction for a line, with 0 in the bits of the slot.
#[inline(always)]
fn right(line: u64) -> u64 {
    line << LINE_SHIFT | IS_ANY
}

/// Predictions of one level, by the low bits of the line number.
#[derive(Debug)]
pub(super) struct Predictions {
    line_bits: u32,
    /// Prediction words; their number is a power of two, or 0 without predictions.
    all: Vec<u64>,
    /// For each slot, the index of the prediction that names it.
    places: Vec<u32>,
}

impl Predictions {
    /// Makes the predictions of a level. `is_direct` means that the low bits of a line's number are
    /// its slot.
    pub(super) fn new(slots: usize, is_direct: bool, line_bits: u32) -> Predictions {
        let slots = if slots > MOST_SLOTS || line_bits < FEWEST_LINE_BITS {
            0
        } else {
            slots
        };
        let predictions = match slots {
            0 => 0,
            _ if is_direct => slots,
            _ => (slots * PREDICTIONS_A_LINE).next_power_of_two(),
        };
        Predictions {
            line_bits,
            all: vec![0; predictions],
            places: vec![0; slots],
        }
    }

    /// Returns the length of the array of stamps; 0 without predictions.
    pub(super) fn stamps(&self) -> usize {
        if self.all.is_empty() { 0 } else { MOST_SLOTS }
    }

    #[inline(always)]
    fn place(&self, line: u64) -> usize {
        line as usize & (self.all.len() - 1)
    }

    /// Predicts that the line of an address is in a slot. `is_stored` means that another store to
    /// the line changes nothing. Returns whether the slot was already predicted.
    pub(super) fn put(&mut self, slot: usize, address: u64, is_stored: bool) -> bool {
        if slot >= self.places.len() {
            return false;
        }
        let line = line_of(address, self.line_bits);
        let place = self.place(line);
        let right = right(line) | slot as u64;
        let before = self.all[place];
        let is_same = before & !IS_UNSTORED == right;
        if !is_same {
            self.clear(slot);
            self.places[slot] = place as u32;
        }
        let is_stored = is_stored || is_same && before & IS_UNSTORED == 0;
        self.all[place] = right | if is_stored { 0 } else { IS_UNSTORED };
        is_same
    }

    /// Clears the prediction of a slot.
    #[inline]
    pub(super) fn clear(&mut self, slot: usize) {
        let Some(&place) = self.places.get(slot) else {
            return;
        };
        let prediction = &mut self.all[place as usize];
        // The prediction at this index may now be that of another line.
        if *prediction & IS_ANY != 0 && usize::from(*prediction as u16) == slot {
            *prediction = 0;
        }
    }

    #[inline]
    pub(super) fn clear_all(&mut self, slots: Range<usize>) {
        if !self.places.is_empty() {
            slots.for_each(|slot| self.clear(slot));
        }
    }

    /// Records a store to the line of an address, so that later stores are predicted as well. The
    /// line must be predicted.
    pub(super) fn store(&mut self, address: u64) {
        let place = self.place(line_of(address, self.line_bits));
        self.all[place] &= !IS_UNSTORED;
    }
}

/// Predictions, and the time of each slot's last use, borrowed for a loop.
pub(super) struct WayPredictor<'a> {
    line_bits: u32,
    predictions: &'a [u64],
    stamps: &'a mut Stamps,
    /// Whether sets have several ways, so that the order of use matters.
    has_order: bool,
    now: u64,
}

impl<'a> WayPredictor<'a> {
    /// Makes a predictor. `now` is later than all stamps. Returns `None` if there are no
    /// predictions.
    #[inline(always)]
    pub(super) fn new(
        predictions: &'a Predictions,
        stamps: &'a mut [u64],
        now: u64,
        has_order: bool,
    ) -> Option<WayPredictor<'a>> {
        let stamps = stamps.first_chunk_mut()?;
        (!predictions.all.is_empty()).then_some(WayPredictor {
            line_bits: predictions.line_bits,
            predictions: &predictions.all,
            stamps,
            has_order,
            now,
        })
    }

    /// Returns a time later than all recorded uses.
    #[inline(always)]
    pub(super) fn now(&self) -> u64 {
        self.now
    }

    /// Returns the slot in which all views are known to hold the line of an address. For a store,
    /// `None` also if the store would change the line's state.
    #[inline(always)]
    pub(super) fn slot_of(&self, address: u64, is_store: bool) -> Option<u16> {
        let line = line_of(address, self.line_bits);
        let prediction = self
            .predictions
            .get(line as usize & self.predictions.len().wrapping_sub(1))?;
        let ignored = if is_store { 0 } else { IS_UNSTORED };
        // The slot is what remains if the prediction is right.
        u16::try_from(prediction & !ignored ^ right(line)).ok()
    }

    #[inline(always)]
    pub(super) fn use_now(&mut self, slot: u16) {
        if self.has_order {
            self.stamps[usize::from(slot)] = self.now;
            self.now += 1;
        }
    }

    /// Whether the line of an address is known to hit; if so, the line becomes the most recent.
    #[inline(always)]
    pub(super) fn finds(&mut self, address: u64, is_store: bool) -> bool {
        let slot = self.slot_of(address, is_store);
        if let Some(slot) = slot {
            self.use_now(slot);
        }
        slot.is_some()
    }

    /// Looks up loads and stores, up to one that crosses lines or may miss; returns their number.
    #[inline(always)]
    pub(super) fn finds_data(&mut self, references: &[Reference]) -> usize {
        self.finds_while(references, |_| true)
    }

    /// Looks up loads and stores with the TLB before the cache; finds nothing if pages are shorter
    /// than lines.
    #[inline(never)]
    pub(super) fn finds_data_behind(
        &mut self,
        tlb: &mut WayPredictor<'_>,
        references: &[Reference],
    ) -> usize {
        if tlb.line_bits < self.line_bits {
            return 0;
        }
        // The TLB's clock and the cache's need not agree, so one clock serves both, and the loop
        // has fewer counters.
        self.now = self.now.max(tlb.now);
        self.has_order = true;
        let mut now = self.now;
        let found = self.finds_while(references, |address| {
            let page = tlb.slot_of(address, false);
            if let Some(page) = page {
                tlb.stamps[usize::from(page)] = now;
                now += 1;
            }
            page.is_some()
        });
        tlb.now = now;
        found
    }

    #[inline(always)]
    fn finds_while(
        &mut self,
        references: &[Reference],
        mut finds_page: impl FnMut(u64) -> bool,
    ) -> usize {
        let mut found = 0;
        for &reference in references {
            let first = reference.address();
            // An access that wraps past the last address spans two lines, too.
            let last = first.wrapping_add(u64::from(reference.bytes()) - 1);
            let is_in_one = (first ^ last) >> self.line_bits == 0;
            if !is_in_one || !finds_page(first) || !self.finds(first, reference.is_store()) {
                break;
            }
            found += 1;
        }
        found
    }

    /// Whether all lines from `first` to `last` are known to hit. If so, they become the most
    /// recently used, in order.
    #[inline(never)]
    pub(super) fn finds_all(&mut self, first: u64, last: u64) -> bool {
        let bits = self.line_bits;
        let lines = first >> bits..=last >> bits;
        let are_found = first <= last
            && lines
                .clone()
                .all(|line| self.slot_of(line << bits, false).is_some());
        if are_found {
            lines.for_each(|line| {
                self.finds(line << bits, false);
            });
        }
        are_found
    }

    /// Returns the slots of the lines from `first` to `last`, if all are known to hit and there are
    /// at most [`MOST_KNOWN`]. The last slot is repeated.
    #[inline]
    pub(super) fn slots_of(&self, first: u64, last: u64) -> Option<Slots> {
        let bits = self.line_bits;
        let (from, to) = (first >> bits, last >> bits);
        if first > last || to - from >= MOST_KNOWN as u64 {
            return None;
        }
        let mut slots = [0; MOST_KNOWN];
        for (slot, line) in slots.iter_mut().zip(from..) {
            *slot = self.slot_of(line.min(to) << bits, false)?;
        }
        Some(slots)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINE: u64 = 64;

    fn load(address: u64) -> Reference {
        Reference::new(
            address,
            Reference::size_code(8).unwrap_or_default(),
            0,
            false,
        )
    }

    fn found(predictions: &Predictions, references: &[Reference]) -> usize {
        let mut stamps = vec![0; predictions.stamps()];
        WayPredictor::new(predictions, &mut stamps, 1, true)
            .map_or(0, |mut predictor| predictor.finds_data(references))
    }

    #[test]
    fn what_was_put_is_found_until_its_slot_has_another_line() {
        let mut predictions = Predictions::new(12, false, LINE.trailing_zeros());
        let high = 0xffff_8000_0000_0000;
        assert!(!predictions.put(3, high, false));
        assert_eq!(
            found(
                &predictions,
                &[load(high), load(high + 56), load(high + LINE)]
            ),
            2
        );
        // The load covers two lines.
        assert_eq!(found(&predictions, &[load(high + 60)]), 0);
        assert!(!predictions.put(3, 5 * LINE, false));
        assert_eq!(found(&predictions, &[load(high)]), 0);
        assert_eq!(found(&predictions, &[load(5 * LINE)]), 1);
        predictions.clear(3);
        assert_eq!(found(&predictions, &[load(5 * LINE)]), 0);
    }

    #[test]
    fn levels_of_too_many_slots_or_too_short_lines_have_no_predictions() {
        assert_eq!(Predictions::new(MOST_SLOTS + 1, false, 6).stamps(), 0);
        assert_eq!(Predictions::new(8, false, 1).stamps(), 0);
        assert_eq!(Predictions::new(MOST_SLOTS, true, 2).stamps(), MOST_SLOTS);
        let mut none = Predictions::new(8, false, 1);
        assert!(!none.put(0, 0, false));
        assert_eq!(found(&none, &[load(0)]), 0);
    }
}
