//! Outcomes of trials.

/// Outcome of one trial.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    Passed,
    /// The program broke a promise; the text says what happened.
    Failed(String),
    /// Nothing was tried; the text says why: the run had already ended, made no such call, or is
    /// impossible here.
    Untried(String),
}

impl From<Result<(), String>> for Outcome {
    fn from(judged: Result<(), String>) -> Outcome {
        judged.map_or_else(Outcome::Failed, |()| Outcome::Passed)
    }
}
