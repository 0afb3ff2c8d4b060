//! Safe use of paths that no user named: found files, new folders and started programs. Another
//! user may have put a FIFO, a device, a link or a program at such a path. This module never waits
//! for an object that another user put there, writes through it or executes it. A link of another
//! user is followed only to that user's own files.

use std::collections::VecDeque;
use std::ffi::{OsStr, OsString};
use std::fs::{self, File, Permissions};
use std::io::{self, ErrorKind};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::os::unix::process::CommandExt;
use std::path::{Component, Path, PathBuf};
use std::process::Command;

use rustix::fs::{
    AtFlags, FileType, Mode, OFlags, Stat, chownat, fstat, mkdirat, open, openat, readlinkat,
};
use rustix::io::Errno;
use rustix::process::{Gid, Uid, getegid, geteuid};

/// Largest number of symbolic links that are followed in a path, as in the kernel
/// (path_resolution(7)).
const MOST_LINKS: usize = 40;
/// Largest size in bytes of a found file that is opened.
const LONGEST: u64 = 4 << 30;
/// Permission bits of new folders and programs: only for the owner.
const PRIVATE: u32 = 0o700;
const RULE: &str = "it and its folders must belong to you or root, and be writable by nobody else; use chown or chmod, or move it";
const STICKY: u32 = 0o1000;
const GROUP_MAY_WRITE: u32 = 0o020;
const ALL_MAY_WRITE: u32 = 0o002;

/// Object at the end of a path, after all symbolic links were followed.
struct Place {
    /// Folder that contains the object. For the path `/`, the root folder itself.
    folder: OwnedFd,
    name: OsString,
    facts: Stat,
}

/// Part of a path that is not yet followed.
enum Part {
    Name(OsString),
    /// A check that the target of the preceding link belongs to the owner of the link. The fields
    /// are the owner and the path of the link.
    OwnedBy(u32, PathBuf),
}

/// Whether missing folders of a path are created.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Missing {
    Refused,
    Made,
}

/// A path whose folder is held open. Operations on the path then act in that folder, even if
/// another folder gets the same name.
#[derive(Debug)]
pub struct HeldPath {
    path: PathBuf,
    _folder: Option<OwnedFd>,
}

impl HeldPath {
    /// Returns a path in a folder that the user named. The folder is not checked.
    pub fn named(path: &Path) -> HeldPath {
        HeldPath {
            path: path.to_owned(),
            _folder: None,
        }
    }

    /// Opens the folder of a path that no user named. A link of another user is followed only to
    /// that user's own files.
    ///
    /// # Errors
    ///
    /// If the path has a link of another user that leads to other users' files, or if there is no such
    /// folder.
    pub fn found(path: &Path) -> io::Result<HeldPath> {
        let name = path.file_name().ok_or(ErrorKind::InvalidFilename)?;
        let folder = HeldPath::found_folder(path.parent().unwrap_or(path))?;
        Ok(HeldPath {
            path: folder.path.join(name),
            ..folder
        })
    }

    /// Opens a folder that no user named, checked like [`HeldPath::found`].
    ///
    /// # Errors
    ///
    /// If the path has a link of another user that leads to other users' files, or if there is no such
    /// folder.
    pub fn found_folder(path: &Path) -> io::Result<HeldPath> {
        let folder = open_folder(path)?;
        let held = PathBuf::from(format!("/proc/self/fd/{}", folder.as_raw_fd()));
        if !held.exists() {
            // Without /proc, the folder can only be reached by its name.
            return Ok(HeldPath::named(path));
        }
        Ok(HeldPath {
            path: held,
            _folder: Some(folder),
        })
    }
}

impl AsRef<Path> for HeldPath {
    fn as_ref(&self) -> &Path {
        &self.path
    }
}

/// Opens a regular file whose path no user named. The file must belong to root, this user, the user
/// who called sudo, or the owner of the home directory in use. It may have at most 4 GiB. Opening
/// never blocks.
///
/// # Errors
///
/// If the file has another kind, owner or size, or cannot be opened.
pub fn open_found(path: &Path) -> io::Result<File> {
    let file = open_listed(path)?;
    let owner = file.metadata()?.uid();
    if is_ours(owner) || is_of_home(owner) {
        Ok(file)
    } else {
        Err(refused(format!("it belongs to user {owner}")))
    }
}

/// Opens a regular file of any owner and of at most 4 GiB, in a folder that the user named.
///
/// # Errors
///
/// If the file has another kind or size, or cannot be opened.
pub fn open_listed(path: &Path) -> io::Result<File> {
    let place = walk(path, Missing::Refused, &|_, _| Ok(()))?;
    check_plain(&place.facts)?;
    let flags =
        OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOFOLLOW | OFlags::NOCTTY | OFlags::CLOEXEC;
    let file = openat(&place.folder, &place.name, flags, Mode::empty())?;
    // The file may have been replaced since the check of its path.
    check_plain(&fstat(&file)?)?;
    Ok(file.into())
}

/// Opens a lock file of this user, and creates the file if it is missing.
///
/// # Errors
///
/// If another kind of object is there, or if the file cannot be created.
pub fn open_lock(path: &Path) -> io::Result<File> {
    let folder = open_folder(path.parent().unwrap_or(path))?;
    let name = path.file_name().ok_or(ErrorKind::InvalidFilename)?;
    let flags =
        OFlags::RDWR | OFlags::CREATE | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = openat(&folder, name, flags, Mode::from_raw_mode(0o600))?;
    check_plain(&fstat(&file)?)?;
    let above = fstat(&folder)?;
    give(&file, (above.st_uid, above.st_gid))?;
    Ok(file.into())
}

fn open_folder(path: &Path) -> io::Result<OwnedFd> {
    let place = walk(path, Missing::Refused, &|_, _| Ok(()))?;
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    Ok(openat(&place.folder, &place.name, flags, Mode::empty())?)
}

/// Creates a folder, and its parents if they are missing. Only the owner has access to new folders,
/// whatever the umask. Folders that root creates are given to the owner of the parent folder, as
/// [`hand_over`] does with files. A link of another user is followed only to that user's own files.
///
/// # Errors
///
/// If the folder cannot be created, or if another kind of object is there.
pub fn make_folder(path: &Path) -> io::Result<()> {
    let place = walk(path, Missing::Made, &|_, _| Ok(()))?;
    match kind(&place.facts) {
        FileType::Directory => Ok(()),
        _ => Err(ErrorKind::NotADirectory.into()),
    }
}

/// Gives a file that root created to the owner of its folder. Does nothing unless that owner called
/// sudo, or owns the home directory in use.
///
/// # Errors
/// If the file system refuses the change.
pub fn hand_over(made: &File, path: &Path) -> io::Result<()> {
    let folder = path
        .parent()
        .filter(|folder| !folder.as_os_str().is_empty());
    let facts = fs::metadata(folder.unwrap_or(Path::new(".")))?;
    give(made, (facts.uid(), facts.gid()))
}

/// Checks whether a program that no user named may be executed. The program and each folder up to
/// the root must belong to root, the user of this process, or the user who called sudo. No other
/// user may be able to write there, except to folders with the sticky bit.
///
/// # Errors
///
/// If the program must not be executed, with the part of its path that is at fault; or if there is
/// no such file.
pub fn check_program(path: &Path) -> io::Result<()> {
    walk(path, Missing::Refused, &check_step).map(drop)
}

/// Checks whether all programs in a folder may be executed, as [`check_program`] does for one.
///
/// # Errors
///
/// If a program must not be executed, or the folder cannot be read.
pub fn check_programs(folder: &Path) -> io::Result<()> {
    check_program(folder)?;
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            check_programs(&entry.path())?;
        } else {
            check_program(&entry.path())?;
        }
    }
    Ok(())
}

/// Finds a program in the directories of PATH. If this process runs as root, the program must pass
/// [`check_program`].
///
/// # Errors
///
/// If there is no program of this name, or if root must not execute it.
pub fn find_program(name: &str) -> io::Result<PathBuf> {
    // This is the search path that execvp(3) uses if `PATH` is not set.
    let path = std::env::var_os("PATH").unwrap_or_else(|| "/bin:/usr/bin".into());
    let found = search_path(&path, name.as_ref());
    let found = found.ok_or_else(|| io::Error::new(ErrorKind::NotFound, "not in PATH"))?;
    check_for_root(&found)?;
    Ok(found)
}

/// Returns the first executable file with this name in the directories of `path`, a value of PATH.
/// Unlike [`find_program`], checks nothing else.
pub fn search_path(path: &OsStr, name: &OsStr) -> Option<PathBuf> {
    std::env::split_paths(path)
        .map(|folder| folder.join(name))
        .find(|file| is_executable(file))
}

/// Whether `file` is a regular file that someone may execute.
pub fn is_executable(file: &Path) -> bool {
    file.metadata()
        .is_ok_and(|facts| facts.is_file() && facts.mode() & 0o111 != 0)
}

/// Returns a command that starts a program found in the directories of PATH.
///
/// # Errors
///
/// As for [`find_program`].
pub fn command(name: &str) -> io::Result<Command> {
    let mut command = Command::new(find_program(name)?);
    command.arg0(name);
    Ok(command)
}

/// Checks whether root may execute a program found in PATH. Nothing is checked for other users,
/// because each sets PATH only for himself.
///
/// # Errors
///
/// As for [`check_program`].
pub fn check_for_root(program: &Path) -> io::Result<()> {
    if geteuid().is_root() {
        check_program(program)
    } else {
        Ok(())
    }
}

/// Removes all permissions of other users from a new folder and its contents, and gives both to the
/// owner of the parent folder, as [`hand_over`] does.
///
/// # Errors
/// If the file system refuses the change.
pub fn make_private(folder: &Path) -> io::Result<()> {
    let held = HeldPath::found(folder)?;
    let above = fs::metadata(held.as_ref().parent().unwrap_or(folder))?;
    make_private_for(open_itself(held.as_ref())?, (above.uid(), above.gid()))
}

fn make_private_for(file: File, owner: (u32, u32)) -> io::Result<()> {
    let facts = file.metadata()?;
    if facts.is_dir() {
        for entry in fs::read_dir(format!("/proc/self/fd/{}", file.as_raw_fd()))? {
            match open_itself(&entry?.path()) {
                // A symbolic link is skipped, because its target is not in the folder.
                Err(Errno::LOOP) => {}
                opened => make_private_for(opened?, owner)?,
            }
        }
    }
    file.set_permissions(Permissions::from_mode(facts.mode() & PRIVATE))?;
    give(file, owner)
}

/// Opens a file or folder, without following a symbolic link at the end of the path.
fn open_itself(path: &Path) -> rustix::io::Result<File> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    Ok(open(path, flags, Mode::empty())?.into())
}

/// Follows a path from `/`, and calls `check` for each part.
fn walk(
    path: &Path,
    missing: Missing,
    check: &dyn Fn(&Path, &Stat) -> io::Result<()>,
) -> io::Result<Place> {
    let mut parts: VecDeque<Part> = names(&std::path::absolute(path)?).collect();
    let root = || {
        open(
            "/",
            OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC,
            Mode::empty(),
        )
    };
    let mut seen = PathBuf::from("/");
    let mut place = Place {
        folder: root()?,
        name: ".".into(),
        facts: fstat(root()?)?,
    };
    check(&seen, &place.facts)?;
    let (mut folder, mut links) = (root()?, 0);
    while let Some(part) = parts.pop_front() {
        let name = match part {
            Part::OwnedBy(owner, _) if place.facts.st_uid == owner => continue,
            Part::OwnedBy(owner, link) => {
                return Err(refused(format!(
                    "{} is a link of user {owner} to another user's file",
                    link.display()
                )));
            }
            Part::Name(name) => name,
        };
        let step = step(&folder, &name, missing)?;
        let facts = fstat(&step)?;
        if kind(&facts) == FileType::Symlink {
            links += 1;
            if links > MOST_LINKS {
                return Err(Errno::LOOP.into());
            }
            let link = seen.join(&name);
            check(&link, &facts)?;
            if !is_owned_by_us(facts.st_uid) {
                parts.push_front(Part::OwnedBy(facts.st_uid, link));
            }
            let target = PathBuf::from(OsString::from_vec(
                readlinkat(&step, "", Vec::new())?.into_bytes(),
            ));
            if target.is_absolute() {
                (folder, seen) = (root()?, "/".into());
            }
            for part in names(&target).collect::<Vec<_>>().into_iter().rev() {
                parts.push_front(part);
            }
            continue;
        }
        if name == ".." {
            seen.pop();
        } else {
            seen.push(&name);
        }
        check(&seen, &facts)?;
        place = Place {
            folder,
            name,
            facts,
        };
        folder = step;
    }
    Ok(place)
}

fn names(path: &Path) -> impl Iterator<Item = Part> {
    let names: Vec<Part> = path
        .components()
        .filter_map(|part| match part {
            Component::Normal(name) => Some(Part::Name(name.to_owned())),
            Component::ParentDir => Some(Part::Name("..".into())),
            _ => None,
        })
        .collect();
    names.into_iter()
}

/// Opens the entry `name` of a folder; creates a missing entry as a folder with [`Missing::Made`].
/// A symbolic link is opened itself instead of its target.
fn step(folder: &OwnedFd, name: &OsStr, missing: Missing) -> io::Result<OwnedFd> {
    let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    match openat(folder, name, flags, Mode::empty()) {
        Err(Errno::NOENT) if missing == Missing::Made => {}
        found => return Ok(found?),
    }
    match mkdirat(folder, name, Mode::from_raw_mode(PRIVATE)) {
        // Another process has created the folder in the meantime.
        Err(Errno::EXIST) => return Ok(openat(folder, name, flags, Mode::empty())?),
        made => made?,
    }
    let made = openat(folder, name, flags | OFlags::DIRECTORY, Mode::empty())?;
    if fstat(&made)?.st_mode & PRIVATE != PRIVATE {
        let itself = format!("/proc/self/fd/{}", made.as_raw_fd());
        fs::set_permissions(itself, Permissions::from_mode(PRIVATE))?;
    }
    let above = fstat(folder)?;
    give(&made, (above.st_uid, above.st_gid))?;
    Ok(made)
}

/// Changes the owner of a new file or folder. Does nothing unless this process runs as root, and
/// the new owner called sudo or owns the home directory in use.
fn give(made: impl AsFd, (user, group): (u32, u32)) -> io::Result<()> {
    let is_wanted = geteuid().is_root() && user != 0 && (is_ours(user) || is_of_home(user));
    if !is_wanted || is_unmapped(user) {
        return Ok(());
    }
    let (user, group) = (Uid::from_raw(user), Gid::from_raw(group));
    Ok(chownat(
        made,
        "",
        Some(user),
        Some(group),
        AtFlags::EMPTY_PATH,
    )?)
}

/// Checks that one part of a program's path belongs to a trusted user, and that no other user can
/// write there.
fn check_step(path: &Path, facts: &Stat) -> io::Result<()> {
    let fault = match kind(facts) {
        _ if !is_ours(facts.st_uid) => Some(format!("belongs to user {}", facts.st_uid)),
        FileType::Symlink => None,
        FileType::Directory if facts.st_mode & STICKY != 0 => None,
        _ if facts.st_mode & ALL_MAY_WRITE != 0 => Some("may be written by everybody".to_owned()),
        _ if facts.st_mode & GROUP_MAY_WRITE != 0 && !is_own_group(facts.st_uid, facts.st_gid) => {
            Some(format!("may be written by group {}", facts.st_gid))
        }
        FileType::Directory | FileType::RegularFile => None,
        other => Some(format!("is {}", called(other))),
    };
    fault.map_or(Ok(()), |fault| {
        Err(refused(format!("{} {fault}: {RULE}", path.display())))
    })
}

fn check_plain(facts: &Stat) -> io::Result<()> {
    match kind(facts) {
        FileType::RegularFile if facts.st_size.cast_unsigned() > LONGEST => {
            Err(refused(format!("it is longer than {} GiB", LONGEST >> 30)))
        }
        FileType::RegularFile => Ok(()),
        other => Err(refused(format!("it is {}", called(other)))),
    }
}

fn called(kind: FileType) -> &'static str {
    match kind {
        FileType::Fifo => "a FIFO",
        FileType::Directory => "a folder",
        FileType::Socket => "a socket",
        FileType::RegularFile => "a file",
        _ => "a device",
    }
}

fn kind(facts: &Stat) -> FileType {
    FileType::from_raw_mode(facts.st_mode)
}

fn refused(why: String) -> io::Error {
    io::Error::other(why)
}

/// Whether a user is root or the user of this process, or has no number in this user namespace.
fn is_owned_by_us(user: u32) -> bool {
    user == 0 || user == geteuid().as_raw() || is_unmapped(user)
}

/// Whether a user is root, the user of this process, or the user who called sudo.
fn is_ours(user: u32) -> bool {
    is_owned_by_us(user) || sudo("SUDO_UID") == Some(user)
}

/// Whether a group is assumed to have a single user: a group with the user's number, the group of
/// the user of this process, or the group of the user who called sudo.
fn is_own_group(user: u32, group: u32) -> bool {
    let callers = [
        (Some(geteuid().as_raw()), Some(getegid().as_raw())),
        (sudo("SUDO_UID"), sudo("SUDO_GID")),
    ];
    user == group || callers.contains(&(Some(user), Some(group)))
}

/// Returns the number in one of sudo's environment variables; `None` unless this process runs as
/// root.
fn sudo(name: &str) -> Option<u32> {
    let said = std::env::var(name).ok().filter(|_| geteuid().is_root());
    said?.parse().ok()
}

/// Whether this process runs as root, but with the home directory of `user`.
fn is_of_home(user: u32) -> bool {
    let home = || std::env::var_os("HOME").and_then(|home| fs::metadata(home).ok());
    geteuid().is_root() && home().is_some_and(|home| home.uid() == user)
}

/// Whether a user has no number in this user namespace, like root in the namespace of an ordinary
/// user (user_namespaces(7)).
fn is_unmapped(user: u32) -> bool {
    let overflow = || {
        fs::read_to_string("/proc/sys/kernel/overflowuid")
            .ok()?
            .trim()
            .parse()
            .ok()
    };
    let is_mapped = |line: &str| {
        let mut numbers = line
            .split_whitespace()
            .map_while(|number| number.parse::<u64>().ok());
        let (first, _, count) = (numbers.next(), numbers.next(), numbers.next());
        first
            .zip(count)
            .is_some_and(|(first, count)| (first..first + count).contains(&u64::from(user)))
    };
    overflow() == Some(user)
        && fs::read_to_string("/proc/self/uid_map").is_ok_and(|map| !map.lines().any(is_mapped))
}

#[cfg(test)]
mod tests;
