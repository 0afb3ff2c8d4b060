//! Determines the capabilities of the terminal from environment variables.

use std::ffi::OsString;
use std::io::IsTerminal;
use std::sync::OnceLock;

use strum::{Display, EnumIter, EnumString};

/// When to use colour and bold type.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Display, EnumIter, EnumString)]
#[strum(serialize_all = "kebab-case")]
pub(crate) enum Color {
    /// On a terminal, unless `NO_COLOR` is set (<https://no-color.org>).
    #[default]
    Auto,
    Always,
    Never,
}

static COLOR: OnceLock<Color> = OnceLock::new();

/// Sets when to use colour. Only the first call has an effect.
pub(crate) fn set_color(color: Color) {
    let _ = COLOR.set(color);
}

/// Returns true if text for the output `on` is coloured.
pub(crate) fn is_coloured(on: &impl IsTerminal) -> bool {
    match COLOR.get().copied().unwrap_or_default() {
        Color::Always => true,
        Color::Never => false,
        Color::Auto => {
            let is_wanted = std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
            is_wanted && on.is_terminal() && cursorless().is_none()
        }
    }
}

/// Values of `TERM` for terminals without a movable cursor (terminfo(5)).
const WITHOUT_CURSOR: [&str; 6] = ["", "dumb", "unknown", "network", "dialup", "plugboard"];

/// Returns the value of `TERM`, possibly empty, of a terminal without a movable cursor; `None` for
/// other terminals.
pub(crate) fn cursorless() -> Option<String> {
    dumb(|name| std::env::var_os(name))
}

/// Returns true if only ASCII should be printed on the terminal: its encoding is unknown or not
/// UTF-8, or its cursor is not movable.
pub(crate) fn is_ascii() -> bool {
    is_ascii_by(|name| std::env::var_os(name))
}

/// Replaces characters that the terminal `on` cannot show. A text for an output that is no terminal
/// stays unchanged.
pub(crate) fn shown(text: &str, on: &impl IsTerminal) -> String {
    if !text.is_ascii() && on.is_terminal() && is_ascii() {
        switchcost_report::ascii(text)
    } else {
        text.to_owned()
    }
}

fn dumb(variable: impl Fn(&str) -> Option<OsString>) -> Option<String> {
    let name = variable("TERM")
        .unwrap_or_default()
        .to_string_lossy()
        .into_owned();
    WITHOUT_CURSOR.contains(&name.as_str()).then_some(name)
}

fn is_ascii_by(variable: impl Fn(&str) -> Option<OsString>) -> bool {
    // Only the first of these variables that is set is used (locale(7)).
    let locale = ["LC_ALL", "LC_CTYPE", "LANG"]
        .into_iter()
        .find_map(|name| variable(name).filter(|value| !value.is_empty()));
    let locale = locale.unwrap_or_default().to_string_lossy().to_lowercase();
    let is_utf8 = locale.contains("utf-8") || locale.contains("utf8");
    !is_utf8 || dumb(variable).is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_terminal_shows_more_than_ascii_where_its_locale_is_of_utf_8() {
        for (line, is_ascii) in [
            ("TERM=xterm LANG=en_GB.UTF-8", false),
            ("TERM=xterm LANG=C.utf8", false),
            ("TERM=xterm LC_ALL=C LANG=en_GB.UTF-8", true),
            ("TERM=xterm LC_ALL= LC_CTYPE=C.UTF-8 LANG=C", false),
            ("TERM=xterm LANG=de_DE.ISO-8859-1", true),
            ("TERM=xterm", true),
            ("TERM=dumb LANG=C.UTF-8", true),
            ("LANG=C.UTF-8", true),
        ] {
            let variable = |name: &str| {
                let mut variables = line.split(' ').filter_map(|word| word.split_once('='));
                variables
                    .find(|(other, _)| *other == name)
                    .map(|(_, value)| value.into())
            };
            assert_eq!(is_ascii_by(variable), is_ascii, "{line}");
        }
    }

    #[test]
    fn what_has_no_cursor_is_not_drawn_on() {
        let named = |name: &'static str| dumb(move |_| Some(name.into()));
        assert_eq!(named("dumb").as_deref(), Some("dumb"));
        assert_eq!(dumb(|_| None).as_deref(), Some(""));
        assert_eq!(named("xterm-256color"), None);
    }
}
