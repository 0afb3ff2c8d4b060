//! Finds an installed runtime that is new enough.

use std::path::{Path, PathBuf};
use std::time::Duration;

use switchcost_record::printable;
use switchcost_record::trust::{check_for_root, is_executable, search_path};

use crate::row::filled;
use crate::tool::{Tool, last_lines};
use crate::{Missing, Row};

/// Longest time for a runtime to print its version. A virtual machine on a busy host takes a few
/// seconds.
const VERSION_WITHIN: Duration = Duration::from_secs(20);

/// A runtime that was found, with the version that it prints.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Found {
    pub(crate) program: PathBuf,
    pub(crate) version: String,
}

/// Returns the first runtime of the search that is new enough and works. Also returns the first
/// runtime that does not work, with the reason, if there is one.
pub(crate) fn find(
    row: &Row,
    should_stop: &dyn Fn() -> bool,
) -> Result<(Found, Option<String>), Missing> {
    let mut too_old = None;
    let mut broken = None;
    for program in row.find.iter().flat_map(|pattern| candidates(pattern)) {
        check_for_root(&program).map_err(|why| Missing(why.to_string()))?;
        match version(row, &program, should_stop) {
            Ok(version) if is_at_least(&version, &row.least) => {
                return Ok((Found { program, version }, broken));
            }
            Ok(version) => {
                too_old = too_old.or(Some(format!(
                    "this is {} {version} ({})",
                    row.title,
                    program.display()
                )))
            }
            Err(why) => {
                broken = broken.or(Some(format!(
                    "{} prints no version ({why})",
                    program.display()
                )))
            }
        }
    }
    let found = too_old
        .or(broken)
        .unwrap_or_else(|| format!("{} is not there", row.find.join(" or ")));
    let (title, least) = (&row.title, &row.least);
    Err(Missing(format!(
        "{}, and {title} {least} or newer is needed; {}",
        printable(&found),
        row.install
    )))
}

/// Returns the program on the PATH whose name is `pattern`, or the files that match `pattern` if it
/// contains a slash. The last file by name comes first, because that is usually the newest.
fn candidates(pattern: &str) -> Vec<PathBuf> {
    if !pattern.contains('/') {
        let path = std::env::var_os("PATH").unwrap_or_default();
        // The program is run in other folders, too.
        let found = search_path(&path, pattern.as_ref());
        return found
            .and_then(|file| std::path::absolute(file).ok())
            .into_iter()
            .collect();
    }
    // The first component of an absolute path replaces this folder.
    let mut found = vec![std::env::current_dir().unwrap_or_default()];
    for part in Path::new(pattern).components() {
        let part = part.as_os_str().to_string_lossy();
        found = match part.split_once('*') {
            None => found
                .into_iter()
                .map(|folder| folder.join(part.as_ref()))
                .collect(),
            Some((begin, end)) => found
                .iter()
                .flat_map(|folder| matching(folder, begin, end))
                .collect(),
        };
    }
    found.retain(|file| is_executable(file));
    found
}

fn matching(folder: &Path, begin: &str, end: &str) -> Vec<PathBuf> {
    let names = std::fs::read_dir(folder)
        .into_iter()
        .flatten()
        .filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    let mut names: Vec<String> = names
        .filter(|name| name.starts_with(begin) && name.ends_with(end))
        .collect();
    names.sort_unstable_by_key(|name| std::cmp::Reverse(numbers(name)));
    names.into_iter().map(|name| folder.join(name)).collect()
}

/// Returns the version of a runtime: the first number with a point that it prints to standard
/// output or standard error, or else the first number.
fn version(row: &Row, program: &Path, should_stop: &dyn Fn() -> bool) -> Result<String, String> {
    let words: Vec<String> = row
        .version
        .iter()
        .map(|word| filled(word, program, None))
        .collect();
    if words.is_empty() {
        return Err("no command asks for it".to_owned());
    }
    let tool = Tool {
        words,
        added: &row.build_environment,
        temporary: None,
    };
    let printed = tool.run(VERSION_WITHIN, should_stop)?;
    let found = printed
        .status
        .success()
        .then(|| number(&printed.text))
        .flatten();
    found.ok_or_else(|| match last_lines(&printed.text, 1) {
        last if last.is_empty() => printed.status.to_string(),
        last => last.chars().take(80).collect(),
    })
}

fn number(text: &str) -> Option<String> {
    let words = || {
        text.split(|letter: char| !(letter.is_ascii_digit() || letter == '.'))
            .map(|word| word.trim_matches('.'))
    };
    let found = words()
        .find(|word| word.contains('.'))
        .or_else(|| words().find(|word| !word.is_empty()));
    found.map(str::to_owned)
}

/// Returns the numbers of a version, the most significant first.
fn numbers(version: &str) -> Vec<u64> {
    version
        .split(|letter: char| !letter.is_ascii_digit())
        .filter_map(|number| number.parse().ok())
        .collect()
}

fn is_at_least(version: &str, least: &str) -> bool {
    numbers(version) >= numbers(least)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_compared_number_by_number() {
        for (version, least, is_enough) in [
            ("1.26.8", "1.18", true),
            ("1.9", "1.18", false),
            ("21", "21", true),
            ("17.0.15", "21", false),
            ("25.0.1", "21", true),
        ] {
            assert_eq!(is_at_least(version, least), is_enough, "{version} {least}");
        }
    }

    fn row(folder: &Path, script: &str) -> Row {
        use std::os::unix::fs::PermissionsExt;
        let program = folder.join("lang-2.10");
        std::fs::write(&program, format!("#!/bin/sh\n{script}\n")).expect("room");
        std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).expect("ours");
        let row = crate::shipped()
            .into_iter()
            .find(|row| row.name == "go")
            .expect("shipped");
        Row {
            title: "Lang".to_owned(),
            least: "2.9".to_owned(),
            ..row.set_program(&format!("{}/lang-*", folder.display()))
        }
    }

    #[test]
    fn a_runtime_that_is_missing_too_old_or_mute_is_reported_by_name_with_what_installs_it() {
        let folder = tempfile::tempdir().expect("a folder");
        let outcome = |script: &str| {
            find(&row(folder.path(), script), &|| false)
                .map(|(found, _)| found)
                .map_err(|missing| missing.to_string())
        };
        assert_eq!(
            outcome("echo Lang 2.10.3 >&2").map(|found| found.version),
            Ok("2.10.3".to_owned())
        );
        let old = outcome("echo lang version 2.8").expect_err("too old");
        assert!(
            old.starts_with("this is Lang 2.8 (/")
                && old.contains("Lang 2.9 or newer is needed; sudo apt install golang-go"),
            "{old}"
        );
        assert!(
            outcome("echo none")
                .expect_err("mute")
                .contains("lang-2.10 prints no version (none)")
        );
        let broken =
            outcome("echo line 7 of 2.10; echo no such library >&2; exit 3").expect_err("broken");
        assert!(
            broken.contains("lang-2.10 prints no version (no such library)"),
            "{broken}"
        );
        let none = find(
            &row(folder.path(), "").set_program("no-such-language"),
            &|| false,
        )
        .expect_err("none")
        .to_string();
        assert!(
            none.starts_with("no-such-language is not there, and Lang 2.9 or newer is needed; "),
            "{none}"
        );
    }

    #[test]
    fn a_relative_path_begins_in_the_working_folder() {
        let folder = tempfile::tempdir_in(".").expect("a folder");
        row(folder.path(), "");
        let name = folder.path().file_name().expect("a name").to_string_lossy();
        let here = std::env::current_dir().expect("a folder");
        let program = here.join(&*name).join("lang-2.10");
        for pattern in [format!("{name}/lang-2.10"), format!("./{name}/lang-*")] {
            assert_eq!(candidates(&pattern), [&*program], "{pattern}");
        }
    }

    #[test]
    fn a_program_that_does_not_work_is_passed_over_and_named() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().expect("a folder");
        let newer = folder.path().join("lang-2.11");
        let row = row(folder.path(), "echo Lang 2.10.3");
        std::fs::write(&newer, "#!/bin/sh\necho no such library; exit 3\n").expect("room");
        std::fs::set_permissions(&newer, std::fs::Permissions::from_mode(0o755)).expect("ours");
        let (found, passed_over) = find(&row, &|| false).expect("the older one");
        assert_eq!(found.version, "2.10.3");
        let expected = format!("{} prints no version (no such library)", newer.display());
        assert_eq!(passed_over, Some(expected));
    }

    /// Shows that a version is read in a folder and an environment of the program's own, although
    /// cargo sets variables for this test.
    #[test]
    fn a_version_is_asked_in_a_folder_and_an_environment_of_ours() {
        assert!(std::env::var_os("CARGO_MANIFEST_DIR").is_some());
        let folder = tempfile::tempdir().expect("a folder");
        let script = "[ \"$PWD$CARGO_MANIFEST_DIR\" = / ] && [ -n \"$PATH\" ] && echo 2.10";
        let found = find(&row(folder.path(), script), &|| false).map(|(found, _)| found.version);
        assert_eq!(
            found.map_err(|missing| missing.to_string()),
            Ok("2.10".to_owned())
        );
    }
}
