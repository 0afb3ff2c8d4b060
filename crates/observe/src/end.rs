//! How far an observation is, and whether it goes on.

use switchcost_units::Nanos;

use crate::notice::Notice;

/// Whether there is still something to observe.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Next {
    GoOn,
    End,
    /// The same, with something to say first.
    Say(Notice, bool),
}

/// How far an observation is, and how it ends.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Window {
    pub(crate) elapsed: Nanos,
    /// The user said for how long.
    pub(crate) is_timed: bool,
    /// It goes on until it is stopped.
    pub(crate) is_endless: bool,
}

impl Window {
    /// Whether it is meant to go on when those that are observed have ended.
    pub(crate) fn is_open(self) -> bool {
        self.is_timed || self.is_endless
    }
}
