//! Runs each step in a separate process, with exactly the command that the report shows.

use std::cell::Cell;
use std::ffi::OsString;
use std::io;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::process::ExitStatus;
use std::time::{Duration, Instant};

use switchcost_analysis::simulation::Options;
use switchcost_host::bounded::{self, Bounds, Unfinished};
use switchcost_host::supervisor::Program;
use switchcost_host::task::own_program;
use switchcost_host::temporary::TemporaryFolder;
use switchcost_programs::{FLAGS, PrepareError, compile};
use switchcost_record::trust::{find_program, open_listed};
use switchcost_record::{MeasureRecord, Source};
use switchcost_report::reproduce::Command;
use switchcost_reproduce::{Records, Step};

use super::folder::{Folder, fresh};
use crate::exit::Outcome;
use crate::messages::say;
use crate::records::simulation;
use crate::signals::Interrupt;

/// Returns the command line of a step in the form in which a user would type it. It runs in the
/// folder of the site, after the commands of the preceding steps. A C program is named relative to
/// the source tree.
pub(super) fn line(step: &Step) -> String {
    let program = step.source.map(|(path, _)| {
        let flags = FLAGS.join(" ");
        format!("gcc {flags} crates/reproduce/src/{path} && ./a.out")
    });
    let watcher = step.watched_by.iter().map(String::as_str);
    let words = watcher
        .chain([program.as_deref().unwrap_or("switchcost")])
        .chain(step.arguments.iter().map(String::as_str));
    words.collect::<Vec<_>>().join(" ")
}

/// Returns the identity of a step's record: the step's command line, after the command lines of the
/// steps whose output it reads.
fn made_by(step: &Step, steps: &[Step]) -> String {
    let inputs = steps
        .iter()
        .filter(|other| other.name != step.name && step.reads(&other.name));
    inputs
        .chain([step])
        .map(line)
        .collect::<Vec<_>>()
        .join("\n")
}

/// Time for a step to finish its record after it was asked to stop.
const GRACE: Duration = Duration::from_millis(200);

pub(super) struct Runner<'a> {
    folder: &'a Folder,
    interrupt: &'a Interrupt,
    /// Number of steps that were run, and their total time.
    ran: Cell<(u32, Duration)>,
}

impl<'a> Runner<'a> {
    pub(super) fn new(folder: &'a Folder, interrupt: &'a Interrupt) -> Self {
        Runner {
            folder,
            interrupt,
            ran: Cell::default(),
        }
    }

    /// Runs each step that has no record of the same command, and reads the records of all steps.
    pub(super) fn run_all(&self, steps: &[Step]) -> Outcome<(Records, Vec<Command>)> {
        let mut records = Records::default();
        let mut commands = Vec::new();
        for (number, step) in steps.iter().enumerate() {
            let outcome = self
                .one(
                    step,
                    &made_by(step, steps),
                    (number + 1, steps.len()),
                    has_inputs(step, &commands),
                )
                .and_then(|path| load(&mut records, step, &path));
            self.hear(&mut records, step);
            if let Err(why) = &outcome {
                records.add_missing(&step.name, why.clone());
            }
            commands.push(Command {
                step: step.name.clone(),
                line: line(step),
                missing: outcome.err(),
            });
        }
        Ok((records, commands))
    }

    /// Returns the path of the record of step `number` of `of`, after running the step if needed;
    /// an error with the reason if there is no record. `has_inputs` is an error if the step reads a
    /// file that could not be made.
    fn one(
        &self,
        step: &Step,
        made_by: &str,
        (number, of): (usize, usize),
        has_inputs: Result<(), String>,
    ) -> Result<PathBuf, String> {
        let path = self.folder.record(step);
        if self.folder.has(step, made_by) {
            say!("step {number} of {of}: {} is there", path.display());
            return Ok(path);
        }
        if self.interrupt.is_raised() {
            return Err("stopped before it was run".to_owned());
        }
        has_inputs?;
        say!(
            "step {number} of {of}{}: {}",
            self.time_left(of + 1 - number),
            line(step)
        );
        let begun = Instant::now();
        let draft = self.folder.draft(step);
        // Records of a stopped run, or of another command, are renamed, so that they are not lost
        // and not used for this step.
        for old in [&path, &draft] {
            if old.exists() {
                std::fs::rename(old, self.folder.stopped(step))
                    .map_err(|error| error.to_string())?;
            }
        }
        // A trace that the step keeps belongs to the record that was renamed, and would occupy the
        // name.
        let _ = std::fs::remove_file(self.folder.trace(step));
        let status = self
            .status(step)
            .map_err(|why| format!("it cannot be run ({why})"))?;
        let (steps, time) = self.ran.get();
        self.ran.set((steps + 1, time + begun.elapsed()));
        // Exit code 3 is a partial success: the record says what could not be measured.
        if !(status.success() || status.code() == Some(3)) {
            return Err(format!(
                "ended with {status}; to see why, run: {}",
                line(step)
            ));
        }
        std::fs::rename(&draft, &path).map_err(|error| format!("left no record ({error})"))?;
        self.folder
            .note_command(step, made_by)
            .map_err(|error| format!("left no note of its command ({error})"))?;
        Ok(path)
    }

    /// Estimates the remaining time, as if the remaining steps took as long on average as the steps
    /// so far.
    fn time_left(&self, steps: usize) -> String {
        let (ran, time) = self.ran.get();
        if ran == 0 {
            return String::new();
        }
        let left = time / ran * u32::try_from(steps).unwrap_or(u32::MAX);
        format!(" (about {} min left)", left.as_secs().div_ceil(60))
    }

    fn status(&self, step: &Step) -> Result<ExitStatus, Unfinished> {
        let printed = fresh(&self.folder.printed(step))?;
        let placed = |word: &String| self.placed(step, word);
        let mut words: Vec<OsString> = step.watched_by.iter().map(placed).collect();
        if let Some(watcher) = step.watched_by.first() {
            words[0] = find_program(watcher)?.into();
        }
        let folder = step.source.map(|(_, text)| translate(text)).transpose()?;
        words.push(match &folder {
            Some(folder) => folder.path().join("program").into(),
            None => own_program().into(),
        });
        words.extend(step.arguments.iter().map(placed));
        let program = Program::new(words, std::env::vars_os().collect(), None)?;
        let bounds = Bounds {
            longest: Duration::MAX,
            grace: GRACE,
            should_stop: &|| self.interrupt.is_raised(),
        };
        let errors = io::stderr().as_fd().try_clone_to_owned()?;
        bounded::run(program, printed.into(), errors, &bounds)
    }

    /// Returns a word of a step's command. A word that names a file becomes the file's path, or the
    /// draft's path for the file that the step writes. Other words remain as they are.
    fn placed(&self, step: &Step, word: &str) -> OsString {
        if word == step.output() {
            self.folder.draft(step).into()
        } else if word.starts_with("records/") {
            self.folder.file(word).into()
        } else {
            word.into()
        }
    }

    /// Reads the output of the program that watched a step.
    fn hear(&self, records: &mut Records, step: &Step) {
        if !step.watched_by.is_empty() {
            let path = self.folder.words(step);
            match open_listed(&path).and_then(io::read_to_string) {
                Ok(words) => records.add_text(&step.name, words),
                Err(error) => records.add_missing(
                    &step.name,
                    format!("{} said nothing ({error})", step.watched_by[0]),
                ),
            }
        }
    }
}

/// Compiles a C program, as `program` in a folder that exists until the result is dropped.
fn translate(source: &str) -> io::Result<TemporaryFolder> {
    let folder = TemporaryFolder::create_in(&std::env::temp_dir())?;
    std::fs::write(folder.path().join("program.c"), source)?;
    let compiled = compile(folder.path(), "program").map_err(PrepareError::Static);
    compiled.map_err(io::Error::other).map(|()| folder)
}

/// Checks that the files that this step reads were written; an error with the reason if not.
fn has_inputs(step: &Step, done: &[Command]) -> Result<(), String> {
    let mut inputs = done.iter().filter(|command| step.reads(&command.step));
    match inputs.find_map(|command| Some((&command.step, command.missing.as_ref()?))) {
        Some((input, why)) => Err(format!("its input {input} is missing: {why}")),
        None => Ok(()),
    }
}

fn load(records: &mut Records, step: &Step, path: &Path) -> Result<(), String> {
    match step.ending() {
        "jsonl" => {
            let record =
                MeasureRecord::read(Source::listed(path)).map_err(|error| error.to_string())?;
            let findings = switchcost_analysis::analyse(&record);
            records.add_measured(&step.name, record, findings);
        }
        "parquet" => {
            let (head, findings) = simulation(Source::listed(path), Options::default())
                .map_err(|error| error.to_string())?;
            records.add_simulated(&step.name, head, findings);
        }
        "json" => {
            let text = open_listed(path).and_then(io::read_to_string);
            records.add_text(&step.name, text.map_err(|error| error.to_string())?);
        }
        // A trace is read by later steps, not here.
        _ => (),
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_reads_a_trace_that_is_missing_is_not_run() {
        let step = Step {
            name: "michigan-simulated-8KiB".to_owned(),
            arguments: vec!["records/michigan-walks-8KiB.sct".to_owned()],
            watched_by: Vec::new(),
            source: None,
        };
        let done = |step: &str, missing: Option<&str>| {
            vec![Command {
                step: step.to_owned(),
                line: String::new(),
                missing: missing.map(str::to_owned),
            }]
        };
        assert_eq!(
            has_inputs(&step, &done("michigan-walks-8KiB", None)),
            Ok(())
        );
        assert_eq!(
            has_inputs(&step, &done("michigan-walks-32KiB", Some("no QEMU"))),
            Ok(())
        );
        assert_eq!(
            has_inputs(&step, &done("michigan-walks-8KiB", Some("no QEMU"))),
            Err("its input michigan-walks-8KiB is missing: no QEMU".to_owned())
        );
    }
}
