//! A subcommand under attack, and checks of the files that it makes.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use serde::Deserialize;

use crate::place::Place;
use crate::run::Run;
use crate::whole::Whole;

/// Endings of a complete result.
const ENDS: [&[u8]; 2] = [b"\n", b"</html>"];

/// A subcommand under attack: its command line, the files that it makes, and its limits.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Verb {
    pub(crate) name: String,
    pub(crate) words: Vec<String>,
    pub(crate) makes: BTreeMap<String, Made>,
    pub(crate) lasts_ms: u64,
    #[serde(default)]
    pub(crate) also: Vec<i32>,
    #[serde(default)]
    pub(crate) captures: bool,
    #[serde(default)]
    pub(crate) terminal: bool,
    pub(crate) memory_mib: Option<u64>,
}

/// Kind of file that a subcommand makes, which determines what may remain of the file after a stop.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Made {
    Result,
    Reading,
    Record,
    Trace,
}

impl Verb {
    pub(crate) fn run<'a>(&'a self, place: &'a Place) -> Run<'a> {
        Run {
            memory_mib: self.memory_mib,
            is_on_terminal: self.terminal,
            ..Run::new(place, &self.words)
        }
    }

    /// Returns true if docs/reference.md allows this exit code for the subcommand.
    pub(crate) fn may_end_with(&self, code: i32) -> bool {
        matches!(code, 0 | 1 | 2 | 3 | 5) || self.also.contains(&code)
    }

    /// Returns the result of an undisturbed run, or the reason why the subcommand does not run in
    /// this place. A subcommand is run only once for each place.
    pub(crate) fn whole(&self, place: &Place) -> Result<Whole, String> {
        let known = place.wholes.borrow().get(&self.name).cloned();
        known.unwrap_or_else(|| {
            let whole = self.run_unhindered(place);
            place
                .wholes
                .borrow_mut()
                .insert(self.name.clone(), whole.clone());
            whole
        })
    }

    fn run_unhindered(&self, place: &Place) -> Result<Whole, String> {
        place.clear();
        let ran = self.run(place).whole();
        let last = ran.stderr.lines().last().unwrap_or_default().to_owned();
        let code = ran
            .code()
            .filter(|code| matches!(code, 0 | 3 | 4 | 6) || self.also.contains(code))
            .ok_or_else(|| format!("{} does not run here: {last}", self.name))?;
        let read = |name: &String| Some((name.clone(), fs::read(place.made(name)).ok()?));
        let files: BTreeMap<_, _> = self.makes.keys().filter_map(read).collect();
        place.clear();
        match files.len() == self.makes.len() {
            true => Ok(Whole {
                code,
                files,
                is_same_text: true,
                is_visible: true,
            }),
            false => Err(format!("{} makes no file here: {last}", self.name)),
        }
    }

    /// Checks that the files made by a run are valid, and that no other file was made. After
    /// success all files must exist, unless they are in a private mount ([`Whole::hidden`]).
    pub(crate) fn check_made(
        &self,
        place: &Place,
        whole: &Whole,
        has_succeeded: bool,
    ) -> Result<(), String> {
        for (name, made) in &self.makes {
            match fs::read(place.made(name)) {
                Ok(found) => check(place, &place.made(name), *made, &found, whole.text(name))?,
                Err(_) if has_succeeded && whole.is_visible => {
                    return Err(format!("it succeeded, and there is no {name}"));
                }
                Err(_) => {}
            }
        }
        let entries = fs::read_dir(place.made(""))
            .map_err(|error| error.to_string())?
            .flatten();
        let names = entries.map(|entry| entry.file_name().to_string_lossy().into_owned());
        let foreign: Vec<String> = names
            .filter(|name| !self.makes.contains_key(name))
            .collect();
        if foreign.is_empty() {
            Ok(())
        } else {
            Err(format!("left behind: {foreign:?}"))
        }
    }
}

fn check(
    place: &Place,
    path: &Path,
    made: Made,
    found: &[u8],
    whole: Option<&[u8]>,
) -> Result<(), String> {
    let half = || {
        Err(format!(
            "half a result of {} bytes in {}",
            found.len(),
            path.display()
        ))
    };
    match made {
        Made::Result if whole.is_some_and(|whole| found != whole) => half(),
        Made::Result | Made::Reading if !ENDS.iter().any(|end| found.ends_with(end)) => half(),
        Made::Result | Made::Reading => Ok(()),
        // A program that was stopped before its first line leaves an empty file.
        Made::Record | Made::Trace if found.is_empty() => Ok(()),
        Made::Record => is_read(place, &["report"], path),
        Made::Trace => is_read(place, &["trace", "info"], path),
    }
}

/// Checks that a subcommand can read a file. A file that was cut off may have a damaged end, which
/// the subcommand may report.
fn is_read(place: &Place, verb: &[&str], path: &Path) -> Result<(), String> {
    let mut words: Vec<String> = verb.iter().map(|&word| word.to_owned()).collect();
    words.push(path.display().to_string());
    let ran = Run::new(place, &words).whole();
    let is_cut = ran.code() == Some(5) && ran.stdout.contains(" can be used");
    match ran.code() {
        Some(0 | 3) => Ok(()),
        _ if is_cut => Ok(()),
        _ => Err(format!(
            "{} cannot be read: {}",
            path.display(),
            ran.reported()
        )),
    }
}

/// Returns the subcommand with this name; an error if there is none.
pub(crate) fn named<'a>(verbs: &'a [Verb], name: &str) -> Result<&'a Verb, String> {
    verbs
        .iter()
        .find(|verb| verb.name == name)
        .ok_or_else(|| format!("found the verb {name}, need one of tables/verbs.toml"))
}
