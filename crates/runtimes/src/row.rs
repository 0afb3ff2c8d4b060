use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use switchcost_record::{Between, Class, HandoffFacts, printable};

/// A runtime: how it is found, compiled and started, and by what its tasks hand on a token.
///
/// In arguments `{program}` is the program that was found, `{folder}` the folder that it is in, `{source}` the folder of the sources and
/// `{out}` that of what is compiled; in those of the start, and in the environment, `{cpus}` is the number of CPUs.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Row {
    /// Its short name, such as `go`.
    pub name: String,
    /// Its name in text.
    pub title: String,
    /// Programs to look for, in this order: names on the PATH, or paths, in which a `*` stands for a part of one name.
    pub find: Vec<String>,
    /// What prints its version.
    pub version: Vec<String>,
    /// The oldest version that will do.
    pub least: String,
    /// The sources, beside the row.
    pub files: Vec<String>,
    /// What compiles them: the first command that succeeds; none if nothing is compiled.
    #[serde(default)]
    pub build: Vec<Vec<String>>,
    /// What is added to the environment of these, and of what asks for the version.
    #[serde(default)]
    pub build_environment: BTreeMap<String, String>,
    /// Variables of the user's that would act on it and are left out; a `*` at the end stands for any ending.
    #[serde(default)]
    pub left_out: Vec<String>,
    /// What starts the program.
    pub start: Vec<String>,
    /// What is added to its environment.
    #[serde(default)]
    pub environment: BTreeMap<String, String>,
    /// How long it runs before anything counts.
    pub warm_up_ms: u64,
    /// What it may take of memory.
    #[serde(default = "usual_memory")]
    pub most_memory_mib: u64,
    /// What installs it.
    pub install: String,
    /// By what its tasks hand on a token.
    #[serde(rename = "handoff")]
    pub handoffs: Vec<Handoff>,
    /// Where the row and its sources are.
    #[serde(skip)]
    pub(crate) sources: Sources,
}

/// A hand-off of a runtime.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Handoff {
    /// Its short name, such as `channel`.
    pub name: String,
    /// In words, such as `goroutine hand-off over a channel`.
    pub words: String,
    /// Whom the control goes to.
    pub class: Class,
    /// Between tasks in one thread of the kernel's, or between such threads.
    pub between: Between,
    /// What the same task does in the baseline.
    pub baseline: String,
    /// Whether tasks in one thread of the kernel's may also be in several, one for each CPU.
    #[serde(default)]
    pub across_cpus: bool,
    /// Whether the ladder has it with arrays, too: one hand-off of a runtime that walks them fast.
    #[serde(default)]
    pub walks: bool,
    /// Whether it is measured only if its runtime is named.
    #[serde(default)]
    pub aside: bool,
}

/// Where sources are from.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) enum Sources {
    /// Nothing of its own.
    #[default]
    None,
    /// Compiled into this program: names and texts.
    Shipped(&'static [(&'static str, &'static str)]),
    /// A user's folder.
    Folder(PathBuf),
}

/// Why a row cannot be used. Reads well after "failed to plan the measurement: ".
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("found no row of a runtime in {} ({why}), need one as docs/method/runtimes.md has it", path.display())]
pub struct RowError {
    path: PathBuf,
    why: String,
}

const fn usual_memory() -> u64 {
    2048
}

impl Row {
    /// Reads a user's row, whose sources lie beside it.
    ///
    /// # Errors
    /// If the file cannot be read or is no row.
    pub fn read(path: &Path) -> Result<Row, RowError> {
        let refused = |why: String| RowError {
            path: path.to_owned(),
            why: printable(&why),
        };
        let text = std::fs::read_to_string(path).map_err(|error| refused(error.to_string()))?;
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

    /// A program that is given as a command and needs nothing else.
    pub fn of_command(words: Vec<String>) -> Row {
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

    /// Its hand-offs as a record has them.
    pub fn facts(&self) -> Vec<HandoffFacts> {
        let facts = |handoff: &Handoff| HandoffFacts {
            name: handoff.name.clone(),
            words: handoff.words.clone(),
            baseline: handoff.baseline.clone(),
        };
        self.handoffs.iter().map(facts).collect()
    }

    /// Whether it runs in an environment and a folder of ours: not what a user gives as a command.
    pub fn is_in_own_environment(&self) -> bool {
        self.sources != Sources::None
    }

    /// The same, found at this program alone.
    pub fn at(self, program: &str) -> Row {
        Row {
            find: vec![program.to_owned()],
            ..self
        }
    }
}

/// An argument with what stands for the program and the folders.
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
        std::fs::write(&path, good).expect("room");
        let row = Row::read(&path).expect("a row");
        assert_eq!(row.handoffs.len(), row.facts().len());
    }

    #[test]
    fn a_command_is_a_row() {
        let row = Row::of_command(vec!["/opt/my bench".to_owned(), "--x".to_owned()]);
        assert_eq!((row.name.as_str(), row.start.len()), ("my bench", 2));
        assert_eq!(row.handoffs[0].words, "hand-off of my bench");
    }
}
