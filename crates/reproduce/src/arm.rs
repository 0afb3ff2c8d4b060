//! The two arms of a simulated hand-off between two tasks in a guest.

/// An arm of `trace walks --system`, which determines the task that a sender hands the token to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Arm {
    /// Baseline without hand-offs between tasks: each task hands the token to itself, one task
    /// after the other.
    Alone,
    /// Hand-offs between tasks: each task hands the token to the other task.
    Two,
}

pub(crate) const ARMS: [Arm; 2] = [Arm::Alone, Arm::Two];

impl Arm {
    /// Returns the name of the arm, as used in the names of steps.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Arm::Alone => "alone",
            Arm::Two => "two",
        }
    }

    /// Returns the option of `trace walks` that selects this arm; empty for [`Arm::Two`].
    pub(crate) fn option(self) -> &'static str {
        match self {
            Arm::Alone => " --alone",
            Arm::Two => "",
        }
    }
}
