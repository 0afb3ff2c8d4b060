//! Recognises files that this program made and whose owner is dead. The owner has locked the file
//! (flock), and the kernel releases the locks of dead processes.

use std::fs::File;
use std::io;
use std::os::fd::AsFd;

use rustix::fs::{FileType, FlockOperation, flock, fstat};
use rustix::io::Errno;

/// Whether a file is of type `kind` and belongs to this user.
pub(crate) fn is_own(file: impl AsFd, kind: FileType) -> io::Result<bool> {
    let facts = fstat(file)?;
    Ok(FileType::from_raw_mode(facts.st_mode) == kind
        && facts.st_uid == rustix::process::geteuid().as_raw())
}

/// Waits until the process that locked a file is dead, and takes the lock. Called for a process
/// that is known to be ending, but may hold the lock for a moment.
pub(crate) fn await_death(file: &File) -> io::Result<()> {
    Ok(flock(file, FlockOperation::LockExclusive)?)
}

/// Takes over the lock of a file whose owner is dead. Returns false if the owner lives, or if the
/// file was removed in the meantime.
///
/// # Errors
///
/// If the file system has no locks.
pub fn take_over(file: &File) -> io::Result<bool> {
    match flock(file, FlockOperation::NonBlockingLockExclusive) {
        Err(Errno::WOULDBLOCK) => Ok(false),
        taken => {
            taken?;
            Ok(fstat(file)?.st_nlink > 0)
        }
    }
}
