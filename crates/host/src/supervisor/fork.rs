//! Forks a process whose other threads may hold any lock.

use libc::c_int;
use rustix::io;
use rustix::process::Pid;

use crate::errno;

/// Forks without the C library, whose locks another thread may hold. `flags` are those of clone(2).
/// Returns the child's ID, or `None` in the child.
///
/// # Safety
///
/// The child may only make system calls, and must not return to the parent's code.
pub(super) unsafe fn fork(flags: c_int) -> io::Result<Option<Pid>> {
    let flags = libc::c_long::from(flags | libc::SIGCHLD);
    // SAFETY: without a stack of its own the child goes on with a copy of ours, as after fork.
    let pid = unsafe { libc::syscall(libc::SYS_clone, flags, 0, 0, 0, 0) };
    if pid < 0 {
        Err(errno::last())
    } else {
        Ok(Pid::from_raw(pid as i32))
    }
}
