//! Reads the build ID of a file that a traced program has mapped.

use std::ffi::OsStr;
use std::fs::OpenOptions;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use object::Object;
use object::read::ReadCache;

const O_NONBLOCK: i32 = 0o4000;
/// Maximum length of a build ID in a trace, in bytes. Most build IDs have 20 bytes.
const LONGEST: usize = 255;

/// Reads the GNU build ID of a file. Returns `None` if the file is gone, is not a regular ELF file,
/// or has no build ID. The path comes from the traced program, so the function never waits for a
/// special file.
pub(crate) fn read_build_id(path: &[u8]) -> Option<Vec<u8>> {
    let path = Path::new(OsStr::from_bytes(path));
    if !path.is_absolute() || !path.symlink_metadata().ok()?.is_file() {
        return None;
    }
    let file = OpenOptions::new()
        .read(true)
        .custom_flags(O_NONBLOCK)
        .open(path)
        .ok()?;
    let cache = ReadCache::new(file);
    let id = object::File::parse(&cache).ok()?.build_id().ok()??.to_vec();
    (id.len() <= LONGEST).then_some(id)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_the_id_that_file_reports() {
        let output = std::process::Command::new("file")
            .args(["-L", "/bin/sh"])
            .output()
            .expect("file runs");
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let reported = text
            .split_once("BuildID[sha1]=")
            .expect("sh has a build ID")
            .1;
        let path = std::fs::canonicalize("/bin/sh").expect("sh");
        let id = read_build_id(path.as_os_str().as_bytes()).expect("an ID");
        let hexadecimal: String = id.iter().map(|byte| format!("{byte:02x}")).collect();
        assert!(reported.starts_with(&hexadecimal), "{text}: {hexadecimal}");
    }

    #[test]
    fn what_is_no_program_has_none() {
        for path in [
            &b"/etc/passwd"[..],
            b"/dev/zero",
            b"/no/such/file",
            b"relative",
            b"",
            b"/nul\0inside",
            b"/etc",
        ] {
            assert_eq!(read_build_id(path), None);
        }
    }
}
