//! Tests the messages of errors when a record is created, word for word.

use std::path::Path;

use crate::{Folder, create, sample};

fn message(path: &Path) -> String {
    create(path, sample().0).expect_err("no record").to_string()
}

#[test]
fn a_link_that_leads_nowhere_is_taken_too() {
    let folder = Folder::new();
    let target = folder.file().with_file_name("target");
    std::os::unix::fs::symlink(&target, folder.file()).expect("a link");
    assert!(message(&folder.file()).contains(" already exists, "));
    assert!(!target.exists());
}
