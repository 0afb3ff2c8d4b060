//! Runs tools of a runtime, such as compilers, in a clean environment and folder, and for a limited
//! time.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::Path;
use std::time::Duration;

use switchcost_host::bounded::{Bounds, Printed, Streams, read};
use switchcost_host::own_environment::{FOLDER, variables};
use switchcost_host::supervisor::{Program, Variables};
use switchcost_record::trust::find_program;

/// A tool of a runtime, such as its compiler.
pub(crate) struct Tool<'a> {
    /// The tool's program and arguments.
    pub(crate) words: Vec<String>,
    /// Environment variables that the runtime's `runtime.toml` adds for the tool.
    pub(crate) added: &'a BTreeMap<String, String>,
    /// Folder for the tool's temporary files.
    pub(crate) temporary: Option<&'a Path>,
}

impl Tool<'_> {
    /// Runs the tool, and returns what it printed to standard output and standard error.
    ///
    /// # Errors
    ///
    /// If the tool is not found or cannot be started, does not end in time, or prints too much.
    pub(crate) fn run(
        mut self,
        longest: Duration,
        should_stop: &dyn Fn() -> bool,
    ) -> Result<Printed, String> {
        if !self.words[0].contains('/') {
            let program = find_program(&self.words[0]).map_err(|why| why.to_string())?;
            self.words[0] = program.to_string_lossy().into_owned();
        }
        let temporary = self
            .temporary
            .map(|folder| ("TMPDIR".into(), folder.into()));
        let environment = environment(self.added)
            .into_iter()
            .chain(temporary)
            .collect();
        let program = Program::new(self.words, environment, Some(Path::new(FOLDER)))
            .map_err(|error| error.to_string())?;
        let bounds = Bounds {
            longest,
            grace: Duration::ZERO,
            should_stop,
        };
        read(program, Streams::Both, &bounds).map_err(|why| why.to_string())
    }
}

/// Returns the environment of a tool: the clean one, with the variables in `added`.
pub(crate) fn environment(added: &BTreeMap<String, String>) -> Variables {
    let added: Variables = added
        .iter()
        .map(|(name, value)| (OsString::from(name), value.into()))
        .collect();
    let mut environment = variables();
    environment.retain(|(name, _)| added.iter().all(|(other, _)| other != name));
    environment.extend(added);
    environment
}

/// Returns the last lines of a text, joined into one line.
pub(crate) fn last_lines(text: &str, most: usize) -> String {
    let lines: Vec<&str> = text
        .lines()
        .filter(|line| !line.trim().is_empty())
        .collect();
    lines[lines.len().saturating_sub(most)..].join(" | ")
}
