/// Appearance of a table. JSON and CSV are the same under every style.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Style {
    /// Whether colour and bold type may be used; the caller knows about the terminal and `NO_COLOR`.
    pub is_coloured: bool,
    /// Columns of the terminal; `None` means [`Style::USUAL_WIDTH`].
    pub width: Option<u16>,
    /// Whether everything is shown, instead of one screen.
    pub is_detailed: bool,
}

impl Style {
    /// Width of a report that does not go to a terminal.
    pub const USUAL_WIDTH: u16 = 100;

    /// Least width of tables: narrower ones are not legible, so the terminal may wrap them.
    const LEAST_WIDTH: u16 = 60;

    pub(crate) fn columns(self) -> u16 {
        self.width
            .unwrap_or(Self::USUAL_WIDTH)
            .max(Self::LEAST_WIDTH)
    }
}
