use std::borrow::Cow;

/// Text of unknown origin as one line that is safe to print: line breaks and tabs become spaces; every other control
/// character (terminal escapes begin with one, of C0 or C1) and every mark that reverses the order of text on a
/// screen is left out.
pub fn plain(text: &str) -> Cow<'_, str> {
    if !text.contains(is_unsafe) {
        return Cow::Borrowed(text);
    }
    let kept = text.chars().filter_map(|c| match c {
        '\n' | '\r' | '\t' | '\u{2028}' | '\u{2029}' => Some(' '),
        c if is_unsafe(c) => None,
        c => Some(c),
    });
    Cow::Owned(kept.collect())
}

/// JSON with the few control characters escaped that JSON itself lets through (DEL and C1). The value is the same:
/// outside of strings JSON holds none of them.
pub(crate) fn plain_json(json: &str) -> String {
    let mut escaped = String::with_capacity(json.len());
    for c in json.chars() {
        if c != '\n' && is_unsafe(c) {
            escaped.push_str(&format!("\\u{:04x}", u32::from(c)));
        } else {
            escaped.push(c);
        }
    }
    escaped
}

fn is_unsafe(c: char) -> bool {
    let turns_text = matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    c.is_control() || turns_text || matches!(c, '\u{2028}' | '\u{2029}')
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
