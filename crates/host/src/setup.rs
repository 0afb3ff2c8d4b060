//! Runs a program in a set-up: shell commands before it, a wrapper around it, and commands that
//! undo the set-up afterwards, however the program ends.
//!
//! A *keeper* does this: another process of this program, like a cleanup helper
//! ([`crate::cleanup`]). The standard input of the keeper ends when it should stop, or when the run
//! has ended.

mod keeper;
mod settings;

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read};
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};

pub use keeper::keep;

/// First command-line argument that makes this program a keeper, which sets up and undoes the
/// environment of another program.
pub const KEEPER_ARGUMENT: &str = "keep-one-setup";

/// Time between two calls of `should_stop` during a wait.
const LOOK: Timespec = Timespec {
    tv_sec: 0,
    tv_nsec: 20_000_000,
};

/// Time for which a run that stops waits until a set-up is undone.
const LEFT_AFTER: Duration = Duration::from_millis(600);

/// Commands before, around and after a program. Each part may be empty.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Setup {
    /// Shell commands before the program. The same shell then starts the program, which inherits
    /// changes to the shell.
    pub commands: String,
    /// Command that gets the program as further arguments and starts it, such as `perf stat --`.
    pub wrapper: String,
    /// Commands for a shell after the program's end.
    pub undo: String,
}

/// Outcome of a program and of undoing its set-up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kept {
    /// Exit code of the program, or of commands that failed, as a shell gives it; `None` if the
    /// keeper was told to stop.
    pub code: Option<i32>,
    /// Failures to undo the set-up, and settings that are still changed, one sentence each.
    pub complaints: Vec<String>,
}

/// A program that runs in its set-up. Dropping this value ends the program and undoes the set-up.
#[derive(Debug)]
pub struct Keeper {
    process: Child,
    /// Connection to the keeper. The end of the connection asks the keeper to stop.
    line: Option<ChildStdin>,
    /// Whether the keeper is left to continue alone.
    is_left: bool,
}

/// Why the outcome of a program in its set-up is unknown.
#[derive(Debug)]
pub enum NotKept {
    /// The program was still running after the longest time.
    Late,
    /// The keeper could not be waited for.
    Failed(io::Error),
}

impl Setup {
    /// Starts the program in the set-up. The output of the program and of the commands goes to
    /// `log`.
    ///
    /// # Errors
    ///
    /// If no process can be started.
    pub fn start(&self, program: &[OsString], log: File) -> io::Result<Keeper> {
        let mut command = Command::new("/proc/self/exe");
        // Signals from the terminal reach the run only, which then asks the keeper to stop.
        command
            .arg0("switchcost")
            .arg(KEEPER_ARGUMENT)
            .args([&self.commands, &self.wrapper, &self.undo])
            .args(program);
        command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(log)
            .process_group(0);
        let mut process = command.spawn()?;
        let line = process.stdin.take();
        Ok(Keeper {
            process,
            line,
            is_left: false,
        })
    }
}

impl Keeper {
    /// Waits until the set-up is undone. Ends the program when `should_stop` returns true, or when
    /// the program takes longer than `longest`. After `should_stop`, does not wait for a long
    /// undoing, which the keeper then continues alone.
    ///
    /// # Errors
    ///
    /// If the program took longer than `longest`, or the keeper cannot be waited for.
    pub fn wait(
        mut self,
        should_stop: &dyn Fn() -> bool,
        longest: Duration,
    ) -> Result<Kept, NotKept> {
        let start = Instant::now();
        let (mut is_late, mut stopped) = (false, None);
        while !self.has_reported().map_err(NotKept::Failed)? {
            is_late |= self.line.is_some() && start.elapsed() > longest;
            if stopped.is_none() && should_stop() {
                stopped = Some(Instant::now());
            }
            if is_late || stopped.is_some() {
                self.line = None;
            }
            if stopped.is_some_and(|since| since.elapsed() > LEFT_AFTER) {
                self.is_left = true;
                return Ok(Kept {
                    code: None,
                    complaints: vec![format!(
                        "process {} goes on undoing it, for a minute at most",
                        self.process.id()
                    )],
                });
            }
        }
        let mut report = String::new();
        let mut output = self.process.stdout.take().ok_or(NotKept::Late)?;
        output
            .read_to_string(&mut report)
            .map_err(NotKept::Failed)?;
        if is_late {
            Err(NotKept::Late)
        } else {
            parsed(&report).map_err(NotKept::Failed)
        }
    }

    fn has_reported(&self) -> io::Result<bool> {
        let Some(output) = &self.process.stdout else {
            return Ok(true);
        };
        match poll(&mut [PollFd::new(output, PollFlags::IN)], Some(&LOOK)) {
            Err(rustix::io::Errno::INTR) => Ok(false),
            ready => Ok(ready? > 0),
        }
    }
}

impl Drop for Keeper {
    fn drop(&mut self) {
        self.line = None;
        if !self.is_left {
            let _ = self.process.wait();
        }
    }
}

/// Parses a keeper's report. The first line is the exit code, or `stopped`. The other lines are
/// complaints.
fn parsed(report: &str) -> io::Result<Kept> {
    let mut lines = report.lines();
    let first = lines
        .next()
        .ok_or_else(|| io::Error::other("the process that keeps the set-up was killed"))?;
    Ok(Kept {
        code: first.parse().ok(),
        complaints: lines.map(str::to_owned).collect(),
    })
}
