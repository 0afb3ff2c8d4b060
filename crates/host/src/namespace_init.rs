//! Runs a function in the first process of a new PID namespace. When that process ends, for
//! whatever reason, the kernel ends all its descendants, even stopped ones.

use std::io;
use std::panic::AssertUnwindSafe;
use std::process::ExitStatus;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, Signal, WaitOptions, set_parent_process_death_signal, waitpid};

use crate::errno;
use crate::supervisor::PidNamespace;

/// Runs `body` in a child that is the first process of a new PID namespace with its own /proc, and
/// waits for its end. The child exits with 0, or with 1 if `body` fails or panics, and is killed
/// when the calling thread ends.
///
/// Must be called in a process of one thread. The process can start no children afterwards, because
/// they would belong to the namespace, which has ended.
///
/// # Errors
///
/// If the kernel refuses, as in many containers.
pub fn run_in_pid_namespace(body: impl FnOnce() -> io::Result<()>) -> io::Result<ExitStatus> {
    let namespace = PidNamespace::find();
    // This process alone has the other end of the pipe, so a hang-up shows that it has ended.
    let (lives, alive) = io::pipe()?;
    // SAFETY: changes the namespaces of this process, and no memory.
    if unsafe { libc::unshare(namespace.flags()) } != 0 {
        return Err(namespace.refused(errno::last()));
    }
    // SAFETY: the process has one thread, so the child finds every lock free and the heap whole.
    let number = unsafe { libc::fork() };
    match Pid::from_raw(number.max(0)) {
        _ if number < 0 => Err(namespace.refused(errno::last())),
        Some(child) => wait_for(child),
        None => {
            drop(alive);
            let enter = || {
                set_parent_process_death_signal(Some(Signal::KILL))?;
                is_alive(&lives)?;
                namespace.settle()
            };
            let outcome =
                std::panic::catch_unwind(AssertUnwindSafe(|| enter().and_then(|()| body())));
            let code = match outcome {
                Ok(Ok(())) => 0,
                Ok(Err(error)) => {
                    // The child has no other way to report its error.
                    let _ = rustix::io::write(
                        rustix::stdio::stderr(),
                        format!("switchcost: {error}\n").as_bytes(),
                    );
                    1
                }
                Err(_) => 1,
            };
            // SAFETY: ends the child without running the parent's exit handlers a second time.
            unsafe { libc::_exit(code) }
        }
    }
}

/// Fails if the parent has ended. Inside the namespace the parent has no number, so the end of a
/// pipe shows it.
fn is_alive(lives: &io::PipeReader) -> io::Result<()> {
    let now = Timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    match poll(&mut [PollFd::new(lives, PollFlags::IN)], Some(&now))? {
        0 => Ok(()),
        _ => Err(io::Error::other("the parent ended before its child began")),
    }
}

fn wait_for(child: Pid) -> io::Result<ExitStatus> {
    use std::os::unix::process::ExitStatusExt;
    loop {
        match waitpid(Some(child), WaitOptions::empty()) {
            Ok(Some((_, status))) => return Ok(ExitStatus::from_raw(status.as_raw())),
            Ok(None) | Err(rustix::io::Errno::INTR) => (),
            Err(error) => return Err(error.into()),
        }
    }
}
