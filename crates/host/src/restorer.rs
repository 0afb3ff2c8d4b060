//! The process that puts in order what a run leaves that was killed: the terminal that it drew on, the command that it started, and the
//! CPUs of a thread that it has placed.
//! It is this very program, started anew, as [`crate::watcher`] is.

use std::io::{self, Read};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// First argument with which the program does that instead.
pub const RESTORER_ARGUMENT: &str = "restore-when-abandoned";

/// First of the words that are about a thread's CPUs.
pub(crate) const AFFINITY: &str = "affinity";

/// Until it is known how the terminal was.
const READY_WITHIN: Duration = Duration::from_secs(5);

/// At work until it is dropped, and then as if it had never been; where the run is killed, it puts things in order.
#[derive(Debug)]
pub struct Restorer {
    process: Child,
    /// Its end is that of the run.
    line: UnixStream,
}

impl Restorer {
    /// Of the terminal that standard output is, as that is now.
    ///
    /// # Errors
    /// Where there is no process to be had.
    pub fn of_terminal() -> io::Result<Restorer> {
        Restorer::start(&[], Stdio::inherit())
    }

    /// Of a process that runs only as long as we do: it is asked to end, and ended after a while.
    ///
    /// # Errors
    /// Where there is no process to be had.
    pub fn of_command(process: u32) -> io::Result<Restorer> {
        Restorer::start(&[process.to_string()], Stdio::null())
    }

    /// The CPUs that another process's thread may run on, as these words say them.
    pub(crate) fn of_affinity(words: &[String]) -> io::Result<Restorer> {
        Restorer::start(&[&[AFFINITY.to_owned()], words].concat(), Stdio::null())
    }

    /// It is in a process group of its own, where no signal from the terminal reaches it.
    fn start(arguments: &[String], stdout: Stdio) -> io::Result<Restorer> {
        let (line, theirs) = UnixStream::pair()?;
        line.set_read_timeout(Some(READY_WITHIN))?;
        let mut command = Command::new("/proc/self/exe");
        command
            .arg0("switchcost")
            .arg(RESTORER_ARGUMENT)
            .args(arguments)
            .current_dir("/")
            .process_group(0);
        command
            .stdin(Stdio::from(OwnedFd::from(theirs)))
            .stdout(stdout)
            .stderr(Stdio::null());
        let process = command.spawn()?;
        // It holds the other end, too.
        drop(command);
        let mut restorer = Restorer { process, line };
        restorer.line.read_exact(&mut [0])?;
        Ok(restorer)
    }
}

impl Drop for Restorer {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
