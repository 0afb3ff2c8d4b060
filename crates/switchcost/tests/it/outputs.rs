//! Tests where results go: a file is replaced as a whole, also through links; anything else is
//! written to directly.

use std::fs::{self, File};
use std::io::Read;
use std::os::unix::fs::{FileTypeExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::common::{Place, is_root, ran, text};
use rustix::fs::{CWD, FileType, Mode, makedev, mkfifoat, mknodat};

const PROGRAM: &str = env!("CARGO_BIN_EXE_switchcost");

/// Makes a short trace.
fn walks(place: &Place) {
    place
        .run("trace walks --size 4KiB --turns 2 -o walks.sct")
        .assert_code(0);
}

/// Creates a character device of the kernel's memory driver; returns nothing if this user may not
/// create or use one.
fn device(place: &Place, name: &str, minor: u32) -> Option<PathBuf> {
    let path = place.path(name);
    let everybody = Mode::from_raw_mode(0o666);
    let made = is_root()
        && mknodat(
            CWD,
            &path,
            FileType::CharacterDevice,
            everybody,
            makedev(1, minor),
        )
        .is_ok();
    let is_usable = made && File::options().write(true).open(&path).is_ok();
    if !is_usable {
        eprintln!(
            "skipped: no right to make devices in {}",
            place.folder().display()
        );
    }
    is_usable.then_some(path)
}

#[test]
fn records_in_the_usual_place_are_for_their_owner_alone() {
    use std::os::unix::fs::PermissionsExt;
    let place = Place::new();
    let mode = |path: &Path| {
        fs::metadata(path)
            .expect("it is there")
            .permissions()
            .mode()
            & 0o777
    };
    walks(&place);
    for words in [
        "measure --mechanism fiber --max-repetitions 5 --no-counters",
        "measure --mechanism fiber --max-repetitions 5 --no-counters --record m.jsonl",
        "simulate walks.sct --design mogul-1a",
        "simulate walks.sct --design mogul-1a --record s.parquet",
        "simulate walks.sct --design mogul-1a --quantum 1000,2000",
    ] {
        let script = format!("umask 022; exec {PROGRAM} {words}");
        let asked = Command::new("sh")
            .args(["-c", &script])
            .current_dir(place.folder())
            .env("XDG_STATE_HOME", place.folder())
            .output();
        let ran = ran(asked.expect("it starts"));
        ran.assert_result();
    }
    let records = fs::read_dir(place.path("switchcost/runs"))
        .expect("a folder")
        .flatten()
        .map(|entry| entry.path());
    let modes: Vec<u32> = records.map(|path| mode(&path)).collect();
    assert_eq!(modes, [0o600; 4]);
    assert_eq!(
        ["m.jsonl", "s.parquet"].map(|name| mode(&place.path(name))),
        [0o644; 2],
        "as the umask has it where it is named"
    );
}

/// Returns every command that writes a result to a named path, complete except for that path.
fn writers(place: &Place) -> [&'static str; 11] {
    for name in ["other.jsonl", "record.jsonl"] {
        place.measure("--mechanism fiber");
        fs::rename(place.record(), place.path(name)).expect("measured");
    }
    walks(place);
    [
        "report record.jsonl --output",
        "report record.jsonl -o",
        "compare record.jsonl other.jsonl --output",
        "compare record.jsonl other.jsonl -o",
        "doctor --output",
        "simulate --design list --output",
        "simulate walks.sct --design mogul-1a --record kept.parquet --output",
        "measure --mechanism fiber --max-repetitions 6 --no-counters --output",
        "trace info walks.sct --output",
        "trace check walks.sct --output",
        "trace export --to din walks.sct -o",
    ]
}

#[test]
fn a_device_and_a_fifo_are_written_to_and_stay() {
    let place = Place::new();
    let fifo = place.path("fifo");
    mkfifoat(CWD, &fifo, Mode::from_raw_mode(0o600)).expect("a FIFO");
    let null = device(&place, "null", 3);
    for words in writers(&place) {
        let end = fifo.clone();
        let reader = std::thread::spawn(move || {
            let mut text = String::new();
            File::open(end)
                .and_then(|mut fifo| fifo.read_to_string(&mut text))
                .map(|_| text)
        });
        let ran = place.run((words, [text(&fifo)]));
        let read = reader.join().expect("no panic").expect("a reader");
        assert!(
            matches!(ran.code, 0 | 3 | 4) && read.len() > 20,
            "{words:?}: {} {} {read}",
            ran.code,
            ran.stderr
        );
        assert_eq!(ran.stdout, "", "{words:?}");
        assert!(
            fs::symlink_metadata(&fifo)
                .expect("it stays")
                .file_type()
                .is_fifo(),
            "{words:?}"
        );
        let _ = fs::remove_file(place.path("kept.parquet"));
        if let Some(null) = &null {
            let ran = place.run((words, [text(null)]));
            assert!(
                matches!(ran.code, 0 | 3 | 4),
                "{words:?}: {} {}",
                ran.code,
                ran.stderr
            );
            let kind = fs::symlink_metadata(null).expect("it stays").file_type();
            assert!(kind.is_char_device(), "{words:?}");
            let _ = fs::remove_file(place.path("kept.parquet"));
        }
    }
}

#[test]
fn a_device_that_takes_nothing_is_an_error() {
    let place = Place::new();
    let Some(full) = device(&place, "full", 7) else {
        return;
    };
    let ran = place.run(["doctor", "--output", text(&full)]);
    let message = format!(
        "error: cannot write {}: No space left on device\nhint: free some space, or choose another place\n",
        full.display()
    );
    ran.assert_messages(1, &message);
}

#[test]
fn behind_a_link_its_file_is_replaced() {
    let place = Place::new();
    let at = |name: &str| place.path(name);
    fs::write(at("file"), "old").expect("a file");
    for (from, to) in [
        ("file", "link"),
        ("link", "link-to-link"),
        ("new", "dangling"),
        ("self", "self"),
        (".", "folder"),
    ] {
        symlink(from, at(to)).expect("a link");
    }
    let list = |to: &str| place.run(("simulate --design list --output", [to]));
    for (name, file) in [("link-to-link", "file"), ("dangling", "new")] {
        let ran = list(name);
        ran.assert_messages(0, "");
        assert!(
            fs::read_to_string(at(file))
                .expect("a file")
                .contains("mogul-1a"),
            "{name}"
        );
        assert!(
            fs::symlink_metadata(at(name))
                .expect("it stays")
                .is_symlink(),
            "{name}"
        );
        assert!(
            fs::symlink_metadata(at(file))
                .expect("it is there")
                .is_file(),
            "{name}"
        );
    }
    for (name, found, need) in [
        (
            "self",
            "Too many levels of symbolic links",
            "remove the link, which leads to itself, or choose another place",
        ),
        ("folder", "is a directory", "name a file in that folder"),
    ] {
        let ran = list(name);
        let message = format!("error: cannot write {name}: {found}\nhint: {need}\n");
        ran.assert_messages(1, &message);
        assert!(
            fs::symlink_metadata(at(name))
                .expect("it stays")
                .is_symlink()
        );
    }
}

#[test]
fn what_another_user_put_into_a_sticky_folder_is_not_written_to() {
    use std::os::unix::fs::{PermissionsExt, chown};
    if !is_root() {
        eprintln!("skipped: only root can give files to others");
        return;
    }
    let place = Place::new();
    let shared = place.path("shared");
    fs::create_dir(&shared).expect("room");
    fs::set_permissions(&shared, fs::Permissions::from_mode(0o1777)).expect("ours");
    let (trap, link, own) = (shared.join("trap"), shared.join("link"), shared.join("own"));
    for fifo in [&trap, &own] {
        mkfifoat(CWD, fifo, Mode::from_raw_mode(0o666)).expect("a FIFO");
    }
    let target = place.path("target");
    fs::write(&target, "before").expect("room");
    symlink(&target, &link).expect("a link");
    chown(&trap, Some(65_534), None).expect("root may");
    std::os::unix::fs::lchown(&link, Some(65_534), None).expect("root may");
    // The reader reads everything; both ends are opened, so that no process waits for the FIFO.
    let ends = [&trap, &own].map(|fifo| {
        File::options()
            .read(true)
            .write(true)
            .open(fifo)
            .expect("a FIFO")
    });
    for (name, code) in [(&trap, 1), (&link, 1), (&own, 0)] {
        let ran = place.run(["simulate", "--design", "list", "--output", text(name)]);
        ran.assert_code(code);
        let is_reported = ran.stderr.contains(
            "it belongs to another user and is in a folder in which everybody may put things",
        );
        assert_eq!(is_reported, code == 1, "{}", ran.stderr);
    }
    let unread = ends.map(|end| rustix::io::ioctl_fionread(&end).expect("a FIFO"));
    assert!(unread[0] == 0 && unread[1] > 0, "{unread:?}");
    assert_eq!(place.read("target"), "before");
}

#[test]
fn what_a_shell_has_open_is_written_where_it_is() {
    let place = Place::new();
    let list = format!("'{PROGRAM}' simulate --design list --output");
    let (into, all) = (place.path("into"), place.path("all"));
    for script in [
        format!(
            "{{ echo before; {list} /dev/stdout; echo after; }} > '{}'",
            all.display()
        ),
        format!(
            "{{ echo before; {list} /dev/fd/3 3>&1; echo after; }} | cat > '{}'",
            all.display()
        ),
        format!(
            "echo before > '{0}'; {list} /dev/fd/3 3>> '{0}'; echo after >> '{0}'",
            all.display()
        ),
    ] {
        let ran = ran(Command::new("sh")
            .args(["-c", &script])
            .output()
            .expect("a shell"));
        ran.assert_messages(0, "");
        let lines = place.read("all");
        assert!(
            lines.starts_with("before\n") && lines.ends_with("\nafter\n"),
            "{script}: {lines}"
        );
        assert!(lines.contains("mogul-1a"), "{script}: {lines}");
    }
    // A reader that reads only the first line ends the program silently.
    let script = format!(
        "'{PROGRAM}' completions bash > /dev/null; {list} /dev/fd/3 3>&1 | head -n 1 > '{}'",
        into.display()
    );
    let ran = ran(Command::new("sh")
        .args(["-c", &script])
        .output()
        .expect("a shell"));
    ran.assert_messages(0, "");
    assert_eq!(place.read("into").lines().count(), 1);
}

#[test]
fn a_record_is_not_replaced_by_its_report() {
    let place = Place::new();
    place.measure("--mechanism fiber");
    let before = fs::read(place.record()).expect("a record");
    let link = place.path("link");
    symlink("run.jsonl", &link).expect("a link");
    for flag in ["--output", "-o"] {
        for name in [&place.record()[..], text(&link)] {
            place
                .run(format!("report run.jsonl {flag} {name}"))
                .assert_failed(2, "is one of the records");
        }
    }
    assert!(fs::read(place.record()).expect("a record") == before);
}

#[test]
fn two_outputs_in_one_file_are_refused_before_anything_runs() {
    let place = Place::new();
    symlink("run.jsonl", place.path("link")).expect("a link");
    fs::write(place.path("taken"), "there").expect("a file");
    for (first, second, words) in [
        (
            "--record",
            "--output",
            "measure --record run.jsonl -o ./run.jsonl --mechanism fiber",
        ),
        (
            "--record",
            "--output",
            "measure --record link -o run.jsonl --mechanism fiber",
        ),
        (
            "--output",
            "--prices",
            "measure --prices taken --output taken",
        ),
        (
            "--record",
            "--output",
            "observe --record run.jsonl -o run.jsonl -- touch mark",
        ),
        (
            "--record",
            "--folded",
            "observe --folded run.jsonl --record run.jsonl -- touch mark",
        ),
        (
            "--record",
            "--output",
            "inject --record run.jsonl -o link -- touch mark",
        ),
        (
            "--junit",
            "--markdown",
            "compare a b --junit taken --markdown taken",
        ),
        (
            "--record",
            "--output",
            "simulate live --record run.jsonl -o run.jsonl -- touch mark",
        ),
    ] {
        let ran = place.run(words);
        assert_eq!(
            (ran.code, ran.stdout.as_str()),
            (2, ""),
            "{words:?}: {}",
            ran.stderr
        );
        let both = format!("is named by both {first} and {second}");
        assert!(
            ran.stderr.contains(&both) && ran.stderr.lines().count() == 2,
            "{words:?}: {}",
            ran.stderr
        );
        for name in ["run.jsonl", "mark"] {
            assert!(!place.path(name).exists(), "{words}: {name}");
        }
        assert_eq!(place.read("taken"), "there", "{words}");
    }
}

#[test]
fn a_device_takes_several_outputs() {
    let place = Place::new();
    let ran = place.measure("--mechanism fiber --output /dev/null");
    ran.assert_result();
    place
        .run("compare run.jsonl run.jsonl --junit /dev/null --markdown /dev/null")
        .assert_message("the same run");
}
