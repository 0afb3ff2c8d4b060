use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use switchcost_record::{Between, Class, HandoffFacts, Source, printable};

/// A runtime as its `runtime.toml` describes it: how the runtime is found, compiled and started,
/// and the hand-offs of its tasks.
///
/// In arguments `{program}` is the program that was found, `{folder}` its folder after symbolic
/// links are resolved, `{source}` the folder of the sources and `{out}` that of the compiled files.
/// In the start command and the environment `{cpus}` is the number of CPUs.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Row {
    /// Short name of the runtime, such as `go`.
    pub name: String,
    /// Full name of the runtime.
    pub title: String,
    /// Programs to search for, in this order: names on the PATH, or paths with one `*`, which
    /// matches any part of a name.
    pub find: Vec<String>,
    /// Command that prints the version of the runtime.
    pub version: Vec<String>,
    /// Oldest version that can be used.
    pub least: String,
    /// Names of the source files, in the folder of the `runtime.toml`.
    pub files: Vec<String>,
    /// Commands that compile the sources. The commands are tried in order until one succeeds. Empty
    /// if nothing is compiled.
    #[serde(default)]
    pub build: Vec<Vec<String>>,
    /// Variables that are added to the environment of the commands `build` and `version`.
    #[serde(default)]
    pub build_environment: BTreeMap<String, String>,
    /// Variables of the user that would affect the runtime, and that its program does not get. A
    /// `*` at the end matches any ending.
    #[serde(default)]
    pub left_out: Vec<String>,
    /// Command that starts the program for measurements.
    pub start: Vec<String>,
    /// Variables that are added to the environment of the program.
    #[serde(default)]
    pub environment: BTreeMap<String, String>,
    /// Time for which the program runs before measurements count, in milliseconds.
    pub warm_up_ms: u64,
    /// Limit on the memory of the program in MiB.
    #[serde(default = "usual_memory")]
    pub most_memory_mib: u64,
    /// Command that installs the runtime.
    pub install: String,
    /// Hand-offs that the runtime's tasks support.
    #[serde(rename = "handoff")]
    pub handoffs: Vec<Handoff>,
    /// Place of the sources of the runtime's program.
    #[serde(skip)]
    pub(crate) sources: Sources,
}

/// A way in which tasks of a runtime hand over the CPU.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Handoff {
    /// Short name of the hand-off, such as `channel`.
    pub name: String,
    /// Description of the hand-off, such as `goroutine hand-off over a channel`.
    pub words: String,
    /// Rule by which the runtime chooses the next task.
    pub class: Class,
    /// Kind of tasks: contexts within one OS thread, or OS threads.
    pub between: Between,
    /// Activity of a task in the baseline, in which there is no switch.
    pub baseline: String,
    /// Whether tasks of one OS thread can also be distributed over several OS threads, one per CPU.
    #[serde(default)]
    pub across_cpus: bool,
    /// Whether this hand-off also walks arrays in the comparison of all runtimes (the ladder). A
    /// runtime has at most one such hand-off; its code must walk arrays fast.
    #[serde(default)]
    pub walks: bool,
    /// Whether the hand-off is measured only if the user names its runtime.
    #[serde(default)]
    pub aside: bool,
}

/// Place of the sources of a runtime's program.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) enum Sources {
    /// The runtime has no sources.
    #[default]
    None,
    /// The sources are compiled into this program, each with name and text.
    Shipped(&'static [(&'static str, &'static str)]),
    /// The sources are in a user's folder.
    Folder(PathBuf),
}

/// Why a `runtime.toml` cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the row of a runtime in {} cannot be read ({why}); see docs/method/runtimes.md", path.display())]
pub struct RowError {
    path: PathBuf,
    why: String,
}

const fn usual_memory() -> u64 {
    2048
}

impl Row {
    /// Reads a user's `runtime.toml`, with sources in the same folder.
    ///
    /// # Errors
    ///
    /// If the file cannot be read, or does not describe a runtime.
    pub fn read(path: &Path) -> Result<Row, RowError> {
        let refused = |why: String| RowError {
            path: path.to_owned(),
            why: printable(&why),
        };
        let text = Source::named(path).read_text();
        let text = text.map_err(|error| refused(error.to_string()))?;
        let mut row = Row::parse(&text).map_err(refused)?;
        row.sources = Sources::Folder(path.parent().unwrap_or(Path::new("")).to_owned());
        Ok(row)
    }

    pub(crate) fn parse(text: &str) -> Result<Row, String> {
        let row: Row = toml::from_str(text).map_err(|error| error.message().to_owned())?;
        let is_name = |name: &str| {
            !name.is_empty()
                && name
                    .bytes()
                    .all(|byte| byte.is_ascii_alphanumeric() || b"-.+_".contains(&byte))
        };
        let names = row
            .handoffs
            .iter()
            .map(|handoff| &handoff.name)
            .chain([&row.name])
            .chain(&row.files);
        let is_bad = |name: &&String| !is_name(name) || name.starts_with('.');
        let bad = names.into_iter().find(is_bad).cloned();
        match bad {
            Some(name) => Err(format!("'{name}' is no name of letters and digits")),
            None if row.find.is_empty() || row.handoffs.is_empty() || row.start.is_empty() => {
                Err("no hand-off, or nothing to find and start".to_owned())
            }
            None => Ok(row),
        }
    }

    /// Makes a row for a runtime whose program the user gives as a command. Nothing is searched for
    /// or compiled.
    pub fn from_command(words: Vec<String>) -> Row {
        let program = words.first().map_or("", String::as_str);
        let file = Path::new(program)
            .file_name()
            .map_or(String::new(), |name| name.to_string_lossy().into_owned());
        let name = printable(&file);
        Row {
            title: name.clone(),
            find: Vec::new(),
            version: Vec::new(),
            least: String::new(),
            files: Vec::new(),
            build: Vec::new(),
            build_environment: BTreeMap::new(),
            left_out: Vec::new(),
            environment: BTreeMap::new(),
            warm_up_ms: 200,
            most_memory_mib: usual_memory(),
            install: String::new(),
            handoffs: vec![Handoff {
                name: "hand-off".to_owned(),
                words: format!("hand-off of {name}"),
                class: Class::HandOff,
                between: Between::User,
                baseline: "what the program does when it is asked for itself".to_owned(),
                across_cpus: true,
                walks: true,
                aside: false,
            }],
            start: words,
            name,
            sources: Sources::None,
        }
    }

    /// Returns facts about the hand-offs of the runtime, for the record.
    pub fn facts(&self) -> Vec<HandoffFacts> {
        let facts = |handoff: &Handoff| HandoffFacts {
            name: handoff.name.clone(),
            words: handoff.words.clone(),
            baseline: handoff.baseline.clone(),
        };
        self.handoffs.iter().map(facts).collect()
    }

    /// Whether the program runs in a clean environment and folder. A command of the user runs in
    /// the user's.
    pub fn is_in_own_environment(&self) -> bool {
        self.sources != Sources::None
    }

    /// Makes `program` the only runtime that is searched for.
    pub fn set_program(self, program: &str) -> Row {
        Row {
            find: vec![program.to_owned()],
            ..self
        }
    }
}

/// Returns a word of a command with the placeholders for the program and the folders replaced.
pub(crate) fn filled(word: &str, program: &Path, folder: Option<&Path>) -> String {
    let beside = program.parent().unwrap_or(Path::new(""));
    let real: PathBuf = fs::canonicalize(program).unwrap_or_else(|_| program.to_owned());
    let real = real.parent().unwrap_or(beside);
    let folder = folder.unwrap_or(Path::new("")).display().to_string();
    word.replace("{program}", &program.display().to_string())
        .replace("{folder}", &real.display().to_string())
        .replace("{source}", &folder)
        .replace("{out}", &folder)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_of_a_user_says_what_is_wrong_with_it() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("runtime.toml");
        let said = |text: &str| {
            std::fs::write(&path, text).expect("room");
            Row::read(&path).expect_err("no row").to_string()
        };
        assert!(said("name = 'x'").contains("missing field `title`"));
        let good = include_str!("../runtimes/go/runtime.toml");
        assert!(
            said(&good.replace("handoffs.go\"]", "../go\"]"))
                .contains("'../go' is no name of letters and digits")
        );
        assert!(said(&good.replace("least", "oldest")).contains("unknown field"));
        assert!(
            Row::read(&folder.path().join("none"))
                .expect_err("no file")
                .to_string()
                .contains("No such file")
        );
        assert!(
            Row::read(Path::new("/dev/zero"))
                .expect_err("no end")
                .to_string()
                .contains("file too large")
        );
        std::fs::write(&path, good).expect("room");
        let row = Row::read(&path).expect("a row");
        assert_eq!(row.handoffs.len(), row.facts().len());
    }

    #[test]
    fn a_command_is_a_row() {
        let row = Row::from_command(vec!["/opt/my bench".to_owned(), "--x".to_owned()]);
        assert_eq!((row.name.as_str(), row.start.len()), ("my bench", 2));
        assert_eq!(row.handoffs[0].words, "hand-off of my bench");
    }
}
