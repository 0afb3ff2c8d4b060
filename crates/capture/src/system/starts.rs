//! Finds the names of programs that other programs start: interpreters after `#!`, and programs
//! named in shell text.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use crate::command::Command;

/// Shells. The programs that a shell starts are found by their names in its script.
const SHELLS: [&str; 6] = ["sh", "bash", "dash", "ash", "ksh", "zsh"];
/// Programs that start the program named by their arguments.
const STARTERS: [&str; 11] = [
    "env", "nice", "timeout", "time", "taskset", "chrt", "stdbuf", "setsid", "nohup", "xargs",
    "ionice",
];

/// Content of a script's first line, `#!`.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct FirstLine {
    pub(super) interpreter: PathBuf,
    /// Program that the interpreter finds in `PATH`, as in `#!/usr/bin/env python3`; `None` if
    /// there is none.
    pub(super) by_name: Option<String>,
}

/// Parses the first line of a file. Returns `None` if the file is not a script, or if the line
/// names no interpreter.
pub(super) fn first_line(start: &[u8]) -> Option<FirstLine> {
    let line = start
        .strip_prefix(b"#!")?
        .split(|&byte| byte == b'\n')
        .next()?;
    let mut words = line
        .split(u8::is_ascii_whitespace)
        .filter(|word| !word.is_empty());
    let interpreter = Path::new(OsStr::from_bytes(words.next()?)).to_owned();
    let is_name = |word: &&[u8]| !word.starts_with(b"-") && !word.contains(&b'=');
    let by_name = if name_of(&interpreter) == "env" {
        words.find(is_name)
    } else {
        None
    };
    Some(FirstLine {
        interpreter,
        by_name: by_name.map(|name| String::from_utf8_lossy(name).into_owned()),
    })
}

pub(super) fn is_shell(program: &Path) -> bool {
    SHELLS.contains(&name_of(program))
}

/// Returns the names of programs that a command may start besides its own.
pub(super) fn find_in_command(command: &Command) -> Vec<String> {
    let Some((program, arguments)) = command.words.split_first() else {
        return Vec::new();
    };
    let program = Path::new(program);
    let arguments = arguments.iter().map(|word| word.to_string_lossy());
    if STARTERS.contains(&name_of(program)) {
        return arguments.flat_map(|word| find_in_text(&word)).collect();
    }
    // The text after -c, and the arguments that a shell passes on, may name programs. A path is no
    // name of a program in `PATH`.
    if is_shell(program) {
        arguments.flat_map(|word| find_in_text(&word)).collect()
    } else {
        Vec::new()
    }
}

/// Returns the words of shell text that may be names of programs. Comments are skipped.
pub(super) fn find_in_text(text: &str) -> Vec<String> {
    let is_part = |c: char| c.is_ascii_alphanumeric() || "_-.+/[".contains(c);
    let lines = text
        .lines()
        .filter(|line| !line.trim_start().starts_with('#'));
    let words = lines
        .flat_map(|line| line.split(|c: char| !is_part(c)))
        .filter(|word| !word.is_empty());
    words
        .filter(|word| !word.contains('/') && !word.starts_with('-'))
        .map(str::to_owned)
        .collect()
}

fn name_of(program: &Path) -> &str {
    program
        .file_name()
        .and_then(OsStr::to_str)
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_first_line_says_who_runs_the_script() {
        let of = |line: &str| {
            let found = first_line(line.as_bytes())?;
            Some((found.interpreter.display().to_string(), found.by_name))
        };
        let named = |path: &str, name: &str| Some((path.to_owned(), Some(name.to_owned())));
        assert_eq!(
            of("#! /bin/sh -e\necho"),
            Some(("/bin/sh".to_owned(), None))
        );
        assert_eq!(
            of("#!/usr/bin/env python3\nimport sys"),
            named("/usr/bin/env", "python3")
        );
        assert_eq!(
            of("#!/usr/bin/env -S LC_ALL=C perl -w\n"),
            named("/usr/bin/env", "perl")
        );
        assert_eq!(of("#!\n"), None);
        assert_eq!(of("\x7fELF"), None);
    }

    #[test]
    fn a_shell_starts_what_its_text_names() {
        let by = |words: &[&str]| find_in_command(&Command::new(words.iter().copied()));
        let names = by(&["sh", "-c", "# sort of\nseq 1 9 | sort -rn >/tmp/x && wc"]);
        assert!(
            ["seq", "sort", "wc"]
                .iter()
                .all(|name| names.iter().any(|one| one == name)),
            "{names:?}"
        );
        assert!(
            !names.iter().any(|one| one == "of" || one.contains('x')),
            "{names:?}"
        );
        assert_eq!(by(&["timeout", "5", "gzip"]), ["5", "gzip"]);
        assert!(by(&["grep", "make", "file"]).is_empty());
    }
}
