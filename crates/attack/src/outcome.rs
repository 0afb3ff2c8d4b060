//! What comes of a trial.

/// Outcome of a trial.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    Passed,
    /// The program broke a promise; says what happened instead.
    Failed(String),
    /// Nothing was tried, and why: the run had ended before, it never made the call, or this cannot be done here.
    Untried(String),
}

impl From<Result<(), String>> for Outcome {
    fn from(judged: Result<(), String>) -> Outcome {
        judged.map_or_else(Outcome::Failed, |()| Outcome::Passed)
    }
}
