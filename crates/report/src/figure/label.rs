use crate::plain::plain;

/// Longer names are cut in a figure, and longer lines of what a pointer shows; the table has all of them.
const LONGEST: usize = 40;
const LONGEST_LINE: usize = 120;

/// A name of unknown origin for a figure. plotly.js takes some markup in labels for its own (`<b>`, `<a href>`, `&lt;`): here
/// markup stays text.
pub(super) fn label(text: &str) -> String {
    escaped(text, LONGEST)
}

/// The same of lines that a pointer shows.
pub(super) fn lines(text: &str) -> String {
    let lines = text.split('\n').map(|line| escaped(line, LONGEST_LINE));
    lines.collect::<Vec<_>>().join("<br>")
}

fn escaped(text: &str, longest: usize) -> String {
    let text = plain(text);
    let mut label = String::with_capacity(text.len());
    for (i, c) in text.chars().enumerate() {
        if i == longest {
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
