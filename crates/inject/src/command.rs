//! The command of which two copies run: what it needs, and the checks on it.

use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io::{self, BufReader, Read};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use switchcost_facts::limits::ending;
use switchcost_host::clock::Clock;
use switchcost_record::injection::{LEAST_CPU, Plan};
use switchcost_record::printable;
use switchcost_record::trust::search_path;
use switchcost_units::{Bytes, Nanos, TickRate, Ticks};

use crate::fault::Fault;
use crate::protocol::{Order, Outcome, Place};

/// Environment variables that make programs of some languages deterministic. Each is set only if
/// the user has not set it.
const SETTINGS: [(&str, &str); 3] = [
    ("PYTHONHASHSEED", "0"),
    ("PERL_HASH_SEED", "0"),
    ("PERL_PERTURB_KEYS", "0"),
];

/// CPU time from which the average of a command's time slices is meaningful.
const LONG: Nanos = Nanos::millis(100);

/// Least share of its time slices for which a command must use the CPU. A command with a smaller
/// share mostly sleeps.
const LEAST_AWAKE: f64 = 0.5;

/// Maximum number of bytes of a program's error output that are examined.
const LONGEST_WORDS: u64 = 4096;

/// Clock and its calibration, which every run needs besides its plan.
#[derive(Clone, Copy, Debug)]
pub struct Instruments {
    /// The clock to read.
    pub clock: Clock,
    /// Rate of the clock in ticks per second.
    pub rate: TickRate,
    /// Time that reading the clock adds to a chain of multiplications.
    pub overhead: Ticks,
}

/// A command of which two copies run.
#[derive(Clone, Debug)]
pub struct Subject {
    words: Vec<OsString>,
    settings: Vec<(String, String)>,
    input: Option<(PathBuf, u64)>,
    checks_output: bool,
    /// Folder for all files of the copies.
    folder: PathBuf,
    /// Control group of each copy; `None` if signals stop the copies.
    groups: Option<[PathBuf; 2]>,
    /// Whether each copy has its own private copy of the working directory.
    is_apart: bool,
    /// Folder for the outputs; `None` if outputs are discarded.
    outputs: Option<PathBuf>,
}

impl Subject {
    /// Makes the subject from the words of a command. Its files are made in `folder`. The outputs
    /// are stored in `outputs` at the end of a run, or discarded if `None`.
    ///
    /// # Errors
    ///
    /// If the command cannot be run.
    pub fn new(
        words: Vec<OsString>,
        folder: &Path,
        outputs: Option<&Path>,
        checks_output: bool,
    ) -> Result<Subject, Fault> {
        let program = words.first().ok_or(Fault::NoCommand)?;
        check(program, std::env::var_os("PATH").as_deref())?;
        Ok(Subject {
            words,
            settings: settings(|name| std::env::var_os(name)),
            input: own_input(),
            checks_output,
            folder: folder.to_owned(),
            groups: None,
            is_apart: false,
            outputs: outputs.map(Path::to_owned),
        })
    }

    /// Makes control groups freeze the copies between time slices, instead of signals.
    #[must_use]
    pub fn freeze_by_groups(self, groups: [PathBuf; 2]) -> Subject {
        Subject {
            groups: Some(groups),
            ..self
        }
    }

    /// Sets whether each copy has its own private copy of the working directory.
    #[must_use]
    pub fn apart(self, is_apart: bool) -> Subject {
        Subject { is_apart, ..self }
    }

    /// Returns the order for one run of two copies in which neither is preempted.
    pub(crate) fn order(
        &self,
        instruments: &Instruments,
        plan: &Plan,
        places: [Place; 2],
        latest: Nanos,
    ) -> Order {
        Order {
            words: self.words.clone(),
            settings: self.settings.clone(),
            input: self.input.clone(),
            places,
            cpu: plan.cpu,
            clock: instruments.clock,
            rate: instruments.rate,
            overhead: instruments.overhead,
            period: plan.period_ns,
            turn: plan.turn_ns,
            footprint: Bytes(0),
            preempted: 0,
            moves_to: None,
            preempts_nobody: true,
            lost: Nanos(0),
            latest,
        }
    }

    /// Returns the variables that were set for the command because the user had not set them, each
    /// as `NAME=value`.
    pub fn settings(&self) -> Vec<String> {
        self.settings
            .iter()
            .map(|(name, value)| format!("{name}={value}"))
            .collect()
    }

    /// Creates empty folders for both copies, and chooses their files. All names are the same in
    /// each run. Only the first run has files for the error output, unless outputs are stored.
    pub(crate) fn places(&self, is_first: bool) -> io::Result<[Place; 2]> {
        let place = |number: u8| -> io::Result<Place> {
            let temporary = self.folder.join(format!("twin-{number}"));
            if let Err(error) = fs::remove_dir_all(&temporary)
                && error.kind() != io::ErrorKind::NotFound
            {
                return Err(error);
            }
            fs::create_dir_all(&temporary)?;
            let layer = self
                .is_apart
                .then(|| self.folder.join(format!("own-{number}")));
            layer.iter().try_for_each(fs::create_dir_all)?;
            let group = self
                .groups
                .as_ref()
                .map(|groups| groups[usize::from(number) - 1].clone());
            let outputs = self.outputs.as_ref().unwrap_or(&self.folder);
            let file = |ending: &str| Some(outputs.join(format!("twin-{number}.{ending}")));
            let keeps = self.outputs.is_some();
            Ok(Place {
                temporary,
                output: file("out").filter(|_| keeps || self.checks_output),
                // After the first run, a failure is explained by the error output.
                errors: file("err").filter(|_| keeps || is_first),
                group,
                layer,
            })
        };
        Ok([place(1)?, place(2)?])
    }

    /// Checks that both copies succeeded, and wrote the same outputs if outputs are compared.
    pub(crate) fn check(&self, outcomes: &[Outcome; 2], places: &[Place; 2]) -> Result<(), Fault> {
        use std::os::unix::process::ExitStatusExt;
        let [first, second] =
            outcomes.map(|outcome| std::process::ExitStatus::from_raw(outcome.status));
        if first != second {
            return Err(Fault::OtherEnd(ending(first), ending(second)));
        }
        if !first.success() {
            let said = places[0]
                .errors
                .as_deref()
                .and_then(last_line)
                .map_or(String::new(), |said| format!(": {said}"));
            return Err(Fault::Failed {
                how: ending(first),
                said,
            });
        }
        match (&places[0].output, &places[1].output) {
            (Some(first), Some(second)) if self.checks_output => difference(first, second)
                .map_err(Fault::NoFolder)?
                .map_or(Ok(()), Err),
            _ => Ok(()),
        }
    }
}

/// Checks that the command can be measured, by a run without preemption.
pub(crate) fn check_undisturbed(outcomes: &[Outcome; 2], has_pipe: bool) -> Result<(), Fault> {
    let least = outcomes
        .iter()
        .map(|outcome| outcome.run.cpu_ns)
        .min()
        .unwrap_or(Nanos(0));
    let sum = |of: fn(&Outcome) -> Nanos| outcomes.iter().map(|outcome| of(outcome).0).sum::<u64>();
    // The last time slice of each twin goes on after the twin has ended.
    let turns =
        sum(|outcome| outcome.run.turns_ns).saturating_sub(outcomes.len() as u64 * LEAST_CPU.0 / 4);
    let awake = sum(|outcome| outcome.run.cpu_ns) as f64 / turns.max(1) as f64;
    // In a short run, the last time slices are too large a part.
    if awake < LEAST_AWAKE && turns > 2 * LONG.0 {
        return Err(Fault::Sleeps(awake * 100.0));
    }
    if least < LEAST_CPU {
        Err(Fault::TooSoon {
            cpu: least,
            has_pipe,
        })
    } else {
        Ok(())
    }
}

fn settings(of: impl Fn(&str) -> Option<OsString>) -> Vec<(String, String)> {
    let unset = SETTINGS.iter().filter(|(name, _)| of(name).is_none());
    unset
        .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
        .collect()
}

/// Returns the path of this program's standard input, with the present position, if it is a file;
/// otherwise `None`.
fn own_input() -> Option<(PathBuf, u64)> {
    let link = PathBuf::from("/proc/self/fd/0");
    let facts = fs::read_to_string("/proc/self/fdinfo/0").ok()?;
    let at = facts
        .lines()
        .find_map(|line| line.strip_prefix("pos:"))?
        .trim()
        .parse()
        .ok()?;
    let path = fs::read_link(&link).ok()?;
    fs::metadata(&link)
        .is_ok_and(|facts| facts.is_file())
        .then_some((path, at))
}

/// Whether this program's standard input is a pipe. Copies read nothing from a pipe.
pub(crate) fn has_pipe() -> bool {
    use std::os::unix::fs::FileTypeExt;
    fs::metadata("/proc/self/fd/0")
        .is_ok_and(|facts| facts.file_type().is_fifo() || facts.file_type().is_socket())
}

fn check(program: &OsStr, path: Option<&OsStr>) -> Result<(), Fault> {
    let shown = || printable(&program.to_string_lossy());
    let not_run = |source| Fault::NotRun {
        program: shown(),
        source,
    };
    let found = find(program, path)
        .ok_or_else(|| not_run(io::Error::new(io::ErrorKind::NotFound, "it was not found")))?;
    let facts = fs::metadata(&found).map_err(not_run)?;
    if !facts.is_file() || facts.permissions().mode() & 0o111 == 0 {
        return Err(not_run(io::ErrorKind::PermissionDenied.into()));
    }
    let gains = facts.permissions().mode() & 0o6000 != 0;
    if gains {
        Err(Fault::GainsRights(printable(&found.to_string_lossy())))
    } else {
        Ok(())
    }
}

/// Finds a program as execvp does: by its path, or in the folders of `path`.
fn find(program: &OsStr, path: Option<&OsStr>) -> Option<PathBuf> {
    if Path::new(program).components().count() > 1 || Path::new(program).is_absolute() {
        return Some(program.into());
    }
    search_path(path?, program)
}

fn last_line(path: &Path) -> Option<String> {
    let mut text = Vec::new();
    File::open(path)
        .ok()?
        .take(LONGEST_WORDS)
        .read_to_end(&mut text)
        .ok()?;
    let text = String::from_utf8_lossy(&text);
    text.lines()
        .rev()
        .find(|line| !line.trim().is_empty())
        .map(|line| printable(line.trim()))
}

/// Returns the difference between two files as an error; `None` if the files are equal.
fn difference(first: &Path, second: &Path) -> io::Result<Option<Fault>> {
    let lengths = [fs::metadata(first)?.len(), fs::metadata(second)?.len()];
    let bytes = |path: &Path| -> io::Result<_> { Ok(BufReader::new(File::open(path)?).bytes()) };
    let mut at = 0;
    for (a, b) in bytes(first)?.zip(bytes(second)?) {
        if a? != b? {
            break;
        }
        at += 1;
    }
    let is_same = lengths[0] == lengths[1] && at == lengths[0];
    Ok((!is_same).then_some(Fault::OtherOutput {
        at,
        first: lengths[0],
        second: lengths[1],
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use switchcost_record::injection::TwinRun;

    fn subject(folder: &Path, checks_output: bool) -> Subject {
        Subject::new(vec!["true".into()], folder, None, checks_output).expect("it can be run")
    }

    fn outcome(cpu: Nanos, turns: Nanos, status: i32) -> Outcome {
        Outcome {
            run: TwinRun {
                cpu_ns: cpu,
                turns_ns: turns,
                ..TwinRun::default()
            },
            status,
        }
    }

    /// Returns the text of a refusal, or nothing.
    fn refusal(checked: Result<(), Fault>) -> String {
        checked
            .err()
            .map_or(String::new(), |fault| fault.to_string())
    }

    #[test]
    fn a_command_that_cannot_be_run_is_refused_before_anything_is_done() {
        let folder = tempfile::tempdir().expect("a folder");
        let refused = |words: &[&str]| {
            let words = words.iter().map(OsString::from).collect();
            Subject::new(words, folder.path(), None, false)
                .expect_err("refused")
                .to_string()
        };
        assert_eq!(
            refused(&[]),
            "no command is given; put it after --, such as switchcost inject -- gzip -c file"
        );
        assert_eq!(
            refused(&["no-such\u{1b}-program"]),
            "no-such\\u{1b}-program cannot be run: it was not found; give its path, or check PATH"
        );
        assert!(refused(&["/etc/passwd"]).contains("/etc/passwd cannot be run: permission denied"));
        let gains = folder.path().join("gains");
        fs::write(&gains, "#!/bin/sh\n").expect("room");
        fs::set_permissions(&gains, fs::Permissions::from_mode(0o4755)).expect("ours");
        let found = refused(&[gains.to_str().expect("text")]);
        assert!(
            found.contains("has the set-user-ID or set-group-ID bit, so it cannot be stopped"),
            "{found}"
        );
    }

    #[test]
    fn what_is_set_already_is_left() {
        let found = settings(|name| (name == "PYTHONHASHSEED").then(|| "1".into()));
        assert_eq!(
            found
                .iter()
                .map(|(name, _)| name.as_str())
                .collect::<Vec<_>>(),
            ["PERL_HASH_SEED", "PERL_PERTURB_KEYS"]
        );
    }

    #[test]
    fn who_ends_too_soon_or_sleeps_is_reported_as_such() {
        let found = |cpu, turns| refusal(check_undisturbed(&[outcome(cpu, turns, 0); 2], false));
        assert_eq!(found(Nanos::millis(100), Nanos::millis(104)), "");
        assert!(
            found(Nanos::millis(2), Nanos::millis(8))
                .starts_with("the command runs too briefly (2.00 ms of CPU time, 20.00 ms needed)")
        );
        let sleeps = found(Nanos::millis(100), Nanos::millis(1005));
        assert!(
            sleeps.starts_with("the command mostly waits (on the CPU for 10 % of its time slices)"),
            "{sleeps}"
        );
        assert!(found(Nanos(0), Nanos::millis(1005)).contains("0 % of its time slices"));
        let soon = found(Nanos::millis(1), Nanos::millis(16));
        assert!(
            soon.starts_with("the command runs too briefly (1.00 ms")
                && soon.ends_with("| head -100 | sh'"),
            "{soon}"
        );
        let of_pipe = refusal(check_undisturbed(
            &[outcome(Nanos(0), Nanos(0), 0); 2],
            true,
        ));
        assert!(
            of_pipe.ends_with("which can be read only once; read from a file instead: < FILE"),
            "{of_pipe}"
        );
    }

    #[test]
    fn copies_that_differ_are_refused_with_what_differs() {
        let folder = tempfile::tempdir().expect("a folder");
        let subject = subject(folder.path(), true);
        let places = subject.places(true).expect("room");
        let write = |place: usize, output: &str, errors: &str| {
            fs::write(places[place].output.as_ref().expect("compared"), output).expect("room");
            fs::write(places[place].errors.as_ref().expect("the first"), errors).expect("room");
        };
        write(0, "abc", "first\nwhy\u{7}\n\n");
        write(1, "abc", "");
        let found = |status: [i32; 2]| {
            let outcomes = status.map(|status| outcome(Nanos(1), Nanos(1), status));
            refusal(subject.check(&outcomes, &places))
        };
        assert_eq!(found([0, 0]), "");
        assert!(
            found([0, 9]).starts_with("two copies ended differently (exit status: 0 and signal: 9")
        );
        assert!(
            found([256, 256]).starts_with("the command failed (exit status: 1): why\\u{7}; if it")
        );
        write(1, "abd", "");
        assert!(
            found([0, 0])
                .starts_with("the outputs of two copies differ from byte 2 on (3 and 3 bytes)")
        );
        write(1, "abcd", "");
        assert!(found([0, 0]).contains("from byte 3 on (3 and 4 bytes)"));
    }

    #[test]
    fn temporary_folders_are_empty_each_time() {
        let folder = tempfile::tempdir().expect("a folder");
        let subject = subject(folder.path(), false);
        let [first, second] = subject.places(false).expect("room");
        assert_eq!((first.output, first.errors), (None, None));
        assert_eq!(
            first.temporary.as_os_str().len(),
            second.temporary.as_os_str().len(),
            "stacks begin alike"
        );
        let left = first.temporary.join("left");
        fs::write(&left, "").expect("room");
        subject.places(false).expect("room");
        assert!(first.temporary.exists() && !left.exists());
    }
}
