//! What comes of a trial.

/// Outcome of a trial.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    Passed,
    /// Against what it promises: what happened instead.
    Failed(String),
    /// Nothing was tried, and why: it was over before, it never made the call, or this cannot be done here.
    Untried(String),
}

impl From<Result<(), String>> for Outcome {
    fn from(judged: Result<(), String>) -> Outcome {
        judged.map_or_else(Outcome::Failed, |()| Outcome::Passed)
    }
}
