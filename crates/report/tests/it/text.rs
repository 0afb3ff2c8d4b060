//! Assertions on printed text, which is shown if they fail.

use super::Style;

pub(crate) const DETAILED: Style = Style {
    is_coloured: false,
    width: None,
    is_detailed: true,
};

/// Replaces each run of white space in a text, including line breaks, by one blank.
pub(crate) fn flat(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[track_caller]
pub(crate) fn has(text: &str, part: &str) {
    assert!(text.contains(part), "no {part:?} in {text}");
}

#[track_caller]
pub(crate) fn has_all<const N: usize>(text: &str, parts: [&str; N]) {
    for part in parts {
        has(text, part);
    }
}

#[track_caller]
pub(crate) fn lacks(text: &str, part: &str) {
    assert!(!text.contains(part), "{part:?} in {text}");
}

#[track_caller]
pub(crate) fn begins(text: &str, part: &str) {
    assert!(
        text.starts_with(part),
        "does not begin with {part:?}: {text}"
    );
}

/// Asserts that a text contains these parts, and that their first occurrences are in this order.
#[track_caller]
pub(crate) fn has_in_order<const N: usize>(text: &str, parts: [&str; N]) {
    let place = |part: &str| {
        text.find(part)
            .unwrap_or_else(|| panic!("no {part:?} in {text}"))
    };
    assert!(parts.map(place).is_sorted(), "{parts:?}: {text}");
}

/// Asserts that a text has no character that controls a terminal, and none that reverses text.
#[track_caller]
pub(crate) fn is_harmless(text: &str) {
    let is_unsafe = |c: char| (c.is_control() && c != '\n') || c == '\u{202e}';
    assert!(!text.contains(is_unsafe), "{text:?}");
}

/// Asserts that a text has at most this many lines, and no line of over 100 characters.
#[track_caller]
pub(crate) fn fits_screen(text: &str, lines: usize) {
    let widest = text.lines().map(|line| line.chars().count()).max();
    let count = text.lines().count();
    assert!(count <= lines && widest <= Some(100), "{text}");
}
