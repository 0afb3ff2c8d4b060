//! The cycles of the three hierarchies.

use super::listener::{Gain, Took};
use super::{FLUSHED, PRIVATE, READ, SHARED, VIEWS};

/// The cycles so far.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Clocks {
    /// Of each view, but for those that all views took.
    pub(super) now: [u64; VIEWS],
    /// Those that all views took since they were committed last.
    pub(super) common: u64,
    /// Of these, cycles that stores waited for write buffers.
    pub(super) stalls: [u64; VIEWS],
    pub(super) common_stalls: u64,
    /// How long the request under way has taken that nothing waits for: it is made so much later than the clock says.
    pub(super) delays: [u64; VIEWS],
    /// By how much lookups took longer in the shared view than in the private one for what others did, and less.
    lost: u64,
    gained: u64,
    /// By how much less they took if the process asked for the first time.
    first_touches: u64,
}

impl Clocks {
    #[inline]
    pub(super) fn now(&self, view: usize) -> u64 {
        self.now[view] + self.common
    }

    #[inline]
    pub(super) fn cycles(&self) -> [u64; VIEWS] {
        self.now.map(|now| now + self.common)
    }

    /// How much later it is in each view than in the shared one.
    #[inline]
    pub(super) fn later(&self) -> [u64; VIEWS] {
        self.now.map(|now| now.wrapping_sub(self.now[SHARED]))
    }

    /// Cycles of each view, those lost to others, gained from others, and gained at first touches.
    pub(super) fn read(&self) -> [u64; READ] {
        [
            self.now(SHARED),
            self.now(PRIVATE),
            self.now(FLUSHED),
            self.lost,
            self.gained,
            self.first_touches,
        ]
    }

    /// Gives each view what all took.
    pub(super) fn commit(&mut self) {
        let (common, stalls) = (
            std::mem::take(&mut self.common),
            std::mem::take(&mut self.common_stalls),
        );
        self.now.iter_mut().for_each(|now| *now += common);
        self.stalls.iter_mut().for_each(|all| *all += stalls);
    }

    /// Adds the cycles of a lookup that differ between the views.
    pub(super) fn count(&mut self, took: &Took) {
        let cycles = took.longer.unsigned_abs();
        match (took.longer > 0, took.gain) {
            (true, _) => self.lost += if took.lost_to.is_others() { cycles } else { 0 },
            (false, Gain::FirstTouch) => self.first_touches += cycles,
            (false, Gain::FromOthers) => self.gained += cycles,
            (false, Gain::State) => {}
        }
    }

    /// How much longer the shared view has taken so far, up to a constant.
    #[inline]
    pub(super) fn difference(&self) -> u64 {
        self.now[SHARED].wrapping_sub(self.now[PRIVATE])
    }

    /// The same without what first touches gained.
    #[inline]
    pub(super) fn steady_difference(&self) -> u64 {
        self.difference().wrapping_add(self.first_touches)
    }
}
