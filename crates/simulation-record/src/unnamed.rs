//! A file that has no name until it is complete, so that an interrupted program leaves no
//! incomplete file.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::path::Path;

use rustix::fs::{AtFlags, CWD, Mode, OFlags, linkat, open};
use rustix::io::Errno;
use switchcost_record::Readers;
use tempfile::NamedTempFile;

/// An unfinished file, which is deleted when this value is dropped.
pub(crate) enum Draft {
    Unnamed(File),
    /// A file with a temporary name, for file systems without unnamed files (O_TMPFILE).
    Named(NamedTempFile),
}

impl Draft {
    /// Creates an empty unfinished file in `folder`, with the permissions for `readers`.
    pub(crate) fn create_in(folder: &Path, readers: Readers) -> io::Result<Draft> {
        match open(
            folder,
            OFlags::TMPFILE | OFlags::RDWR | OFlags::CLOEXEC,
            Mode::from_raw_mode(readers.mode()),
        ) {
            Ok(file) if Path::new(&own_path(&file)).exists() => Ok(Draft::Unnamed(file.into())),
            Ok(_) | Err(Errno::OPNOTSUPP | Errno::ISDIR | Errno::INVAL) => {
                named_in(folder, readers).map(Draft::Named)
            }
            Err(error) => Err(error.into()),
        }
    }

    pub(crate) fn as_file(&self) -> &File {
        match self {
            Draft::Unnamed(file) => file,
            Draft::Named(file) => file.as_file(),
        }
    }

    /// Gives the file its final name `path`; an error if that file exists already.
    pub(crate) fn keep(self, path: &Path) -> io::Result<()> {
        match self {
            Draft::Unnamed(file) => Ok(linkat(
                CWD,
                own_path(&file).as_str(),
                CWD,
                path,
                AtFlags::SYMLINK_FOLLOW,
            )?),
            Draft::Named(file) => file
                .persist_noclobber(path)
                .map(|_| ())
                .map_err(|error| error.error),
        }
    }
}

fn own_path(file: &impl AsRawFd) -> String {
    format!("/proc/self/fd/{}", file.as_raw_fd())
}

fn named_in(folder: &Path, readers: Readers) -> io::Result<NamedTempFile> {
    use std::os::unix::fs::PermissionsExt;
    let mut builder = tempfile::Builder::new();
    builder.prefix(".switchcost-").suffix(".parquet.part");
    builder
        .permissions(std::fs::Permissions::from_mode(readers.mode()))
        .tempfile_in(folder)
}
