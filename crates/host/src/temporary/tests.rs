use super::*;
use std::os::unix::fs::{MetadataExt, symlink};

pub(crate) fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).expect("a folder").flatten();
    let mut names: Vec<String> = entries
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    names
}

fn name(folder: &TemporaryFolder, within: &Path) -> String {
    let path = folder
        .path()
        .parent()
        .and_then(|path| path.strip_prefix(within).ok());
    path.expect("within").to_string_lossy().into_owned()
}

/// Makes the remains of a run that was killed together with its helper.
fn dead(path: &Path) {
    fs::create_dir_all(path.join(FILES).join("deep")).expect("folders");
    fs::write(path.join(FILES).join("deep/file"), "text").expect("a file");
    fs::write(path.join(LOCK), "").expect("a lock");
}

fn create_in(within: &tempfile::TempDir) -> TemporaryFolder {
    TemporaryFolder::create_in(within.path()).expect("room")
}

#[test]
fn a_folder_has_the_first_name_that_is_free_and_is_gone_when_dropped() {
    let within = tempfile::tempdir().expect("room");
    let one = create_in(&within);
    let two = create_in(&within);
    assert_eq!(
        [name(&one, within.path()), name(&two, within.path())],
        ["switchcost-1", "switchcost-2"]
    );
    assert_eq!(
        fs::metadata(one.path().parent().expect("its folder"))
            .expect("there")
            .mode()
            & 0o777,
        0o700
    );
    fs::write(one.path().join("file"), "text").expect("room");
    drop(one);
    assert_eq!(
        names(within.path()),
        ["switchcost-2"],
        "a living run keeps its own"
    );
    let again = create_in(&within);
    assert_eq!(name(&again, within.path()), "switchcost-1");
    drop((two, again));
    assert_eq!(names(within.path()), Vec::<String>::new());
}

#[test]
fn what_the_dead_have_left_is_removed() {
    let within = tempfile::tempdir().expect("room");
    dead(&within.path().join("switchcost-1"));
    dead(&within.path().join("switchcost-27"));
    let folder = create_in(&within);
    assert_eq!(names(within.path()), ["switchcost-1"]);
    assert_eq!(names(folder.path()), Vec::<String>::new());
}

#[test]
fn what_is_not_surely_ours_stays_and_no_link_is_followed() {
    let (within, elsewhere) = (
        tempfile::tempdir().expect("room"),
        tempfile::tempdir().expect("room"),
    );
    let path = |name: &str| within.path().join(name);
    let outside = elsewhere.path().join("folder");

    // The folders without a dead owner: no lock; a link to such a folder; a lock that is a link; a
    // file; other names.
    fs::create_dir_all(path("switchcost-1").join(FILES)).expect("folders");
    dead(&outside);
    symlink(&outside, path("switchcost-2")).expect("a link");
    fs::create_dir_all(path("switchcost-3").join(FILES)).expect("folders");
    symlink(outside.join(LOCK), path("switchcost-3").join(LOCK)).expect("a link");
    fs::write(path("switchcost-4"), "text").expect("a file");
    dead(&path("switchcost-x"));
    dead(&path("switchcost-"));
    dead(&path("another-5"));
    let before = names(within.path());
    // The folder is one of this program's, with a link to a file outside.
    dead(&path("switchcost-6"));
    symlink(
        elsewhere.path(),
        path("switchcost-6").join(FILES).join("link"),
    )
    .expect("a link");
    let folder = create_in(&within);
    assert_eq!(name(&folder, within.path()), "switchcost-5");
    drop(folder);
    assert_eq!(names(within.path()), before);
    assert!(path("switchcost-1").join(FILES).is_dir() && path("switchcost-3").join(FILES).is_dir());
    assert_eq!(
        fs::read(outside.join(FILES).join("deep/file")).expect("as it was"),
        b"text"
    );
}

#[test]
fn what_belongs_to_another_stays() {
    if !rustix::process::geteuid().is_root() {
        eprintln!("skipped: no right to give a folder away");
        return;
    }
    let within = tempfile::tempdir().expect("room");
    for (number, given) in ["", LOCK].into_iter().enumerate() {
        let path = within.path().join(format!("switchcost-{}", number + 1));
        dead(&path);
        std::os::unix::fs::chown(path.join(given), Some(12345), None).expect("root may");
    }
    drop(create_in(&within));
    assert_eq!(names(within.path()), ["switchcost-1", "switchcost-2"]);
}

#[test]
fn where_no_name_is_free_it_says_so() {
    let within = tempfile::tempdir().expect("room");
    for number in 1..MOST_FOLDERS {
        // A file occupies the name as well as a folder would, and is created and removed faster.
        fs::File::create_new(within.path().join(format!("{PREFIX}{number}"))).expect("a file");
    }
    let error = TemporaryFolder::create_in(within.path()).expect_err("no name");
    let expected = format!(
        "9999 folders switchcost-1, switchcost-2 and so on in {}",
        within.path().display()
    );
    assert_eq!(error.to_string(), expected);
}
