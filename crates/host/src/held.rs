//! Starts a program whose process waits before its first instruction, so that it can be counted
//! from the start.

use std::io::{self, PipeReader, PipeWriter, Read, Write};
use std::os::fd::{AsRawFd, BorrowedFd, RawFd};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::Duration;

use rustix::process::getpid;

/// Number of checks, a millisecond apart, for a process that does not wait yet.
const LOOKS: u32 = 200;

/// A process that waits before it executes its program. If this value is dropped, the process ends
/// without executing the program.
#[derive(Debug)]
pub struct Held {
    process: u32,
    gate: PipeWriter,
    /// The started program, from another thread: the standard library waits until the program has started, and that thread is its
    /// parent.
    started: Receiver<io::Result<Child>>,
    parent: Parent,
}

/// The thread that is a program's parent; it ends when this is dropped. A program that requests a
/// signal at the death of its parent (PR_SET_PDEATHSIG, which refers to threads) gets none before.
#[derive(Debug)]
pub struct Parent(#[expect(dead_code, reason = "its end is what the thread waits for")] Sender<()>);

impl Held {
    /// Starts a process for the command, which waits.
    ///
    /// # Errors
    ///
    /// If no process can be started. An error of the program itself shows when the process is
    /// released.
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
            // No data is sent.
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

    /// Process ID of the waiting process.
    pub fn process(&self) -> u32 {
        self.process
    }

    /// Lets the process execute its program.
    ///
    /// # Errors
    ///
    /// If the program cannot be executed.
    pub fn release(mut self) -> io::Result<(Child, Parent)> {
        // The process may have been killed, which its parent notices.
        let _ = self.gate.write_all(&[1]);
        // If nothing could be written, the end of the pipe ends the process.
        drop(self.gate);
        let child = self.started.recv().map_err(io::Error::other)??;
        Ok((child, self.parent))
    }

    /// Waits until the process waits at the gate, so that its switch to waiting is not counted as
    /// the program's.
    fn wait_until_it_waits(&self) {
        let stat = format!("/proc/{}/stat", self.process);
        let waits = || {
            let text = std::fs::read_to_string(&stat).unwrap_or_default();
            // The fields come after the name, which may contain anything.
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

/// Runs in the child: sends the child's number and waits for a byte. The pipe ends if the parent
/// ends.
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

    #[test]
    fn a_held_program_runs_when_it_is_released_and_not_before() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let sign = folder.path().join("sign");
        let mut command = Command::new("touch");
        command.arg(&sign);
        let held = Held::start(command).expect("a process");
        thread::sleep(Duration::from_millis(20));
        assert!(!sign.exists() && held.process() > 0);
        let status = held
            .release()
            .and_then(|(mut child, _parent)| child.wait())
            .expect("it ran");
        assert!(status.success() && sign.exists());
    }

    #[test]
    fn its_parent_does_not_die_before_it() {
        let mut command = Command::new("setpriv");
        command.args(["--pdeathsig", "TERM", "sleep", "0.2"]);
        let held = Held::start(command).expect("a process");
        let status = held
            .release()
            .and_then(|(mut child, _parent)| child.wait())
            .expect("it ran");
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
