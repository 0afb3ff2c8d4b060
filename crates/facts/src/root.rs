use std::fmt;
use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Largest file of the kernel that is read, in bytes: `/proc/interrupts` of 512 CPUs with a
/// thousand interrupts has about 6 MiB. A longer file is an error, because numbers from a truncated
/// file look right.
const LARGEST_FILE: u64 = 8 << 20;

/// Root directory of the kernel's files: `/`, or a directory with the same structure that simulates
/// a machine.
#[derive(Clone, Debug)]
pub struct Root {
    prefix: PathBuf,
}

/// Error for a file of the kernel that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unreadable {
    path: String,
    why: String,
}

impl fmt::Display for Unreadable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.path, self.why)
    }
}

impl Root {
    /// Returns the root directory of the running machine.
    pub fn system() -> Self {
        Root {
            prefix: PathBuf::from("/"),
        }
    }

    /// Returns a root directory that simulates a machine. Facts then come only from its files, not
    /// from CPUID or system calls.
    pub fn new(prefix: impl Into<PathBuf>) -> Self {
        Root {
            prefix: prefix.into(),
        }
    }

    /// Whether this is the root directory of the running machine. Only then may CPUID and system
    /// calls be used.
    pub fn is_system(&self) -> bool {
        self.prefix == Path::new("/")
    }

    /// Returns the content of the file at the absolute path `path`; an error if the file cannot be
    /// read or is longer than 8 MiB.
    pub fn bytes(&self, path: &str) -> Result<Vec<u8>, Unreadable> {
        let unreadable = |why: String| Unreadable {
            path: path.to_owned(),
            why,
        };
        let bytes = bounded(&self.join(path)).map_err(|error| unreadable(error.to_string()))?;
        match bytes.len() as u64 > LARGEST_FILE {
            true => Err(unreadable(format!("longer than {LARGEST_FILE} bytes"))),
            false => Ok(bytes),
        }
    }

    /// Returns the text of the file at `path`. Invalid UTF-8 is replaced by U+FFFD.
    ///
    /// # Errors
    ///
    /// If the file cannot be read, or is longer than 8 MiB.
    pub fn read(&self, path: &str) -> Result<String, Unreadable> {
        self.bytes(path)
            .map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
    }

    /// Returns the text of the file at `path` without surrounding white space.
    pub fn line(&self, path: &str) -> Result<String, Unreadable> {
        self.read(path).map(|text| text.trim().to_owned())
    }

    /// Returns the names in the directory at `path`, sorted; empty if the directory cannot be read.
    pub fn names(&self, path: &str) -> Vec<String> {
        self.list(path).unwrap_or_default()
    }

    /// Returns the names in the directory at `path`, sorted.
    ///
    /// # Errors
    ///
    /// If the directory cannot be read.
    pub fn list(&self, path: &str) -> io::Result<Vec<String>> {
        let entries = std::fs::read_dir(self.join(path))?.flatten();
        let mut names: Vec<_> = entries
            .map(|entry| entry.file_name().to_string_lossy().into_owned())
            .collect();
        names.sort();
        Ok(names)
    }

    /// Returns the target of the symbolic link at `path`; `None` if there is no such link.
    pub fn link(&self, path: &str) -> Option<String> {
        std::fs::read_link(self.join(path))
            .ok()
            .map(|target| target.to_string_lossy().into_owned())
    }

    /// Whether a file or directory exists at `path`.
    pub fn has(&self, path: &str) -> bool {
        self.join(path).exists()
    }

    /// Returns the inode number of `path`, which changes if the file is deleted and created again;
    /// `None` if the file does not exist.
    pub fn number(&self, path: &str) -> Option<u64> {
        std::fs::metadata(self.join(path))
            .ok()
            .map(|metadata| metadata.ino())
    }

    fn join(&self, path: &str) -> PathBuf {
        self.prefix.join(path.trim_start_matches('/'))
    }
}

fn bounded(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    File::open(path)?
        .take(LARGEST_FILE + 1)
        .read_to_end(&mut bytes)?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::Fixture;

    #[test]
    fn a_missing_file_says_which_and_why() {
        let fixture = Fixture::new();
        let error = fixture
            .root()
            .read("/proc/missing")
            .expect_err("nothing is there");
        assert_eq!(
            error.to_string(),
            "/proc/missing: No such file or directory (os error 2)"
        );
    }

    #[test]
    fn a_file_beyond_the_bound_is_refused_and_not_cut() {
        let fixture = Fixture::new().file("/proc/huge", &"1".repeat(LARGEST_FILE as usize + 1));
        let error = fixture.root().read("/proc/huge").expect_err("too long");
        assert_eq!(error.to_string(), "/proc/huge: longer than 8388608 bytes");
    }

    #[test]
    fn hostile_bytes_become_text() {
        let fixture = Fixture::new().bytes("/etc/odd", b"a\xff\x1b[2Jb\n");
        assert_eq!(
            fixture.root().line("/etc/odd").as_deref(),
            Ok("a\u{fffd}\u{1b}[2Jb")
        );
    }
}
