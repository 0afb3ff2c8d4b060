//! Tests a file with a limited size: lines that fit are complete, and the line that does not fit is
//! removed.
//!
//! The limit applies to a process, so a child process writes the file. The child is this test
//! program under a shell that sets the limit and ignores SIGXFSZ, so that the write fails.

use std::path::Path;
use std::process::Command;

use switchcost_record::{Line, MeasureRecord};

use crate::{Folder, create, sample};

const PATH: &str = "SWITCHCOST_TEST_LIMITED_RECORD";

/// Appends lines until there is no room, and prints the error, if run as the child. Does nothing if
/// run as an ordinary test.
#[test]
fn the_child_fills_its_file() {
    let Some(path) = std::env::var_os(PATH) else {
        return;
    };
    let (header, lines) = sample();
    let mut writer = create(Path::new(&path), header).expect("room for the header");
    let sample = lines
        .iter()
        .find(|line| matches!(line, Line::Sample(_)))
        .expect("one");
    let error = (0..1_000)
        .find_map(|_| writer.append(sample).err())
        .expect("a limit");
    eprintln!("<{error}>");
}

#[test]
fn a_line_that_does_not_fit_is_taken_back() {
    let folder = Folder::new();
    let child = Command::new("sh")
        // 64 blocks of 512 bytes, or of 1024 bytes in some shells.
        .args(["-c", "trap '' XFSZ; ulimit -f 64; exec \"$@\"", "sh"])
        .arg(std::env::current_exe().expect("this program"))
        .args(["--exact", "append::the_child_fills_its_file", "--nocapture"])
        .env(PATH, folder.file())
        .output()
        .expect("a shell");
    let said = String::from_utf8_lossy(&child.stderr);
    let record = MeasureRecord::read(&folder.file()).expect("a record");
    assert!(
        !record.has_cut_line && record.samples.len() > 10,
        "{} samples: {said}",
        record.samples.len()
    );
    let (path, lines) = (folder.file(), record.samples.len() + 1);
    let path = path.display();
    let expected = format!(
        "<cannot write to {path} after {lines} complete lines: File too large (os error 27); raise the limit on the length \
         of files (ulimit -f unlimited), or choose another place with --record, on another file system"
    );
    assert!(said.contains(&expected), "{said}");
}
