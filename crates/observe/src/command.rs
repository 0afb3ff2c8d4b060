//! Starts and ends the observed command.

use std::ffi::OsString;
use std::io;
use std::process::{Child, ExitStatus, Stdio};
use std::time::Duration;

use switchcost_host::cleanup::{CleanupHelper, Step};
use switchcost_host::cleanup_steps::end_family;
use switchcost_host::held::{Held, Parent};

use crate::error::ObserveError;
use crate::kernel::NoBpf;

/// Time between asking a command to end and killing it.
const GRACE: Duration = Duration::from_millis(400);

/// Destination of the standard streams of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Streams {
    /// The command has the streams of this program.
    Ours,
    /// The command has the streams of this program, but its standard output goes to standard error,
    /// because standard output is for the result.
    OutputToError,
    /// The command's output is discarded, because the live screen occupies the terminal.
    Nowhere,
}

/// A command that is observed. The command is ended when this value is dropped, if not before.
#[derive(Debug)]
pub struct Command {
    words: Vec<OsString>,
    /// Words that stand for the command in the record and in messages.
    shown: Vec<String>,
    streams: Streams,
    child: Option<Child>,
    /// Thread that is the command's parent, and lives as long as this value: a command may ask for
    /// a signal when its parent dies.
    parent: Option<Parent>,
    /// Helper process that ends the command if this process is killed.
    helper: Option<CleanupHelper>,
}

impl Command {
    /// Creates a command of at least one word, without starting it.
    pub fn new(words: Vec<OsString>, streams: Streams) -> Command {
        let shown = words
            .iter()
            .map(|word| word.to_string_lossy().into_owned())
            .collect();
        Command {
            words,
            shown,
            streams,
            child: None,
            parent: None,
            helper: None,
        }
    }

    /// Sets the words that stand for the command in the record and in messages.
    pub fn shown_as(mut self, shown: Vec<String>) -> Command {
        self.shown = shown;
        self
    }

    /// Starts the command. The command waits before its first instruction until `observe` has been
    /// called with its process ID, so no switch is missed.
    pub(crate) fn start(
        &mut self,
        observe: impl FnOnce(u32) -> Result<(), NoBpf>,
    ) -> Result<(), ObserveError> {
        let (program, arguments) = self.words.split_first().ok_or(ObserveError::NoCommand)?;
        let mut command = std::process::Command::new(program);
        command.args(arguments);
        match self.streams {
            Streams::Ours => {}
            Streams::OutputToError => {
                command.stdout(duplicate(&io::stderr()));
            }
            Streams::Nowhere => {
                command
                    .stdin(Stdio::null())
                    .stdout(Stdio::null())
                    .stderr(Stdio::null());
            }
        }
        let refused = |source| ObserveError::Start {
            program: program.clone(),
            source,
        };
        let held = Held::start(command).map_err(refused)?;
        observe(held.process())?;
        // If there is no helper and this process is killed, the command continues.
        self.helper = CleanupHelper::start(&Step::Command(held.process())).ok();
        let (child, parent) = held.release().map_err(refused)?;
        (self.child, self.parent) = (Some(child), Some(parent));
        Ok(())
    }

    /// Returns the command's process ID; `None` before its start and after its end.
    pub(crate) fn process(&self) -> Option<u32> {
        self.child.as_ref().map(Child::id)
    }

    /// Returns the exit status of the command, once, after its end.
    pub(crate) fn take_end(&mut self) -> Option<ExitStatus> {
        // Waiting fails only if the process is not a child of this one.
        let status = self.child.as_mut()?.try_wait().ok().flatten()?;
        (self.child, self.helper) = (None, None);
        Some(status)
    }

    /// Whether the command does not run: it has ended, or was never started.
    pub(crate) fn has_ended(&self) -> bool {
        self.child.is_none()
    }

    pub(crate) fn shown(&self) -> &[String] {
        &self.shown
    }
}

impl Drop for Command {
    fn drop(&mut self) {
        let Some(mut child) = self.child.take() else {
            return;
        };
        end_family(child.id(), GRACE);
        let _ = child.kill();
        let _ = child.wait();
    }
}

/// Returns standard error as a stream for the command; a null stream if standard error is closed.
fn duplicate(error: &io::Stderr) -> Stdio {
    use std::os::fd::AsFd;
    error
        .as_fd()
        .try_clone_to_owned()
        .map_or_else(|_| Stdio::null(), Stdio::from)
}
