//! Drafts: files that get their name when complete, so that no reader sees a part of them.
//!
//! Until then a draft has no name (O_TMPFILE), so nothing remains, whatever ends the program. If
//! the file system does not support this, the draft has a name next to the target, and a helper
//! process removes it if this process dies ([`crate::temporary`]). A draft can remain if both die
//! at the wrong moment. The next draft for the same target removes it, if the name is that of a
//! draft, the file belongs to this user, and its lock shows that the owner is dead.

use std::ffi::{OsStr, OsString};
use std::fs::{self, File, Permissions};
use std::io::{self, ErrorKind, Write};
use std::os::fd::AsRawFd;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use rustix::fs::{AtFlags, CWD, FileType, FlockOperation, Mode, OFlags, flock, linkat, open};
use rustix::io::Errno;
use switchcost_record::Readers;
use switchcost_record::trust::HeldPath;
use tempfile::{Builder, TempPath};

use crate::abandoned::{is_own, take_over};
use crate::cleanup::{CleanupHelper, Step};
use crate::signals::defer_signals;

const PREFIX: &[u8] = b".switchcost-";
/// Number of random bytes in the name of a draft.
const RANDOM_BYTES: usize = 6;
/// Maximum number of bytes that a draft's name takes from the target's name. The whole name stays
/// below the limit of 255 bytes.
const MOST_NAME_BYTES: usize = 200;
/// Permissions of a result before the umask is applied.
const EVERYBODY: u32 = 0o666;

/// A file that gets its name only when it is complete. If the draft is dropped before, nothing
/// remains.
#[derive(Debug)]
pub struct Draft {
    file: File,
    target: HeldPath,
    /// Name of the draft, and its cleanup helper, if the file system supports no files without a
    /// name.
    named: Option<(TempPath, Option<CleanupHelper>)>,
}

impl Draft {
    /// Makes an empty draft in the folder of `target`, whether or not `target` exists.
    ///
    /// # Errors
    ///
    /// If no file can be made there.
    pub fn new(target: &Path) -> io::Result<Draft> {
        Draft::held(HeldPath::named(target))
    }

    /// Makes an empty draft in the folder of `target`, which only `readers` may read.
    ///
    /// # Errors
    ///
    /// If no file can be made there.
    pub fn new_for_readers(readers: Readers, target: &Path) -> io::Result<Draft> {
        let draft = Draft::held(readers.held(target)?)?;
        readers.own(&draft.file, draft.target.as_ref())?;
        Ok(draft)
    }

    fn held(target: HeldPath) -> io::Result<Draft> {
        sweep(target.as_ref());
        match open(
            folder_of(target.as_ref()),
            OFlags::TMPFILE | OFlags::RDWR | OFlags::CLOEXEC,
            Mode::from_raw_mode(EVERYBODY),
        ) {
            Ok(file) if can_be_linked(&file) => {
                let file = File::from(file);
                own(&file);
                Ok(Draft {
                    file,
                    target,
                    named: None,
                })
            }
            Ok(_) | Err(Errno::OPNOTSUPP | Errno::ISDIR | Errno::INVAL) => Draft::named(target),
            Err(error) => Err(error.into()),
        }
    }

    fn named(target: HeldPath) -> io::Result<Draft> {
        let mut builder = Builder::new();
        let prefix = prefix_of(target.as_ref());
        builder
            .prefix(&prefix)
            .rand_bytes(RANDOM_BYTES)
            .permissions(Permissions::from_mode(EVERYBODY));
        let (file, path) = builder
            .tempfile_in(folder_of(target.as_ref()))?
            .into_parts();
        own(&file);
        // The helper gets the draft's name, because it does not have the descriptor.
        let helper = CleanupHelper::start(&Step::Remove(&fs::canonicalize(&path)?)).ok();
        Ok(Draft {
            file,
            target,
            named: Some((path, helper)),
        })
    }

    /// Gives the draft the target's name, replacing an existing file.
    ///
    /// # Errors
    ///
    /// If the disk is full, or the name cannot be given.
    pub fn keep(mut self) -> io::Result<()> {
        self.file.sync_all()?;
        match self.named.take() {
            None => self.name(),
            Some((path, _helper)) => Ok(path.persist(self.target.as_ref())?),
        }
    }

    /// Gives the draft the target's name. No file with the target's name may exist.
    ///
    /// # Errors
    ///
    /// If the disk is full, or the file exists ([`ErrorKind::AlreadyExists`]).
    pub fn keep_new(mut self) -> io::Result<()> {
        self.file.sync_all()?;
        match self.named.take() {
            None => self.link(self.target.as_ref()),
            Some((path, _helper)) => Ok(path.persist_noclobber(self.target.as_ref())?),
        }
    }

    /// Returns the file, whose mode and owner can still be changed.
    pub fn file(&self) -> &File {
        &self.file
    }

    fn name(&self) -> io::Result<()> {
        let target = self.target.as_ref();
        match self.link(target) {
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
            done => return done,
        }
        // A file without a name cannot be renamed, and a link does not replace an existing file. So
        // the draft first gets a temporary name.
        let _deferred = defer_signals()?;
        let prefix = prefix_of(target);
        let draft = Builder::new()
            .prefix(&prefix)
            .rand_bytes(RANDOM_BYTES)
            .make_in(folder_of(target), |path| self.link(path))?;
        Ok(draft.into_temp_path().persist(target)?)
    }

    fn link(&self, path: &Path) -> io::Result<()> {
        let own = format!("/proc/self/fd/{}", self.file.as_raw_fd());
        Ok(linkat(
            CWD,
            own.as_str(),
            CWD,
            path,
            AtFlags::SYMLINK_FOLLOW,
        )?)
    }
}

impl Write for Draft {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

/// Whether a file without a name can be given one, which needs /proc.
fn can_be_linked(file: &impl AsRawFd) -> bool {
    Path::new(&format!("/proc/self/fd/{}", file.as_raw_fd())).exists()
}

/// Locks a draft. On a file system without locks, no draft can be recognised as abandoned.
fn own(file: &File) {
    let _ = flock(file, FlockOperation::NonBlockingLockExclusive);
}

fn folder_of(target: &Path) -> &Path {
    target
        .parent()
        .filter(|folder| !folder.as_os_str().is_empty())
        .unwrap_or(Path::new("."))
}

fn prefix_of(target: &Path) -> OsString {
    let name = target.file_name().unwrap_or_default().as_bytes();
    OsString::from_vec([PREFIX, &name[..name.len().min(MOST_NAME_BYTES)], b"-"].concat())
}

/// Removes the target's drafts that dead programs have left.
fn sweep(target: &Path) {
    let prefix = prefix_of(target);
    let is_draft = |name: &OsStr| {
        let random = name.as_bytes().strip_prefix(prefix.as_bytes());
        random.is_some_and(|random| {
            random.len() == RANDOM_BYTES && random.iter().all(u8::is_ascii_alphanumeric)
        })
    };
    let Ok(entries) = fs::read_dir(folder_of(target)) else {
        return;
    };
    for entry in entries
        .flatten()
        .filter(|entry| is_draft(&entry.file_name()))
    {
        remove_abandoned(&entry.path());
    }
}

/// Removes a draft whose program is dead.
fn remove_abandoned(path: &Path) {
    if open_own(path)
        .and_then(|draft| take_over(&draft))
        .unwrap_or(false)
    {
        let _ = fs::remove_file(path);
    }
}

/// Opens a plain file of this user.
///
/// # Errors
///
/// If the path leads to no plain file, or to another user's.
pub(crate) fn open_own(path: &Path) -> io::Result<File> {
    let flags = OFlags::RDWR | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = File::from(open(path, flags, Mode::empty())?);
    if is_own(&file, FileType::RegularFile)? {
        Ok(file)
    } else {
        Err(ErrorKind::PermissionDenied.into())
    }
}

#[cfg(test)]
mod tests;
