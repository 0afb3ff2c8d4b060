//! Where the three views hold lines that were looked up since the last switch, so that nobody has to search for them.
//!
//! What is noted here is a guess: a view may have let a line go since. Whoever asks looks whether it is still there.

use super::plan::LevelPlan;

/// More would not stay in the caches of the machine that simulates.
const MOST: usize = 4096;

/// Where a line was found last.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Place {
    /// The line and the epoch of the filter; 0 is none.
    pub(super) tag: u64,
    /// What the views compare.
    pub(super) key: u64,
    /// The same in all views.
    pub(super) set: usize,
    /// Of the shared, private and flushed view.
    pub(super) slots: [usize; 3],
    /// Whether a store to it was looked up, too: the page that it is in is the process's own.
    pub(super) was_stored: bool,
}

/// A place for each of many lines; a later one takes that of an earlier one.
#[derive(Debug)]
pub(super) struct Places {
    all: Vec<Place>,
    mask: u64,
}

impl Places {
    /// Of a level that is asked first: one that others ask is searched by each view.
    pub(super) fn new(plan: &LevelPlan) -> Option<Places> {
        let is_asked_first = plan.is_first.contains(&true) && plan.before.is_empty();
        if plan.ways == 1 || plan.is_swept || !is_asked_first {
            return None;
        }
        let count = (2 * plan.lines()).next_power_of_two().min(MOST);
        Some(Places { all: vec![Place::default(); count], mask: count as u64 - 1 })
    }

    #[inline(always)]
    pub(super) fn get(&self, tag: u64) -> Option<Place> {
        let place = self.all[(tag & self.mask) as usize];
        (place.tag == tag).then_some(place)
    }

    pub(super) fn clear(&mut self) {
        self.all.fill(Place::default());
    }

    /// Notes a place. A store that was seen before is not forgotten.
    pub(super) fn put(&mut self, place: Place) {
        let before = &mut self.all[(place.tag & self.mask) as usize];
        let was_stored = place.was_stored || (before.tag == place.tag && before.was_stored);
        *before = Place { was_stored, ..place };
    }
}
