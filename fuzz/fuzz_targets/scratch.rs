//! File for readers that take a path: one per process, in a folder that scripts/fuzz.sh removes.

use std::path::PathBuf;

/// Writes the bytes to this process's file, and returns its path. The next call overwrites the
/// file.
pub fn file_of(bytes: &[u8]) -> PathBuf {
    let path = std::env::temp_dir().join(format!("switchcost-fuzz-{}", std::process::id()));
    std::fs::write(&path, bytes).expect("room in the temporary folder");
    path
}
