//! The command that is observed.

use std::ffi::OsString;
use std::io;
use std::process::{Child, ExitStatus, Stdio};
use std::time::Duration;

use switchcost_host::cleanup::{CleanupHelper, Step};
use switchcost_host::cleanup_steps::end_family;
use switchcost_host::held::{Held, Parent};

use crate::error::ObserveError;
use crate::kernel::NoBpf;

/// A command that is asked to end has so long for it.
const GRACE: Duration = Duration::from_millis(400);

/// Where the standard streams of a command lead.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Streams {
    /// To ours.
    Ours,
    /// To ours, but standard output to our standard error: ours is for the result.
    OutputToError,
    /// Nowhere: the terminal is drawn on.
    Nowhere,
}

/// When it is dropped, the command has ended: by itself, or since it was asked to.
#[derive(Debug)]
pub struct Command {
    words: Vec<OsString>,
    /// In the record, and in what is said.
    shown: Vec<String>,
    streams: Streams,
    child: Option<Child>,
    /// Lives as long as we do: the command may ask for a signal at its death.
    parent: Option<Parent>,
    /// Ends the command where we are killed.
    helper: Option<CleanupHelper>,
}

impl Command {
    /// A command of at least one word, not yet started.
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

    /// The same, by other words in the record and in what is said.
    pub fn shown_as(mut self, shown: Vec<String>) -> Command {
        self.shown = shown;
        self
    }

    /// Starts it. It is held until `observe` has been given its process, so that not one of its switches is missed.
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
        // Where there is none, a kill of ours leaves the command alone.
        self.helper = CleanupHelper::start(&Step::Command(held.process())).ok();
        let (child, parent) = held.release().map_err(refused)?;
        (self.child, self.parent) = (Some(child), Some(parent));
        Ok(())
    }

    /// Its process, while it lives.
    pub(crate) fn process(&self) -> Option<u32> {
        self.child.as_ref().map(Child::id)
    }

    /// How it ended, once.
    pub(crate) fn take_end(&mut self) -> Option<ExitStatus> {
        // Waiting fails only for what is no child of ours.
        let status = self.child.as_mut()?.try_wait().ok().flatten()?;
        (self.child, self.helper) = (None, None);
        Some(status)
    }

    /// Whether it has been started and has ended.
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

/// Where standard error goes; nowhere if it is closed.
fn duplicate(error: &io::Stderr) -> Stdio {
    use std::os::fd::AsFd;
    error
        .as_fd()
        .try_clone_to_owned()
        .map_or_else(|_| Stdio::null(), Stdio::from)
}
