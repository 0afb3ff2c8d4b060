//! Selects the files and folders of this machine that go into the guest: those that arguments name,
//! and others that most programs need.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs;

use std::os::unix::fs::{FileTypeExt, PermissionsExt};
use std::path::{Path, PathBuf};

use super::archive::{Archive, Entry};
use super::files::{file, folder, read_file, unusable};
use super::libraries::is_library;
use super::programs::{add_optional, program};
use crate::command::Command;
use crate::guest_error::GuestError;

/// Folders of which the guest has its own instance.
const NOT_OURS: [&str; 4] = ["/dev", "/proc", "/sys", "/run"];
/// Device files that every guest has.
const ITS_DEVICES: [&str; 5] = [
    "/dev/null",
    "/dev/zero",
    "/dev/full",
    "/dev/random",
    "/dev/urandom",
];

/// Folders that on most machines are links into /usr. Programs name files by either path.
const USUAL: [&str; 4] = ["/bin", "/sbin", "/lib", "/lib64"];

/// Adds the links in [`USUAL`], through which most programs are found.
pub(super) fn usual_links(archive: &mut Archive) -> Result<(), GuestError> {
    USUAL
        .iter()
        .map(Path::new)
        .filter(|path| path.is_symlink())
        .try_for_each(|path| folder(archive, path).map(drop))
}

/// Adds the files that a command's arguments name.
pub(super) fn arguments(archive: &mut Archive, command: &Command) -> Result<(), GuestError> {
    let directory = directory_of(command)?;
    folder(archive, &directory)?;
    command
        .words
        .iter()
        .skip(1)
        .try_for_each(|word| argument(archive, &directory.join(word)))
}

pub(super) fn directory_of(command: &Command) -> Result<PathBuf, GuestError> {
    let here = Path::new(".");
    let named = command.directory.as_deref().unwrap_or(here);
    std::path::absolute(named).map_err(|error| unusable(named, error))
}

fn argument(archive: &mut Archive, path: &Path) -> Result<(), GuestError> {
    let Ok(facts) = path.metadata() else {
        return Ok(());
    };
    let kind = facts.file_type();
    if ITS_DEVICES.iter().any(|its| path == Path::new(its)) {
        return Ok(());
    }
    if kind.is_char_device() || kind.is_block_device() {
        return Err(GuestError::Device(path.to_owned()));
    }
    if NOT_OURS.iter().any(|not| path.starts_with(not)) {
        return Ok(());
    }
    if kind.is_dir() {
        return folder(archive, path).map(drop);
    }
    file(archive, path)?;
    // The file may be a program that a shell or `nice` starts.
    if facts.permissions().mode() & 0o111 != 0 {
        add_optional(archive, path)
    } else {
        Ok(())
    }
}

/// Adds a file or folder that the user named, with all its content. Programs are added together
/// with the files that they need.
pub(super) fn named(archive: &mut Archive, path: &Path) -> Result<(), GuestError> {
    named_once(archive, path, &mut BTreeSet::new())
}

/// Adds a file or folder that the user named. A folder in `seen` is skipped, because links may lead
/// to a folder that contains them.
fn named_once(
    archive: &mut Archive,
    path: &Path,
    seen: &mut BTreeSet<PathBuf>,
) -> Result<(), GuestError> {
    let path = std::path::absolute(path).map_err(|error| unusable(path, error))?;
    let facts = path.metadata().map_err(|error| unusable(&path, error))?;
    if facts.is_dir() {
        let real = folder(archive, &path)?;
        if !seen.insert(real.clone()) {
            return Ok(());
        }
        return within(&real)?
            .iter()
            .try_for_each(|path| named_once(archive, path, seen));
    }
    let is_program = facts.permissions().mode() & 0o111 != 0 || is_library(&path)?;
    match (is_program, seen.is_empty()) {
        (true, true) => program(archive, &path).map(drop),
        // The file is one of many in a folder, and may never be executed.
        (true, false) => add_optional(archive, &path),
        (false, _) => file(archive, &path),
    }
}

/// Adds a folder with all its content, or a regular file, at another path of the guest. The folder
/// may contain only regular files and folders.
pub(super) fn placed(archive: &mut Archive, here: &Path, there: &Path) -> Result<(), GuestError> {
    let facts = here.metadata().map_err(|error| unusable(here, error))?;
    if !facts.is_dir() {
        let bytes = read_file(here)?;
        archive.add(
            there,
            Entry::File {
                bytes,
                mode: facts.permissions().mode() & 0o777,
                modified: None,
            },
        );
        return Ok(());
    }
    archive.add(there, Entry::Folder);
    let name = |path: &Path| path.file_name().map(OsStr::to_owned).unwrap_or_default();
    within(here)?
        .iter()
        .try_for_each(|path| placed(archive, path, &there.join(name(path))))
}

/// Returns the paths in a folder, sorted by name.
fn within(path: &Path) -> Result<Vec<PathBuf>, GuestError> {
    let entries = fs::read_dir(path).and_then(|entries| {
        entries
            .map(|entry| entry.map(|entry| entry.path()))
            .collect()
    });
    let mut found: Vec<PathBuf> = entries.map_err(|error| unusable(path, error))?;
    found.sort();
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_to_the_folder_that_they_are_in_end() {
        let folder = tempfile::tempdir().expect("a folder");
        let root = fs::canonicalize(folder.path()).expect("it is there");
        fs::create_dir(root.join("within")).expect("a folder");
        fs::write(root.join("within/file"), b"text").expect("a file");
        std::os::unix::fs::symlink("..", root.join("within/up")).expect("a link");
        let mut archive = Archive::default();
        named(&mut archive, &root).expect("all is usable");
        let all = ["within", "within/file", "within/up"];
        assert!(all.iter().all(|path| archive.has(&root.join(path))));
        let mut elsewhere = Archive::default();
        placed(
            &mut elsewhere,
            &root.join("within/file"),
            Path::new("/there/file"),
        )
        .expect("a file");
        assert!(elsewhere.has(Path::new("/there/file")) && elsewhere.has(Path::new("/there")));
    }

    #[test]
    fn what_may_have_no_end_is_not_read() {
        let folder = tempfile::tempdir().expect("a folder");
        let fifo = folder.path().join("fifo");
        let mode = rustix::fs::Mode::RUSR;
        rustix::fs::mkfifoat(rustix::fs::CWD, &fifo, mode).expect("a FIFO");
        let mut archive = Archive::default();
        let there = Path::new("/there");
        for path in [folder.path(), &fifo, Path::new("/dev/zero")] {
            named(&mut archive, path).expect_err("no regular file");
            placed(&mut archive, path, there).expect_err("no regular file");
        }
        let error = placed(&mut archive, &fifo, there).expect_err("no regular file");
        assert_eq!(
            error.to_string(),
            format!(
                "the file {} cannot be used in the guest (not a regular file of less than 4 GiB); name another file",
                fifo.display()
            )
        );
    }

    #[test]
    fn a_device_is_refused_and_what_the_guest_has_is_left_out() {
        let mut archive = Archive::default();
        argument(&mut archive, Path::new("/dev/null")).expect("any guest has it");
        argument(&mut archive, Path::new("/proc/self/status")).expect("the guest has its own");
        assert!(!archive.has(Path::new("/dev/null")));
        let error = argument(&mut archive, Path::new("/dev/tty")).expect_err("not in the guest");
        assert!(matches!(error, GuestError::Device(_)), "{error}");
    }
}
