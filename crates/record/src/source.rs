use std::fs::File;
use std::io::{self, ErrorKind, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use rustix::event::{PollFd, PollFlags, poll};
use rustix::fs::{MemfdFlags, Mode, OFlags, fcntl_setfl, memfd_create, open};

use crate::trust::{open_found, open_listed};

/// Largest number of bytes that are read from a FIFO.
const MOST_PIPED: u64 = 4 << 30;

/// Largest number of bytes of a text that is read as a whole.
const MOST_TEXT: u64 = 256 << 20;

/// A file to be read, and who named its path. Which kinds of file are accepted depends on who named
/// the path.
#[derive(Clone, Debug)]
pub struct Source {
    path: PathBuf,
    by: NamedBy,
    /// Content of a FIFO, stored in a temporary file because a FIFO can be read only once.
    piped: Arc<OnceLock<File>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum NamedBy {
    User,
    Folder,
    Nobody,
}

impl Source {
    /// Returns a source for a path that the user named. Files of every kind and owner are accepted.
    /// A FIFO is read to its end once.
    pub fn named(path: impl Into<PathBuf>) -> Source {
        Source::new(path.into(), NamedBy::User)
    }

    /// Returns a source for a path in a folder that the user named. Only regular files are
    /// accepted.
    pub fn listed(path: impl Into<PathBuf>) -> Source {
        Source::new(path.into(), NamedBy::Folder)
    }

    /// Returns a source for a path that no user named. Only regular files of root, this user, the
    /// user who called sudo, or the owner of the home directory in use are accepted.
    pub fn found(path: impl Into<PathBuf>) -> Source {
        Source::new(path.into(), NamedBy::Nobody)
    }

    fn new(path: PathBuf, by: NamedBy) -> Source {
        Source {
            path,
            by,
            piped: Arc::default(),
        }
    }

    /// Returns the path of the source.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Opens the file at its beginning.
    ///
    /// # Errors
    ///
    /// If the file cannot be opened, or its kind or owner is not accepted.
    pub fn open(&self) -> io::Result<File> {
        match self.by {
            NamedBy::User => self.open_named(),
            NamedBy::Folder => open_listed(&self.path),
            NamedBy::Nobody => open_found(&self.path),
        }
    }

    /// Reads the whole file, which has at most 256 MiB of UTF-8.
    ///
    /// # Errors
    ///
    /// If the file is longer, has other bytes, or cannot be read.
    pub fn read_text(&self) -> io::Result<String> {
        let mut text = String::new();
        let length = self.open()?.take(MOST_TEXT + 1).read_to_string(&mut text)?;
        if length as u64 > MOST_TEXT {
            return Err(ErrorKind::FileTooLarge.into());
        }
        Ok(text)
    }

    /// Whether the file begins with `head`.
    ///
    /// # Errors
    ///
    /// If the beginning of the file cannot be read, or the file is shorter than `head`.
    pub fn begins_with(&self, head: &[u8]) -> io::Result<bool> {
        let mut start = vec![0; head.len()];
        self.open()?.read_exact(&mut start)?;
        Ok(start == head)
    }

    /// Opens the file in order to read it once, from its beginning. The content of a FIFO is not
    /// stored.
    ///
    /// # Errors
    ///
    /// As [`Source::open`].
    pub fn open_once(&self) -> io::Result<File> {
        if self.by != NamedBy::User || !is_fifo(&self.path)? {
            return self.open();
        }
        let fifo = open_fifo(&self.path)?;
        await_data(&fifo)?;
        fcntl_setfl(&fifo, OFlags::empty())?;
        Ok(fifo)
    }

    fn open_named(&self) -> io::Result<File> {
        if let Some(piped) = self.piped.get() {
            return rewind(piped);
        }
        if !is_fifo(&self.path)? {
            return File::open(&self.path);
        }
        let mut piped = File::from(memfd_create("piped", MemfdFlags::CLOEXEC)?);
        copy(open_fifo(&self.path)?, &mut piped)?;
        rewind(self.piped.get_or_init(|| piped))
    }
}

fn is_fifo(path: &Path) -> io::Result<bool> {
    Ok(path.metadata()?.file_type().is_fifo())
}

/// Opens a FIFO without waiting for a writer.
fn open_fifo(path: &Path) -> io::Result<File> {
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC;
    Ok(open(path, flags, Mode::empty())?.into())
}

/// Waits until a FIFO has data or its writers have closed it. A caught signal ends the wait with an
/// error (EINTR), whereas a blocking read would be restarted.
fn await_data(fifo: &File) -> io::Result<()> {
    poll(&mut [PollFd::new(fifo, PollFlags::IN)], None)?;
    Ok(())
}

fn copy(mut fifo: File, to: &mut File) -> io::Result<()> {
    let (mut bytes, mut left) = (vec![0; 1 << 16], MOST_PIPED);
    loop {
        await_data(&fifo)?;
        let count = match fifo.read(&mut bytes) {
            Ok(0) => return Ok(()),
            Err(error) if error.kind() == ErrorKind::WouldBlock => continue,
            read => read?,
        };
        left = left
            .checked_sub(count as u64)
            .ok_or(ErrorKind::FileTooLarge)?;
        to.write_all(&bytes[..count])?;
    }
}

fn rewind(file: &File) -> io::Result<File> {
    let mut file = file.try_clone()?;
    file.seek(SeekFrom::Start(0))?;
    Ok(file)
}

impl From<&Path> for Source {
    fn from(path: &Path) -> Source {
        Source::named(path)
    }
}

impl From<&PathBuf> for Source {
    fn from(path: &PathBuf) -> Source {
        Source::named(path)
    }
}

impl From<&Source> for Source {
    fn from(source: &Source) -> Source {
        source.clone()
    }
}
