//! Lookups that change nothing, filtered out by one comparison.
//!
//! For each set, the line that was looked up last since the last switch. While it is the last one, all three views hold
//! it, and to find it once more changes nothing in any of them.

use super::address::VIRTUAL_MASK;
use super::places::{Place, Places};
use super::plan::LevelPlan;

/// Set where a store was seen: all three views hold the line modified, or pass stores on.
const STORED: u64 = 1 << 63;
const EPOCH_BITS: u32 = 15;
const LINE_BITS: u32 = 48;

/// What is known of a line before it is looked up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Known {
    /// All three views hold it, and a lookup changes nothing.
    Hit,
    /// All three views hold it, but not all of them modified.
    HitUnmodified,
    /// Another line was looked up last in its set.
    Conflict,
    /// Nothing is known.
    Unknown,
}

/// What is known of one level.
#[derive(Debug)]
pub(super) struct Filter {
    /// Line, epoch and [`STORED`].
    last: Vec<u64>,
    mask: u64,
    line_bits: u32,
    epoch: u64,
    /// Where stores change nothing of their own: write-through levels and TLBs.
    is_blind_to_stores: bool,
    /// Where the views hold other lines than the last one of each set.
    places: Option<Places>,
}

impl Filter {
    pub(super) fn new(plan: &LevelPlan, is_blind_to_stores: bool) -> Filter {
        let bits = if plan.has_physical_index { plan.known_set_bits() } else { plan.sets.trailing_zeros() };
        Filter {
            last: vec![0; 1 << bits],
            mask: (1 << bits) - 1,
            line_bits: plan.line_bits,
            epoch: 1 << LINE_BITS,
            is_blind_to_stores,
            places: Places::new(plan),
        }
    }

    /// Nothing is known any more.
    pub(super) fn forget(&mut self) {
        self.epoch += 1 << LINE_BITS;
        if self.epoch >> (LINE_BITS + EPOCH_BITS) != 0 {
            self.epoch = 1 << LINE_BITS;
            self.last.fill(0);
            self.places.iter_mut().for_each(Places::clear);
        }
    }

    /// A set has changed without a lookup.
    pub(super) fn forget_set(&mut self, set: usize) {
        let at = set & (self.last.len() - 1);
        self.last[at] = 0;
    }

    #[inline(always)]
    pub(super) fn as_ref(&self) -> FilterRef<'_> {
        FilterRef { last: &self.last, line_bits: self.line_bits, epoch: self.epoch }
    }

    #[inline(always)]
    pub(super) fn as_mut(&mut self) -> FilterMut<'_> {
        let stored = if self.is_blind_to_stores { STORED } else { 0 };
        FilterMut { last: &mut self.last, line_bits: self.line_bits, epoch: self.epoch, stored }
    }

    #[inline(always)]
    pub(super) fn line_of(&self, address: u64) -> u64 {
        (address & VIRTUAL_MASK) >> self.line_bits
    }

    /// Whether a store to the line changes nothing here.
    #[inline(always)]
    pub(super) fn holds_stored(&self, line: u64) -> bool {
        self.as_ref().holds_stored(line)
    }

    #[inline]
    pub(super) fn known(&self, line: u64, is_store: bool) -> Known {
        let last = self.last[(line & self.mask) as usize];
        if last & !STORED == line | self.epoch {
            if is_store && last & STORED == 0 { Known::HitUnmodified } else { Known::Hit }
        } else if last & !STORED & !((1 << LINE_BITS) - 1) == self.epoch {
            Known::Conflict
        } else {
            Known::Unknown
        }
    }

    /// The line was looked up last, and all three views hold it.
    #[inline]
    pub(super) fn keep(&mut self, line: u64, is_stored: bool) {
        let last = &mut self.last[(line & self.mask) as usize];
        let same = *last & !STORED == line | self.epoch;
        let stored = is_stored || self.is_blind_to_stores || (same && *last & STORED != 0);
        *last = line | self.epoch | if stored { STORED } else { 0 };
    }

    /// Where the views held a line when it was looked up.
    #[inline(always)]
    pub(super) fn place(&self, line: u64) -> Option<Place> {
        self.places.as_ref()?.get(line | self.epoch)
    }

    #[inline(always)]
    pub(super) fn is_blind_to_stores(&self) -> bool {
        self.is_blind_to_stores
    }

    /// Whether places are noted.
    #[inline(always)]
    pub(super) fn notes_places(&self) -> bool {
        self.places.is_some()
    }

    /// All views hold the line in a place, whose tag is given here.
    pub(super) fn note_place(&mut self, line: u64, place: Place) {
        let tag = line | self.epoch;
        self.places.iter_mut().for_each(|places| places.put(Place { tag, ..place }));
    }

    /// The line was looked up last, and not all views hold it.
    pub(super) fn forget_line(&mut self, line: u64) {
        self.last[(line & self.mask) as usize] = 0;
    }
}

/// A borrowed filter, to look at.
#[derive(Clone, Copy)]
pub(super) struct FilterRef<'a> {
    last: &'a [u64],
    line_bits: u32,
    epoch: u64,
}

impl FilterRef<'_> {
    #[inline(always)]
    pub(super) fn line_of(&self, address: u64) -> u64 {
        (address & VIRTUAL_MASK) >> self.line_bits
    }

    /// Where the line is kept; its set, where the level is plain.
    #[inline(always)]
    pub(super) fn slot(&self, line: u64) -> usize {
        line as usize & (self.last.len() - 1)
    }

    #[inline(always)]
    fn last(&self, line: u64) -> u64 {
        self.last[self.slot(line)]
    }

    /// Whether a fetch or load of the line changes nothing.
    #[inline(always)]
    pub(super) fn holds(&self, line: u64) -> bool {
        self.last(line) & !STORED == line | self.epoch
    }

    /// Whether a store to the line changes nothing here.
    #[inline(always)]
    pub(super) fn holds_stored(&self, line: u64) -> bool {
        self.last(line) == line | self.epoch | STORED
    }

    /// Whether it is known which line was looked up last.
    #[inline(always)]
    pub(super) fn is_known(&self, line: u64) -> bool {
        self.last(line) & !STORED & !((1 << LINE_BITS) - 1) == self.epoch
    }

    /// Whether fetches of all lines from one address to another change nothing.
    #[inline(always)]
    pub(super) fn holds_all(&self, first: u64, last: u64) -> bool {
        self.holds_lines(self.line_of(first), self.line_of(last))
    }

    #[inline(always)]
    pub(super) fn holds_lines(&self, first: u64, last: u64) -> bool {
        all_of(first, last, |line| self.holds(line))
    }
}

/// Whether something holds of all lines from the first to the last, which there are.
#[inline(always)]
pub(super) fn all_of(first: u64, last: u64, holds: impl Fn(u64) -> bool) -> bool {
    let mut line = (first + 1).min(last);
    // Most blocks have three lines at most: looked at without a branch for each.
    let mut is_held = (first <= last) & holds(first) & holds(line) & holds(last);
    while line + 1 < last {
        line += 1;
        is_held &= holds(line);
    }
    is_held
}

/// A borrowed filter, to look at and to note lines in that all three views hold.
pub(super) struct FilterMut<'a> {
    last: &'a mut [u64],
    line_bits: u32,
    epoch: u64,
    stored: u64,
}

impl FilterMut<'_> {
    #[inline(always)]
    pub(super) fn as_ref(&self) -> FilterRef<'_> {
        FilterRef { last: self.last, line_bits: self.line_bits, epoch: self.epoch }
    }

    #[inline(always)]
    pub(super) fn keep(&mut self, line: u64) {
        let slot = self.as_ref().slot(line);
        self.last[slot] = line | self.epoch | self.stored;
    }

    #[inline(always)]
    pub(super) fn line_bits(&self) -> u32 {
        self.line_bits
    }
}
