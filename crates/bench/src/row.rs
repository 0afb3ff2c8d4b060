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
    /// What was measured with whether that is enough, or why nothing was.
    pub(crate) fn of(
        what: impl Into<String>,
        must_reach: impl Into<String>,
        command: impl Into<String>,
        found: Result<(String, Option<bool>), impl Into<String>>,
    ) -> Row {
        let (measured, is_met) = found.unwrap_or_else(|why| (why.into(), None));
        Row {
            what: what.into(),
            must_reach: must_reach.into(),
            measured,
            is_met,
            command: command.into(),
        }
    }

    /// A figure that could not be measured, and why.
    pub(crate) fn failed(what: &str, must_reach: &str, why: String, command: String) -> Row {
        Row::of(what, must_reach, command, Err(why))
    }
}
