use crate::plain::plain;

/// Emphasis of a table cell.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Tone {
    /// The text has no emphasis.
    #[default]
    Usual,
    /// Emphasis of a heading.
    Strong,
    /// The text is a good result.
    Good,
    /// A number to be read with care.
    Suspect,
    /// The text is a missing number, or a machine that cannot give one.
    Bad,
}

/// A cell of a table.
#[derive(Clone, Debug, Default)]
pub(crate) struct Entry {
    pub(crate) text: String,
    pub(crate) tone: Tone,
}

impl Entry {
    /// Makes a cell of one line that is safe to print.
    pub(crate) fn new(text: impl AsRef<str>, tone: Tone) -> Self {
        Entry {
            text: plain(text.as_ref()).into_owned(),
            tone,
        }
    }

    /// Makes an entry of two lines, one below the other.
    pub(crate) fn stacked(upper: &str, lower: &str, tone: Tone) -> Self {
        Entry {
            text: format!("{}\n{}", plain(upper), plain(lower)),
            tone,
        }
    }
}

impl From<&str> for Entry {
    fn from(text: &str) -> Self {
        Entry::new(text, Tone::Usual)
    }
}

impl From<&String> for Entry {
    fn from(text: &String) -> Self {
        Entry::new(text, Tone::Usual)
    }
}

impl From<String> for Entry {
    fn from(text: String) -> Self {
        Entry::new(text, Tone::Usual)
    }
}

/// Converts `None` to an empty cell.
impl<T: Into<Entry>> From<Option<T>> for Entry {
    fn from(cell: Option<T>) -> Self {
        cell.map(Into::into).unwrap_or_default()
    }
}

/// Collects the cells of a row from texts, entries and options.
macro_rules! entries {
    ($($cell:expr),* $(,)?) => { vec![$($crate::entry::Entry::from($cell)),*] };
}

/// Alignment of the cells of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Side {
    /// The column is left-aligned, for words.
    Left,
    /// The column is right-aligned, for numbers.
    Right,
}
