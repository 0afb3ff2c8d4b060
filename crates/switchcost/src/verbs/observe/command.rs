//! The command that is observed.

use std::ffi::OsString;
use std::io;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use observe::Observer;
use rustix::process::{Pid, Signal, kill_process};

use crate::exit::Failure;
use crate::messages::say;

/// A command that is asked to end has so long for it.
const GRACE: Duration = Duration::from_secs(5);

/// When it is dropped, the command has ended: by itself, or since it was asked to.
pub(super) struct Command {
    words: Vec<OsString>,
    /// Its output goes nowhere: the terminal is drawn on.
    is_silent: bool,
    child: Option<Child>,
}

impl Command {
    pub(super) fn new(words: Vec<OsString>, is_silent: bool) -> Command {
        Command { words, is_silent, child: None }
    }

    /// Starts it, observed from its birth on.
    pub(super) fn start(&mut self, observer: &mut Observer) -> Result<(), Failure> {
        let (program, arguments) = self.words.split_first().ok_or(Failure::NoCommand)?;
        observer.adopt_children(true);
        let mut command = std::process::Command::new(program);
        command.args(arguments);
        if self.is_silent {
            command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        } else {
            // Standard output is for what we say.
            command.stdout(duplicate(&io::stderr()));
        }
        let child = command.spawn();
        observer.adopt_children(false);
        let child = child.map_err(|source| Failure::Start { program: program.clone(), source })?;
        let process = child.id();
        self.child = Some(child);
        observer.add([process]).map_err(Failure::Observe)
    }

    pub(super) fn process(&self) -> Option<u32> {
        self.child.as_ref().map(Child::id)
    }

    pub(super) fn is_running(&mut self) -> Result<bool, Failure> {
        let Some(child) = &mut self.child else { return Ok(false) };
        // Waiting fails for nobody's child alone.
        let Ok(Some(status)) = child.try_wait() else { return Ok(true) };
        if !status.success() {
            say!("'{}' ended with {status}", self.words().join(" "));
        }
        self.child = None;
        Ok(false)
    }

    pub(super) fn words(&self) -> Vec<String> {
        self.words.iter().map(|word| word.to_string_lossy().into_owned()).collect()
    }
}

impl Drop for Command {
    fn drop(&mut self) {
        let Some(mut child) = self.child.take() else { return };
        let _ = kill_process(Pid::from_child(&child), Signal::TERM);
        let asked = Instant::now();
        while matches!(child.try_wait(), Ok(None)) && asked.elapsed() < GRACE {
            std::thread::sleep(Duration::from_millis(10));
        }
        let _ = child.kill();
        let _ = child.wait();
    }
}

/// Where standard error goes; nowhere if it is closed.
fn duplicate(error: &io::Stderr) -> Stdio {
    use std::os::fd::AsFd;
    error.as_fd().try_clone_to_owned().map_or_else(|_| Stdio::null(), Stdio::from)
}
