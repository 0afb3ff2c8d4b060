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

/// Returns the name of a task, or `(no name)` if the name is empty.
pub(crate) fn named(name: &str) -> &str {
    if name.is_empty() { "(no name)" } else { name }
}
