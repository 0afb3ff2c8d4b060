//! Makes the archive that the guest's kernel unpacks as its root file system, in the cpio format
//! `newc` (Documentation/driver-api/early-userspace/buffer-format.rst). Equal files give equal
//! bytes: entries have one owner, a fixed time or that of their file, and are sorted by path.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// An entry of the archive, to which a path leads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Entry {
    Folder,
    Link(Vec<u8>),
    File {
        bytes: Vec<u8>,
        mode: u32,
        /// Modification time in seconds since 1970; `None` for [`TIME`].
        modified: Option<u32>,
    },
    /// A character device, given by its major and minor number.
    Device(u32, u32),
}

/// The files of a guest by absolute path, and the environment in which programs find them.
#[derive(Clone, Debug, Default)]
pub(super) struct Archive {
    entries: BTreeMap<PathBuf, Entry>,
    /// Programs that were added with everything they need, each with the path to execute.
    programs: BTreeMap<PathBuf, PathBuf>,
    /// Folders besides [`PATH`] in which the guest finds programs by name.
    path: Vec<PathBuf>,
    /// Environment variables besides `PATH`.
    variables: BTreeMap<&'static str, Vec<u8>>,
    /// Warnings about what programs may lack in the guest.
    remarks: Vec<String>,
}

/// Folders in which every guest looks for programs by name.
const PATH: [&str; 6] = [
    "/usr/local/sbin",
    "/usr/local/bin",
    "/usr/sbin",
    "/usr/bin",
    "/sbin",
    "/bin",
];

/// Modification time of files for which none is given: in 2026, as the guest's clock. Some programs
/// complain about files of 1970.
const TIME: u32 = 1_767_225_600;

const FOLDER: u32 = 0o040_755;
const LINK: u32 = 0o120_777;
const FILE: u32 = 0o100_000;
const DEVICE: u32 = 0o020_600;

impl Archive {
    pub(super) fn has(&self, path: &Path) -> bool {
        self.entries.contains_key(path)
    }

    /// Adds an entry, and the folders that lead to it if they are missing.
    pub(super) fn add(&mut self, path: impl Into<PathBuf>, entry: Entry) {
        let path = path.into();
        for folder in path
            .ancestors()
            .skip(1)
            .filter(|folder| folder.parent().is_some())
        {
            self.entries
                .entry(folder.to_owned())
                .or_insert(Entry::Folder);
        }
        self.entries.insert(path, entry);
    }

    /// Returns the path to execute for a program that was added; `None` if it was not.
    pub(super) fn program(&self, path: &Path) -> Option<PathBuf> {
        self.programs.get(path).cloned()
    }

    /// Records that a program is added. Files that the program needs are added afterwards.
    pub(super) fn add_program(&mut self, path: &Path, run: &Path) {
        self.programs.insert(path.to_owned(), run.to_owned());
    }

    /// Adds a folder to the guest's `PATH`.
    pub(super) fn look_in(&mut self, folder: &Path) {
        let is_known = PATH.iter().any(|usual| folder == Path::new(usual))
            || self.path.iter().any(|known| known == folder);
        if !is_known {
            self.path.push(folder.to_owned());
        }
    }

    pub(super) fn add_variable(&mut self, name: &'static str, value: &OsStr) {
        self.variables.insert(name, value.as_bytes().to_vec());
    }

    /// Returns the guest's environment variables, `PATH` included, as `NAME=value`.
    pub(super) fn variables(&self) -> Vec<Vec<u8>> {
        let folders = PATH
            .iter()
            .map(|folder| folder.as_bytes())
            .chain(self.path.iter().map(|path| path.as_os_str().as_bytes()));
        let path = [b"PATH=", &folders.collect::<Vec<_>>().join(&b':')[..]].concat();
        let others = self
            .variables
            .iter()
            .map(|(name, value)| [name.as_bytes(), b"=", value].concat());
        std::iter::once(path).chain(others).collect()
    }

    pub(super) fn remark(&mut self, remark: String) {
        if !self.remarks.contains(&remark) {
            self.remarks.push(remark);
        }
    }

    pub(super) fn remarks(&self) -> &[String] {
        &self.remarks
    }

    pub(super) fn into_bytes(self) -> Vec<u8> {
        let mut bytes = Vec::new();
        for (number, (path, entry)) in (1..).zip(&self.entries) {
            let path = path.strip_prefix("/").unwrap_or(path);
            let (mode, time, device, contents) = match entry {
                Entry::Folder => (FOLDER, TIME, (0, 0), &[][..]),
                Entry::Link(target) => (LINK, TIME, (0, 0), &target[..]),
                Entry::File {
                    bytes,
                    mode,
                    modified,
                } => (FILE | mode, modified.unwrap_or(TIME), (0, 0), &bytes[..]),
                Entry::Device(major, minor) => (DEVICE, TIME, (*major, *minor), &[][..]),
            };
            put(
                &mut bytes,
                path.as_os_str(),
                [number, mode, time],
                device,
                contents,
            );
        }
        put(
            &mut bytes,
            OsStr::new("TRAILER!!!"),
            [0, 0, TIME],
            (0, 0),
            &[],
        );
        bytes
    }
}

fn put(
    into: &mut Vec<u8>,
    path: &OsStr,
    [number, mode, time]: [u32; 3],
    (major, minor): (u32, u32),
    contents: &[u8],
) {
    let length = contents.len() as u32;
    let fields = [
        number,
        mode,
        0,
        0,
        1,
        time,
        length,
        0,
        0,
        major,
        minor,
        path.len() as u32 + 1,
        0,
    ];
    into.extend_from_slice(b"070701");
    for field in fields {
        into.extend_from_slice(format!("{field:08x}").as_bytes());
    }
    into.extend_from_slice(path.as_bytes());
    into.push(0);
    pad(into);
    into.extend_from_slice(contents);
    pad(into);
}

fn pad(into: &mut Vec<u8>) {
    into.resize(into.len().next_multiple_of(4), 0);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cpio_unpacks_what_was_added() {
        let mut archive = Archive::default();
        archive.add(
            "/usr/bin/prog",
            Entry::File {
                bytes: b"#!/bin/sh\n".to_vec(),
                mode: 0o755,
                modified: None,
            },
        );
        archive.add("/bin", Entry::Link(b"usr/bin".to_vec()));
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("archive");
        std::fs::write(&file, archive.into_bytes()).expect("written");
        let unpacked = std::process::Command::new("cpio")
            .args([
                "--extract",
                "--quiet",
                "--make-directories",
                "--file",
                "archive",
            ])
            .current_dir(folder.path())
            .status();
        if unpacked.is_err() {
            eprintln!("skipped: found no cpio to unpack with");
            return;
        }
        assert!(unpacked.expect("started").success());
        assert_eq!(
            std::fs::read(folder.path().join("bin/prog")).expect("by way of the link"),
            b"#!/bin/sh\n"
        );
    }

    #[test]
    fn a_header_is_as_the_kernels_documentation_has_it() {
        let mut archive = Archive::default();
        archive.add(
            "/a",
            Entry::File {
                bytes: b"xyz".to_vec(),
                mode: 0o644,
                modified: None,
            },
        );
        let bytes = archive.into_bytes();
        let text = String::from_utf8_lossy(&bytes);
        assert!(text.starts_with(
            "07070100000001000081a40000000000000000000000016955b900000000030000000000000000"
        ));
        assert!(bytes.len().is_multiple_of(4) && text.contains("TRAILER!!!"));
        assert_eq!(&bytes[110..112], b"a\0");
        assert_eq!(&bytes[112..116], b"xyz\0");
    }
}
