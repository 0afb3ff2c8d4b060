//! Stacks with their values, wherever they are from.

/// Stacks with their values.
pub(crate) struct Rows {
    /// Names of the values, with their units.
    pub(crate) kinds: Vec<(&'static str, &'static str)>,
    /// The index of the value that is shown first.
    pub(crate) usual: usize,
    pub(crate) rows: Vec<Row>,
    /// Remarks that a reader of the profile needs.
    pub(crate) comment: Option<String>,
}

pub(crate) struct Row {
    /// The outermost first.
    pub(crate) frames: Vec<String>,
    pub(crate) values: Vec<u64>,
    pub(crate) process: Option<u32>,
}

/// The name of a task, or a placeholder if it has none.
pub(crate) fn named(name: &str) -> &str {
    if name.is_empty() { "(no name)" } else { name }
}
