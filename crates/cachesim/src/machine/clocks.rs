//! Clocks of the three views, in cycles.

use super::listener::{Gain, Took};
use super::{FLUSHED, PRIVATE, READ, SHARED, VIEWS};

/// Time of the three views, in cycles since the start.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Clocks {
    /// Time of each view, without the time in `common`.
    pub(super) now: [u64; VIEWS],
    /// Time that all views have spent since the last [`Clocks::commit`], not yet in `now`.
    pub(super) common: u64,
    /// Part of each view's time in which a store waited for a write buffer; `common_stalls` is not
    /// included.
    pub(super) stalls: [u64; VIEWS],
    pub(super) common_stalls: u64,
    /// Time of the current request, by view, that no instruction waits for. The request is ahead of
    /// the view's clock by this time.
    pub(super) delays: [u64; VIEWS],
    /// Cycles by which lookups were slower in the shared view than in the private one, because
    /// other processes had evicted the line.
    lost: u64,
    /// Cycles by which lookups were faster, because other processes had brought in a line that the
    /// process had used before.
    gained: u64,
    /// Cycles saved because another process had brought a line in before its first request.
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

    /// Returns the lead of each view's clock over the shared one, in cycles modulo 2^64.
    #[inline]
    pub(super) fn later(&self) -> [u64; VIEWS] {
        self.now.map(|now| now.wrapping_sub(self.now[SHARED]))
    }

    /// Returns the cycles of each view, the cycles lost to and gained from others, and those gained
    /// by first touches.
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

    /// Adds a lookup's difference between the shared and the private view to the cycles lost or
    /// gained.
    pub(super) fn count(&mut self, took: &Took) {
        let cycles = took.longer.unsigned_abs();
        match (took.longer > 0, took.gain) {
            (true, _) => self.lost += if took.lost_to.is_others() { cycles } else { 0 },
            (false, Gain::FirstTouch) => self.first_touches += cycles,
            (false, Gain::FromOthers) => self.gained += cycles,
            (false, Gain::State) => {}
        }
    }

    /// Returns the shared view's time minus the private one's, in cycles modulo 2^64.
    #[inline]
    pub(super) fn difference(&self) -> u64 {
        self.now[SHARED].wrapping_sub(self.now[PRIVATE])
    }

    /// Returns [`Clocks::difference`] as it would be without the gain by first touches.
    #[inline]
    pub(super) fn steady_difference(&self) -> u64 {
        self.difference().wrapping_add(self.first_touches)
    }
}
