//! The lines of a level that all three views used last.
//!
//! With LRU, what a view holds in a set is a stack, the line used last on top (Mattson, Gecsei, Slutz and Traiger 1970). As
//! long as all three views look up the same, the tops of their stacks are the same lines in the same order. They are listed
//! here, with all that is to be known of them and the slots that they take in each view. A line of the list is found by every
//! view, and only the list changes. Where it is as long as a set has ways, a line that is not in it is missed by every view and
//! takes the place of the same line in all. Before one view is looked up by itself, the list of that set
//! [is handed](CommonLines::take_all) to all three, which know nothing of it until then.
//!
//! Where there is no such top (another replacement policy, or lines that come in without a lookup), only the line of a set
//! that was looked up last is remembered: to look it up once more changes nothing.
//!
//! First levels are asked by virtual address, and mostly for a line that was looked up a moment ago. A *hint* says which
//! virtual line is known to be in a slot; it is found without a translation and without a search.

use super::VIEWS;
use super::lines::way_of;
use super::listener::Requester;
use super::plan::LevelPlan;
use super::replacement::least;
use super::view_set::ViewSet;
use crate::address::VIRTUAL_MASK;

/// Set in a hint where a store to the line changes nothing.
const STORED: u64 = 1;
/// Set in every hint, so that 0 is none.
const IS_HINT: u64 = 2;
const HINT_BITS: u32 = 2;
/// Guesses for each line of a level: fewer, and lines of the same low bits take each other's place too often.
const GUESSES_A_LINE: usize = 2;

/// Where each view has a line.
pub(super) type Slots = [u32; VIEWS];

/// A line that all views hold.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct CommonLine {
    pub(super) key: u64,
    pub(super) modified: ViewSet,
    /// In the shared view.
    pub(super) requester: Requester,
}

/// What all views used last in one level.
#[derive(Debug)]
pub(super) struct CommonLines {
    /// Slots of a set.
    ways: usize,
    /// Whether there is a list, and not the latest line alone.
    is_list: bool,
    /// Slots that are filled, by set: a fully associative level may have more than 65,535.
    lengths: Vec<u32>,
    /// By slot. The first four are empty where there is no list.
    keys: Vec<u64>,
    modified: Vec<ViewSet>,
    requesters: Vec<Requester>,
    in_views: Vec<Slots>,
    /// When the line was used last.
    stamps: Vec<u64>,
    now: u64,
    /// Virtual line of each slot of a first level, [`IS_HINT`], and perhaps [`STORED`].
    hints: Vec<u64>,
    /// In which slot a line may be, by the low bits of its number; empty where those alone suffice.
    guesses: Vec<u32>,
    direct_mask: usize,
    line_bits: u32,
    /// Sets that may have something in them, each once.
    used: Vec<u32>,
    is_used: Vec<bool>,
    /// How often something that was known was forgotten.
    losses: u64,
    /// For sorting.
    order: Vec<u32>,
}

impl CommonLines {
    pub(super) fn new(plan: &LevelPlan) -> CommonLines {
        let is_list = plan.has_common_top();
        let is_first = plan.is_first.contains(&true);
        let (sets, ways) = match (is_list, is_first) {
            (true, _) => (plan.sets, plan.ways),
            // All virtual lines of a set, whatever its physical address is, share a hint.
            (false, true) if plan.has_physical_index => (1 << plan.known_set_bits(), 1),
            (false, true) => (plan.sets, 1),
            (false, false) => (0, 1),
        };
        let slots = sets * ways;
        let is_direct = ways == 1 && sets.is_power_of_two() && !plan.has_physical_index;
        let kept = if is_list { slots } else { 0 };
        let hinted = if is_first { slots } else { 0 };
        CommonLines {
            ways,
            is_list,
            lengths: vec![0; sets],
            keys: vec![0; kept],
            modified: vec![ViewSet::NONE; kept],
            requesters: vec![Requester::default(); kept],
            in_views: vec![Slots::default(); kept],
            stamps: vec![0; slots],
            now: 0,
            hints: vec![0; hinted],
            guesses: vec![0; if is_direct { 0 } else { (hinted * GUESSES_A_LINE).next_power_of_two() }],
            direct_mask: if is_direct { slots.saturating_sub(1) } else { 0 },
            line_bits: plan.line_bits,
            used: Vec::new(),
            is_used: vec![false; sets],
            losses: 0,
            order: Vec::new(),
        }
    }

    // --- hints

    /// The number of the virtual line that an address lies in.
    #[inline(always)]
    pub(super) fn line_of(&self, address: u64) -> u64 {
        (address & VIRTUAL_MASK) >> self.line_bits
    }

    /// Whether all views are known to find a virtual line, and a store, if it is one, changes nothing. It is the one used last
    /// then.
    #[inline]
    pub(super) fn finds(&mut self, line: u64, is_store: bool) -> bool {
        self.way_predictor().finds(line, is_store)
    }

    /// The first store to a virtual line that is known to be in the list, once it is translated: gives whether it is.
    #[inline]
    pub(super) fn stores(&mut self, line: u64) -> bool {
        let Some(slot) = self.is_list.then(|| self.way_predictor().find(line, false)).flatten() else { return false };
        self.hints[slot] |= STORED;
        self.modify(slot, ViewSet::ALL);
        true
    }

    /// What finds lines by their hints, for a loop.
    #[inline]
    pub(super) fn way_predictor(&mut self) -> WayPredictor<'_> {
        WayPredictor {
            hints: &self.hints,
            guesses: &self.guesses,
            stamps: if self.ways > 1 { &mut self.stamps } else { &mut [] },
            now: &mut self.now,
            line_bits: self.line_bits,
            direct_mask: self.direct_mask,
        }
    }

    /// A virtual line is in a slot; where it is `stored`, another store to it changes nothing.
    pub(super) fn hint(&mut self, slot: usize, line: u64, is_stored: bool) {
        let same = self.hints[slot] | STORED == line << HINT_BITS | IS_HINT | STORED;
        let stored = u64::from(is_stored) | if same { self.hints[slot] & STORED } else { 0 };
        self.hints[slot] = line << HINT_BITS | IS_HINT | stored;
        if let Some(last) = self.guesses.len().checked_sub(1) {
            self.guesses[line as usize & last] = slot as u32;
        }
    }

    /// The line used last in a set that the views keep.
    pub(super) fn hint_latest(&mut self, set: usize, line: u64, is_stored: bool) {
        let set = set % self.lengths.len();
        self.hint(set, line, is_stored);
        self.begin(set);
        self.lengths[set] = 1;
    }

    /// Virtual addresses may mean other lines from here on.
    pub(super) fn forget_hints(&mut self) {
        self.losses += 1;
        if !self.hints.is_empty() {
            for &set in &self.used {
                self.hints[set as usize * self.ways..][..self.ways].fill(0);
            }
        }
    }

    #[inline]
    pub(super) fn losses(&self) -> u64 {
        self.losses
    }

    // --- lines

    #[inline]
    pub(super) fn is_full(&self, set: usize) -> bool {
        self.is_list && self.lengths[set] as usize == self.ways
    }

    /// The slot of a line that is in the list.
    #[inline(always)]
    pub(super) fn find(&self, set: usize, key: u64) -> Option<usize> {
        if !self.is_list {
            return None;
        }
        let (start, length) = (set * self.ways, self.lengths[set] as usize);
        if length == 1 {
            return (self.keys[start] == key).then_some(start);
        }
        way_of(&self.keys[start..start + length], key).map(|way| start + way)
    }

    #[inline]
    pub(super) fn use_now(&mut self, slot: usize) {
        self.stamps[slot] = self.now;
        self.now += 1;
    }

    /// A line is modified in some views.
    #[inline]
    pub(super) fn modify(&mut self, slot: usize, views: ViewSet) {
        self.modified[slot] = self.modified[slot].and(views);
    }

    /// A line that every view holds from here on comes on top. The list must not be full. Gives its slot.
    pub(super) fn push(&mut self, set: usize, held: CommonLine, in_views: Slots) -> usize {
        let slot = set * self.ways + self.lengths[set] as usize;
        self.begin(set);
        self.lengths[set] += 1;
        self.in_views[slot] = in_views;
        self.fill(slot, held);
        slot
    }

    /// The same where the list is full, in place of the line used longest ago, which is given, too.
    #[inline]
    pub(super) fn replace_oldest(&mut self, set: usize, held: CommonLine) -> (usize, CommonLine) {
        let start = set * self.ways;
        let slot = start + least(self.stamps[start..start + self.ways].iter().copied());
        let old = self.at(slot);
        self.fill(slot, held);
        (slot, old)
    }

    #[inline]
    fn at(&self, slot: usize) -> CommonLine {
        CommonLine { key: self.keys[slot], modified: self.modified[slot], requester: self.requesters[slot] }
    }

    #[inline]
    fn fill(&mut self, slot: usize, held: CommonLine) {
        self.keys[slot] = held.key;
        self.modified[slot] = held.modified;
        self.requesters[slot] = held.requester;
        if let Some(hint) = self.hints.get_mut(slot) {
            *hint = 0;
        }
        self.use_now(slot);
    }

    /// Whether a slot still has a line.
    #[inline]
    pub(super) fn has(&self, set: usize, slot: usize, key: u64) -> bool {
        let start = set * self.ways;
        (start..start + self.lengths[set] as usize).contains(&slot) && self.keys[slot] == key
    }

    #[inline]
    fn begin(&mut self, set: usize) {
        if !std::mem::replace(&mut self.is_used[set], true) {
            self.used.push(set as u32);
        }
    }

    /// Whether nothing is known of a set.
    #[inline]
    pub(super) fn is_empty(&self, set: usize) -> bool {
        match self.lengths.len() {
            0 => true,
            _ if self.is_list => self.lengths[set] == 0,
            sets => self.lengths[set % sets] == 0,
        }
    }

    /// Nothing is known of a set any more. Gives the lines of the list and where they are in the views, the one used last at
    /// the end.
    pub(super) fn take_all(&mut self, set: usize, mut act: impl FnMut(CommonLine, Slots)) {
        let set = if self.is_list { set } else { set % self.lengths.len() };
        self.losses += 1;
        let length = std::mem::take(&mut self.lengths[set]) as usize;
        let start = set * self.ways;
        if !self.hints.is_empty() {
            self.hints[start..start + self.ways].fill(0);
        }
        if self.is_list {
            let mut order = std::mem::take(&mut self.order);
            order.extend(start as u32..(start + length) as u32);
            order.sort_unstable_by_key(|&slot| self.stamps[slot as usize]);
            order.drain(..).for_each(|slot| act(self.at(slot as usize), self.in_views[slot as usize]));
            self.order = order;
        }
    }

    /// The sets that may have something in them; they have nothing from here on, or the caller sees to it.
    pub(super) fn take_used(&mut self) -> Vec<u32> {
        let used = std::mem::take(&mut self.used);
        used.iter().for_each(|&set| self.is_used[set as usize] = false);
        used
    }

    /// Gives the memory of a list back to be used again.
    pub(super) fn reuse(&mut self, mut used: Vec<u32>) {
        used.clear();
        self.used = used;
    }
}

/// What answers nearly every lookup of a program: it predicts the way of a virtual line, and whether the prediction is right
/// is known from the hint alone. Borrowed for a loop, so that all of it stays in registers.
pub(super) struct WayPredictor<'a> {
    hints: &'a [u64],
    guesses: &'a [u32],
    /// Empty where a set has one line, of which none was used before the others.
    stamps: &'a mut [u64],
    now: &'a mut u64,
    line_bits: u32,
    direct_mask: usize,
}

impl WayPredictor<'_> {
    #[inline(always)]
    pub(super) fn line_of(&self, address: u64) -> u64 {
        (address & VIRTUAL_MASK) >> self.line_bits
    }

    #[inline(always)]
    fn guess(&self, line: u64) -> usize {
        match self.guesses.len() {
            0 => line as usize & self.direct_mask,
            guesses => self.guesses[line as usize & (guesses - 1)] as usize,
        }
    }

    #[inline(always)]
    fn is_right(&self, guess: usize, line: u64, is_store: bool) -> bool {
        let hint = self.hints.get(guess).copied().unwrap_or(0);
        hint | u64::from(!is_store) == line << HINT_BITS | IS_HINT | STORED
    }

    #[inline(always)]
    fn use_now(&mut self, slot: usize) {
        if let Some(stamp) = self.stamps.get_mut(slot) {
            *stamp = *self.now;
            *self.now += 1;
        }
    }

    /// See [`CommonLines::finds`].
    #[inline(always)]
    pub(super) fn finds(&mut self, line: u64, is_store: bool) -> bool {
        self.find(line, is_store).is_some()
    }

    /// The same; gives the slot.
    #[inline(always)]
    fn find(&mut self, line: u64, is_store: bool) -> Option<usize> {
        let guess = self.guess(line);
        let is_found = self.is_right(guess, line, is_store);
        if is_found {
            self.use_now(guess);
        }
        is_found.then_some(guess)
    }

    /// The same of what lies in one line.
    #[inline(always)]
    pub(super) fn finds_one(&mut self, first: u64, last: u64, is_store: bool) -> bool {
        let line = self.line_of(first);
        self.line_of(last) == line && self.finds(line, is_store)
    }

    /// The same of all lines from one address to another, in their order; where one of them is not found, nothing is done.
    #[inline(always)]
    pub(super) fn finds_all(&mut self, first: u64, last: u64) -> bool {
        let (first, last) = (self.line_of(first), self.line_of(last));
        // Most code of a block has three lines at most: looked at without a branch for each, as how many there are cannot be
        // foreseen.
        let lines = [first, (first + 1).min(last), last];
        let guesses = lines.map(|line| self.guess(line));
        let is_right = |number: usize| self.is_right(guesses[number], lines[number], false);
        if !((first <= last) & is_right(0) & is_right(1) & is_right(2)) {
            return false;
        }
        if last - first > 2 {
            return self.finds_many(first, last);
        }
        guesses.into_iter().for_each(|guess| self.use_now(guess));
        true
    }

    #[inline(never)]
    fn finds_many(&mut self, first: u64, last: u64) -> bool {
        let are_found = (first..=last).all(|line| self.is_right(self.guess(line), line, false));
        if are_found {
            (first..=last).for_each(|line| self.use_now(self.guess(line)));
        }
        are_found
    }
}
