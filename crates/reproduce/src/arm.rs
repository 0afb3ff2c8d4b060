//! The two arms of a simulated hand-off in a guest.

/// Which task receives the token in `trace walks --system`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Arm {
    /// Each task hands the token to itself, one task after the other: without switches.
    Alone,
    /// Each task hands the token to the other.
    Two,
}

pub(crate) const ARMS: [Arm; 2] = [Arm::Alone, Arm::Two];

impl Arm {
    /// Name of the arm in the names of steps.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Arm::Alone => "alone",
            Arm::Two => "two",
        }
    }

    /// End of the command line of `trace walks` for this arm.
    pub(crate) fn option(self) -> &'static str {
        match self {
            Arm::Alone => " --alone",
            Arm::Two => "",
        }
    }
}
