use crate::plain::plain;

/// How a cell stands out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Tone {
    /// No emphasis.
    #[default]
    Usual,
    /// A heading.
    Strong,
    /// All is well.
    Good,
    /// A number to be careful with.
    Suspect,
    /// No number, or a machine that cannot give one.
    Bad,
}

/// A cell.
#[derive(Clone, Debug, Default)]
pub(crate) struct Entry {
    pub(crate) text: String,
    pub(crate) tone: Tone,
}

impl Entry {
    /// One line, made safe to print.
    pub(crate) fn new(text: impl AsRef<str>, tone: Tone) -> Self {
        Entry {
            text: plain(text.as_ref()).into_owned(),
            tone,
        }
    }

    /// Two lines, one below the other.
    pub(crate) fn stacked(upper: &str, lower: &str, tone: Tone) -> Self {
        Entry {
            text: format!("{}\n{}", plain(upper), plain(lower)),
            tone,
        }
    }
}

impl<T: AsRef<str>> From<T> for Entry {
    fn from(text: T) -> Self {
        Entry::new(text, Tone::Usual)
    }
}

/// On which side the cells of a column stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Side {
    /// Left-aligned, for words.
    Left,
    /// Right-aligned, for numbers.
    Right,
}
