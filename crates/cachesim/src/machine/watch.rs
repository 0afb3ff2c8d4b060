//! Who wants to know what happens to the lines of a hierarchy.

use super::line::Arrival;

/// How a line left the sets of a level.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Departure {
    /// For a line that came in.
    Replaced,
    /// An inclusive level lost it.
    Lost,
    /// Taken up from an exclusive level.
    Taken,
    /// All lines left.
    Flushed,
}

/// Notified of every line that comes and leaves.
pub(super) trait Watch {
    /// A line is brought in on demand; it has not come in yet.
    fn filled(&mut self, level: usize, set: usize, key: u64);
    /// A line came into the sets of a level.
    fn came(&mut self, level: usize, set: usize, key: u64, arrival: Arrival);
    /// A line left the sets of a level.
    fn left(&mut self, level: usize, set: usize, key: u64, arrival: Arrival, how: Departure);
    /// Whose line it is that comes in now.
    fn arrival(&self) -> Arrival;
}

/// Nobody.
pub(super) struct Nobody;

impl Watch for Nobody {
    #[inline]
    fn filled(&mut self, _: usize, _: usize, _: u64) {}
    #[inline]
    fn came(&mut self, _: usize, _: usize, _: u64, _: Arrival) {}
    #[inline]
    fn left(&mut self, _: usize, _: usize, _: u64, _: Arrival, _: Departure) {}
    #[inline]
    fn arrival(&self) -> Arrival {
        Arrival::default()
    }
}
