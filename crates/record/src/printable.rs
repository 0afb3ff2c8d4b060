use std::borrow::Cow;

/// Untrusted text (a name, something out of a file) as one line that a terminal shows and does not obey: control characters and marks that
/// turn the order of text are written as Rust escapes them, such as `\n` and `\u{1b}`.
pub fn printable(text: &str) -> String {
    let mut printable = String::with_capacity(text.len());
    for c in text.chars() {
        if is_printable(c) {
            printable.push(c);
        } else {
            printable.extend(c.escape_default());
        }
    }
    printable
}

/// Text of unknown origin as one line that is safe to print: line breaks and tabs become spaces; every other control
/// character (terminal escapes begin with one, of C0 or C1) and every mark that reverses the order of text on a
/// screen is left out.
pub fn plain(text: &str) -> Cow<'_, str> {
    if text.chars().all(is_printable) {
        return Cow::Borrowed(text);
    }
    let kept = text.chars().filter_map(|c| match c {
        '\n' | '\r' | '\t' | '\u{2028}' | '\u{2029}' => Some(' '),
        c => is_printable(c).then_some(c),
    });
    Cow::Owned(kept.collect())
}

/// Whether a character is text alone: it commands no terminal, ends no line, and turns no text around it.
pub fn is_printable(c: char) -> bool {
    let turns_text =
        matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    !c.is_control() && !turns_text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn leaves_out_what_commands_a_terminal() {
        for (hostile, safe) in [
            ("host", "host"),
            ("\u{1b}[31mred\u{1b}[0m", "[31mred[0m"),
            ("\u{1b}]0;title\u{7}x", "]0;titlex"),
            ("\u{9b}2J\u{7f}y", "2Jy"),
            ("two\nlines\tand\ra tab", "two lines and a tab"),
            ("\u{202e}gnp.exe", "gnp.exe"),
            ("Größe 工", "Größe 工"),
        ] {
            assert_eq!(plain(hostile), safe);
        }
    }

    #[test]
    fn text_of_anybody_commands_no_terminal_and_forges_no_line() {
        assert_eq!(printable("\u{1b}[2J a\u{9b}b\u{202e}c\n"), "\\u{1b}[2J a\\u{9b}b\\u{202e}c\\n");
        assert_eq!(printable("\r\t\u{7}\u{7f}\u{61c}\u{2067}"), "\\r\\t\\u{7}\\u{7f}\\u{61c}\\u{2067}");
        assert_eq!(printable("Größe 工 🦀 'it''s' \\"), "Größe 工 🦀 'it''s' \\");
    }
}
