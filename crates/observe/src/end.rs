//! Follows the progress of an observation, and decides whether it continues.

use switchcost_units::Nanos;

use crate::notice::Notice;

/// Next step of the loop of an observation.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Next {
    GoOn,
    End,
    /// Report a notice. The second value says whether there is still something to observe.
    Say(Notice, bool),
}

/// Progress of an observation, and what decides about its end.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Window {
    pub(crate) elapsed: Nanos,
    /// Whether the user gave a duration.
    pub(crate) is_timed: bool,
    /// Whether the observation lasts until it is stopped.
    pub(crate) is_endless: bool,
}

impl Window {
    /// Whether the observation continues when all observed tasks have ended.
    pub(crate) fn is_open(self) -> bool {
        self.is_timed || self.is_endless
    }
}
