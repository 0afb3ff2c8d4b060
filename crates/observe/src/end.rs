//! Follows the progress of an observation, and decides whether it continues.

use switchcost_units::Nanos;

use crate::notice::Notice;

/// Whether there is still something to observe.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Next {
    GoOn,
    End,
    /// A notice to report first; the second field tells whether there is still something to
    /// observe.
    Say(Notice, bool),
}

/// Progress of an observation, and the conditions of its end.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Window {
    pub(crate) elapsed: Nanos,
    /// Whether the user gave a duration.
    pub(crate) is_timed: bool,
    /// Whether the observation lasts until it is stopped.
    pub(crate) is_endless: bool,
}

impl Window {
    /// Whether the observation continues after the observed tasks have ended.
    pub(crate) fn is_open(self) -> bool {
        self.is_timed || self.is_endless
    }
}
