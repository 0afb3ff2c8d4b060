//! Compiles the program of a runtime if necessary, in a folder that later runs reuse.

use std::fs;
use std::io;
use std::path::Path;
use std::time::Duration;

use switchcost_host::temporary::{TemporaryFolder, is_noexec};
use switchcost_record::trust::{HeldPath, check_programs, make_folder, make_private};
use switchcost_record::{Source, printable};
use xxhash_rust::xxh3::xxh3_64;

use crate::find::{Found, find};
use crate::row::{Sources, filled};
use crate::tool::{Tool, environment, last_lines};
use crate::{Missing, Row};

/// Longest time for a compiler, including the download of dependencies.
const BUILT_WITHIN: Duration = Duration::from_secs(300);

/// Maximum number of lines of a compiler's output in a message.
const LAST_LINES: usize = 4;

/// A runtime that is ready to be started.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Prepared {
    /// Version as the runtime reports it; empty for a program that the user gave as a command.
    pub version: String,
    /// Path of the runtime, which is a compiler or an interpreter.
    pub program: String,
    /// Command that starts the runtime's program for measurements.
    pub command: Vec<String>,
    /// First runtime of the search that does not work, with the reason; `None` if there is none.
    pub passed_over: Option<String>,
}

/// Finds a runtime, and compiles its program in a folder inside `cache`. There is one folder for
/// each version and source, so a program that has been compiled is reused.
///
/// # Errors
///
/// If the runtime is missing or too old, or its compiler fails.
pub fn prepare(
    row: &Row,
    cache: &Path,
    should_stop: &dyn Fn() -> bool,
) -> Result<Prepared, Missing> {
    if row.sources == Sources::None {
        let program = row.start.first().cloned().unwrap_or_default();
        return Ok(Prepared {
            version: String::new(),
            program,
            command: row.start.clone(),
            passed_over: None,
        });
    }
    let (found, passed_over) = find(row, should_stop)?;
    let files = texts(row)?;
    check_cache(row, cache)?;
    let folder = cache.join(format!("{}-{:016x}", row.name, digest(row, &found, &files)));
    if folder.is_dir() {
        check_programs(&folder).map_err(|why| Missing(why.to_string()))?;
    } else {
        build(row, &found, &files, &folder, should_stop)?;
    }
    let filled = |word: &String| filled(word, &found.program, Some(&folder));
    Ok(Prepared {
        version: found.version.clone(),
        program: found.program.display().to_string(),
        command: row.start.iter().map(filled).collect(),
        passed_over,
    })
}

/// Checks that a program in the folder `cache` could be executed.
fn check_cache(row: &Row, cache: &Path) -> Result<(), Missing> {
    if row.build.is_empty() || !is_noexec(cache) {
        return Ok(());
    }
    Err(Missing(format!(
        "{} is mounted noexec, so the compiled programs cannot run there; set XDG_CACHE_HOME to a folder of another file system",
        cache.display()
    )))
}

/// Returns the names and contents of the source files.
fn texts(row: &Row) -> Result<Vec<(String, String)>, Missing> {
    let read = |folder: &Path, name: &String| {
        let text = Source::listed(folder.join(name)).read_text();
        let text = text.map_err(|error| {
            Missing(format!("{name} of {} cannot be read ({error})", row.title))
        })?;
        Ok((name.clone(), text))
    };
    match &row.sources {
        Sources::None => Ok(Vec::new()),
        Sources::Shipped(files) => Ok(files
            .iter()
            .map(|(name, text)| ((*name).to_owned(), (*text).to_owned()))
            .collect()),
        Sources::Folder(folder) => row.files.iter().map(|name| read(folder, name)).collect(),
    }
}

/// Returns a hash of everything on which the compiled program depends.
fn digest(row: &Row, found: &Found, files: &[(String, String)]) -> u64 {
    let environment = environment(&row.build_environment);
    xxh3_64(format!("{found:?}{files:?}{:?}{environment:?}", row.build).as_bytes())
}

/// Compiles the program in a temporary folder. The folder gets its final name when the program is
/// complete; otherwise the folder is removed.
fn build(
    row: &Row,
    found: &Found,
    files: &[(String, String)],
    folder: &Path,
    should_stop: &dyn Fn() -> bool,
) -> Result<(), Missing> {
    let refused = |error: io::Error| {
        Missing(format!(
            "the compiled program of {} cannot be saved in {} ({error})",
            row.title,
            folder.display()
        ))
    };
    let cache = folder.parent().unwrap_or(Path::new("."));
    make_folder(cache).map_err(refused)?;
    let draft = TemporaryFolder::create_in(cache).map_err(refused)?;
    let [out, temporary] = ["out", "tmp"].map(|name| draft.path().join(name));
    fs::create_dir(&out)
        .and_then(|()| fs::create_dir(&temporary))
        .map_err(refused)?;
    files
        .iter()
        .try_for_each(|(name, text)| fs::write(out.join(name), text))
        .map_err(refused)?;
    compile(row, found, &out, &temporary, should_stop)?;
    make_private(&out).map_err(refused)?;
    // Both paths lead through open descriptors, because another user may have replaced what their
    // names lead to.
    let renamed = HeldPath::found(&out).and_then(|from| fs::rename(from, HeldPath::found(folder)?));
    match renamed {
        Ok(()) => Ok(()),
        // Another run has just compiled the same program.
        Err(_) if folder.is_dir() => Ok(()),
        Err(error) => Err(refused(error)),
    }
}

/// Compiles the sources with the first of the row's commands that succeeds.
fn compile(
    row: &Row,
    found: &Found,
    out: &Path,
    temporary: &Path,
    should_stop: &dyn Fn() -> bool,
) -> Result<(), Missing> {
    let mut failure = None;
    for words in &row.build {
        let words: Vec<String> = words
            .iter()
            .map(|word| filled(word, &found.program, Some(out)))
            .collect();
        let program = words[0].clone();
        let tool = Tool {
            words,
            added: &row.build_environment,
            temporary: Some(temporary),
        };
        match run(tool, should_stop) {
            Ok(()) => return Ok(()),
            Err(why) => failure = Some(format!("{program} failed ({why})")),
        }
    }
    match failure {
        None => Ok(()),
        Some(why) => Err(Missing(format!(
            "{}, so the program of {} cannot be compiled; {}",
            printable(&why),
            row.title,
            row.install
        ))),
    }
}

/// Runs a tool of the build. An error has the reason, and the last lines of the tool's output.
fn run(tool: Tool<'_>, should_stop: &dyn Fn() -> bool) -> Result<(), String> {
    let printed = tool.run(BUILT_WITHIN, should_stop)?;
    match printed.status.success() {
        true => Ok(()),
        false => Err(format!(
            "{}; it printed: {}",
            printed.status,
            last_lines(&printed.text, LAST_LINES)
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns a row for the shell, a runtime that every machine has.
    fn shell(folder: &Path, build: &str) -> Row {
        fs::write(folder.join("program.sh"), "true\n").expect("room");
        let text = include_str!("../runtimes/go/runtime.toml");
        let row = Row::parse(text).expect("a row").set_program("/bin/sh");
        Row {
            name: "shell".to_owned(),
            title: "Shell".to_owned(),
            version: vec![
                "{program}".to_owned(),
                "-c".to_owned(),
                "echo 1.0".to_owned(),
            ],
            least: "1".to_owned(),
            files: vec!["program.sh".to_owned()],
            build: vec![vec![
                "{program}".to_owned(),
                "-c".to_owned(),
                build.to_owned(),
            ]],
            start: vec!["{out}/compiled".to_owned()],
            sources: Sources::Folder(folder.to_owned()),
            ..row
        }
    }

    #[test]
    fn it_is_compiled_once_for_each_source() {
        let [folder, cache] = [(); 2].map(|()| tempfile::tempdir().expect("a folder"));
        let count = folder.path().join("count");
        let row = shell(
            folder.path(),
            &format!(
                "echo x >> {}; cd {{out}}; cp program.sh compiled",
                count.display()
            ),
        );
        let prepared = || prepare(&row, cache.path(), &|| false).expect("a shell");
        let first = prepared();
        assert!(Path::new(&first.command[0]).is_file());
        assert_eq!(prepared(), first);
        fs::write(folder.path().join("program.sh"), "false\n").expect("room");
        assert_ne!(prepared().command, first.command);
        assert_eq!(
            fs::read_to_string(count)
                .expect("two times")
                .lines()
                .count(),
            2
        );
    }

    #[test]
    fn a_compiler_that_fails_is_reported_with_its_last_lines_and_leaves_nothing() {
        let [folder, cache] = [(); 2].map(|()| tempfile::tempdir().expect("a folder"));
        let row = shell(
            folder.path(),
            "seq 9; echo '\u{1b}no such type' >&2; exit 3",
        );
        let message = prepare(&row, cache.path(), &|| false)
            .expect_err("it fails")
            .to_string();
        assert!(
            message.starts_with(
                "/bin/sh failed (exit status: 3; it printed: 7 | 8 | 9 | \\u{1b}no such type), so the program of"
            ),
            "{message}"
        );
        assert_eq!(fs::read_dir(cache.path()).expect("a folder").count(), 0);
    }
}
