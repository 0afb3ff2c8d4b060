//! Forks of a process whose other threads, if any, may hold any lock.

use nix::sched::CloneFlags;
use nix::unistd::{ForkResult, Pid};

/// Forks without the C library, which takes locks for it that another thread may have held when the supervisor was forked.
///
/// # Safety
/// The child may make system calls only, and must not return to where the parent goes on.
pub(super) unsafe fn fork(flags: CloneFlags) -> nix::Result<ForkResult> {
    let flags = flags.bits() as libc::c_long | libc::c_long::from(libc::SIGCHLD);
    // SAFETY: without a stack of its own the child goes on with a copy of ours, as after fork.
    match nix::errno::Errno::result(unsafe { libc::syscall(libc::SYS_clone, flags, 0, 0, 0, 0) })? {
        0 => Ok(ForkResult::Child),
        child => Ok(ForkResult::Parent { child: Pid::from_raw(child as i32) }),
    }
}
