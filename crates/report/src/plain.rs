use std::borrow::Cow;

use switchcost_record::is_printable;

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

/// JSON with the few control characters escaped that JSON itself lets through (DEL and C1). The value is the same:
/// outside of strings JSON holds none of them.
pub(crate) fn plain_json(json: &str) -> String {
    let mut escaped = String::with_capacity(json.len());
    for c in json.chars() {
        if c != '\n' && !is_printable(c) {
            escaped.push_str(&format!("\\u{:04x}", u32::from(c)));
        } else {
            escaped.push(c);
        }
    }
    escaped
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
    fn json_keeps_its_value() {
        let hostile = "a\u{9b}2J\u{7f}\u{202e}b";
        let json = plain_json(&serde_json::to_string(hostile).expect("a string"));
        assert_eq!(json, r#""a\u009b2J\u007f\u202eb""#);
        assert_eq!(serde_json::from_str::<String>(&json).expect("still JSON"), hostile);
    }
}
