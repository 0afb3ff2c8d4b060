use std::collections::BTreeMap;

/// Result of an undisturbed run: its exit code, and the files that it makes.
#[derive(Clone, Debug)]
pub(crate) struct Whole {
    pub(crate) code: i32,
    pub(crate) files: BTreeMap<String, Vec<u8>>,
    pub(crate) is_same_text: bool,
    pub(crate) is_visible: bool,
}

impl Whole {
    pub(crate) fn text(&self, name: &str) -> Option<&[u8]> {
        self.files
            .get(name)
            .filter(|_| self.is_same_text)
            .map(Vec::as_slice)
    }

    /// Excludes the texts of the result from comparisons with other runs, because texts may differ
    /// in another environment.
    pub(crate) fn with_other_texts(self) -> Whole {
        Whole {
            is_same_text: false,
            ..self
        }
    }

    /// Allows all files to be missing after a success, because a file in a private mount is
    /// invisible after the run.
    pub(crate) fn hidden(self) -> Whole {
        Whole {
            is_visible: false,
            ..self
        }
    }
}
