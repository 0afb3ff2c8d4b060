//! Starts a program in a process that waits before the program's first instruction, so that
//! counters can be attached before.

use std::io::{self, PipeReader, PipeWriter, Read, Write};
use std::os::fd::{AsRawFd, BorrowedFd, RawFd};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::Duration;

use rustix::process::getpid;

/// Maximum number of checks, a millisecond apart, whether the process waits.
const LOOKS: u32 = 200;

/// A process that waits before it executes its program. Dropping this value ends the process.
#[derive(Debug)]
pub struct Held {
    process: u32,
    gate: PipeWriter,
    /// Channel from the thread that started the program. The standard library waits until the
    /// program is executed, and the thread is the program's parent.
    started: Receiver<io::Result<Child>>,
    parent: Parent,
}

/// Handle of the thread that is a program's parent; dropping it ends the thread. PR_SET_PDEATHSIG
/// refers to threads: a program that uses it gets its signal when this thread ends.
#[derive(Debug)]
pub struct Parent(#[expect(dead_code, reason = "its end is what the thread waits for")] Sender<()>);

impl Held {
    /// Starts a process that waits before it executes the command.
    ///
    /// # Errors
    ///
    /// If no process can be started. An error of the program itself is returned by
    /// [`Held::release`].
    pub fn start(mut command: Command) -> io::Result<Held> {
        let (mut number, reported) = io::pipe()?;
        let (waits, gate) = io::pipe()?;
        let (theirs, ours) = (gate.as_raw_fd(), reported.as_raw_fd());
        // SAFETY: between fork and exec the closure makes system calls on files that it owns, and takes no lock and no memory.
        unsafe { command.pre_exec(move || wait_at(&waits, theirs, ours)) };
        let (start, started) = channel();
        let (alive, gone) = channel();
        thread::Builder::new().spawn(move || {
            // The command owns the closure, which owns its end of the pipes.
            let child = command.spawn();
            drop((command, reported));
            let _ = start.send(child);
            // No value is sent: this waits until the channel is closed.
            let _ = gone.recv();
        })?;
        let mut bytes = [0; 4];
        if number.read_exact(&mut bytes).is_err() {
            let error = started.recv().ok().and_then(Result::err);
            return Err(
                error.unwrap_or_else(|| io::Error::other("its process ended before it began"))
            );
        }
        let held = Held {
            process: u32::from_ne_bytes(bytes),
            gate,
            started,
            parent: Parent(alive),
        };
        held.wait_until_it_waits();
        Ok(held)
    }

    /// Returns the ID of the waiting process.
    pub fn process(&self) -> u32 {
        self.process
    }

    /// Lets the process execute its program.
    ///
    /// # Errors
    ///
    /// If the program cannot be executed.
    pub fn release(mut self) -> io::Result<(Child, Parent)> {
        // If the process has been killed, the thread that started it reports the error.
        let _ = self.gate.write_all(&[1]);
        // If the byte could not be written, closing the pipe ends the process.
        drop(self.gate);
        let child = self.started.recv().map_err(io::Error::other)??;
        Ok((child, self.parent))
    }

    /// Waits until the process is asleep at the gate, so that this switch does not count as the
    /// program's.
    fn wait_until_it_waits(&self) {
        let stat = format!("/proc/{}/stat", self.process);
        let waits = || {
            let text = std::fs::read_to_string(&stat).unwrap_or_default();
            // The fields follow the name, which may contain anything.
            text.rsplit_once(") ")
                .is_none_or(|(_, rest)| !rest.starts_with('R'))
        };
        for _ in 0..LOOKS {
            if waits() {
                return;
            }
            thread::sleep(Duration::from_millis(1));
        }
    }
}

/// Reports the child's process ID, and waits for a byte. Runs in the child, which ends if the pipe
/// is closed without a byte.
fn wait_at(mut gate: &PipeReader, gate_of_parent: RawFd, reported: RawFd) -> io::Result<()> {
    // SAFETY: the file is open in this copy of the parent, which no longer uses it.
    unsafe { libc::close(gate_of_parent) };
    // SAFETY: the starter keeps the file open until the program runs.
    let reported = unsafe { BorrowedFd::borrow_raw(reported) };
    rustix::io::write(reported, &getpid().as_raw_nonzero().get().to_ne_bytes())?;
    gate.read_exact(&mut [0])
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::ExitStatus;

    /// Lets a program run to its end.
    fn run(held: Held) -> ExitStatus {
        let ended = held.release().and_then(|(mut child, _parent)| child.wait());
        ended.expect("it ran")
    }

    #[test]
    fn a_held_program_runs_when_it_is_released_and_not_before() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let sign = folder.path().join("sign");
        let mut command = Command::new("touch");
        command.arg(&sign);
        let held = Held::start(command).expect("a process");
        thread::sleep(Duration::from_millis(20));
        assert!(!sign.exists() && held.process() > 0);
        assert!(run(held).success() && sign.exists());
    }

    #[test]
    fn its_parent_does_not_die_before_it() {
        let mut command = Command::new("setpriv");
        command.args(["--pdeathsig", "TERM", "sleep", "0.2"]);
        let status = run(Held::start(command).expect("a process"));
        assert!(status.success(), "{status}");
    }

    #[test]
    fn one_that_is_dropped_ends_and_one_that_cannot_be_run_says_so() {
        let held = Held::start(Command::new("true")).expect("a process");
        let folder = format!("/proc/{}", held.process());
        drop(held);
        let is_gone = || {
            (0..1000).any(|_| {
                thread::sleep(Duration::from_millis(5));
                !std::path::Path::new(&folder).exists()
            })
        };
        assert!(is_gone());
        let error = Held::start(Command::new("/nonexistent"))
            .and_then(Held::release)
            .expect_err("there is none");
        assert_eq!(error.kind(), io::ErrorKind::NotFound);
    }
}
