use super::*;
use crate::temporary::tests::names;
use std::os::unix::fs::{MetadataExt, symlink};

/// Constructors of both kinds of draft: without a name, if the file system supports that, and with
/// one.
const KINDS: [fn(&Path) -> io::Result<Draft>; 2] =
    [Draft::new, |target| Draft::named(HeldPath::named(target))];

/// Returns a new folder and the path of a file that is not yet in it.
fn target(name: &str) -> (tempfile::TempDir, std::path::PathBuf) {
    let folder = tempfile::tempdir().expect("room");
    let target = folder.path().join(name);
    (folder, target)
}

#[test]
fn the_target_is_there_when_all_of_it_is() {
    for (kind, draft_of) in KINDS.into_iter().enumerate() {
        let (folder, target) = target("page.html");
        for text in ["first", "second"] {
            let before = fs::read_to_string(&target).ok();
            let mut draft = draft_of(&target).expect("room");
            draft.write_all(text.as_bytes()).expect("room");
            assert_eq!(fs::read_to_string(&target).ok(), before);
            assert!(
                kind == 1 || names(folder.path()).len() == before.iter().count(),
                "no name until then"
            );
            draft.keep().expect("room");
            assert_eq!(fs::read_to_string(&target).expect("it is there"), text);
            assert_eq!(names(folder.path()), ["page.html"]);
        }
        File::create(folder.path().join("usual")).expect("room");
        let mode = |name: &str| {
            fs::metadata(folder.path().join(name))
                .expect("it is there")
                .mode()
        };
        assert_eq!(mode("page.html"), mode("usual"));
    }
}

#[test]
fn what_is_not_kept_leaves_nothing() {
    for draft_of in KINDS {
        let (folder, target) = target("page.html");
        fs::write(&target, "before").expect("room");
        draft_of(&target)
            .expect("room")
            .write_all(b"after")
            .expect("room");
        assert_eq!(names(folder.path()), ["page.html"]);
        assert_eq!(fs::read_to_string(&target).expect("as it was"), "before");
    }
}

#[test]
fn a_folder_in_the_target_s_place_stays_and_nothing_beside_it() {
    for draft_of in KINDS {
        let (folder, target) = target("page.html");
        fs::create_dir(&target).expect("room");
        assert!(draft_of(&target).expect("room").keep().is_err());
        assert_eq!(names(folder.path()), ["page.html"]);
    }
}

#[test]
fn drafts_of_the_dead_are_removed_and_nothing_else() {
    let folder = tempfile::tempdir().expect("room");
    let path = |name: &str| folder.path().join(name);
    let target = path("page.html");
    let alive = Draft::named(HeldPath::named(&target)).expect("room");
    let others = [
        ".switchcost-other.html-abc123",
        ".switchcost-page.html-abc1234",
        ".switchcost-page.html-abc-23",
        "switchcost-page.html-abc123",
    ];
    for name in others {
        fs::write(path(name), "text").expect("room");
    }
    fs::write(path("elsewhere"), "text").expect("room");
    symlink("elsewhere", path(".switchcost-page.html-abcdef")).expect("a link");
    let before = names(folder.path());
    fs::write(path(".switchcost-page.html-abc123"), "half of i").expect("room");
    drop(Draft::new(&target).expect("room"));
    assert_eq!(names(folder.path()), before);
    assert_eq!(before.len(), others.len() + 3, "and the one that lives");
    drop(alive);
    assert_eq!(names(folder.path()).len(), others.len() + 2);
}

#[test]
fn the_longest_name_is_no_hindrance() {
    let (folder, target) = target(&"n".repeat(255));
    for draft_of in KINDS {
        draft_of(&target).expect("room").keep().expect("room");
    }
    assert_eq!(names(folder.path()), ["n".repeat(255)]);
}

#[test]
fn a_new_file_replaces_none() {
    for draft_of in KINDS {
        let (folder, target) = target("record.json");
        let kept = |text: &[u8]| {
            let mut draft = draft_of(&target).expect("room");
            draft.write_all(text).expect("room");
            draft.keep_new().map_err(|error| error.kind())
        };
        assert_eq!(kept(b"first"), Ok(()));
        assert_eq!(kept(b"second"), Err(ErrorKind::AlreadyExists));
        assert_eq!(fs::read_to_string(&target).expect("it is there"), "first");
        assert_eq!(names(folder.path()), ["record.json"]);
    }
}
