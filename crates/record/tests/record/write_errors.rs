//! Tests the messages of errors when a record is created, word for word.

use std::path::Path;

use crate::{Folder, create, sample};

fn message(path: &Path) -> String {
    create(path, sample().0).expect_err("no record").to_string()
}

#[test]
fn a_record_is_never_overwritten() {
    let folder = Folder::new();
    std::fs::write(folder.file(), "somebody's").expect("room");
    assert_eq!(
        message(&folder.file()),
        format!(
            "{} already exists, and records are never overwritten; choose another name with --record, or move the file away",
            folder.file().display()
        )
    );
    assert_eq!(
        std::fs::read_to_string(folder.file()).expect("there"),
        "somebody's"
    );
}

#[test]
fn a_link_that_leads_nowhere_is_taken_too() {
    let folder = Folder::new();
    let target = folder.file().with_file_name("target");
    std::os::unix::fs::symlink(&target, folder.file()).expect("a link");
    assert!(message(&folder.file()).contains(" already exists, "));
    assert!(!target.exists());
}

#[test]
fn a_folder_that_is_missing_is_not_made() {
    let path = Folder::new()
        .file()
        .with_file_name("missing")
        .join("run.jsonl");
    assert_eq!(
        message(&path),
        format!(
            "cannot create {}: No such file or directory (os error 2); choose another place with --record, in a folder that \
             exists and may be written",
            path.display()
        )
    );
}
