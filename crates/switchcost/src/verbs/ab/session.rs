//! Runs both sides of an A/B test in turn, and compares the results.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, Read as _, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::time::Duration;

use indicatif::ProgressBar;
use switchcost_analysis::Findings;
use switchcost_analysis::compare::{Analysed, Arm, Comparison, Request, compare};
use switchcost_host::clock::monotonic;
use switchcost_host::setup::{Kept, NotKept, Setup};
use switchcost_host::task::{named_own_program, own_program};
use switchcost_measure::sides::{Runs, Side};
use switchcost_record::trust::open_listed;
use switchcost_record::{MeasureRecord, Readers, WriteRecordError, bind_semicolons};
use switchcost_units::Nanos;

use super::POWER;
use super::flags::Flags;
use crate::cli::ab::AbArguments;
use crate::exit::{Failure, Outcome};
use crate::progress::{over_time, tell};
use crate::signals::Interrupt;

/// Longest time for a set-up, which is added to the longest time of the run.
const LONGEST_SETUP: Duration = Duration::from_secs(120);

/// Longest time of a run whose budget is unknown.
const LONGEST_RUN: Duration = Duration::from_secs(600);

/// Number of bytes that are quoted from the end of a failed run's output.
const QUOTED_BYTES: usize = 300;

/// Maximum number of bytes that are read at the end of a log.
const LONGEST_END: u64 = 16 << 20;

/// Folders for the records of both sides.
pub(super) struct Folders {
    pub(super) all: PathBuf,
    readers: Readers,
}

impl Folders {
    /// Creates the folders for a new A/B test; an error if they exist.
    pub(super) fn make(all: &Path, readers: Readers) -> Outcome<Folders> {
        for folder in [all.to_owned(), all.join("base"), all.join("new")] {
            let failed = |source: io::Error| match source.kind() {
                io::ErrorKind::AlreadyExists => {
                    Failure::from(WriteRecordError::Exists(folder.clone()))
                }
                _ => Failure::output(&folder)(source),
            };
            readers.create_folder(&folder).map_err(failed)?;
        }
        Ok(Folders {
            all: all.to_owned(),
            readers,
        })
    }

    fn file(&self, side: Side, number: usize, ending: &str) -> PathBuf {
        self.all
            .join(name(side))
            .join(format!("{number:03}.{ending}"))
    }
}

fn name(side: Side) -> &'static str {
    match side {
        Side::Base => "base",
        Side::New => "new",
    }
}

fn side_failed(side: Side, found: &str, log: &Path) -> String {
    format!(
        "the {} side failed: {found}; {}",
        name(side),
        described(log)
    )
}

/// A record that has been read: its path, content and findings.
type Read = (String, MeasureRecord, Findings);

/// An A/B test in progress.
pub(super) struct Session<'a> {
    arguments: &'a AbArguments,
    arms: [Setup; 2],
    flags: &'a Flags,
    folders: Folders,
    detect: f64,
    interrupt: &'a Interrupt,
    start: Nanos,
    bar: ProgressBar,
    order: Vec<Side>,
    records: [Vec<Read>; 2],
    complaints: Vec<String>,
}

/// Result of an A/B test.
pub(super) struct Done {
    pub(super) order: Vec<Side>,
    pub(super) elapsed: Nanos,
    pub(super) complaints: Vec<String>,
    pub(super) comparison: Comparison,
}

impl<'a> Session<'a> {
    pub(super) fn new(
        arguments: &'a AbArguments,
        arms: &[Arm; 2],
        flags: &'a Flags,
        folders: Folders,
        detect: f64,
        interrupt: &'a Interrupt,
    ) -> Session<'a> {
        let setup = |arm: &Arm| Setup {
            commands: arm.setup.clone(),
            wrapper: arm.wrapper.clone(),
            undo: arm.undo.clone(),
        };
        Session {
            arguments,
            arms: [setup(&arms[0]), setup(&arms[1])],
            flags,
            folders,
            detect,
            interrupt,
            start: monotonic(),
            bar: over_time(arguments.budget),
            order: Vec::new(),
            records: [Vec::new(), Vec::new()],
            complaints: Vec::new(),
        }
    }

    pub(super) fn finish(self) -> Done {
        self.bar.finish_and_clear();
        let comparison = self.comparison();
        Done {
            elapsed: self.elapsed(),
            order: self.order,
            complaints: self.complaints,
            comparison,
        }
    }

    fn comparison(&self) -> Comparison {
        let [base, new] = &self.records;
        let names = [base, new].map(|side| {
            side.iter()
                .map(|(path, ..)| path.clone())
                .collect::<Vec<_>>()
        });
        let request = Request {
            base: &names[0],
            new: &names[1],
            confidence: self.arguments.confidence,
            fail_above: self.arguments.fail_above,
            ..Request::default()
        };
        compare(&analysed(base), &analysed(new), &[], request)
    }

    fn kept(&self, side: Side, record: &Path, log: &Path) -> Outcome<Kept> {
        let arm = &self.arms[side as usize];
        let output = self
            .folders
            .readers
            .create_new(log, File::options().write(true))
            .map_err(Failure::output(log))?;
        let keeper = arm
            .start(&self.program(side, record), output)
            .map_err(Failure::own_file)?;
        keeper
            .wait(&|| self.interrupt.is_raised(), self.longest())
            .map_err(|why| match why {
                NotKept::Late => {
                    let found = format!("it did not end within {} s", self.longest().as_secs());
                    Failure::broken(side_failed(side, &found, log))
                }
                NotKept::Failed(error) => Failure::own_file(error),
            })
    }

    /// Returns the command line of `switchcost measure` for a run of one side.
    fn program(&self, side: Side, record: &Path) -> Vec<OsString> {
        let own = match self.arms[side as usize].wrapper.is_empty() {
            true => own_program(),
            false => named_own_program(),
        };
        let words = [
            own.into(),
            "measure".into(),
            "--record".into(),
            record.into(),
            "--output".into(),
            "/dev/null".into(),
        ];
        words
            .into_iter()
            .chain(self.flags.words().iter().map(OsString::from))
            .collect()
    }

    fn longest(&self) -> Duration {
        let run = self
            .flags
            .budget()
            .map(|budget| 3 * Duration::from_nanos(budget.0));
        run.unwrap_or(LONGEST_RUN) + LONGEST_SETUP
    }

    fn show(&self) {
        self.bar.set_position(self.elapsed().0 / 1_000_000);
        self.bar.set_message(format!("{} runs", self.order.len()));
        tell(&self.bar);
    }
}

fn analysed(side: &[Read]) -> Vec<Analysed<'_>> {
    side.iter()
        .map(|(_, record, findings)| (record, findings))
        .collect()
}

impl Runs for Session<'_> {
    type Error = Failure;

    fn run(&mut self, side: Side) -> Outcome {
        self.show();
        let number = self.records[side as usize].len() + 1;
        let [path, log] = ["jsonl", "log"].map(|ending| self.folders.file(side, number, ending));
        let kept = self.kept(side, &path, &log)?;
        for complaint in kept.complaints {
            if !self.complaints.contains(&complaint) {
                self.complaints.push(complaint);
            }
        }
        let Some(code) = kept.code else { return Ok(()) };
        // Exit code 3: something could not be measured, which the comparison reports.
        if !matches!(code, 0 | 3) || !path.exists() {
            let found = match code {
                0 | 3 => "its set-up exited before the run (do not call exit in it)".to_owned(),
                _ => format!("its set-up or its run exited with code {code}"),
            };
            let failed = side_failed(side, &found, &log);
            // Exit code 2: the flags of the run name something that does not exist.
            return Err(match code {
                2 => Failure::usage(failed),
                _ => Failure::broken(failed),
            });
        }
        remove_bare(&log);
        if let Some(line) = missing_program(&read_end(&log)) {
            let complaint = format!(
                "a command in the set-up of {} was not found, so it may have done nothing: {line}",
                name(side)
            );
            if !self.complaints.contains(&complaint) {
                self.complaints.push(complaint);
            }
        }
        let own = |file: File| self.folders.readers.own(&file, &path);
        open_listed(&path)
            .and_then(own)
            .map_err(Failure::own_file)?;
        let record = MeasureRecord::read(&path)?;
        let findings = switchcost_analysis::analyse(&record);
        self.records[side as usize].push((path.display().to_string(), record, findings));
        self.order.push(side);
        Ok(())
    }

    fn is_enough(&mut self) -> Outcome<bool> {
        Ok(self
            .comparison()
            .detectable(POWER)
            .is_some_and(|change| change <= self.detect))
    }

    fn elapsed(&self) -> Nanos {
        monotonic().saturating_sub(self.start)
    }

    fn should_stop(&self) -> bool {
        self.interrupt.is_raised()
    }
}

/// Describes the last output of a failed run, and says what to do. The output of other programs is
/// never part of a hint.
fn described(log: &Path) -> String {
    let (said, log) = (quoted(log), bind_semicolons(log.display()));
    match said {
        said if said.is_empty() => "it printed nothing; run its command by hand".to_owned(),
        said => format!("it printed: {said}; read all of it in {log}"),
    }
}

/// Returns the last [`QUOTED_BYTES`] bytes of a run's output, with their lines joined to one line.
fn quoted(log: &Path) -> String {
    let text = read_end(log);
    let text = text.trim();
    let from = text
        .char_indices()
        .map(|(at, _)| at)
        .find(|at| text.len() - at <= QUOTED_BYTES)
        .unwrap_or(0);
    text[from..]
        .lines()
        .map(str::trim)
        .collect::<Vec<_>>()
        .join("; ")
}

/// Returns the line in which a shell reports that it found no program; `None` without such a line.
/// The shell's exit code does not tell, because a shell ignores the exit code of a background
/// program.
fn missing_program(log: &str) -> Option<&str> {
    log.lines()
        .map(str::trim)
        .find(|line| line.ends_with(": not found") || line.contains(": command not found"))
}

/// Removes a log that contains only the path of the record.
fn remove_bare(log: &Path) {
    let text = read_end(log);
    let mut lines = text.lines();
    if lines.all(|line| line.starts_with("switchcost: record: ")) {
        let _ = fs::remove_file(log);
    }
}

/// Returns the end of a log, of at most [`LONGEST_END`] bytes; empty if the log cannot be read. A load
/// that the set-up starts may print without end.
fn read_end(log: &Path) -> String {
    let read = || -> io::Result<Vec<u8>> {
        let mut file = File::open(log)?;
        let start = file.metadata()?.len().saturating_sub(LONGEST_END);
        file.seek(SeekFrom::Start(start))?;
        let mut bytes = Vec::new();
        file.take(LONGEST_END).read_to_end(&mut bytes)?;
        Ok(bytes)
    };
    String::from_utf8_lossy(&read().unwrap_or_default()).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_of_a_log_is_read_whatever_its_length_and_bytes() {
        let folder = tempfile::tempdir().expect("a folder");
        let log = folder.path().join("log");
        fs::write(&log, b"\xff\nsh: 1: x: not found\n").expect("room");
        assert!(missing_program(&read_end(&log)).is_some());
        let file = File::options().write(true).open(&log).expect("a log");
        file.set_len(1 << 40).expect("a sparse file");
        assert_eq!(read_end(&log).len() as u64, LONGEST_END);
    }

    #[test]
    fn a_program_that_a_shell_did_not_find_in_the_background_is_noticed() {
        let log = "switchcost: record: 001.jsonl\nsh: 1: no-such-tool: not found\n";
        assert_eq!(missing_program(log), Some("sh: 1: no-such-tool: not found"));
        assert_eq!(
            missing_program("bash: line 1: x: command not found"),
            Some("bash: line 1: x: command not found")
        );
        assert_eq!(missing_program("Attaching 2 probes...\n"), None);
    }
}
