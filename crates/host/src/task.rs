//! Starts processes that end with their parent, whatever ends the parent.

use std::io::{self, Read, Write};
use std::os::unix::fs::MetadataExt;
use std::os::unix::process::CommandExt;
use std::panic::AssertUnwindSafe;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::{
    Pid, Signal, WaitOptions, getpid, getppid, kill_process, set_parent_process_death_signal,
    waitpid,
};
use switchcost_units::Nanos;

use crate::signal_action::SignalAction;

/// Returns the thread ID of the calling thread.
pub fn current_tid() -> i32 {
    rustix::thread::gettid().as_raw_nonzero().get()
}

/// Returns the process ID of this process.
pub fn current_pid() -> i32 {
    getpid().as_raw_nonzero().get()
}

/// Returns a path by which processes started by this one can execute this very program while this
/// process lives. The program's file may have been moved, removed or replaced.
pub fn own_program() -> String {
    format!("/proc/{}/exe", current_pid())
}

/// Returns a path of this program for a command that may change the user or the mounts before it
/// starts the program: the program's name, if that still leads to this program.
pub fn named_own_program() -> String {
    let file = |path: &Path| path.metadata().ok().map(|facts| (facts.dev(), facts.ino()));
    let named = std::env::current_exe().ok();
    let named = named.filter(|named| file(named) == file(Path::new("/proc/self/exe")));
    named.map_or_else(own_program, |named| named.display().to_string())
}

/// Stops this process as `kill -STOP` does. Returns when the process is continued (SIGCONT).
pub fn stop_self() -> io::Result<()> {
    Ok(kill_process(getpid(), Signal::STOP)?)
}

/// Whether this process ignores a signal. The parent of this process may have caused this, as
/// `nohup` does for SIGHUP.
pub fn is_ignored(signal: i32) -> bool {
    SignalAction::current(signal).is_ok_and(|action| action.is_ignored())
}

/// Asks the kernel to kill this process when its parent ends. Fails if `parent` has already ended.
fn die_with(parent: Pid) -> io::Result<()> {
    set_parent_process_death_signal(Some(Signal::KILL))?;
    if getppid() == Some(parent) {
        Ok(())
    } else {
        Err(io::Error::other("the parent ended before its child began"))
    }
}

/// Asks the kernel to kill this process when `parent` ends. `parent` must be the process that
/// started this one.
///
/// # Errors
///
/// If the parent has ended.
pub fn end_with(parent: i32) -> io::Result<()> {
    die_with(Pid::from_raw(parent).ok_or_else(|| io::Error::other("no number of a process"))?)
}

/// A forked process, which is killed and reaped when dropped.
#[derive(Debug)]
pub struct Forked {
    pid: Pid,
    is_reaped: bool,
}

impl Forked {
    /// Returns the process ID of the child.
    pub fn pid(&self) -> i32 {
        self.pid.as_raw_nonzero().get()
    }

    /// Records that another function has waited for the process. Its number may now be reused.
    pub(crate) fn was_waited_for(&mut self) {
        self.is_reaped = true;
    }
}

impl Drop for Forked {
    fn drop(&mut self) {
        if self.is_reaped {
            return;
        }
        // The child may have ended, but its number cannot have been reused before it is waited for.
        let _ = kill_process(self.pid, Signal::KILL);
        let _ = waitpid(Some(self.pid), WaitOptions::empty());
    }
}

/// Forks. The child runs `body`, and exits with 0, or with 1 if `body` fails or panics; it never
/// returns from this function.
///
/// # Errors
///
/// If this process has several threads, whose locks the child would inherit in an unknown state.
pub fn fork(body: impl FnOnce() -> io::Result<()>) -> io::Result<Forked> {
    let threads = std::fs::read_dir("/proc/self/task")?.count();
    if threads != 1 {
        return Err(io::Error::other(format!(
            "{threads} threads run, and a process can be forked safely from one only"
        )));
    }
    let parent = getpid();
    // SAFETY: the process has one thread, so the child finds every lock free and the heap whole.
    let number = unsafe { libc::fork() };
    match Pid::from_raw(number.max(0)) {
        _ if number < 0 => Err(io::Error::last_os_error()),
        Some(pid) => Ok(Forked {
            pid,
            is_reaped: false,
        }),
        None => {
            let outcome = std::panic::catch_unwind(AssertUnwindSafe(|| {
                die_with(parent).and_then(|()| body())
            }));
            let code = if matches!(outcome, Ok(Ok(()))) { 0 } else { 1 };
            // SAFETY: ends the child without running the parent's exit handlers a second time.
            unsafe { libc::_exit(code) }
        }
    }
}

/// Makes the kernel kill the command's process when the calling thread ends.
pub(crate) fn tie(command: &mut Command) {
    let parent = getpid();
    // SAFETY: between fork and exec the closure makes two system calls and allocates nothing unless it fails.
    unsafe { command.pre_exec(move || die_with(parent)) };
}

/// A child program that exchanges text over its standard input and output. The program is killed
/// and reaped when dropped.
#[derive(Debug)]
pub struct FreshProcess {
    child: Child,
}

/// Outcome of a wait for output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Waited {
    /// Output came. Contains the number of bytes read into the buffer.
    Bytes(usize),
    /// No output came before the timeout.
    TimedOut,
    /// The process closed its output.
    Ended,
}

impl FreshProcess {
    /// Starts this very program with `arguments`, in a new process group, so that a signal from the
    /// terminal reaches only the parent. Must be called from a thread that outlives the process,
    /// because the kernel ties the process to the thread.
    ///
    /// The child must call [`end_with`] itself, with the number that follows `arguments`. The call
    /// cannot be made between fork and exec: the standard library reports errors there over a
    /// socket, and if that fails, the library and the child wait for each other.
    pub fn start(arguments: &[&str]) -> io::Result<FreshProcess> {
        let mut command = Command::new("/proc/self/exe");
        command.args(arguments).arg(current_pid().to_string());
        command
            .process_group(0)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::inherit());
        Ok(FreshProcess {
            child: command.spawn()?,
        })
    }

    /// Writes all of `input` to the child's standard input, and closes it.
    pub fn tell(&mut self, input: &[u8]) -> io::Result<()> {
        let mut stdin = self
            .child
            .stdin
            .take()
            .ok_or_else(|| io::Error::other("the input was closed before"))?;
        stdin.write_all(input)
    }

    /// Waits at most `timeout` for output.
    pub fn wait_for_output(&mut self, buffer: &mut [u8], timeout: Nanos) -> io::Result<Waited> {
        let stdout = self
            .child
            .stdout
            .as_mut()
            .ok_or_else(|| io::Error::other("the output was closed before"))?;
        let timeout = Timespec {
            tv_sec: (timeout.0 / 1_000_000_000) as i64,
            tv_nsec: (timeout.0 % 1_000_000_000) as i64,
        };
        match poll(&mut [PollFd::new(stdout, PollFlags::IN)], Some(&timeout)) {
            Ok(0) | Err(Errno::INTR) => Ok(Waited::TimedOut),
            Ok(_) => Ok(match stdout.read(buffer)? {
                0 => Waited::Ended,
                bytes => Waited::Bytes(bytes),
            }),
            Err(error) => Err(error.into()),
        }
    }

    /// Returns the exit status of a process that has closed its output. Waits at most 10 s for the
    /// end of the process.
    pub fn exit_status(&mut self) -> io::Result<ExitStatus> {
        let status = end_within(&mut self.child, GONE_WITHIN)?;
        status.ok_or_else(|| {
            io::Error::new(
                io::ErrorKind::TimedOut,
                "it closed its output and did not end",
            )
        })
    }
}

impl Drop for FreshProcess {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = end_within(&mut self.child, GONE_WITHIN);
    }
}

/// Longest time in which a killed process ends, unless it hangs in the kernel.
const GONE_WITHIN: Duration = Duration::from_secs(10);

/// Returns the exit status of a child; `None` if it has not ended within `limit`.
fn end_within(child: &mut Child, limit: Duration) -> io::Result<Option<ExitStatus>> {
    let (start, mut pause) = (Instant::now(), Duration::from_micros(50));
    loop {
        match child.try_wait()? {
            None if start.elapsed() < limit => std::thread::sleep(pause),
            ended => return Ok(ended),
        }
        pause = (pause * 2).min(Duration::from_millis(10));
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use std::sync::mpsc;
    use std::thread::JoinHandle;

    /// Starts a thread that calls `then` once it is told to. Returns the thread's ID, the channel
    /// by which it is told, and its handle.
    pub(crate) fn waiting_thread(
        then: impl FnOnce() + Send + 'static,
    ) -> (i32, mpsc::Sender<()>, JoinHandle<()>) {
        let (tell, reported) = mpsc::channel();
        let (go, gone) = mpsc::channel::<()>();
        let thread = std::thread::spawn(move || {
            tell.send(current_tid()).expect("the test waits");
            gone.recv().expect("the test says when");
            then();
        });
        (reported.recv().expect("a number"), go, thread)
    }

    #[test]
    fn the_wait_for_a_child_is_bounded() {
        let mut child = Command::new("sleep").arg("60").spawn().expect("it starts");
        assert_eq!(
            end_within(&mut child, Duration::from_millis(20)).expect("a child of ours"),
            None
        );
        child.kill().expect("it runs");
        assert!(
            end_within(&mut child, GONE_WITHIN)
                .expect("a child of ours")
                .is_some()
        );
    }

    #[test]
    fn no_one_else_is_taken_for_the_parent() {
        assert!(end_with(0).is_err() && end_with(current_pid()).is_err());
    }

    #[test]
    fn a_process_of_several_threads_is_not_forked() {
        // The test harness itself runs this test in a thread of its own.
        let error = fork(|| Ok(())).expect_err("more than one thread");
        assert!(
            error
                .to_string()
                .contains("a process can be forked safely from one only"),
            "{error}"
        );
    }
}
