/// Appearance of a report as a table. JSON and CSV do not depend on the style.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Style {
    /// Whether colour and bold type may be used. The caller checks the terminal and `NO_COLOR`.
    pub is_coloured: bool,
    /// Width of the terminal in characters; `None` means [`Style::USUAL_WIDTH`].
    pub width: Option<u16>,
    /// Whether all details are shown; false for one screen.
    pub is_detailed: bool,
}

impl Style {
    /// Width of a report that does not go to a terminal, in characters.
    pub const USUAL_WIDTH: u16 = 100;

    /// Least width of tables in characters. Narrower tables would be illegible, so a narrow
    /// terminal wraps them.
    const LEAST_WIDTH: u16 = 60;

    pub(crate) fn columns(self) -> u16 {
        self.width
            .unwrap_or(Self::USUAL_WIDTH)
            .max(Self::LEAST_WIDTH)
    }
}
