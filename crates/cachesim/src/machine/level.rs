//! One cache or TLB in all three views.

use super::lines::{Counts, Lines, Role};
use super::plan::LevelPlan;
use super::recent::Recent;
use super::{PRIVATE, SHARED, VIEWS};

/// Everything that a level remembers.
#[derive(Debug)]
pub(super) struct Level {
    /// What all views used last: ahead of what each view knows of it.
    pub(super) recent: Recent,
    /// By view; of private hierarchies, that of the running process.
    pub(super) views: [Lines; VIEWS],
    /// What all views count alike.
    pub(super) common: Counts,
    /// Lookups of the program that miss in the shared and not in the private view, and the other way round.
    pub(super) lost: u64,
    pub(super) gained: u64,
}

impl Level {
    pub(super) fn new(plan: &LevelPlan) -> Level {
        Level {
            recent: Recent::new(plan),
            views: [Role::Shared, Role::Private, Role::Flushed].map(|role| Lines::new(plan, role)),
            common: Counts::default(),
            lost: 0,
            gained: 0,
        }
    }

    /// Before one view is looked up, or changed, by itself in a set.
    #[inline]
    pub(super) fn part(&mut self, set: usize) {
        if !self.recent.is_empty(set) {
            self.part_now(set);
        }
    }

    #[inline(never)]
    fn part_now(&mut self, set: usize) {
        let Level { recent, views, .. } = self;
        recent.take_all(set, |slots, is_stored| {
            for (lines, slot) in views.iter_mut().zip(slots) {
                lines.put_down(slot as usize, is_stored);
            }
        });
    }

    /// Before a view is flushed, or another one takes its place.
    pub(super) fn part_all(&mut self) {
        let used = self.recent.take_used();
        used.iter().for_each(|&set| self.part(set as usize));
        self.recent.reuse(used);
    }

    /// Where each view holds a line that is not among those used last.
    #[inline]
    pub(super) fn find_in_each(&self, set: usize, key: u64) -> [Option<usize>; VIEWS] {
        if self.recent.is_full(set) {
            return [None; VIEWS];
        }
        let [shared, private, flushed] = &self.views;
        [shared.find(set, key), private.find(set, key), flushed.find(set, key)]
    }

    /// Misses, each view's own.
    #[inline]
    pub(super) fn count_misses(&mut self, kind: usize, missed: [bool; VIEWS]) {
        if missed == [true; VIEWS] {
            self.common.misses[kind] += 1;
        } else {
            for (lines, missed) in self.views.iter_mut().zip(missed) {
                lines.counts.misses[kind] += u64::from(missed);
            }
        }
    }

    /// A lookup of the program missed here, in the shared or the private view.
    #[inline]
    pub(super) fn count_difference(&mut self, missed: [bool; VIEWS]) {
        self.lost += u64::from(missed[SHARED] & !missed[PRIVATE]);
        self.gained += u64::from(missed[PRIVATE] & !missed[SHARED]);
    }
}
