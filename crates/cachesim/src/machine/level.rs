//! One cache or TLB in all three views.

use super::clocks::Clocks;
use super::common_lines::{CommonLine, CommonLines, Slots};
use super::line::Line;
use super::lines::{Counts, Lines, Role};
use super::listener::Requester;
use super::plan::LevelPlan;
use super::view_set::ViewSet;
use super::{FLUSHED, PRIVATE, SHARED, VIEWS};

/// State of a level.
#[derive(Debug)]
pub(super) struct Level {
    /// Lines that all views used last, which are more recent than the lines in `views`.
    pub(super) common_lines: CommonLines,
    /// Lines of each view. The private view has the lines of the running process.
    pub(super) views: [Lines; VIEWS],
    /// Lead of each view's clock over the shared one at which the write buffers of all views are
    /// alike. The shared view's buffers then represent those of all views. `None` if each view has
    /// its own buffers.
    writes_alike_at: Option<[u64; VIEWS]>,
    /// Counts of lookups with the same result in all views.
    pub(super) common: Counts,
    /// Ways that the running process may fill, one bit each; `None` if it may fill all.
    pub(super) open_ways: Option<u64>,
}

/// Result of [`Level::promote`], which makes a line the most recently used of its set.
pub(super) struct Promoted {
    /// Slot of the line in the list of lines that all views used last.
    pub(super) slot: usize,
    /// Owner of the line in the shared view.
    pub(super) requester: Requester,
    /// Line that left each view to make room, with its key.
    pub(super) leaving: [Option<(u64, Line)>; VIEWS],
}

impl Level {
    pub(super) fn new(plan: &LevelPlan) -> Level {
        Level {
            common_lines: CommonLines::new(plan),
            views: [Role::Shared, Role::Private, Role::Flushed].map(|role| Lines::new(plan, role)),
            writes_alike_at: None,
            common: Counts::default(),
            open_ways: None,
        }
    }

    /// Makes a line the most recent one in every view, and brings it into the set of those views
    /// that lack it, if the list is not full. `found` has the line's slot in the other views.
    #[inline(always)]
    pub(super) fn promote(
        &mut self,
        plan: &LevelPlan,
        set: usize,
        mut line: CommonLine,
        found: [Option<usize>; VIEWS],
    ) -> Promoted {
        let (mut slots, mut leaving) = (Slots::default(), [None; VIEWS]);
        let comes = Line {
            requester: line.requester,
            ..Line::default()
        };
        let has_all_flushed = self.common_lines.has_all_flushed(set);
        for (view, lines) in self.views.iter_mut().enumerate() {
            if view == FLUSHED && has_all_flushed {
                slots[view] = self.common_lines.next_slot(set) as u32;
                continue;
            }
            let slot = found[view].unwrap_or_else(|| {
                let (slot, left) = lines.make_room(plan, set);
                leaving[view] = left;
                lines.put(slot, line.key, &comes);
                slot
            });
            let (is_modified, requester) = lines.take_shared(slot);
            line.modified = line.modified.and(ViewSet::single(view, is_modified));
            if view == SHARED {
                line.requester = requester;
            }
            slots[view] = slot as u32;
        }
        Promoted {
            slot: self.common_lines.push(set, line, slots),
            requester: line.requester,
            leaving,
        }
    }

    /// Marks a line as modified in one view without changing the order of use. Returns whether the
    /// view holds the line.
    pub(super) fn modify(&mut self, view: usize, set: usize, key: u64) -> bool {
        if let Some(slot) = self.common_lines.find(set, key) {
            self.common_lines.modify(slot, ViewSet::single(view, true));
            return true;
        }
        if let Some(slot) = self.find_below(view, set, key) {
            self.views[view].modify(slot);
            return true;
        }
        self.views[view]
            .victims
            .get_mut(key)
            .map(|line| line.is_modified = true)
            .is_some()
    }

    /// Gives each view its own state of a set, before one view is looked up or changed by itself.
    #[inline]
    pub(super) fn split(&mut self, set: usize) {
        let is_first = self.common_lines.begin_split(set);
        if !self.common_lines.is_empty(set) {
            self.split_now(set, is_first);
        }
    }

    /// Splits a set. `is_first` says that the flushed view has no line of the set in its slots.
    #[inline(never)]
    fn split_now(&mut self, set: usize, is_first: bool) {
        let views = &mut self.views;
        self.common_lines.take_all(set, |held, slots| {
            restore(views, held, slots);
            if is_first {
                views[FLUSHED].touch(slots[FLUSHED] as usize);
            }
        });
    }

    /// Gives each view its own state of all sets, before a view is replaced or the shared view is
    /// flushed.
    pub(super) fn split_all(&mut self) {
        self.split_writes();
        let used = self.common_lines.take_used();
        used.iter().for_each(|&set| self.split(set as usize));
        self.common_lines.put_back(used);
    }

    /// Gives each view its own state of all sets, before the flushed view is flushed, but removes
    /// lines from the flushed view that it has only in the lists. Returns the keys of those that
    /// are modified.
    pub(super) fn split_all_but_flushed(&mut self) -> Vec<u64> {
        self.split_writes();
        let mut modified = Vec::new();
        let used = self.common_lines.take_used();
        for set in used.iter().map(|&set| set as usize) {
            if !self.common_lines.has_all_flushed(set) {
                self.split(set);
                continue;
            }
            let others = &mut self.views[..FLUSHED];
            self.common_lines.take_all(set, |held, slots| {
                restore(others, held, slots);
                if held.modified.has(FLUSHED) {
                    modified.push(held.key);
                }
            });
        }
        self.common_lines.restart(used);
        modified
    }

    /// Gives each view its own write buffers again.
    #[inline]
    pub(super) fn split_writes(&mut self) {
        if let Some(later) = self.writes_alike_at.take() {
            let [shared, private, flushed] = &mut self.views;
            private
                .writes
                .copy_from(&shared.writes, later[PRIVATE] as i64);
            flushed
                .writes
                .copy_from(&shared.writes, later[FLUSHED] as i64);
        }
    }

    /// Whether the write buffers of all views are alike, so that the shared view's buffers
    /// represent them.
    #[inline]
    fn has_alike_writes(&self, clocks: &Clocks) -> bool {
        // Each value is read by itself: reading an array that was just written value by value would
        // stall the store-to-load forwarding.
        let later = clocks.later();
        self.writes_alike_at
            .is_some_and(|at| at[PRIVATE] == later[PRIVATE] && at[FLUSHED] == later[FLUSHED])
    }

    /// Makes every view wait until a write buffer is free; returns the time afterwards.
    #[inline]
    pub(super) fn wait_for_buffers(&mut self, clocks: &mut Clocks) -> [u64; VIEWS] {
        if self.has_alike_writes(clocks) {
            let wait = self.views[SHARED].writes.wait(clocks.now(SHARED));
            clocks.common += wait;
            clocks.common_stalls += wait;
        } else {
            self.split_writes();
            for (view, lines) in self.views.iter().enumerate() {
                let wait = lines.writes.wait(clocks.now(view));
                clocks.now[view] += wait;
                clocks.stalls[view] += wait;
            }
        }
        clocks.cycles()
    }

    /// Allocates a write buffer in every view for a store at time `now`, with the store's delays in
    /// the next level.
    #[inline]
    pub(super) fn take_buffers(&mut self, now: [u64; VIEWS], clocks: &Clocks) {
        let [shared, private, flushed] = clocks.delays;
        let are_even = shared == private
            && shared == flushed
            && (0..VIEWS).all(|view| clocks.now(view) == now[view]);
        if are_even && self.has_alike_writes(clocks) {
            self.views[SHARED].writes.put(now[SHARED], shared);
            return;
        }
        self.split_writes();
        // Queues without waiting stores are equal, however long ago their stores were written.
        let are_idle = self
            .views
            .iter()
            .zip(now)
            .all(|(lines, now)| lines.writes.is_idle(now));
        for ((lines, now), cycles) in self.views.iter_mut().zip(now).zip(clocks.delays) {
            lines.writes.put(now, cycles);
        }
        self.writes_alike_at = (are_even && are_idle).then(|| clocks.later());
    }

    /// Returns the slot of a line in a view, if the line is not in the list of common lines.
    #[inline]
    pub(super) fn find_below(&self, view: usize, set: usize, key: u64) -> Option<usize> {
        // If the list is full, the view has no other lines: keys that remain in the view's own
        // slots are out of date.
        if self.common_lines.is_full(set)
            || view == FLUSHED && self.common_lines.has_all_flushed(set)
        {
            None
        } else {
            self.views[view].find(set, key)
        }
    }

    /// Counts a miss in each view that missed.
    #[inline]
    pub(super) fn count_misses(&mut self, kind: usize, missed: ViewSet) {
        if missed == ViewSet::ALL {
            self.common.misses[kind] += 1;
        } else {
            for (view, lines) in self.views.iter_mut().enumerate() {
                lines.counts.misses[kind] += u64::from(missed.has(view));
            }
        }
    }
}

/// Gives each of some views its own state of a common line, as the line used last.
fn restore(views: &mut [Lines], held: CommonLine, slots: Slots) {
    for (view, (lines, slot)) in views.iter_mut().zip(slots).enumerate() {
        let is_modified = held.modified.has(view);
        lines.restore(slot as usize, held.key, is_modified, held.requester);
    }
}
