//! The two arms of what a hand-off in a guest is compared by.

/// Where the tasks of `trace walks --system` hand the token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Arm {
    /// Each to itself, one task after the other: without switches.
    Alone,
    /// Each to the other.
    Two,
}

pub(crate) const ARMS: [Arm; 2] = [Arm::Alone, Arm::Two];

impl Arm {
    /// In the names of steps.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Arm::Alone => "alone",
            Arm::Two => "two",
        }
    }

    /// What a command line of `trace walks` ends with.
    pub(crate) fn option(self) -> &'static str {
        match self {
            Arm::Alone => " --alone",
            Arm::Two => "",
        }
    }
}
