//! The cycles of the three hierarchies.

use super::listener::{Gain, Took};
use super::{FLUSHED, PRIVATE, READ, SHARED, VIEWS};

/// Cycles of the three views so far.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Clocks {
    /// Time of each view, without `common`.
    pub(super) now: [u64; VIEWS],
    /// Time that all views have spent since the last commit.
    pub(super) common: u64,
    /// Part of each view's time in which stores waited for write buffers.
    pub(super) stalls: [u64; VIEWS],
    pub(super) common_stalls: u64,
    /// Time of the current request for which nothing waits; the request is ahead of the clock by
    /// this time.
    pub(super) delays: [u64; VIEWS],
    /// Cycles by which lookups were slower, or faster, in the shared view because of others.
    lost: u64,
    gained: u64,
    /// Cycles saved by first touches.
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

    /// Returns by how many cycles each view's clock is ahead of the shared one.
    #[inline]
    pub(super) fn later(&self) -> [u64; VIEWS] {
        self.now.map(|now| now.wrapping_sub(self.now[SHARED]))
    }

    /// Returns the cycles of each view, then those lost to others, gained from others, and gained at first touches.
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

    /// Adds the common time to each view's time.
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

    /// Returns the excess of the shared view's time over the private one's, in cycles, up to a constant.
    #[inline]
    pub(super) fn difference(&self) -> u64 {
        self.now[SHARED].wrapping_sub(self.now[PRIVATE])
    }

    /// Returns the excess of [`Clocks::difference`] without the gain of first touches.
    #[inline]
    pub(super) fn steady_difference(&self) -> u64 {
        self.difference().wrapping_add(self.first_touches)
    }
}
