//! Runs the program as a user does, with a separate state folder.

#[path = "../../../../report/tests/it/conformity.rs"]
pub(crate) mod conformity;

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output};
use std::sync::{PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use rustix::thread::CpuSet;
use serde_json::Value;
use switchcost_report::schema::schemas;

/// The program under test.
pub(crate) const PROGRAM: &str = env!("CARGO_BIN_EXE_switchcost");

/// Committed samples of records.
pub(crate) const MEASUREMENT: &str = "crates/record/tests/samples/measure-2.jsonl";
pub(crate) const OBSERVATION: &str = "crates/record/tests/samples/observation-2.json";
pub(crate) const SIMULATION: &str = "crates/simulation-record/tests/samples/simulation-1.parquet";

/// Lock on the machine: a measurement whose numbers are checked holds it exclusively, all other
/// tests share it.
static MACHINE: RwLock<()> = RwLock::new(());

/// The lock on the machine that a place holds, shared or exclusive.
enum Turn {
    Alone {
        _guard: RwLockWriteGuard<'static, ()>,
    },
    Beside {
        _guard: RwLockReadGuard<'static, ()>,
    },
}

/// A folder for records and results, which holds the lock on the machine while it exists.
pub(crate) struct Place {
    _turn: Turn,
    folder: tempfile::TempDir,
}

/// Arguments of a command: a line that is divided into words as a shell divides it, a list of words,
/// or a pair of such arguments, one after the other.
pub(crate) trait Arguments {
    fn words(&self) -> Vec<String>;
}

impl Arguments for str {
    fn words(&self) -> Vec<String> {
        shlex::split(self).unwrap_or_else(|| panic!("a quote is open: {self}"))
    }
}

impl Arguments for String {
    fn words(&self) -> Vec<String> {
        self[..].words()
    }
}

impl<Word: AsRef<str>> Arguments for [Word] {
    fn words(&self) -> Vec<String> {
        self.iter().map(|word| word.as_ref().to_owned()).collect()
    }
}

impl<Word: AsRef<str>, const COUNT: usize> Arguments for [Word; COUNT] {
    fn words(&self) -> Vec<String> {
        self[..].words()
    }
}

impl<Word: AsRef<str>> Arguments for Vec<Word> {
    fn words(&self) -> Vec<String> {
        self[..].words()
    }
}

impl Arguments for PathBuf {
    fn words(&self) -> Vec<String> {
        vec![text(self).to_owned()]
    }
}

impl<First: Arguments, Second: Arguments> Arguments for (First, Second) {
    fn words(&self) -> Vec<String> {
        [self.0.words(), self.1.words()].concat()
    }
}

impl<T: Arguments + ?Sized> Arguments for &T {
    fn words(&self) -> Vec<String> {
        (**self).words()
    }
}

/// Result of a run of the program.
pub(crate) struct Ran {
    /// Arguments, for messages.
    line: String,
    pub(crate) code: i32,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Ran {
    /// Asserts the exit code.
    #[track_caller]
    pub(crate) fn assert_code(&self, code: i32) -> &Ran {
        self.assert_any_code(&[code])
    }

    /// Asserts that the exit code is 0, or 3 for a result that could not be measured under the load
    /// of this machine.
    #[track_caller]
    pub(crate) fn assert_result(&self) -> &Ran {
        self.assert_any_code(&[0, 3])
    }

    #[track_caller]
    fn assert_any_code(&self, codes: &[i32]) -> &Ran {
        let Ran {
            line,
            code,
            stdout,
            stderr,
        } = self;
        assert!(codes.contains(code), "{line}: {code}: {stderr}{stdout}");
        self
    }

    /// Asserts that standard error contains these words.
    #[track_caller]
    pub(crate) fn assert_message(&self, words: &str) -> &Ran {
        let Ran { line, stderr, .. } = self;
        assert!(stderr.contains(words), "{line}: {words} in {stderr}");
        self
    }

    /// Asserts that standard output contains these words.
    #[track_caller]
    pub(crate) fn assert_output(&self, words: &str) -> &Ran {
        let Ran { line, stdout, .. } = self;
        assert!(stdout.contains(words), "{line}: {words} in {stdout}");
        self
    }

    /// Asserts the exit code, and the whole text on standard error.
    #[track_caller]
    pub(crate) fn assert_messages(&self, code: i32, text: &str) {
        assert_eq!((self.code, &*self.stderr), (code, text), "{}", self.line);
    }

    /// Asserts the exit code, and the whole standard output.
    #[track_caller]
    pub(crate) fn assert_prints(&self, code: i32, text: &str) {
        let Ran { line, stderr, .. } = self;
        assert_eq!((self.code, &*self.stdout), (code, text), "{line}: {stderr}");
    }

    /// Asserts the exit code of a failure, and words on standard error.
    #[track_caller]
    pub(crate) fn assert_failed(&self, code: i32, words: &str) {
        self.assert_code(code).assert_message(words);
    }

    /// Returns the report on a command that uses standard output itself: the text after the
    /// messages on standard error.
    pub(crate) fn report(&self) -> String {
        let is_message = |line: &&str| line.starts_with("switchcost: ");
        let lines = self.stderr.split_inclusive('\n');
        lines.filter(|line| !is_message(line)).collect()
    }

    /// Parses the output as JSON that conforms to its schema.
    pub(crate) fn json(&self) -> Value {
        assert!(!self.stdout.is_empty(), "{}", self.stderr);
        conformity::read(&self.stdout)
    }
}

/// Returns a path as a command-line argument.
pub(crate) fn text(path: &Path) -> &str {
    path.to_str().expect("a plain path")
}

/// Joins the lines of a text that is wrapped.
pub(crate) fn in_one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Returns the items of a list.
pub(crate) fn items(value: &Value) -> &Vec<Value> {
    value
        .as_array()
        .unwrap_or_else(|| panic!("found {value}, need a list"))
}

/// Returns a count in a JSON value.
pub(crate) fn count(value: &Value) -> u64 {
    value
        .as_u64()
        .unwrap_or_else(|| panic!("found {value}, need a count"))
}

impl Place {
    /// Creates a place for tests of messages, files and exit codes, which do not depend on the
    /// machine's load.
    pub(crate) fn new() -> Place {
        let guard = MACHINE.read().unwrap_or_else(PoisonError::into_inner);
        Place {
            _turn: Turn::Beside { _guard: guard },
            folder: tempfile::tempdir().expect("a temporary folder"),
        }
    }

    /// Creates a place for measurements whose numbers are checked, during which no other test runs.
    /// Such tests are in [`crate::alone`], whose name makes them run before other programs.
    pub(crate) fn alone() -> Place {
        // The harness names its threads after the tests that they run; with one test at a time
        // there is no such thread.
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

    /// Copies a file of the repository.
    pub(crate) fn copy(&self, sample: &str, name: &str) {
        std::fs::copy(repository(sample), self.path(name)).expect("a sample");
    }

    /// Returns the text of a file.
    pub(crate) fn read(&self, name: &str) -> String {
        let path = self.path(name);
        std::fs::read_to_string(&path).unwrap_or_else(|why| panic!("{}: {why}", path.display()))
    }

    pub(crate) fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// Returns a command that runs the program with this place's folder as working directory.
    pub(crate) fn command(&self, arguments: impl Arguments) -> Command {
        self.settled(Command::new(PROGRAM), arguments)
    }

    fn settled(&self, mut command: Command, arguments: impl Arguments) -> Command {
        command
            .args(arguments.words())
            .current_dir(self.folder())
            .env("XDG_STATE_HOME", self.folder())
            .env_remove("NO_COLOR");
        command
    }

    /// Returns a command in which another program, `starter`, starts the program under test.
    pub(crate) fn command_behind(
        &self,
        starter: impl Arguments,
        arguments: impl Arguments,
    ) -> Command {
        let words = starter.words();
        let mut command = Command::new(&words[0]);
        command.args(&words[1..]).arg(PROGRAM);
        self.settled(command, arguments)
    }

    /// Returns a command in which `env` of coreutils sets signal actions, and starts the program
    /// under test.
    pub(crate) fn command_with_signals(
        &self,
        settled: impl Arguments,
        arguments: impl Arguments,
    ) -> Command {
        self.command_behind(("env", settled), arguments)
    }

    pub(crate) fn run(&self, arguments: impl Arguments) -> Ran {
        let words = arguments.words();
        Ran {
            line: words.join(" "),
            ..finished(&mut self.command(&words))
        }
    }

    /// Measures quickly, with six repetitions and without counters. The record is `run.jsonl`.
    pub(crate) fn measure(&self, arguments: impl Arguments) -> Ran {
        let usual = "measure --max-repetitions 6 --no-counters --record run.jsonl";
        self.run((usual, arguments))
    }

    /// Runs a command that the program has printed, as if copied into a shell.
    pub(crate) fn run_as_printed(&self, command: &str) -> Ran {
        let script = format!("switchcost() {{ \"$PROGRAM\" \"$@\"; }}; {command}");
        let mut shell = self.settled(Command::new("sh"), ["-c", &script]);
        finished(shell.env("PROGRAM", PROGRAM))
    }

    /// Measures, and parses the result as JSON.
    pub(crate) fn measure_json(&self, arguments: impl Arguments) -> Value {
        self.measure((arguments, "--format json")).json()
    }

    /// Measures up to five times, until other load disturbs no case. Returns `None`, with a
    /// message, if no attempt succeeds, because there is nothing to test then.
    pub(crate) fn measure_undisturbed(&self, arguments: impl Arguments) -> Option<Value> {
        let mut last = String::new();
        for _ in 0..5 {
            let json = self.measure_json(&arguments);
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
        text(&self.path("run.jsonl")).to_owned()
    }
}

/// Runs a command, and returns its result.
pub(crate) fn finished(command: &mut Command) -> Ran {
    let output = command.output();
    ran(output.unwrap_or_else(|why| panic!("{command:?}: {why}")))
}

/// Waits for a child whose output is piped.
pub(crate) fn ended(child: Child) -> Ran {
    ran(child.wait_with_output().expect("our own child"))
}

fn ran(output: Output) -> Ran {
    Ran {
        line: String::new(),
        code: output.status.code().unwrap_or(-1),
        stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
        stderr: without_others(&String::from_utf8_lossy(&output.stderr)),
    }
}

/// Returns a field of a process's status.
pub(crate) fn status_field(process: u32, name: &str) -> String {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).expect("it runs");
    let found = status.lines().find_map(|line| line.strip_prefix(name));
    found.expect("a field").trim().to_owned()
}

/// Sends a signal to a child.
pub(crate) fn send(child: &Child, signal: Signal) {
    kill_process(Pid::from_child(child), signal).expect("our own child");
}

/// Returns the path of a file in the repository.
pub(crate) fn repository(path: &str) -> PathBuf {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../..")).join(path)
}

/// Removes messages about measurements of other tests, which run concurrently.
fn without_others(stderr: &str) -> String {
    let is_of_another = |line: &&str| {
        line.starts_with("switchcost: process ") && line.contains(" is measuring on CPU ")
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

/// Whether other load on this machine left no number: samples or repetitions were left out for a
/// disturbance, or another task took the CPU in between.
pub(crate) fn is_disturbed(result: &Value) -> bool {
    let was_interrupted = result["involuntary_share"]
        .as_f64()
        .is_some_and(|share| share > 0.0);
    result["status"] == "not-measured"
        && (has_flag(result, "disturbed")
            || has_flag(result, "too-few-repetitions") && count(&result["excluded_samples"]) > 0
            || has_flag(result, "switch-count") && was_interrupted)
}

/// Returns the CPUs that this process may use.
pub(crate) fn allowed_cpus() -> Vec<usize> {
    let allowed = rustix::thread::sched_getaffinity(None).expect("own affinity");
    (0..CpuSet::MAX_CPU)
        .filter(|cpu| allowed.is_set(*cpu))
        .collect()
}

pub(crate) fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// Waits until a condition holds, for ten minutes at most.
pub(crate) fn wait_until(what: &str, mut is_so: impl FnMut() -> bool) {
    let start = Instant::now();
    while !is_so() {
        assert!(
            start.elapsed() < Duration::from_secs(600),
            "waited in vain until {what}"
        );
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// Returns the processes whose state folder is this place's: the program, and all processes that it
/// started.
pub(crate) fn running(place: &Place) -> Vec<i32> {
    let mark = format!("XDG_STATE_HOME={}", place.folder().display());
    processes_with("environ", &[&mark])
}

/// Returns the processes that have all of these words in their `cmdline` or `environ`.
pub(crate) fn processes_with(file: &str, words: &[&str]) -> Vec<i32> {
    let entries = std::fs::read_dir("/proc").expect("a list of processes");
    let numbers = entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
    let has_them = |pid: &i32| {
        let found = std::fs::read(format!("/proc/{pid}/{file}")).unwrap_or_default();
        let found: Vec<&[u8]> = found.split(|byte| *byte == 0).collect();
        words.iter().all(|word| found.contains(&word.as_bytes()))
    };
    numbers.filter(has_them).collect()
}
