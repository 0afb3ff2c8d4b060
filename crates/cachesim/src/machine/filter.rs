//! Lookups that all three views answer alike, told by a comparison.
//!
//! For each set of a level the lines that were looked up since the last switch, the latest first. With LRU every view holds
//! them before all others of the set and in this order, as whatever it held before the switch is older: the top of the LRU
//! stack (Mattson, Gecsei, Slutz and Traiger 1970) is the same in all of them. A line of the list is a hit in every view, and
//! one that is not in a list as long as the set has ways is a miss in every view. A hit changes the list only; the order
//! that each view keeps is brought up to date before anybody asks for it.
//!
//! With another replacement policy, or where lines may come in without a lookup, the list is the latest line alone: to find
//! it once more changes nothing in any view.

use super::address::VIRTUAL_MASK;
use super::plan::LevelPlan;

/// Set where a store was seen: all three views hold the line modified, or pass stores on.
const STORED: u64 = 1 << 63;
const EPOCH_BITS: u32 = 15;
const LINE_BITS: u32 = 48;

/// What is known of a line before it is looked up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Known {
    /// All three views hold it, and a lookup changes nothing but which line was used last.
    Hit,
    /// All three views hold it, but not all of them modified.
    HitUnmodified,
    /// No view holds it, or another line was looked up last in its set where only that is kept.
    Conflict,
    /// Nothing is known.
    Unknown,
}

/// Where each view holds a line.
pub(super) type Slots = [u16; 3];

/// A line of a list.
#[derive(Clone, Copy, Debug, Default)]
struct Entry {
    /// Line, epoch and [`STORED`]; 0 is none.
    tag: u64,
    /// Unused where only the latest is kept.
    slots: Slots,
}

/// What is known of one level.
#[derive(Debug)]
pub(super) struct Filter {
    /// By set, the latest first.
    lists: Vec<Entry>,
    depth: usize,
    mask: u64,
    line_bits: u32,
    epoch: u64,
    /// Where stores change nothing of their own: write-through levels and TLBs.
    is_blind_to_stores: bool,
    /// Whether the views' own order is older than that of the list, by set.
    is_ahead: Vec<bool>,
}

impl Filter {
    pub(super) fn new(plan: &LevelPlan, is_blind_to_stores: bool) -> Filter {
        let bits = if plan.has_physical_index { plan.known_set_bits() } else { plan.sets.trailing_zeros() };
        let sets = 1 << bits;
        let depth = if plan.sets == sets { plan.lookups_in_order() } else { 1 };
        Filter {
            lists: vec![Entry::default(); sets * depth],
            depth,
            mask: sets as u64 - 1,
            line_bits: plan.line_bits,
            epoch: 1 << LINE_BITS,
            is_blind_to_stores,
            is_ahead: vec![false; if depth > 1 { sets } else { 0 }],
        }
    }

    /// Nothing is known any more. The views' order must be up to date.
    pub(super) fn forget(&mut self) {
        self.epoch += 1 << LINE_BITS;
        if self.epoch >> (LINE_BITS + EPOCH_BITS) != 0 {
            self.epoch = 1 << LINE_BITS;
            self.lists.fill(Entry::default());
        }
    }

    /// A set has changed without a lookup. The views' order of it must be up to date.
    pub(super) fn forget_set(&mut self, set: usize) {
        let start = (set & self.mask as usize) * self.depth;
        self.lists[start..start + self.depth].fill(Entry::default());
    }

    #[inline(always)]
    pub(super) fn line_of(&self, address: u64) -> u64 {
        (address & VIRTUAL_MASK) >> self.line_bits
    }

    #[inline(always)]
    pub(super) fn as_ref(&self) -> FilterRef<'_> {
        FilterRef { last: &self.lists, line_bits: self.line_bits, epoch: self.epoch }
    }

    #[inline(always)]
    pub(super) fn as_mut(&mut self) -> FilterMut<'_> {
        let stored = if self.is_blind_to_stores { STORED } else { 0 };
        FilterMut { last: &mut self.lists, line_bits: self.line_bits, epoch: self.epoch, stored }
    }

    /// An address within a line.
    pub(super) fn address_of(&self, line: u64) -> u64 {
        line << self.line_bits
    }

    #[inline(always)]
    fn start(&self, line: u64) -> usize {
        (line & self.mask) as usize * self.depth
    }

    /// Whether more than the latest line of a set is kept.
    #[inline(always)]
    pub(super) fn is_deep(&self) -> bool {
        self.depth > 1
    }

    /// Whether a store to the latest line of its set changes nothing here.
    #[inline(always)]
    pub(super) fn holds_stored(&self, line: u64) -> bool {
        self.lists[self.start(line)].tag == line | self.epoch | STORED
    }

    /// What the latest line of the set tells.
    #[inline(always)]
    pub(super) fn known(&self, line: u64, is_store: bool) -> Known {
        let last = self.lists[self.start(line)].tag;
        if last & !STORED == line | self.epoch {
            if is_store && last & STORED == 0 { Known::HitUnmodified } else { Known::Hit }
        } else if self.is_current(last) && self.depth == 1 {
            Known::Conflict
        } else {
            Known::Unknown
        }
    }

    #[inline(always)]
    fn is_current(&self, tag: u64) -> bool {
        tag & !STORED & !((1 << LINE_BITS) - 1) == self.epoch
    }

    /// Looks a line up in the whole list. Where it is there and `may_use` agrees, it comes first.
    #[inline]
    pub(super) fn find(&mut self, line: u64, is_store: bool, may_use: impl FnOnce(Known) -> bool) -> Known {
        let set = (line & self.mask) as usize;
        let start = set * self.depth;
        let wanted = line | self.epoch;
        let list = &mut self.lists[start..start + self.depth];
        let Some(place) = list.iter().position(|held| held.tag & !STORED == wanted) else {
            let last = list[self.depth - 1].tag;
            return if self.is_current(last) { Known::Conflict } else { Known::Unknown };
        };
        let is_unmodified = is_store && list[place].tag & STORED == 0;
        let known = if is_unmodified { Known::HitUnmodified } else { Known::Hit };
        if !may_use(known) {
            return Known::Unknown;
        }
        if place > 0 {
            // Mostly one or two steps: a call to move memory would take longer.
            (0..place).rev().for_each(|before| list.swap(before, before + 1));
            self.is_ahead[set] = true;
        }
        known
    }

    /// Where the views hold the latest line of a set.
    #[inline]
    pub(super) fn slots(&self, line: u64) -> Slots {
        self.lists[self.start(line)].slots
    }

    /// Where the views hold the oldest line of a list as long as the set has ways, which a line is not in.
    #[inline]
    pub(super) fn last_of_full(&self, line: u64) -> Option<Slots> {
        let start = self.start(line);
        let list = &self.lists[start..start + self.depth];
        let last = list[self.depth - 1];
        let is_known = self.depth > 1 && self.is_current(last.tag);
        (is_known && list.iter().all(|held| held.tag & !STORED != line | self.epoch)).then_some(last.slots)
    }

    /// The latest line of its set was stored to.
    #[inline]
    pub(super) fn note_stored(&mut self, line: u64) {
        let start = self.start(line);
        self.lists[start].tag |= STORED;
    }

    /// The line was looked up last, and all three views hold it. Where the list is deep, it is there already, or
    /// [`Filter::put`] is to be called.
    #[inline]
    pub(super) fn keep(&mut self, line: u64, is_stored: bool) {
        let start = self.start(line);
        let last = &mut self.lists[start].tag;
        let same = *last & !STORED == line | self.epoch;
        let stored = is_stored || self.is_blind_to_stores || (same && *last & STORED != 0);
        *last = line | self.epoch | if stored { STORED } else { 0 };
    }

    /// The line was looked up last, and all three views hold it in these slots.
    pub(super) fn put(&mut self, line: u64, slots: Slots, is_stored: bool) {
        let start = self.start(line);
        if self.lists[start].tag & !STORED != line | self.epoch {
            let list = &mut self.lists[start..start + self.depth];
            // Where tags are physical, another virtual line may be the same one: it is in the list once.
            let is_same = |held: &Entry| held.slots == slots && held.tag != 0;
            let last = list.iter().position(is_same).unwrap_or(self.depth - 1);
            list.copy_within(..last, 1);
            list[0].slots = slots;
            self.is_ahead[(line & self.mask) as usize] = true;
        }
        self.keep(line, is_stored);
    }

    /// The line was looked up last, and not all views hold it.
    pub(super) fn forget_line(&mut self, line: u64) {
        self.forget_set((line & self.mask) as usize);
    }

    /// Tells what is newer than the views' own order: slots to be used, in this order.
    pub(super) fn settle(&mut self, set: usize, mut act: impl FnMut(Slots)) {
        let set = set & self.mask as usize;
        if self.depth == 1 || !std::mem::take(&mut self.is_ahead[set]) {
            return;
        }
        let start = set * self.depth;
        for place in (start..start + self.depth).rev() {
            if self.is_current(self.lists[place].tag) {
                act(self.lists[place].slots);
            }
        }
    }

    /// The same of all sets.
    pub(super) fn settle_all(&mut self, mut act: impl FnMut(Slots)) {
        (0..self.is_ahead.len()).for_each(|set| self.settle(set, &mut act));
    }
}

/// A borrowed filter of which only the latest line of each set is kept, to look at.
#[derive(Clone, Copy)]
pub(super) struct FilterRef<'a> {
    last: &'a [Entry],
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
        self.last[self.slot(line)].tag
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

    #[inline(always)]
    pub(super) fn holds_lines(&self, first: u64, last: u64) -> bool {
        let mut line = (first + 1).min(last);
        // Most blocks have three lines at most: looked at without a branch for each.
        let mut is_held = (first <= last) & self.holds(first) & self.holds(line) & self.holds(last);
        while line + 1 < last {
            line += 1;
            is_held &= self.holds(line);
        }
        is_held
    }
}

/// The same, to note lines in that all three views hold.
pub(super) struct FilterMut<'a> {
    last: &'a mut [Entry],
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
        self.last[slot].tag = line | self.epoch | self.stored;
    }

    #[inline(always)]
    pub(super) fn line_bits(&self) -> u32 {
        self.line_bits
    }
}
