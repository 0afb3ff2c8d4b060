//! The archive that the guest's kernel unpacks as its root: the cpio format `newc` (Documentation/driver-api/early-userspace/
//! buffer-format.rst). The same files give the same bytes: one time, one owner, in the order of their paths.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// What is at a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Entry {
    Folder,
    Link(Vec<u8>),
    File {
        bytes: Vec<u8>,
        mode: u32,
    },
    /// A device for characters, by its numbers.
    Device(u32, u32),
}

/// Files by their absolute paths.
#[derive(Clone, Debug, Default)]
pub(super) struct Archive {
    entries: BTreeMap<PathBuf, Entry>,
}

/// 2026, as the guest's clock: files of 1970 are complained about.
const TIME: u32 = 1_767_225_600;

const FOLDER: u32 = 0o040_755;
const LINK: u32 = 0o120_777;
const FILE: u32 = 0o100_000;
const DEVICE: u32 = 0o020_600;

impl Archive {
    pub(super) fn has(&self, path: &Path) -> bool {
        self.entries.contains_key(path)
    }

    /// With the folders that it is in, where nothing is known of these.
    pub(super) fn add(&mut self, path: impl Into<PathBuf>, entry: Entry) {
        let path = path.into();
        for folder in path.ancestors().skip(1).filter(|folder| folder.parent().is_some()) {
            self.entries.entry(folder.to_owned()).or_insert(Entry::Folder);
        }
        self.entries.insert(path, entry);
    }

    pub(super) fn into_bytes(self) -> Vec<u8> {
        let mut bytes = Vec::new();
        for (number, (path, entry)) in (1..).zip(&self.entries) {
            let path = path.strip_prefix("/").unwrap_or(path);
            let (mode, device, contents) = match entry {
                Entry::Folder => (FOLDER, (0, 0), &[][..]),
                Entry::Link(target) => (LINK, (0, 0), &target[..]),
                Entry::File { bytes, mode } => (FILE | mode, (0, 0), &bytes[..]),
                Entry::Device(major, minor) => (DEVICE, (*major, *minor), &[][..]),
            };
            put(&mut bytes, number, path.as_os_str(), mode, device, contents);
        }
        put(&mut bytes, 0, OsStr::new("TRAILER!!!"), 0, (0, 0), &[]);
        bytes
    }
}

fn put(into: &mut Vec<u8>, number: u32, path: &OsStr, mode: u32, (major, minor): (u32, u32), contents: &[u8]) {
    let length = contents.len() as u32;
    let fields = [number, mode, 0, 0, 1, TIME, length, 0, 0, major, minor, path.len() as u32 + 1, 0];
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
        archive.add("/usr/bin/prog", Entry::File { bytes: b"#!/bin/sh\n".to_vec(), mode: 0o755 });
        archive.add("/bin", Entry::Link(b"usr/bin".to_vec()));
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("archive");
        std::fs::write(&file, archive.into_bytes()).expect("written");
        let unpacked = std::process::Command::new("cpio")
            .args(["--extract", "--quiet", "--make-directories", "--file", "archive"])
            .current_dir(folder.path())
            .status();
        if unpacked.is_err() {
            eprintln!("skipped: found no cpio to unpack with");
            return;
        }
        assert!(unpacked.expect("started").success());
        assert_eq!(std::fs::read(folder.path().join("bin/prog")).expect("by way of the link"), b"#!/bin/sh\n");
    }

    #[test]
    fn a_header_is_as_the_kernels_documentation_has_it() {
        let mut archive = Archive::default();
        archive.add("/a", Entry::File { bytes: b"xyz".to_vec(), mode: 0o644 });
        let bytes = archive.into_bytes();
        let text = String::from_utf8_lossy(&bytes);
        assert!(text.starts_with("07070100000001000081a40000000000000000000000016955b900000000030000000000000000"));
        assert!(bytes.len().is_multiple_of(4) && text.contains("TRAILER!!!"));
        assert_eq!(&bytes[110..112], b"a\0");
        assert_eq!(&bytes[112..116], b"xyz\0");
    }
}
