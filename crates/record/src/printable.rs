use std::borrow::Cow;
use std::ffi::OsStr;
use std::fmt::Display;
use std::os::unix::ffi::OsStrExt;

/// Returns untrusted text in a form that is safe to print on one line of a terminal. Control
/// characters, and marks that reverse the order of text, become Rust escapes such as `\n` and
/// `\u{1b}`.
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

/// Returns untrusted text in a form that is safe to print on one line of a terminal. Line breaks
/// and tabs become spaces. Other control characters, and marks that reverse the order of text, are
/// removed.
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

/// Formats a file name as one argument of a shell command, safe to print. The name is quoted if a
/// shell would interpret it, and preceded by `./` if it begins with a hyphen. Control characters
/// and invalid UTF-8 are escaped inside `$'...'`, which bash, ksh and zsh understand.
pub fn as_argument(name: impl AsRef<OsStr>) -> String {
    let name = name.as_ref().as_bytes();
    let file = if name.starts_with(b"-") {
        [b"./", name].concat()
    } else {
        name.to_vec()
    };
    let text = std::str::from_utf8(&file)
        .ok()
        .filter(|text| text.chars().all(is_printable));
    let quoted = text.and_then(|text| shlex::try_quote(text).ok());
    quoted.map_or_else(|| escaped(&file), Cow::into_owned)
}

fn escaped(name: &[u8]) -> String {
    let of_byte = |byte: &u8| match byte {
        b'\'' | b'\\' => format!("\\{}", char::from(*byte)),
        b' '..=b'~' => char::from(*byte).to_string(),
        // Always three octal digits, so that a following digit is not taken as a part of the
        // escape.
        _ => format!("\\{byte:03o}"),
    };
    format!("$'{}'", name.iter().map(of_byte).collect::<String>())
}

/// Replaces the space after each semicolon of a name by a no-break space, so that the semicolon
/// does not separate an error from its hint in [`split_hint`].
pub fn bind_semicolons(name: impl Display) -> String {
    name.to_string().replace("; ", ";\u{a0}")
}

/// Splits an error's text into the error and the hint after the last semicolon; `None` without a
/// semicolon. Semicolons protected by [`bind_semicolons`] are restored.
pub fn split_hint(text: &str) -> (String, Option<String>) {
    let (wrong, hint) = match text.rsplit_once("; ") {
        Some((wrong, hint)) => (wrong, Some(hint)),
        None => (text, None),
    };
    let unbind = |text: &str| text.replace(";\u{a0}", "; ");
    (unbind(wrong), hint.map(unbind))
}

/// Removes the numbers of system errors, such as ` (os error 2)`, from the text.
pub fn strip_error_numbers(text: &str) -> String {
    let mut parts = text.split(" (os error ");
    let mut kept = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        kept += part.split_once(')').map_or("", |(_, rest)| rest);
    }
    kept
}

/// Whether a character is safe to print: no control character, line break, or mark that reverses
/// the order of text.
pub fn is_printable(c: char) -> bool {
    let turns_text = matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    !c.is_control() && !turns_text
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    #[test]
    fn a_semicolon_of_a_name_parts_no_error_from_its_hint() {
        let name = "a; b;  c; ";
        let text = format!("{name} is damaged; read {}", bind_semicolons(name));
        assert_eq!(
            split_hint(&text),
            (
                "a; b;  c;  is damaged".to_owned(),
                Some(format!("read {name}"))
            )
        );
        assert_eq!(split_hint("no hint"), ("no hint".to_owned(), None));
    }

    #[test]
    fn a_system_error_keeps_its_name_alone() {
        assert_eq!(
            strip_error_numbers("a: No such file or directory (os error 2); b"),
            "a: No such file or directory; b"
        );
        assert_eq!(strip_error_numbers("no error"), "no error");
    }

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

    /// Returns a shell's reading of the argument; `None` if that shell is not installed.
    fn read_by(shell: &str, argument: &str) -> Option<Vec<u8>> {
        let script = format!("printf %s {argument}");
        let output = Command::new(shell).args(["-c", &script]).output().ok()?;
        assert!(
            output.status.success(),
            "{script}: {}",
            String::from_utf8_lossy(&output.stderr)
        );
        Some(output.stdout)
    }

    #[test]
    fn a_name_is_one_argument_that_names_the_same_file() {
        for (name, argument) in [
            (
                "runs/2026-11-24T20-45-31-1-measure.jsonl",
                "runs/2026-11-24T20-45-31-1-measure.jsonl",
            ),
            ("my run.jsonl", "'my run.jsonl'"),
            ("two  blanks; rm $HOME `id`", "'two  blanks; rm $HOME `id`'"),
            ("it's", "\"it's\""),
            ("~/a*", "'~/a*'"),
            ("-o", "./-o"),
            ("", "''"),
            ("Größe 工", "'Größe 工'"),
        ] {
            assert_eq!(as_argument(name), argument);
            let wanted = if name == "-o" { "./-o" } else { name };
            assert_eq!(
                read_by("sh", argument).expect("a shell"),
                wanted.as_bytes(),
                "{argument}"
            );
        }
    }

    #[test]
    fn a_name_that_commands_a_terminal_is_escaped_and_still_names_its_file() {
        for (name, argument) in [
            (&b"\x1b[2J.jsonl"[..], r"$'\033[2J.jsonl'"),
            (b"two\nlines", r"$'two\012lines'"),
            (b"\x077 it's \\", r"$'\0077 it\'s \\'"),
            (b"no text \xff", r"$'no text \377'"),
            (
                "\u{9b}2J\u{202e}x".as_bytes(),
                r"$'\302\2332J\342\200\256x'",
            ),
            (b"-\x1b", r"$'./-\033'"),
        ] {
            assert_eq!(as_argument(OsStr::from_bytes(name)), argument);
            assert!(argument.chars().all(is_printable));
            let wanted = if name[0] == b'-' {
                [b"./", name].concat()
            } else {
                name.to_vec()
            };
            match read_by("bash", argument) {
                Some(read) => assert_eq!(read, wanted, "{argument}"),
                None => eprintln!("skipped: no bash to read {argument}"),
            }
        }
    }

    #[test]
    fn text_of_anybody_commands_no_terminal_and_forges_no_line() {
        assert_eq!(
            printable("\u{1b}[2J a\u{9b}b\u{202e}c\n"),
            "\\u{1b}[2J a\\u{9b}b\\u{202e}c\\n"
        );
        assert_eq!(
            printable("\r\t\u{7}\u{7f}\u{61c}\u{2067}"),
            "\\r\\t\\u{7}\\u{7f}\\u{61c}\\u{2067}"
        );
        assert_eq!(
            printable("Größe 工 🦀 'it''s' \\"),
            "Größe 工 🦀 'it''s' \\"
        );
    }
}
