//! The cleanup helper: a process that cleans up after a run that was killed. The helper is another
//! process of this program, in its own process group, so no signal from a terminal reaches it. The
//! helper's standard input ends when the run has ended.

use std::ffi::OsString;
use std::io::{self, Read};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// First argument that makes the program a cleanup helper. The following arguments give the step.
pub const CLEANUP_ARGUMENT: &str = "clean-up-when-abandoned";

// Begins with dashes, because a test program would take a plain word for the name of a test.
pub(crate) const REMOVE: &str = "--remove";
pub(crate) const TERMINAL: &str = "--terminal";
pub(crate) const COMMAND: &str = "--command";
pub(crate) const AFFINITY: &str = "--affinity";

/// Longest wait until the cleanup helper reports that it knows what to do after the run.
const READY_WITHIN: Duration = Duration::from_secs(5);

/// Action of a cleanup helper after the end of the run.
#[derive(Debug)]
pub enum Step<'a> {
    /// The helper removes a temporary folder or a draft whose lock the run held.
    Remove(&'a Path),
    /// The helper restores the state that the terminal on standard output has now.
    Terminal,
    /// The helper ends a process, given by its ID, and everything that the process has started.
    Command(u32),
    /// The helper restores the allowed CPUs of a thread. The field describes the thread and the
    /// CPUs, in words.
    Affinity(&'a [String]),
}

impl Step<'_> {
    fn words(&self) -> Vec<OsString> {
        match self {
            Step::Remove(path) => vec![REMOVE.into(), path.into()],
            Step::Terminal => vec![TERMINAL.into()],
            Step::Command(process) => vec![COMMAND.into(), process.to_string().into()],
            Step::Affinity(words) => {
                let words = words.iter().map(OsString::from);
                std::iter::once(AFFINITY.into()).chain(words).collect()
            }
        }
    }
}

/// A running cleanup helper. Dropping this value ends the helper without its step, so nothing may
/// be left to clean up then.
#[derive(Debug)]
pub struct CleanupHelper {
    process: Child,
    /// Connection to the helper. The end of the connection tells the helper that the run has ended.
    line: Option<UnixStream>,
}

impl CleanupHelper {
    /// Starts a helper, and waits until it knows its step.
    ///
    /// # Errors
    ///
    /// If no process can be started.
    pub fn start(step: &Step<'_>) -> io::Result<CleanupHelper> {
        let (line, theirs) = UnixStream::pair()?;
        line.set_read_timeout(Some(READY_WITHIN))?;
        let stdout = match step {
            Step::Terminal => Stdio::inherit(),
            _ => Stdio::null(),
        };
        let process = Command::new("/proc/self/exe")
            .arg0("switchcost")
            .arg(CLEANUP_ARGUMENT)
            .args(step.words())
            .current_dir("/")
            .process_group(0)
            .stdin(Stdio::from(OwnedFd::from(theirs)))
            .stdout(stdout)
            .stderr(Stdio::null())
            .spawn()?;
        let mut helper = CleanupHelper {
            process,
            line: Some(line),
        };
        helper
            .line
            .iter_mut()
            .try_for_each(|line| line.read_exact(&mut [0]))?;
        Ok(helper)
    }

    /// Makes the helper do its step now. Does not wait until the step is done.
    pub(crate) fn release(mut self) {
        self.line = None;
    }
}

impl Drop for CleanupHelper {
    fn drop(&mut self) {
        if self.line.is_some() {
            // The end of the connection would trigger the step, so the helper is killed first.
            let _ = self.process.kill();
            let _ = self.process.wait();
        }
    }
}
