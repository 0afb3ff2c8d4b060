//! Opens a file as another process sees it, whatever its name and type. The process may be in a
//! container, and the path may lead to a link, a FIFO or a device.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::path::Path;

use rustix::fs::{FileType, Mode, OFlags, ResolveFlags, fstat, open, openat2, stat};

/// Opens a regular file by the path that `process` would use. The file must belong to the user of
/// the process, or to root.
///
/// # Errors
///
/// If there is no such file, if it belongs to another user or is no regular file, or if the process
/// is gone.
pub fn open_seen_by(process: u32, path: &Path) -> io::Result<File> {
    let folder = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let root = open(format!("/proc/{process}/root"), folder, Mode::empty())?;
    // Links are resolved within the root of the process, and never lead out of it.
    let found = openat2(
        &root,
        path,
        OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC,
        Mode::empty(),
        ResolveFlags::IN_ROOT | ResolveFlags::NO_MAGICLINKS,
    )?;
    let facts = fstat(&found)?;
    let owner = stat(format!("/proc/{process}"))?.st_uid;
    if FileType::from_raw_mode(facts.st_mode) != FileType::RegularFile
        || ![0, owner].contains(&facts.st_uid)
    {
        return Err(io::ErrorKind::PermissionDenied.into());
    }
    // Only now, after the descriptor of the path was examined, is the file opened for reading.
    let reading = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let path = format!("/proc/self/fd/{}", found.as_raw_fd());
    Ok(open(path, reading, Mode::empty())?.into())
}

#[cfg(test)]
mod tests {
    use std::io::Read;
    use std::os::unix::fs::{chown, symlink};

    use super::*;

    #[test]
    fn a_plain_file_of_the_processs_user_is_opened_and_nothing_else() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = |name: &str| folder.path().join(name);
        std::fs::write(path("plain"), "text").expect("room");
        symlink(path("plain"), path("link")).expect("room");
        rustix::fs::mknodat(rustix::fs::CWD, path("fifo"), FileType::Fifo, Mode::RWXU, 0)
            .expect("a FIFO");
        let own = std::process::id();
        let mut text = String::new();
        let mut plain = open_seen_by(own, &path("plain")).expect("it is ours");
        plain.read_to_string(&mut text).expect("readable");
        assert_eq!(text, "text");
        for name in ["link", "fifo", "none", "."] {
            assert!(open_seen_by(own, &path(name)).is_err(), "{name}");
        }
        if rustix::process::geteuid().is_root() {
            chown(path("plain"), Some(65_534), None).expect("root may");
            assert!(open_seen_by(own, &path("plain")).is_err());
        }
    }
}
