use crate::plain::plain;

/// Longest name in a figure, in characters; longer names are cut off. The table has the whole
/// names.
const LONGEST: usize = 40;

/// Makes a name of unknown origin safe for a figure, without control characters.
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
