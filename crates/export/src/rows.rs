//! Rows of stacks with values, the common input of the formats for stacks.

/// Stacks, with a value of each kind per stack.
pub(crate) struct Rows {
    /// Name and unit of each kind of value.
    pub(crate) kinds: Vec<(&'static str, &'static str)>,
    /// Index in `kinds` of the kind that a viewer shows first.
    pub(crate) usual: usize,
    pub(crate) rows: Vec<Row>,
    /// Remark for readers of the profile, such as a limit of the data.
    pub(crate) comment: Option<String>,
}

pub(crate) struct Row {
    /// Frames of the stack, outermost first.
    pub(crate) frames: Vec<String>,
    pub(crate) values: Vec<u64>,
    pub(crate) process: Option<u32>,
}

/// Returns the name of a task, or `(no name)` if the name has no characters that can be shown.
pub(crate) fn named(name: &str) -> &str {
    if name.chars().all(char::is_control) {
        "(no name)"
    } else {
        name
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_shows_nothing_is_none() {
        let names = ["", "\x7f\x01", "a\n"].map(named);
        assert_eq!(names, ["(no name)", "(no name)", "a\n"]);
    }
}
