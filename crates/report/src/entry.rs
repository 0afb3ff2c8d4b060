use crate::plain::plain;

/// Emphasis of a table cell.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Tone {
    /// Ordinary text without emphasis.
    #[default]
    Usual,
    /// Bold text, for headings.
    Strong,
    /// Highlight of a good result.
    Good,
    /// Highlight of a number that may be wrong.
    Suspect,
    /// Highlight of a missing number, or of a machine that is unfit to measure.
    Bad,
}

/// A cell of a table: its text and its emphasis.
#[derive(Clone, Debug, Default)]
pub(crate) struct Entry {
    pub(crate) text: String,
    pub(crate) tone: Tone,
}

impl Entry {
    /// Makes a cell of one line, without control characters.
    pub(crate) fn new(text: impl AsRef<str>, tone: Tone) -> Self {
        Entry {
            text: plain(text.as_ref()).into_owned(),
            tone,
        }
    }

    /// Makes a cell of two lines, one below the other.
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

/// Makes the cells of a row from texts, cells and options.
macro_rules! entries {
    ($($cell:expr),* $(,)?) => { vec![$($crate::entry::Entry::from($cell)),*] };
}

/// Alignment of the cells of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Side {
    /// Left-aligned, for words.
    Left,
    /// Right-aligned, for numbers.
    Right,
}
