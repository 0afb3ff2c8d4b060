//! For readers that take a path: one file a process, in the folder that scripts/fuzz.sh removes.

use std::path::PathBuf;

/// A file that holds these bytes until the next ones come.
pub fn file_of(bytes: &[u8]) -> PathBuf {
    let path = std::env::temp_dir().join(format!("switchcost-fuzz-{}", std::process::id()));
    std::fs::write(&path, bytes).expect("room in the temporary folder");
    path
}
