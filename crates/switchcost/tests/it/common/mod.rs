//! The program as a user runs it, with a state folder of its own.

#[path = "../../../../report/tests/it/conformity.rs"]
pub(crate) mod conformity;

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::{PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};
use std::time::{Duration, Instant};

use rustix::thread::CpuSet;
use serde_json::Value;
use switchcost_report::schema::schemas;

/// Held by every place: a measurement whose numbers are looked at has the machine to itself, all else may run side by side.
static MACHINE: RwLock<()> = RwLock::new(());

/// How a place holds the machine, for as long as it is there.
enum Turn {
    Alone {
        _guard: RwLockWriteGuard<'static, ()>,
    },
    Beside {
        _guard: RwLockReadGuard<'static, ()>,
    },
}

/// A place for records and results.
pub(crate) struct Place {
    _turn: Turn,
    folder: tempfile::TempDir,
}

/// What came of a run.
pub(crate) struct Ran {
    pub(crate) code: i32,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Ran {
    /// The report on a command, which has standard output for itself: what follows our messages on standard error.
    pub(crate) fn report(&self) -> String {
        let is_message = |line: &&str| line.starts_with("switchcost: ");
        let lines = self.stderr.split_inclusive('\n');
        lines.filter(|line| !is_message(line)).collect()
    }

    /// What it printed, read as JSON that is as its schema says.
    pub(crate) fn json(&self) -> Value {
        assert!(!self.stdout.is_empty(), "{}", self.stderr);
        conformity::read(&self.stdout)
    }
}

/// A path as an argument.
pub(crate) fn text(path: &Path) -> &str {
    path.to_str().expect("a plain path")
}

/// A number of a result that counts something.
pub(crate) fn count(value: &Value) -> u64 {
    value
        .as_u64()
        .unwrap_or_else(|| panic!("found {value}, need a count"))
}

impl Place {
    /// For what its messages, files and exit codes show, however busy the machine is.
    pub(crate) fn new() -> Place {
        let guard = MACHINE.read().unwrap_or_else(PoisonError::into_inner);
        Place {
            _turn: Turn::Beside { _guard: guard },
            folder: tempfile::tempdir().expect("a temporary folder"),
        }
    }

    /// For measurements whose numbers are looked at: no other test runs meanwhile. Such tests are in [`crate::alone`], by whose
    /// name they are run before other programs.
    pub(crate) fn alone() -> Place {
        // The harness calls its threads by the tests that they run; there is none where it runs one test at a time.
        let thread = std::thread::current();
        let test = thread.name().filter(|name| *name != "main");
        assert!(
            test.is_none_or(|test| test.starts_with("alone::")),
            "found {test:?}, need a test in the folder alone"
        );
        let guard = MACHINE.write().unwrap_or_else(PoisonError::into_inner);
        Place {
            _turn: Turn::Alone { _guard: guard },
            folder: tempfile::tempdir().expect("a temporary folder"),
        }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(crate) fn folder(&self) -> &Path {
        self.folder.path()
    }

    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_switchcost"));
        command
            .args(arguments)
            .env("XDG_STATE_HOME", self.folder.path())
            .env_remove("NO_COLOR");
        command
    }

    /// The same, started by `env` of coreutils, which settles what signals are ignored: a shell's jobs in the background ignore some.
    pub(crate) fn command_with_signals(&self, settled: &[&str], arguments: &[&str]) -> Command {
        let mut command = Command::new("env");
        command
            .args(settled)
            .arg(env!("CARGO_BIN_EXE_switchcost"))
            .args(arguments);
        command
            .env("XDG_STATE_HOME", self.folder.path())
            .env_remove("NO_COLOR");
        command
    }

    pub(crate) fn run(&self, arguments: &[&str]) -> Ran {
        ran(self
            .command(arguments)
            .output()
            .expect("the program starts"))
    }

    /// Measures quickly: as few repetitions as an interval needs, no counters; the record is `run.jsonl`.
    pub(crate) fn measure(&self, arguments: &[&str]) -> Ran {
        self.measure_within("6", arguments)
    }

    /// The same with more repetitions: some may be disturbed, and an interval is left.
    pub(crate) fn measure_within(&self, repetitions: &str, arguments: &[&str]) -> Ran {
        let record = self.record();
        let usual = [
            "measure",
            "--max-repetitions",
            repetitions,
            "--no-counters",
            "--record",
            &record,
        ];
        self.run(&[&usual[..], arguments].concat())
    }

    /// Runs a command that the program has printed, copied into a shell.
    pub(crate) fn run_as_printed(&self, command: &str) -> Ran {
        let script = format!("switchcost() {{ \"$PROGRAM\" \"$@\"; }}; {command}");
        let mut shell = Command::new("sh");
        shell
            .args(["-c", &script])
            .current_dir(self.folder())
            .env("PROGRAM", env!("CARGO_BIN_EXE_switchcost"));
        ran(shell
            .env("XDG_STATE_HOME", self.folder.path())
            .output()
            .expect("a shell"))
    }

    /// The same, read as JSON.
    pub(crate) fn measure_json(&self, arguments: &[&str]) -> Value {
        self.measure(&[arguments, &["--format", "json"]].concat())
            .json()
    }

    /// Measures again, up to four times, until a neighbour has left a number of each case. `None` if it never has, which
    /// is said: there is nothing to be tested then.
    pub(crate) fn measure_undisturbed(&self, arguments: &[&str]) -> Option<Value> {
        let mut last = String::new();
        for _ in 0..5 {
            let json = self.measure_json(arguments);
            let results = json["results"].as_array().expect("results");
            match results.iter().find(|result| is_disturbed(result)) {
                None => return Some(json),
                Some(result) => last = format!("{}: {}", result["mechanism"], result["why"]),
            }
            std::fs::remove_file(self.record()).expect("our own record");
        }
        eprintln!("skipped: {last}");
        None
    }

    pub(crate) fn record(&self) -> String {
        self.path("run.jsonl")
            .to_str()
            .expect("a plain path")
            .to_owned()
    }
}

pub(crate) fn ran(output: Output) -> Ran {
    Ran {
        code: output.status.code().unwrap_or(-1),
        stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
        stderr: without_others(&String::from_utf8_lossy(&output.stderr)),
    }
}

/// Without what is said of measurements of other tests, which run side by side.
fn without_others(stderr: &str) -> String {
    let is_of_another = |line: &&str| {
        line.starts_with("switchcost: found process ") && line.contains(" measuring on CPU ")
    };
    stderr
        .split_inclusive('\n')
        .filter(|line| !is_of_another(line))
        .collect()
}

pub(crate) fn number(value: &Value) -> f64 {
    value
        .as_f64()
        .unwrap_or_else(|| panic!("found {value}, need a number"))
}

pub(crate) fn has_flag(result: &Value, flag: &str) -> bool {
    result["flags"]
        .as_array()
        .expect("flags")
        .iter()
        .any(|found| found == flag)
}

/// Whether a neighbour of this machine left no number: samples, or so many repetitions, were left out for a disturbance, or another task
/// took the CPU in between.
pub(crate) fn is_disturbed(result: &Value) -> bool {
    let was_interrupted = result["involuntary_share"]
        .as_f64()
        .is_some_and(|share| share > 0.0);
    result["status"] == "not-measured"
        && (has_flag(result, "disturbed")
            || has_flag(result, "too-few-repetitions") && count(&result["excluded_samples"]) > 0
            || has_flag(result, "switch-count") && was_interrupted)
}

/// The CPUs that this process may use.
pub(crate) fn allowed_cpus() -> Vec<usize> {
    let allowed = rustix::thread::sched_getaffinity(None).expect("own affinity");
    (0..CpuSet::MAX_CPU)
        .filter(|cpu| allowed.is_set(*cpu))
        .collect()
}

pub(crate) fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// Waits for half a minute at most.
pub(crate) fn wait_until(what: &str, mut is_so: impl FnMut() -> bool) {
    let start = Instant::now();
    while !is_so() {
        assert!(
            start.elapsed() < Duration::from_secs(600),
            "waited in vain until {what}"
        );
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Processes whose state folder is this place's: the program, and all that it started.
pub(crate) fn running(place: &Place) -> Vec<i32> {
    let mark = format!("XDG_STATE_HOME={}", place.folder().display());
    let entries = std::fs::read_dir("/proc")
        .expect("a list of processes")
        .flatten();
    let numbers = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
    numbers.filter(|pid| has_environment(*pid, &mark)).collect()
}

fn has_environment(pid: i32, mark: &str) -> bool {
    let environment = std::fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
    environment
        .split(|byte| *byte == 0)
        .any(|entry| entry == mark.as_bytes())
}
