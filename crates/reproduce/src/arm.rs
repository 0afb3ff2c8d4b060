//! The two arms of a simulated hand-off in a guest.

/// Arm of `trace walks --system`, which determines the task that receives the token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Arm {
    /// Each task hands the token to itself, one task after the other: without switches.
    Alone,
    /// Each task hands the token to the other.
    Two,
}

pub(crate) const ARMS: [Arm; 2] = [Arm::Alone, Arm::Two];

impl Arm {
    /// Returns the name of the arm in the names of steps.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Arm::Alone => "alone",
            Arm::Two => "two",
        }
    }

    /// Returns the end of the command line of `trace walks` for this arm.
    pub(crate) fn option(self) -> &'static str {
        match self {
            Arm::Alone => " --alone",
            Arm::Two => "",
        }
    }
}
