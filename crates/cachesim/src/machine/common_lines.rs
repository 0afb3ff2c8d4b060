//! The lines of a level that all three views used last.
//!
//! With LRU, the lines that a view holds in a set form a stack with the line used last on top
//! (Mattson, Gecsei, Slutz and Traiger 1970). As long as all three views look up the same lines,
//! the tops of their stacks are the same lines in the same order. [`CommonLines`] lists the lines
//! of these common tops, with their state and the slots that they occupy in each view. Every view
//! finds a line of the list, and only the list changes. If the list is as long as a set has ways, a
//! line outside the list is missed by every view and takes the place of the same line in all.
//! Before a single view is looked up, the list of that set [is handed](CommonLines::take_all) to
//! all three views, whose own state is out of date until then.
//!
//! The flushed view is empty after a switch. Until a set is first split, its list is therefore all
//! that this view holds, and the view's own slots stay empty.
//!
//! If there is no such common top (another replacement policy, or lines that come in without a
//! lookup), only the line of each set that was looked up last is remembered: a second lookup of
//! that line changes nothing.
//!
//! First levels are requested by virtual address, and mostly for a line that was looked up shortly
//! before. The line's slot is [predicted](super::way_predictor), so that the line is found without
//! a translation and without a search.

use super::VIEWS;
use super::lines::way_of_first;
use super::listener::Requester;
use super::plan::LevelPlan;
use super::replacement::least;
use super::view_set::ViewSet;
use super::way_predictor::{Predictions, WayPredictor};

/// Slot of one line in each view.
pub(super) type Slots = [u32; VIEWS];

/// A line that all three views hold.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct CommonLine {
    pub(super) key: u64,
    pub(super) modified: ViewSet,
    /// Owner of the line in the shared view.
    pub(super) requester: Requester,
}

/// State of a set since the flushed view was last emptied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum SetState {
    /// The set is not in [`CommonLines::used`].
    Unused,
    /// The flushed view holds the lines of the list, and no others.
    Listed,
    /// The flushed view may hold more than the list.
    Split,
}

/// Lines of one level that all views used last, with their state.
#[derive(Debug)]
pub(super) struct CommonLines {
    /// Number of slots per set.
    ways: usize,
    /// Whether each set has a list of lines. If not, only the line used last in each set is stored.
    is_list: bool,
    /// Number of listed lines, by set. A fully associative level may have more than 65,535.
    lengths: Vec<u32>,
    /// Keys of the lines by slot; empty if there is no list.
    keys: Vec<u64>,
    modified: Vec<ViewSet>,
    requesters: Vec<Requester>,
    in_views: Vec<Slots>,
    /// Time of the last use of each line.
    stamps: Vec<u64>,
    now: u64,
    /// Way predictions for first levels.
    predictions: Predictions,
    /// Sets that may have held lines since the flushed view was last emptied, each listed once.
    used: Vec<u32>,
    states: Vec<SetState>,
    /// Counter that increases whenever a line comes in, or a list or prediction is cleared or
    /// replaced.
    losses: u64,
    /// Scratch space for sorting.
    order: Vec<u32>,
}

impl CommonLines {
    pub(super) fn new(plan: &LevelPlan) -> CommonLines {
        let is_list = plan.has_common_top();
        let is_first = plan.is_first.contains(&true);
        let (sets, ways) = match (is_list, is_first) {
            (true, _) => (plan.sets, plan.ways),
            // All virtual lines of a set share a prediction, whatever the physical address of the
            // set is.
            (false, true) if plan.has_physical_index => (1 << plan.known_set_bits(), 1),
            (false, true) => (plan.sets, 1),
            (false, false) => (0, 1),
        };
        let slots = sets * ways;
        let is_direct = ways == 1 && sets.is_power_of_two() && !plan.has_physical_index;
        let kept = if is_list { slots } else { 0 };
        let predicted = if is_first { slots } else { 0 };
        let predictions = Predictions::new(predicted, is_direct, plan.line_bits);
        CommonLines {
            ways,
            is_list,
            lengths: vec![0; sets],
            keys: vec![0; kept],
            modified: vec![ViewSet::NONE; kept],
            requesters: vec![Requester::default(); kept],
            in_views: vec![Slots::default(); kept],
            stamps: vec![0; slots.max(predictions.stamps())],
            now: 0,
            predictions,
            used: Vec::new(),
            states: vec![SetState::Unused; sets],
            losses: 0,
            order: Vec::new(),
        }
    }

    // --- predictions

    /// Whether all views are known to hold the virtual line of an address and, for a store, nothing
    /// would change. If so, the line becomes the most recent.
    #[inline]
    pub(super) fn finds(&mut self, address: u64, is_store: bool) -> bool {
        let Some(mut predictor) = self.way_predictor() else {
            return false;
        };
        let is_found = predictor.finds(address, is_store);
        self.now = predictor.now();
        is_found
    }

    /// Records the first store to a virtual line after its address is translated. Returns whether
    /// the line is in the list; if not, nothing is recorded.
    #[inline]
    pub(super) fn stores(&mut self, address: u64) -> bool {
        let slot = self
            .way_predictor()
            .and_then(|predictor| predictor.slot_of(address, false));
        let Some(slot) = slot.filter(|_| self.is_list).map(usize::from) else {
            return false;
        };
        self.use_now(slot);
        self.predictions.store(address);
        self.modify(slot, ViewSet::ALL);
        true
    }

    /// Returns the predictor that finds lines in a loop; `None` if there are no predictions. After
    /// the loop, the caller passes the predictor's time to [`CommonLines::advance`].
    #[inline(always)]
    pub(super) fn way_predictor(&mut self) -> Option<WayPredictor<'_>> {
        WayPredictor::new(&self.predictions, &mut self.stamps, self.now, self.ways > 1)
    }

    /// Sets the time of the last use to `now`, after a [`WayPredictor`] was used.
    #[inline]
    pub(super) fn advance(&mut self, now: u64) {
        self.now = now;
    }

    /// Predicts that the virtual line of an address is in a slot; `is_stored` means that another
    /// store to the line changes nothing.
    pub(super) fn predict(&mut self, slot: usize, address: u64, is_stored: bool) {
        self.predictions.put(slot, address, is_stored);
    }

    /// Predicts that the line of an address was used last in its set, in a level without a list.
    pub(super) fn predict_latest(&mut self, set: usize, address: u64, is_stored: bool) {
        let set = set % self.lengths.len();
        let was_latest = self.predictions.put(set, address, is_stored);
        self.losses += u64::from(!was_latest);
        self.begin(set);
        self.lengths[set] = 1;
    }

    /// Clears all predictions, because the virtual addresses may now refer to other lines.
    pub(super) fn forget_predictions(&mut self) {
        self.losses += 1;
        for &set in &self.used {
            self.predictions
                .clear_all(set as usize * self.ways..(set as usize + 1) * self.ways);
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

    /// Returns the slot of a line; `None` if the line is not in the list, or if there is no list.
    #[inline(always)]
    pub(super) fn find(&self, set: usize, key: u64) -> Option<usize> {
        if !self.is_list {
            return None;
        }
        let (start, length) = (set * self.ways, self.lengths[set] as usize);
        if length == 1 {
            return (self.keys[start] == key).then_some(start);
        }
        // All ways are searched: a loop over the listed ways alone would mispredict its end.
        way_of_first(&self.keys[start..start + self.ways], length, key).map(|way| start + way)
    }

    #[inline]
    pub(super) fn use_now(&mut self, slot: usize) {
        self.stamps[slot] = self.now;
        self.now += 1;
    }

    /// Marks a line as modified in some views.
    #[inline]
    pub(super) fn modify(&mut self, slot: usize, views: ViewSet) {
        self.modified[slot] = self.modified[slot].and(views);
    }

    /// Returns the slot of the next line that is added to the list of a set.
    #[inline]
    pub(super) fn next_slot(&self, set: usize) -> usize {
        set * self.ways + self.lengths[set] as usize
    }

    /// Adds a line that every view now holds as the most recent one. The list must not be full.
    /// Returns the line's slot.
    pub(super) fn push(&mut self, set: usize, held: CommonLine, in_views: Slots) -> usize {
        let slot = self.next_slot(set);
        self.begin(set);
        self.lengths[set] += 1;
        self.in_views[slot] = in_views;
        self.fill(slot, held);
        slot
    }

    /// Replaces the least recently used line of a full list. Returns its slot and the replaced
    /// line.
    #[inline]
    pub(super) fn replace_oldest(&mut self, set: usize, held: CommonLine) -> (usize, CommonLine) {
        let start = set * self.ways;
        let slot = start + least(&self.stamps[start..start + self.ways]);
        let old = self.line_at(slot);
        self.fill(slot, held);
        (slot, old)
    }

    #[inline]
    fn line_at(&self, slot: usize) -> CommonLine {
        CommonLine {
            key: self.keys[slot],
            modified: self.modified[slot],
            requester: self.requesters[slot],
        }
    }

    #[inline]
    fn fill(&mut self, slot: usize, held: CommonLine) {
        self.keys[slot] = held.key;
        self.modified[slot] = held.modified;
        self.requesters[slot] = held.requester;
        self.predictions.clear(slot);
        self.losses += 1;
        self.use_now(slot);
    }

    /// Returns whether a slot still holds a line.
    #[inline]
    pub(super) fn has(&self, set: usize, slot: usize, key: u64) -> bool {
        let start = set * self.ways;
        (start..start + self.lengths[set] as usize).contains(&slot) && self.keys[slot] == key
    }

    #[inline]
    fn begin(&mut self, set: usize) {
        if self.states[set] == SetState::Unused {
            self.states[set] = SetState::Listed;
            self.used.push(set as u32);
        }
    }

    /// Whether all lines of a set that the flushed view holds are in the list.
    #[inline]
    pub(super) fn has_all_flushed(&self, set: usize) -> bool {
        self.is_list && self.states[set] != SetState::Split
    }

    /// Records that the flushed view has its own state of a set. Returns whether it had none
    /// before.
    #[inline]
    pub(super) fn begin_split(&mut self, set: usize) -> bool {
        let had_none = self.has_all_flushed(set);
        if had_none {
            self.begin(set);
            self.states[set] = SetState::Split;
        }
        had_none
    }

    /// Returns whether no line of a set is stored here.
    #[inline]
    pub(super) fn is_empty(&self, set: usize) -> bool {
        match self.lengths.len() {
            0 => true,
            _ if self.is_list => self.lengths[set] == 0,
            sets => self.lengths[set % sets] == 0,
        }
    }

    /// Empties the list of a set. Calls `act` with each line and its slots in the views, the line
    /// used last at the end.
    pub(super) fn take_all(&mut self, set: usize, mut act: impl FnMut(CommonLine, Slots)) {
        let set = if self.is_list {
            set
        } else {
            set % self.lengths.len()
        };
        self.losses += 1;
        let length = std::mem::take(&mut self.lengths[set]) as usize;
        let start = set * self.ways;
        self.predictions.clear_all(start..start + self.ways);
        if self.is_list {
            let mut order = std::mem::take(&mut self.order);
            order.extend(start as u32..(start + length) as u32);
            order.sort_unstable_by_key(|&slot| self.stamps[slot as usize]);
            order
                .drain(..)
                .for_each(|slot| act(self.line_at(slot as usize), self.in_views[slot as usize]));
            self.order = order;
        }
    }

    /// Takes the list of sets that may hold lines.
    pub(super) fn take_used(&mut self) -> Vec<u32> {
        std::mem::take(&mut self.used)
    }

    /// Takes back a list from [`CommonLines::take_used`].
    pub(super) fn put_back(&mut self, used: Vec<u32>) {
        self.used = used;
    }

    /// Begins anew after the flushed view and the lists of all sets in `used` were emptied. The
    /// memory of `used` is reused.
    pub(super) fn restart(&mut self, mut used: Vec<u32>) {
        used.drain(..)
            .for_each(|set| self.states[set as usize] = SetState::Unused);
        self.used = used;
    }
}
