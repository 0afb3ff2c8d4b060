use std::collections::BTreeMap;

/// What a run that nothing hinders comes to: its exit code and what it makes.
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

    /// The same, of which texts may differ: lines are drawn for another terminal.
    pub(crate) fn with_other_texts(self) -> Whole {
        Whole {
            is_same_text: false,
            ..self
        }
    }

    /// The same, of which nothing can be seen afterwards.
    pub(crate) fn hidden(self) -> Whole {
        Whole {
            is_visible: false,
            ..self
        }
    }
}
