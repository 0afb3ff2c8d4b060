use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use super::trap;

/// Maximum number of symbolic links that are followed, as in the kernel (path_resolution(7)).
const MOST_LINKS: usize = 40;

/// Where an output goes, after all symbolic links.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Destination {
    /// The standard output of this program.
    Stdout,
    /// A device, FIFO or open file, which is written to rather than replaced.
    Stream(PathBuf),
    /// A file to be created or replaced.
    File(PathBuf),
}

impl Destination {
    pub(super) fn resolve(name: &Path) -> io::Result<Destination> {
        // The kernel reports unreachable paths and circular links. A link without a target is no
        // error.
        let found = fs::metadata(name);
        match &found {
            Ok(facts) if facts.is_dir() => return Err(ErrorKind::IsADirectory.into()),
            Err(error) if error.kind() == ErrorKind::NotFound && is_name_of_a_file(name) => (),
            Err(_) => return Err(found.expect_err("just seen")),
            Ok(_) => (),
        }
        let mut path = name.to_owned();
        for _ in 0..MOST_LINKS {
            let Ok(next) = fs::read_link(&path) else {
                break;
            };
            let folder = folder_of(&path).canonicalize()?;
            trap::refuse(&fs::symlink_metadata(&path)?, &folder)?;
            if is_of_descriptors(&folder) {
                let is_ours = folder == Path::new("/proc/self/fd").canonicalize()?;
                let is_stdout = is_ours && path.file_name().is_some_and(|number| number == "1");
                return Ok(if is_stdout {
                    Destination::Stdout
                } else {
                    Destination::Stream(path)
                });
            }
            path = folder.join(next);
        }
        let is_stream = found.is_ok_and(|facts| !facts.is_file());
        Ok(if is_stream {
            Destination::Stream(path)
        } else {
            Destination::File(path)
        })
    }
}

/// Opens a device, a FIFO or an open file for writing. Returns an error if the path may be a trap
/// that another user has placed.
pub(super) fn open_stream(path: &Path) -> io::Result<File> {
    let folder = folder_of(path);
    // The check is done before opening, because opening may wait for a reader, and again on the
    // open file.
    trap::refuse(&fs::metadata(path)?, folder)?;
    let file = OpenOptions::new().append(true).open(path)?;
    trap::refuse(&file.metadata()?, folder)?;
    Ok(file)
}

/// Returns the folder that contains a path; `.` for a bare name.
pub(super) fn folder_of(path: &Path) -> &Path {
    path.parent()
        .filter(|folder| !folder.as_os_str().is_empty())
        .unwrap_or(Path::new("."))
}

fn is_name_of_a_file(path: &Path) -> bool {
    path.file_name().is_some() && !path.as_os_str().as_bytes().ends_with(b"/")
}

/// Returns true if the links in a folder are open files of a process (`/proc/PID/fd`). The kernel
/// follows such a link to the open file, whatever its name.
fn is_of_descriptors(folder: &Path) -> bool {
    folder.starts_with("/proc") && folder.ends_with("fd")
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn links_lead_to_what_is_written() {
        let folder = tempfile::tempdir().expect("room");
        let at = |name: &str| folder.path().join(name);
        let place = |name: &str| Destination::resolve(&at(name)).map_err(|error| error.kind());
        fs::create_dir(at("folder")).expect("room");
        fs::write(at("file"), "").expect("room");
        for (from, to) in [
            ("file", "one"),
            ("one", "two"),
            ("../new", "folder/dangling"),
            ("folder/dangling", "far"),
            ("self", "self"),
            ("folder", "to-folder"),
            ("nowhere/file", "lost"),
        ] {
            symlink(from, at(to)).expect("room");
        }
        // Where nothing can be, the file system refuses.
        let canonical = folder.path().canonicalize().expect("it is there");
        for (name, file) in [
            ("file", at("file")),
            ("new", at("new")),
            ("two", canonical.join("file")),
            ("far", canonical.join("folder/../new")),
            ("lost", canonical.join("nowhere/file")),
        ] {
            assert_eq!(place(name), Ok(Destination::File(file)), "{name}");
        }
        for name in ["folder", "to-folder", "folder/.."] {
            assert_eq!(place(name), Err(ErrorKind::IsADirectory), "{name}");
        }
        for name in ["new/", "file/", "file/below"] {
            assert!(place(name).is_err(), "{name}");
        }
        assert!(Destination::resolve(Path::new("")).is_err());
        let circle = Destination::resolve(&at("self"))
            .expect_err("a circle")
            .to_string();
        assert_eq!(circle, "Too many levels of symbolic links (os error 40)");
    }

    #[test]
    fn what_a_process_has_open_is_written_where_it_is() {
        let found = |path: &str| Destination::resolve(Path::new(path)).expect("ours");
        assert_eq!(found("/dev/stdout"), Destination::Stdout);
        let file = tempfile::NamedTempFile::new().expect("room");
        let number = std::os::fd::AsRawFd::as_raw_fd(file.as_file());
        for open in [&format!("/dev/fd/{number}"), "/dev/null"] {
            assert!(matches!(found(open), Destination::Stream(_)), "{open}");
        }
    }
}
