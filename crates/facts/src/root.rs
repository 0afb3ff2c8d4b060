use std::fmt;
use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Largest file of the kernel that is read: `/proc/interrupts` of 512 CPUs with a thousand
/// interrupts has about 6 MiB. A longer file is refused, because numbers from half a file look
/// right.
const LARGEST_FILE: u64 = 8 << 20;

/// Root of the kernel's files: `/`, or the root of a tree with the same structure.
#[derive(Clone, Debug)]
pub struct Root {
    prefix: PathBuf,
}

/// Why a file of the kernel could not be read.
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
    /// Returns the root of the running machine.
    pub fn system() -> Self {
        Root {
            prefix: PathBuf::from("/"),
        }
    }

    /// Returns the root of a tree of files that stands for a machine. Only these files are read,
    /// without CPUID or system calls.
    pub fn new(prefix: impl Into<PathBuf>) -> Self {
        Root {
            prefix: prefix.into(),
        }
    }

    /// Whether the root is that of the running machine, on which CPUID and system calls may be
    /// used.
    pub fn is_system(&self) -> bool {
        self.prefix == Path::new("/")
    }

    /// Returns the content of the file at the absolute path `path`.
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

    /// Returns the text of a file; invalid UTF-8 is replaced.
    ///
    /// # Errors
    ///
    /// If the file cannot be read, or is longer than any file of the kernel.
    pub fn read(&self, path: &str) -> Result<String, Unreadable> {
        self.bytes(path)
            .map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
    }

    /// Returns the text of a file without surrounding white space.
    pub fn line(&self, path: &str) -> Result<String, Unreadable> {
        self.read(path).map(|text| text.trim().to_owned())
    }

    /// Returns the names in a directory, sorted; empty if the directory cannot be read.
    pub fn names(&self, path: &str) -> Vec<String> {
        self.list(path).unwrap_or_default()
    }

    /// Returns the names in a directory, sorted.
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

    /// Returns the target of a symbolic link.
    pub fn link(&self, path: &str) -> Option<String> {
        std::fs::read_link(self.join(path))
            .ok()
            .map(|target| target.to_string_lossy().into_owned())
    }

    /// Whether the file or folder `path` exists.
    pub fn has(&self, path: &str) -> bool {
        self.join(path).exists()
    }

    /// Returns the inode of `path`, which changes when the file is created again.
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
