//! Runs the program with limits on time and memory. A run ends when this process ends, and its
//! output goes to files.

use std::fs::{self, File};
use std::io::Read;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use crate::leftovers;
use crate::place::{MARK, Place};
use crate::terminal::Terminal;

/// Longest time of a run: more than any trial needs, even on a busy machine.
pub(crate) const LONGEST: Duration = Duration::from_secs(60);
/// Limit on the CPU time of each process, in seconds, as an option of prlimit.
const MOST_CPU: &str = "--cpu=120";
const MOST_DATA: &str = "--data=8589934592";
/// Largest number of bytes of stdout or stderr that are examined.
const MOST_OUTPUT: u64 = 16 << 20;

/// A run of the program: its command line and conditions.
pub(crate) struct Run<'a> {
    pub(crate) place: &'a Place,
    pub(crate) words: &'a [String],
    /// Words before the program in the command line, such as `strace` with its options.
    pub(crate) wrap: Vec<String>,
    pub(crate) set: Vec<(String, String)>,
    pub(crate) unset: &'a [String],
    pub(crate) memory_mib: Option<u64>,
    pub(crate) is_on_terminal: bool,
    /// Path of a copy of the program; `None` for the program of the place.
    pub(crate) program: Option<PathBuf>,
}

/// A run in progress.
pub(crate) struct Running<'a> {
    pub(crate) child: Child,
    place: &'a Place,
    terminal: Option<Terminal>,
    words: String,
}

/// Result of a run that has ended.
#[derive(Debug)]
pub(crate) struct Ran {
    /// Exit status of the process; `None` if it did not end in time.
    pub(crate) status: Option<ExitStatus>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
    /// Processes that still ran at the deadline, with the kernel functions in which they waited;
    /// empty if the run ended in time.
    hang: String,
    /// Wrong state in which the run left the terminal; `None` if the state is right.
    pub(crate) terminal: Option<String>,
    words: String,
}

impl<'a> Run<'a> {
    pub(crate) fn new(place: &'a Place, words: &'a [String]) -> Run<'a> {
        Run {
            place,
            words,
            wrap: Vec::new(),
            set: Vec::new(),
            unset: &[],
            memory_mib: None,
            is_on_terminal: false,
            program: None,
        }
    }

    /// Runs the program to its end, or until [`LONGEST`] has passed.
    pub(crate) fn whole(&self) -> Ran {
        self.start().end(LONGEST)
    }

    pub(crate) fn start(&self) -> Running<'a> {
        let mut command = self.command();
        let terminal = self.is_on_terminal.then(|| Terminal::new(&mut command));
        if terminal.is_none() {
            let file =
                |name: &str| File::create(self.place.path(name)).expect("room for what it says");
            command
                .stdin(Stdio::null())
                .stdout(file("stdout"))
                .stderr(file("stderr"));
        }
        let child = command.spawn().expect("setpriv is part of util-linux");
        Running {
            child,
            place: self.place,
            terminal,
            words: self.words.join(" "),
        }
    }

    fn command(&self) -> Command {
        let place = self.place;
        let mut command = Command::new("setpriv");
        command.args([
            "--pdeathsig",
            "KILL",
            "prlimit",
            "--core=0",
            MOST_CPU,
            MOST_DATA,
        ]);
        command.args(self.memory_mib.map(|mib| format!("--as={}", mib << 20)));
        command.args(["env", "--default-signal"]);
        if self.is_on_terminal {
            command.args(["setsid", "--ctty"]);
        }
        command.args(self.wrap.iter().map(|word| place.expanded(word)));
        // Only the program gets the environment variables of the trial, including PATH.
        command
            .arg("env")
            .args(self.unset.iter().flat_map(|name| ["-u", name]));
        command.args(
            self.set
                .iter()
                .map(|(name, value)| format!("{name}={}", place.expanded(value))),
        );
        command
            .arg(self.program.as_ref().unwrap_or(&place.program))
            .args(self.words.iter().map(|word| place.expanded(word)));
        command
            .current_dir(place.path("scratch"))
            .env(MARK, place.folder());
        command
            .env("HOME", place.path("home"))
            .env("XDG_STATE_HOME", place.path("state"))
            .env_remove("XDG_CACHE_HOME");
        command
            .env("TMPDIR", place.path("tmp"))
            .env("TERM", "xterm-256color")
            .env("LANG", "C.UTF-8");
        command
            .env("SHELL", "/bin/sh")
            .env_remove("XDG_CACHE_HOME")
            .env_remove("NO_COLOR")
            .env_remove("COLUMNS")
            .env_remove("LINES");
        command
    }
}

impl Running<'_> {
    pub(crate) fn is_there(&self) -> bool {
        std::path::Path::new(&format!("/proc/{}/exe", self.child.id())).exists()
    }

    /// Waits for the end of the run. Processes that do not end in time are described and killed.
    pub(crate) fn end(mut self, longest: Duration) -> Ran {
        let start = Instant::now();
        let mut pause = Duration::from_micros(500);
        let status = loop {
            if let Some(status) = self.child.try_wait().expect("our own child") {
                break Some(status);
            }
            if start.elapsed() > longest {
                break None;
            }
            std::thread::sleep(pause);
            pause = (pause * 2).min(Duration::from_millis(10));
        };
        let hang = if status.is_none() {
            self.stop(longest)
        } else {
            String::new()
        };
        let (stdout, stderr, terminal) = match self.terminal {
            Some(terminal) => {
                let (shown, wrong) = terminal.end();
                (shown.clone(), shown, wrong)
            }
            None => (
                read(&self.place.path("stdout")),
                read(&self.place.path("stderr")),
                None,
            ),
        };
        Ran {
            status,
            stdout,
            stderr,
            hang,
            terminal,
            words: self.words,
        }
    }

    fn stop(&mut self, longest: Duration) -> String {
        let processes = self.place.processes();
        let hang = format!(
            "still there after {longest:?}: {}",
            leftovers::described(&processes)
        );
        leftovers::kill(&processes);
        let _ = self.child.kill();
        let _ = self.child.wait();
        hang
    }
}

impl Ran {
    /// Returns the exit code; `None` if a signal ended the program, or if it did not end in time.
    pub(crate) fn code(&self) -> Option<i32> {
        self.status?.code()
    }

    pub(crate) fn signal(&self) -> Option<i32> {
        self.status?.signal()
    }

    /// Describes the result in one line, for a report.
    pub(crate) fn reported(&self) -> String {
        let end = self
            .status
            .map_or_else(|| self.hang.clone(), |status| status.to_string());
        let said: Vec<&str> = self.stderr.lines().rev().take(4).collect();
        let said: Vec<&str> = said.into_iter().rev().collect();
        format!("{}: {end}: {:.700}", self.words, said.join(" | "))
    }
}

fn read(path: &Path) -> String {
    let mut bytes = Vec::new();
    let _ = File::open(path).and_then(|file| file.take(MOST_OUTPUT).read_to_end(&mut bytes));
    let _ = fs::remove_file(path);
    String::from_utf8_lossy(&bytes).into_owned()
}
