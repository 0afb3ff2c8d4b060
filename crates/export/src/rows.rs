//! Stacks with values, from any source.

/// Stacks with the values of each.
pub(crate) struct Rows {
    /// Names of the values, with their units.
    pub(crate) kinds: Vec<(&'static str, &'static str)>,
    /// Index of the value that a viewer shows first.
    pub(crate) usual: usize,
    pub(crate) rows: Vec<Row>,
    /// Remark that a reader of the profile needs.
    pub(crate) comment: Option<String>,
}

pub(crate) struct Row {
    /// Frames of the stack, outermost first.
    pub(crate) frames: Vec<String>,
    pub(crate) values: Vec<u64>,
    pub(crate) process: Option<u32>,
}

/// Returns the name of a task, or a placeholder if the name is empty.
pub(crate) fn named(name: &str) -> &str {
    if name.is_empty() { "(no name)" } else { name }
}
