//! One cache or TLB in all three views.

use super::clocks::Clocks;
use super::common_lines::CommonLines;
use super::lines::{Counts, Lines, Role};
use super::plan::LevelPlan;
use super::view_set::ViewSet;
use super::{FLUSHED, PRIVATE, SHARED, VIEWS};

/// Everything that a level remembers.
#[derive(Debug)]
pub(super) struct Level {
    /// What all views used last: ahead of what each view knows of it.
    pub(super) common_lines: CommonLines,
    /// By view; of private hierarchies, that of the running process.
    pub(super) views: [Lines; VIEWS],
    /// Where the write buffers of all views are alike, as seen from each view's clock: how much later it is in each than in the
    /// shared one, whose buffers stand for all.
    writes_alike_at: Option<[u64; VIEWS]>,
    /// What all views count alike.
    pub(super) common: Counts,
}

impl Level {
    pub(super) fn new(plan: &LevelPlan) -> Level {
        Level {
            common_lines: CommonLines::new(plan),
            views: [Role::Shared, Role::Private, Role::Flushed].map(|role| Lines::new(plan, role)),
            writes_alike_at: None,
            common: Counts::default(),
        }
    }

    /// Before one view is looked up, or changed, by itself in a set.
    #[inline]
    pub(super) fn split(&mut self, set: usize) {
        if !self.common_lines.is_empty(set) {
            self.split_now(set);
        }
    }

    #[inline(never)]
    fn split_now(&mut self, set: usize) {
        let Level { common_lines, views, .. } = self;
        common_lines.take_all(set, |held, slots| {
            for (view, lines) in views.iter_mut().enumerate() {
                lines.restore(slots[view] as usize, held.key, held.modified.has(view), held.requester);
            }
        });
    }

    /// Before a view is flushed, or another one takes its place.
    pub(super) fn split_all(&mut self) {
        self.split_writes();
        let used = self.common_lines.take_used();
        used.iter().for_each(|&set| self.split(set as usize));
        self.common_lines.reuse(used);
    }

    /// Gives each view its own write buffers again.
    #[inline]
    pub(super) fn split_writes(&mut self) {
        if let Some(later) = self.writes_alike_at.take() {
            let [shared, private, flushed] = &mut self.views;
            private.writes.copy_from(&shared.writes, later[PRIVATE] as i64);
            flushed.writes.copy_from(&shared.writes, later[FLUSHED] as i64);
        }
    }

    /// Whether one view's write buffers stand for all.
    #[inline]
    fn has_alike_writes(&self, clocks: &Clocks) -> bool {
        // One by one: they were just written, and the processor waits where such are read as a whole.
        let later = clocks.later();
        self.writes_alike_at.is_some_and(|at| at[PRIVATE] == later[PRIVATE] && at[FLUSHED] == later[FLUSHED])
    }

    /// Every view waits until a write buffer is free; gives the time then.
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
        clocks.all()
    }

    /// Every view takes the buffer that it has waited for, and the store the cycles of the next level.
    #[inline]
    pub(super) fn take_buffers(&mut self, now: [u64; VIEWS], cycles: [u64; VIEWS], clocks: &Clocks) {
        let [shared, private, flushed] = cycles;
        let are_even = shared == private && shared == flushed && (0..VIEWS).all(|view| clocks.now(view) == now[view]);
        if are_even && self.has_alike_writes(clocks) {
            self.views[SHARED].writes.put(now[SHARED], shared);
            return;
        }
        self.split_writes();
        // Stores that are all written look the same however long ago that was.
        let are_idle = self.views.iter().zip(now).all(|(lines, now)| lines.writes.is_idle(now));
        for ((lines, now), cycles) in self.views.iter_mut().zip(now).zip(cycles) {
            lines.writes.put(now, cycles);
        }
        self.writes_alike_at = (are_even && are_idle).then(|| clocks.later());
    }

    /// Where a view holds a line that is not in the list of those used last.
    #[inline]
    pub(super) fn find_below(&self, view: usize, set: usize, key: u64) -> Option<usize> {
        // Below a full list there is nothing, whatever is left of lines that were there once.
        if self.common_lines.is_full(set) { None } else { self.views[view].find(set, key) }
    }

    /// Misses, each view's own.
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
