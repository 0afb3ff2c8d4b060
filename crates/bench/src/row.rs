//! One figure.

/// What was to be reached, and what was measured.
#[derive(Clone, Debug)]
pub(crate) struct Row {
    pub(crate) what: String,
    pub(crate) must_reach: String,
    pub(crate) measured: String,
    /// `None` where it could not be measured, or nothing is promised.
    pub(crate) is_met: Option<bool>,
    pub(crate) command: String,
}

impl Row {
    /// A figure that could not be measured, and why.
    pub(crate) fn failed(what: &str, must_reach: &str, why: String, command: String) -> Row {
        Row { what: what.to_owned(), must_reach: must_reach.to_owned(), measured: why, is_met: None, command }
    }
}
