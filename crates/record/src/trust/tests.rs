use std::os::unix::fs::{chown, symlink};
use std::os::unix::net::UnixListener;

use super::*;

/// A user who owns none of the test's files.
const OTHER: u32 = 65_533;

fn set_mode(path: &Path, mode: u32) {
    fs::set_permissions(path, Permissions::from_mode(mode)).expect("ours");
}

/// Whether the test runs as root, as some tests need.
fn is_root() -> bool {
    let is_root = geteuid().is_root();
    if !is_root {
        eprintln!("skipped: only root gives files to others");
    }
    is_root
}

fn refusal(found: io::Result<impl Sized>, folder: &Path) -> Option<String> {
    let text = found.err()?.to_string();
    Some(text.replace(folder.to_str().expect("text"), ""))
}

#[test]
fn what_is_no_plain_file_is_neither_waited_for_nor_read() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = |name: &str| folder.path().join(name);
    let mode = Mode::from_raw_mode(0o600);
    rustix::fs::mkfifoat(rustix::fs::CWD, at("fifo"), mode).expect("a FIFO");
    let _socket = UnixListener::bind(at("socket")).expect("a socket");
    fs::create_dir(at("folder")).expect("room");
    fs::write(at("file"), "text").expect("room");
    symlink("/dev/zero", at("device")).expect("room");
    symlink("file", at("link")).expect("room");
    symlink("circle", at("circle")).expect("room");
    for (name, expected) in [
        ("file", None),
        ("link", None),
        ("fifo", Some("it is a FIFO")),
        ("socket", Some("it is a socket")),
        ("folder", Some("it is a folder")),
        ("device", Some("it is a device")),
        (
            "circle",
            Some("Too many levels of symbolic links (os error 40)"),
        ),
        ("none", Some("No such file or directory (os error 2)")),
    ] {
        for open in [open_found, open_listed] {
            let refusal = refusal(open(&at(name)), folder.path());
            assert_eq!(refusal.as_deref(), expected, "{name}");
        }
    }
}

#[test]
fn what_others_own_is_not_found_and_their_links_lead_nowhere_but_to_it() {
    if !is_root() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let at = |name: &str| folder.path().join(name);
    for name in ["ours", "theirs"] {
        fs::write(at(name), "text").expect("room");
        symlink(name, at(&format!("link-to-{name}"))).expect("room");
    }
    for name in ["theirs", "link-to-ours", "link-to-theirs"] {
        std::os::unix::fs::lchown(at(name), Some(OTHER), None).expect("root");
    }
    let theirs = format!("it belongs to user {OTHER}");
    let link = format!("/link-to-ours is a link of user {OTHER} to another user's file");
    for (name, expected) in [
        ("ours", None),
        ("theirs", Some(&theirs)),
        ("link-to-ours", Some(&link)),
        ("link-to-theirs", Some(&theirs)),
    ] {
        assert_eq!(
            refusal(open_found(&at(name)), folder.path()).as_ref(),
            expected,
            "{name}"
        );
    }
    assert!(open_listed(&at("link-to-theirs")).is_ok());
    assert!(make_folder(&at("link-to-ours/deeper")).is_err());
}

#[test]
fn a_program_is_started_if_nobody_else_could_have_put_another_there() {
    let folder = tempfile::tempdir().expect("a folder");
    let (inner, program) = (
        folder.path().join("inner"),
        folder.path().join("inner/program"),
    );
    fs::create_dir(&inner).expect("room");
    fs::write(&program, "").expect("room");
    let all = "may be written by everybody";
    for (inner_mode, mode, expected) in [
        (0o755, 0o755, None),
        (0o1777, 0o755, None),
        (0o777, 0o755, Some(("/inner", all))),
        (0o755, 0o757, Some(("/inner/program", all))),
    ] {
        set_mode(&inner, inner_mode);
        set_mode(&program, mode);
        let expected = expected.map(|(path, fault)| format!("{path} {fault}: {RULE}"));
        assert_eq!(refusal(check_program(&program), folder.path()), expected);
        let of_all = refusal(check_programs(&inner), folder.path());
        assert_eq!(of_all, expected);
    }
    set_mode(&program, 0o755);
    if is_root() {
        chown(&program, Some(OTHER), None).expect("root");
        let expected = format!("/inner/program belongs to user {OTHER}: {RULE}");
        assert_eq!(
            refusal(check_program(&program), folder.path()),
            Some(expected)
        );
        chown(&program, Some(0), Some(OTHER)).expect("root");
        set_mode(&program, 0o775);
        let expected = format!("/inner/program may be written by group {OTHER}: {RULE}");
        assert_eq!(
            refusal(check_program(&program), folder.path()),
            Some(expected)
        );
    }
}

#[test]
fn folders_are_made_for_their_owner_alone() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("a/./b/../c");
    make_folder(&path).expect("it can be made");
    make_folder(&path).expect("it is there");
    for made in ["a", "a/b", "a/c"] {
        let facts = folder.path().join(made).metadata().expect("it is there");
        assert_eq!(facts.mode() & 0o7777, PRIVATE, "{made}");
    }
    fs::write(folder.path().join("file"), "").expect("room");
    assert!(make_folder(&folder.path().join("file")).is_err());
}

#[test]
fn what_is_made_in_a_held_folder_is_made_there_whatever_has_its_name() {
    let home = tempfile::tempdir().expect("a folder");
    let at = |name: &str| home.path().join(name);
    fs::create_dir(at("state")).expect("room");
    fs::create_dir(at("elsewhere")).expect("room");
    let held = HeldPath::found(&at("state/record")).expect("ours");
    fs::rename(at("state"), at("moved")).expect("ours");
    symlink("elsewhere", at("state")).expect("room");
    fs::write(&held, "text").expect("room");
    assert!(at("moved/record").exists() && !at("elsewhere/record").exists());
    if is_root() {
        let found = || HeldPath::found(&at("state/record"));
        assert!(found().is_ok());
        std::os::unix::fs::lchown(at("state"), Some(OTHER), Some(OTHER)).expect("root");
        assert!(found().is_err(), "its link leads to what is not its user's");
    }
}

#[test]
fn what_a_link_leads_to_keeps_its_rights() {
    let home = tempfile::tempdir().expect("a folder");
    let (made, other) = (home.path().join("made"), home.path().join("other"));
    fs::create_dir_all(made.join("within")).expect("room");
    for file in [&other, &made.join("within/file")] {
        fs::write(file, "text").expect("room");
        set_mode(file, 0o644);
    }
    symlink(&other, made.join("link")).expect("room");
    make_private(&made).expect("ours");
    let mode = |path: &Path| fs::metadata(path).expect("there").mode() & 0o777;
    assert_eq!(mode(&made.join("within/file")), 0o600);
    assert_eq!((mode(&made), mode(&other)), (0o700, 0o644));
}
