//! Adds files and folders of this machine to the guest, with the symbolic links on their paths.

use std::fs;
use std::io::{self, Read as _};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Component, Path, PathBuf};

use super::archive::{Archive, Entry};
use crate::guest_error::GuestError;

/// Maximum number of symbolic links that are followed one after the other.
const MOST_LINKS: u32 = 40;
/// Largest file of the guest in bytes. The archive has 32 bits for the length of a file.
const LARGEST: u64 = u32::MAX as u64;

pub(super) fn unusable(path: &Path, error: io::Error) -> GuestError {
    GuestError::File {
        path: path.to_owned(),
        error,
    }
}

/// Reads a regular file. A FIFO or a device may have no end, and opening a device may change it.
pub(super) fn read_file(path: &Path) -> Result<Vec<u8>, GuestError> {
    read_start(path, LARGEST)
}

/// Reads at most `most` bytes at the start of a regular file.
pub(super) fn read_start(path: &Path, most: u64) -> Result<Vec<u8>, GuestError> {
    let read = || {
        let facts = path.metadata()?;
        if !facts.is_file() || facts.len() > LARGEST {
            return Err(io::Error::other("not a regular file of less than 4 GiB"));
        }
        let mut bytes = Vec::new();
        fs::File::open(path)?.take(most).read_to_end(&mut bytes)?;
        Ok(bytes)
    };
    read().map_err(|error| unusable(path, error))
}

/// Adds a folder without its content. Returns the folder's path without symbolic links.
pub(super) fn folder(archive: &mut Archive, path: &Path) -> Result<PathBuf, GuestError> {
    let real = follow(archive, path, MOST_LINKS)?;
    if real.parent().is_some() && !archive.has(&real) {
        archive.add(&real, Entry::Folder);
    }
    Ok(real)
}

/// Adds a file, and the symbolic links on its path.
pub(super) fn file(archive: &mut Archive, path: &Path) -> Result<(), GuestError> {
    file_of(archive, path, false)
}

/// Adds a file with its own modification time. Python compares this time with the one stored in
/// compiled files.
pub(super) fn file_as_old(archive: &mut Archive, path: &Path) -> Result<(), GuestError> {
    file_of(archive, path, true)
}

fn file_of(archive: &mut Archive, path: &Path, is_as_old: bool) -> Result<(), GuestError> {
    let real = follow(archive, path, MOST_LINKS)?;
    if archive.has(&real) {
        return Ok(());
    }
    let facts = real.metadata().map_err(|error| unusable(path, error))?;
    let modified = is_as_old.then_some(facts.mtime() as u32);
    let bytes = read_file(&real)?;
    archive.add(
        real,
        Entry::File {
            bytes,
            mode: facts.permissions().mode() & 0o777,
            modified,
        },
    );
    Ok(())
}

/// Adds the symbolic links on a path. Returns the path without links.
fn follow(archive: &mut Archive, path: &Path, links: u32) -> Result<PathBuf, GuestError> {
    let mut real = PathBuf::from("/");
    for component in path.components() {
        match component {
            Component::ParentDir => drop(real.pop()),
            Component::Normal(name) => {
                real.push(name);
                if real.is_symlink() {
                    let target = fs::read_link(&real).map_err(|error| unusable(path, error))?;
                    archive.add(&real, Entry::Link(target.as_os_str().as_bytes().to_vec()));
                    let whole = real.parent().unwrap_or(Path::new("/")).join(target);
                    if links == 0 {
                        return Err(unusable(path, io::Error::other("too many links")));
                    }
                    real = follow(archive, &whole, links - 1)?;
                }
            }
            Component::CurDir | Component::RootDir | Component::Prefix(_) => {}
        }
    }
    Ok(real)
}
