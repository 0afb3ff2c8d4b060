//! Outcomes of trials.

/// Outcome of one trial.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    Passed,
    /// The program broke a promise; the text says how.
    Failed(String),
    /// The trial attacked nothing; the text says why. The run may have ended before, or the attack
    /// may be impossible here.
    Untried(String),
}

impl From<Result<(), String>> for Outcome {
    fn from(judged: Result<(), String>) -> Outcome {
        judged.map_or_else(Outcome::Failed, |()| Outcome::Passed)
    }
}
