//! A folder for the temporary files of a run, which does not outlive the run, however that ends.
//!
//! The folder is `switchcost-1`, or the first such name that is free, in the usual place (TMPDIR):
//! the same in each run, because the addresses of programs may depend on the paths of their files.
//! The folder contains `lock`, which this process holds while it lives (flock), and `files` for
//! everything else.
//!
//! A helper process waits until the run has ended, and then removes the folder
//! ([`crate::cleanup`]). If the helper could not do so (a power failure, or it was killed, too),
//! the next run does. A folder is removed only if it certainly belongs to a dead run of this
//! program: it has the name and the lock, both belong to this user, and no process holds the lock.
//! Symbolic links are not followed.

pub(crate) mod abandoned_folder;

use std::fs::{self, DirBuilder, File};
use std::io::{self, ErrorKind, Write};
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use rustix::fs::{
    FlockOperation, Mode, OFlags, StatVfsMountFlags, flock, fstat, open, openat, statvfs,
};

use crate::cleanup::{CleanupHelper, Step};
use crate::signals::defer_signals;

const PREFIX: &str = "switchcost-";
/// Upper limit of the numbers of folders, which exceeds any number of concurrent runs.
const MOST_FOLDERS: u32 = 10_000;
const LOCK: &str = "lock";
const FILES: &str = "files";
/// Name of the file that lists paths of control groups, one per line.
const GROUPS: &str = "groups";

/// Descriptors of the locks that this process holds. A supervisor keeps the locks open until
/// everything that it started has ended, because a process that still writes to the folder could
/// create files while it is removed.
static LOCKS: Mutex<Vec<RawFd>> = Mutex::new(Vec::new());

pub(crate) fn locks() -> Vec<RawFd> {
    LOCKS.lock().unwrap_or_else(PoisonError::into_inner).clone()
}

/// A temporary folder, which is removed when dropped.
#[derive(Debug)]
pub struct TemporaryFolder {
    whole: PathBuf,
    files: PathBuf,
    lock: File,
    helper: Option<CleanupHelper>,
}

impl TemporaryFolder {
    /// Creates a folder inside `within`, which may be writable for everybody. First removes folders
    /// that dead runs have left there.
    ///
    /// # Errors
    ///
    /// If the folder cannot be created there.
    pub fn create_in(within: &Path) -> io::Result<TemporaryFolder> {
        let within = std::path::absolute(within)?;
        sweep(&within);
        for number in 1..MOST_FOLDERS {
            if let Some(folder) = claim(within.join(format!("{PREFIX}{number}")))? {
                return Ok(folder);
            }
        }
        let found = format!(
            "{} folders {PREFIX}1, {PREFIX}2 and so on in {}",
            MOST_FOLDERS - 1,
            within.display()
        );
        Err(io::Error::new(ErrorKind::AlreadyExists, found))
    }

    /// Returns the path of the folder.
    pub fn path(&self) -> &Path {
        &self.files
    }

    /// Records control groups that are to be removed with the folder. Must be called before the
    /// groups are created.
    pub(crate) fn remove_with_it(&self, groups: &[PathBuf]) -> io::Result<()> {
        let lines: String = groups
            .iter()
            .map(|group| format!("{}\n", group.display()))
            .collect();
        fs::write(self.whole.join(GROUPS), lines)
    }
}

impl Drop for TemporaryFolder {
    fn drop(&mut self) {
        LOCKS
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .retain(|&lock| lock != self.lock.as_raw_fd());
        let is_removed = abandoned_folder::remove(&self.whole, &self.lock).is_ok();
        // The removal of a folder may take some time.
        if let Some(helper) = self.helper.take().filter(|_| !is_removed) {
            helper.release();
        }
    }
}

/// Whether programs cannot be executed from a folder because its file system is mounted noexec. The
/// folder need not exist yet.
pub fn is_noexec(folder: &Path) -> bool {
    let there = folder.ancestors().find(|folder| folder.exists());
    let facts = there.and_then(|folder| statvfs(folder).ok());
    facts.is_some_and(|facts| facts.f_flag.contains(StatVfsMountFlags::NOEXEC))
}

/// Creates a folder and takes its lock; returns `None` if the name is taken. Signals are deferred
/// until the helper knows the folder.
fn claim(path: PathBuf) -> io::Result<Option<TemporaryFolder>> {
    let _deferred = defer_signals()?;
    match DirBuilder::new().mode(0o700).create(&path) {
        Err(error) if error.kind() == ErrorKind::AlreadyExists => return Ok(None),
        made => made?,
    }
    let refused = |_: &io::Error| drop((fs::remove_file(path.join(LOCK)), fs::remove_dir(&path)));
    let Some(lock) = open_folder(&path)
        .and_then(|folder| new_lock(&folder))
        .inspect_err(refused)?
    else {
        return Ok(None);
    };
    LOCKS
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .push(lock.as_raw_fd());
    // Without a helper, the next run removes the folder.
    let helper = CleanupHelper::start(&Step::Remove(&path)).ok();
    let folder = TemporaryFolder {
        files: path.join(FILES),
        whole: path,
        lock,
        helper,
    };
    DirBuilder::new().mode(0o700).create(folder.path())?;
    Ok(Some(folder))
}

/// Creates and takes the lock of a new folder. Returns `None` if another process took the folder
/// for abandoned before the lock was taken.
fn new_lock(folder: &OwnedFd) -> io::Result<Option<File>> {
    let flags = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
    let mut lock = File::from(openat(folder, LOCK, flags, Mode::RUSR | Mode::WUSR)?);
    flock(&lock, FlockOperation::LockExclusive)?;
    writeln!(
        lock,
        "switchcost, process {}, removes this folder when it ends.",
        std::process::id()
    )?;
    Ok((fstat(&lock)?.st_nlink > 0).then_some(lock))
}

/// Opens a folder. A symbolic link to a folder is refused.
fn open_folder(path: &Path) -> io::Result<OwnedFd> {
    Ok(open(
        path,
        OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC,
        Mode::empty(),
    )?)
}

/// Removes the folders of runs that have ended. A folder that cannot be removed remains, which does
/// no harm.
fn sweep(within: &Path) {
    let Ok(entries) = fs::read_dir(within) else {
        return;
    };
    for path in entries
        .flatten()
        .map(|entry| entry.path())
        .filter(|path| is_named_as_ours(path))
    {
        if let Ok(Some(lock)) = abandoned_folder::lock(&path) {
            let _ = abandoned_folder::remove(&path, &lock);
        }
    }
}

fn is_named_as_ours(path: &Path) -> bool {
    let number = path
        .file_name()
        .and_then(|name| name.to_str()?.strip_prefix(PREFIX));
    number.is_some_and(|number| {
        !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit())
    })
}

#[cfg(test)]
pub(crate) mod tests;
