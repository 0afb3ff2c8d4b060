use crate::plain::plain;

/// Longest name in a figure, in characters. Longer names are cut off, but the figure's table has
/// them in full.
const LONGEST: usize = 40;

/// Makes a name from a file safe for a figure: removes control characters and shortens a long name.
pub(super) fn label(text: &str) -> String {
    let text = plain(text);
    match text.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.into_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_name_is_cut_and_controls_a_terminal_no_more() {
        assert_eq!(label(&"x".repeat(40)).chars().count(), 40);
        assert_eq!(label(&"é".repeat(1000)), format!("{}…", "é".repeat(40)));
        assert_eq!(label("<b>\u{1b}[1my"), "<b>[1my");
    }
}
