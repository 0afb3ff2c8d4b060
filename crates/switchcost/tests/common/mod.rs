//! The program as a user runs it, with a state folder of its own.

#![allow(dead_code, reason = "each test file is a crate of its own and uses its part")]

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::{Mutex, MutexGuard, PoisonError};

use serde_json::Value;

/// Held by every place: two measurements at once on one CPU would disturb each other.
static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

/// A place for records and results.
pub(crate) struct Place {
    _turn: MutexGuard<'static, ()>,
    folder: tempfile::TempDir,
}

/// What came of a run.
pub(crate) struct Ran {
    pub(crate) code: i32,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Ran {
    /// What it printed, read as JSON.
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|error| panic!("{error}: {} {}", self.stdout, self.stderr))
    }
}

/// A path as an argument.
pub(crate) fn text(path: &Path) -> &str {
    path.to_str().expect("a plain path")
}

/// A number of a result that counts something.
pub(crate) fn count(value: &Value) -> u64 {
    value.as_u64().unwrap_or_else(|| panic!("found {value}, need a count"))
}

impl Place {
    pub(crate) fn new() -> Place {
        let turn = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
        Place { _turn: turn, folder: tempfile::tempdir().expect("a temporary folder") }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(crate) fn folder(&self) -> &Path {
        self.folder.path()
    }

    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_switchcost"));
        command.args(arguments).env("XDG_STATE_HOME", self.folder.path()).env_remove("NO_COLOR");
        command
    }

    pub(crate) fn run(&self, arguments: &[&str]) -> Ran {
        ran(self.command(arguments).output().expect("the program starts"))
    }

    /// Measures quickly: as few repetitions as an interval needs, no counters; the record is `run.jsonl`.
    pub(crate) fn measure(&self, arguments: &[&str]) -> Ran {
        self.measure_within("6", arguments)
    }

    /// The same with more repetitions: some may be disturbed, and an interval is left.
    pub(crate) fn measure_within(&self, repetitions: &str, arguments: &[&str]) -> Ran {
        let record = self.record();
        let usual = ["measure", "--max-repetitions", repetitions, "--no-counters", "--record", &record];
        self.run(&[&usual[..], arguments].concat())
    }

    /// The same, read as JSON.
    pub(crate) fn measure_json(&self, arguments: &[&str]) -> Value {
        self.measure(&[arguments, &["--format", "json"]].concat()).json()
    }

    pub(crate) fn record(&self) -> String {
        self.path("run.jsonl").to_str().expect("a plain path").to_owned()
    }
}

pub(crate) fn ran(output: Output) -> Ran {
    Ran {
        code: output.status.code().unwrap_or(-1),
        stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
        stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
    }
}

pub(crate) fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or_else(|| panic!("found {value}, need a number"))
}

pub(crate) fn has_flag(result: &Value, flag: &str) -> bool {
    result["flags"].as_array().expect("flags").iter().any(|found| found == flag)
}

/// Whether a neighbour of this machine left no number. The tests of numbers are then skipped, and say so.
pub(crate) fn is_disturbed(result: &Value) -> bool {
    let is_so = result["status"] == "not-measured" && has_flag(result, "disturbed");
    if is_so {
        eprintln!("skipped: {}: {}", result["mechanism"], result["why"]);
    }
    is_so
}

pub(crate) fn is_root() -> bool {
    nix::unistd::geteuid().is_root()
}
