//! Recognises and removes the folder of a run that has ended.

use std::fs::{self, File};
use std::io::{self, ErrorKind};
use std::os::fd::{AsFd, AsRawFd};
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, FileType, Mode, OFlags, fstat, openat, statat, unlinkat};

use super::{FILES, GROUPS, LOCK, PREFIX, open_folder};
use crate::abandoned::{is_own, take_over};

/// Takes the lock of a folder that this program made. Returns `None` if the run that made the
/// folder has not ended.
pub(super) fn lock(path: &Path) -> io::Result<Option<File>> {
    let lock = open_lock(path)?;
    Ok(take_over(&lock)?.then_some(lock))
}

/// Opens the lock file of a folder that this program made, whether or not a process holds the lock.
pub(crate) fn open_lock(path: &Path) -> io::Result<File> {
    let folder = open_folder(path)?;
    let flags = OFlags::RDWR | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let lock = File::from(openat(&folder, LOCK, flags, Mode::empty())?);
    let is_ours = is_own(&folder, FileType::Directory)? && is_own(&lock, FileType::RegularFile)?;
    if is_ours {
        Ok(lock)
    } else {
        Err(ErrorKind::PermissionDenied.into())
    }
}

/// Removes a folder whose lock the caller holds. The lock file is removed last, because it shows
/// that the other files are abandoned.
pub(crate) fn remove(path: &Path, lock: &File) -> io::Result<()> {
    let folder = open_folder(path)?;
    if !has(&folder, lock)? {
        return Err(ErrorKind::NotFound.into());
    }
    // The files next to the lock are removed, whatever is at the path now. Without /proc only the
    // path leads to them.
    let held = PathBuf::from(format!("/proc/self/fd/{}", folder.as_raw_fd()));
    let folder_of_files = if held.exists() { held.as_path() } else { path };
    match fs::remove_dir_all(folder_of_files.join(FILES)) {
        Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    remove_groups(&folder)?;
    unlinkat(&folder, LOCK, AtFlags::empty())?;
    fs::remove_dir(path)
}

/// Removes the control groups that are listed next to the lock. The kernel does not remove a group
/// that has processes.
fn remove_groups(folder: impl AsFd) -> io::Result<()> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let Ok(list) = openat(&folder, GROUPS, flags, Mode::empty()) else {
        return Ok(());
    };
    let groups = io::read_to_string(File::from(list))?;
    let is_ours = |group: &&Path| {
        group
            .file_name()
            .is_some_and(|name| name.to_string_lossy().starts_with(PREFIX))
    };
    for group in groups.lines().map(Path::new).filter(is_ours) {
        match fs::remove_dir(group) {
            Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
            _ => {}
        }
    }
    Ok(unlinkat(&folder, GROUPS, AtFlags::empty())?)
}

fn has(folder: impl AsFd, lock: &File) -> io::Result<bool> {
    let (found, ours) = (
        statat(folder, LOCK, AtFlags::SYMLINK_NOFOLLOW)?,
        fstat(lock)?,
    );
    Ok((found.st_dev, found.st_ino) == (ours.st_dev, ours.st_ino))
}
