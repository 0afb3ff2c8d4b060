//! Lets a task that a signal has stopped (SIGSTOP) run for a moment without SIGCONT. The task's
//! parent is not notified, and the task is stopped again afterwards.

use std::io;
use std::ptr::null_mut;
use std::time::{Duration, Instant};

use libc::{c_int, c_void, pid_t};

const PAUSE: Duration = Duration::from_micros(200);

fn ptrace(request: libc::c_uint, task: pid_t, data: usize) -> io::Result<()> {
    // SAFETY: none of the requests made here reads or writes memory of ours.
    let result = unsafe { libc::ptrace(request, task, null_mut::<c_void>(), data as *mut c_void) };
    if result == -1 {
        Err(io::Error::last_os_error())
    } else {
        Ok(())
    }
}

/// Returns the signal for which a traced task has stopped since the last call, or 0 if there is no
/// signal to pass on. The outer `None` means that the task has not stopped again, the inner one
/// that it has ended.
fn stop_of(task: pid_t) -> io::Result<Option<Option<c_int>>> {
    let mut status = 0;
    // SAFETY: `status` is a local variable.
    match unsafe { libc::waitpid(task, &raw mut status, libc::__WALL | libc::WNOHANG) } {
        -1 => Err(io::Error::last_os_error()),
        0 => Ok(None),
        _ if !libc::WIFSTOPPED(status) => Ok(Some(None)),
        // The stop concerns the whole thread group, so there is no signal to pass on.
        _ if status >> 16 == libc::PTRACE_EVENT_STOP => Ok(Some(Some(0))),
        _ => Ok(Some(Some(libc::WSTOPSIG(status)))),
    }
}

/// A stopped task that this process traces. Dropping this value stops the task again.
struct Hold {
    task: pid_t,
    is_gone: bool,
}

impl Hold {
    fn take(task: pid_t) -> io::Result<Hold> {
        ptrace(libc::PTRACE_SEIZE, task, 0)?;
        Ok(Hold {
            task,
            is_gone: false,
        })
    }

    /// Continues the task after each stop, with the signal that it received, if any.
    fn follow(&mut self) -> io::Result<()> {
        match stop_of(self.task)? {
            None => Ok(()),
            Some(None) => {
                self.is_gone = true;
                Ok(())
            }
            Some(Some(signal)) => ptrace(libc::PTRACE_CONT, self.task, signal as usize),
        }
    }
}

impl Drop for Hold {
    fn drop(&mut self) {
        let deadline = Instant::now() + Duration::from_secs(2);
        let _ = ptrace(libc::PTRACE_INTERRUPT, self.task, 0);
        while !self.is_gone && Instant::now() < deadline {
            match stop_of(self.task) {
                Ok(None) => std::thread::sleep(PAUSE),
                Ok(Some(Some(signal))) => {
                    let _ = ptrace(libc::PTRACE_DETACH, self.task, signal as usize);
                    return;
                }
                Ok(Some(None)) | Err(_) => return,
            }
        }
    }
}

/// Lets a stopped task (given by its thread ID in this PID namespace) run until `is_done` returns
/// true, at most for `timeout`. Returns whether `is_done` returned true.
///
/// # Errors
///
/// If the task may not be traced, or has ended.
pub fn run_until(task: u32, timeout: Duration, is_done: impl Fn() -> bool) -> io::Result<bool> {
    let deadline = Instant::now() + timeout;
    let mut hold = Hold::take(pid_t::try_from(task).map_err(io::Error::other)?)?;
    while !is_done() && !hold.is_gone {
        if Instant::now() > deadline {
            return Ok(false);
        }
        hold.follow()?;
        std::thread::sleep(PAUSE);
    }
    Ok(!hold.is_gone)
}

#[cfg(test)]
mod tests {
    use std::process::{Child, Command};

    use super::*;

    struct Ended(Child);

    impl Drop for Ended {
        fn drop(&mut self) {
            self.0.kill().expect("ours");
            self.0.wait().expect("reaped");
        }
    }

    fn state_and_ticks(pid: u32) -> (String, u64) {
        let text = std::fs::read_to_string(format!("/proc/{pid}/stat")).expect("it lives");
        let fields: Vec<_> = text
            .rsplit(") ")
            .next()
            .expect("fields")
            .split(' ')
            .collect();
        (fields[0].to_owned(), fields[11].parse().expect("a number"))
    }

    fn await_state(pid: u32, state: &str) {
        let deadline = Instant::now() + Duration::from_secs(60);
        while state_and_ticks(pid).0 != state {
            assert!(Instant::now() < deadline, "{:?}", state_and_ticks(pid));
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    fn signal(child: &Ended, number: c_int) {
        // SAFETY: the process is a child that has not been reaped.
        assert_eq!(unsafe { libc::kill(child.0.id() as pid_t, number) }, 0);
    }

    #[test]
    fn a_stopped_task_runs_for_a_moment_and_is_stopped_again() {
        let child = Ended(
            Command::new("sh")
                .args(["-c", "while :; do :; done"])
                .spawn()
                .expect("sh"),
        );
        let pid = child.0.id();
        signal(&child, libc::SIGSTOP);
        await_state(pid, "T");
        let before = state_and_ticks(pid).1;
        let has_run = || state_and_ticks(pid).1 > before + 2;
        assert!(run_until(pid, Duration::from_secs(60), has_run).expect("ours"));
        await_state(pid, "T");
        let after = state_and_ticks(pid).1;
        std::thread::sleep(Duration::from_millis(100));
        assert_eq!(state_and_ticks(pid), ("T".to_owned(), after));
        assert!(
            !run_until(pid, Duration::from_millis(20), || false).expect("ours"),
            "in vain"
        );
        signal(&child, libc::SIGCONT);
        await_state(pid, "R");
    }

    #[test]
    fn a_task_that_is_gone_is_an_error() {
        let mut child = Command::new("true").spawn().expect("true");
        child.wait().expect("reaped");
        assert!(run_until(child.id(), Duration::from_secs(1), || true).is_err());
    }
}
