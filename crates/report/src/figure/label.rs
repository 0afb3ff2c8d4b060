use crate::plain::plain;

/// Longer texts are cut in a figure; the table has all of them.
const LONGEST: usize = 40;

/// Text of unknown origin for a figure. plotly.js takes some markup in labels for its own (`<b>`, `<a href>`, `&lt;`): here
/// markup stays text.
pub(crate) fn label(text: &str) -> String {
    let text = plain(text);
    let mut label = String::with_capacity(text.len());
    for (i, c) in text.chars().enumerate() {
        if i == LONGEST {
            label.push('…');
            break;
        }
        match c {
            '&' => label.push_str("&amp;"),
            '<' => label.push_str("&lt;"),
            '>' => label.push_str("&gt;"),
            c => label.push(c),
        }
    }
    label
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markup_stays_text() {
        assert_eq!(
            label("<b>x</b> & \u{1b}[1my"),
            "&lt;b&gt;x&lt;/b&gt; &amp; [1my"
        );
    }

    #[test]
    fn a_long_name_is_cut() {
        assert_eq!(label(&"x".repeat(40)).chars().count(), 40);
        assert_eq!(label(&"<".repeat(1000)), format!("{}…", "&lt;".repeat(40)));
    }
}
