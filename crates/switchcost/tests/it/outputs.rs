//! Tests where results go: a file is replaced as a whole, also through links; anything else is
//! written to directly.

use std::fs::{self, File};
use std::os::unix::fs::{FileTypeExt, PermissionsExt, lchown, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::common::{MEASUREMENT, PROGRAM, Place, Ran, finished, is_root, text};
use rustix::fs::{CWD, FileType, Mode, makedev, mkfifoat, mknodat};

/// Makes a short trace.
fn walks(place: &Place) {
    place
        .run("trace walks --size 4KiB --turns 2 -o walks.sct")
        .assert_code(0);
}

fn run_script(place: &Place, script: &str) -> Ran {
    let mut shell = Command::new("sh");
    shell.args(["-c", script]).current_dir(place.folder());
    finished(shell.env("XDG_STATE_HOME", place.folder()))
}

/// Creates a character device of the kernel's memory driver; returns nothing if this user may not
/// create or use one.
fn device(place: &Place, name: &str, minor: u32) -> Option<PathBuf> {
    let path = place.path(name);
    let everybody = Mode::from_raw_mode(0o666);
    let kind = FileType::CharacterDevice;
    let made = mknodat(CWD, &path, kind, everybody, makedev(1, minor)).is_ok();
    let is_usable = made && File::options().write(true).open(&path).is_ok();
    if !is_usable {
        eprintln!("skipped: no right to make devices in {}", path.display());
    }
    is_usable.then_some(path)
}

#[test]
fn records_in_the_usual_place_are_for_their_owner_alone() {
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
        "simulate walks.sct --design mogul-1a",
        "simulate walks.sct --design mogul-1a --record s.parquet",
        "simulate walks.sct --design mogul-1a --quantum 1000,2000",
        "observe --no-bpf --no-calibration -- true",
        "observe --no-bpf --no-calibration --record o.json -- true",
    ] {
        run_script(&place, &format!("umask 022; exec {PROGRAM} {words}")).assert_result();
    }
    let folder = place.path("switchcost/runs");
    assert_eq!(mode(&folder), 0o700);
    let records = fs::read_dir(folder).expect("a folder").flatten();
    let modes: Vec<u32> = records.map(|entry| mode(&entry.path())).collect();
    assert_eq!(modes, [0o600; 5], "a command line may hold secrets");
    // A record that is named is as the umask has it.
    assert_eq!(
        ["o.json", "s.parquet"].map(|name| mode(&place.path(name))),
        [0o644; 2]
    );
}

/// Returns commands that write a result to a named path, complete except for that path.
fn writers(place: &Place) -> [&'static str; 9] {
    place.copy(MEASUREMENT, "record.jsonl");
    place.copy(
        "crates/record/tests/samples/measure-run.jsonl",
        "other.jsonl",
    );
    walks(place);
    [
        "report record.jsonl -o",
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
    let kind = |path: &Path| fs::symlink_metadata(path).expect("it stays").file_type();
    let write = |words: &str, path: &Path| {
        let ran = place.run((words, [text(path)]));
        assert!(
            matches!(ran.code, 0 | 3 | 4),
            "{words}: {} {}",
            ran.code,
            ran.stderr
        );
        let _ = fs::remove_file(place.path("kept.parquet"));
        ran
    };
    for words in writers(&place) {
        let reader = std::thread::scope(|scope| {
            let reader = scope.spawn(|| fs::read_to_string(&fifo).expect("a reader"));
            assert_eq!(write(words, &fifo).stdout, "", "{words}");
            reader.join().expect("no panic")
        });
        assert!(
            reader.len() > 20 && kind(&fifo).is_fifo(),
            "{words}: {reader}"
        );
        if let Some(null) = &null {
            write(words, null);
            assert!(kind(null).is_char_device(), "{words}");
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
    ] {
        symlink(from, at(to)).expect("a link");
    }
    let list = |to: &str| place.run(("simulate --design list --output", [to]));
    let is_link = |name: &str| {
        fs::symlink_metadata(at(name))
            .expect("it stays")
            .is_symlink()
    };
    for (name, file) in [("link-to-link", "file"), ("dangling", "new")] {
        list(name).assert_messages(0, "");
        assert!(place.read(file).contains("mogul-1a"), "{name}");
        assert!(is_link(name) && !is_link(file), "{name}");
    }
}

#[test]
fn what_another_user_put_into_a_sticky_folder_is_not_written_to() {
    if !is_root() {
        eprintln!("skipped: only root can give files to others");
        return;
    }
    let place = Place::new();
    let shared = place.path("shared");
    fs::create_dir(&shared).expect("room");
    fs::set_permissions(&shared, fs::Permissions::from_mode(0o1777)).expect("ours");
    let [trap, link, own] = ["trap", "link", "own"].map(|name| shared.join(name));
    for fifo in [&trap, &own] {
        mkfifoat(CWD, fifo, Mode::from_raw_mode(0o666)).expect("a FIFO");
    }
    fs::write(place.path("target"), "before").expect("room");
    symlink(place.path("target"), &link).expect("a link");
    for of_another in [&trap, &link] {
        lchown(of_another, Some(65_534), None).expect("root may");
    }
    // Both ends are opened, so that no process waits for the FIFO.
    let mut both = File::options();
    both.read(true).write(true);
    let ends = [&trap, &own].map(|fifo| both.open(fifo).expect("a FIFO"));
    let why = "it belongs to another user and is in a folder in which everybody may put things";
    for (path, code) in [(trap, 1), (link, 1), (own, 0)] {
        let ran = place.run(("simulate --design list --output", path));
        ran.assert_code(code);
        assert_eq!(ran.stderr.contains(why), code == 1, "{}", ran.stderr);
    }
    let unread = ends.map(|end| rustix::io::ioctl_fionread(&end).expect("a FIFO"));
    assert!(unread[0] == 0 && unread[1] > 0, "{unread:?}");
    assert_eq!(place.read("target"), "before");
}

#[test]
fn what_a_shell_has_open_is_written_where_it_is() {
    let place = Place::new();
    let list = format!("'{PROGRAM}' simulate --design list --output");
    for script in [
        format!("{{ echo before; {list} /dev/stdout; echo after; }} > all"),
        format!("{{ echo before; {list} /dev/fd/3 3>&1; echo after; }} | cat > all"),
        format!("echo before > all; {list} /dev/fd/3 3>> all; echo after >> all"),
    ] {
        run_script(&place, &script).assert_messages(0, "");
        let lines = place.read("all");
        let is_around = lines.starts_with("before\n") && lines.ends_with("\nafter\n");
        assert!(is_around && lines.contains("mogul-1a"), "{script}: {lines}");
    }
    // A reader that reads only the first line ends the program silently.
    let script = format!("{list} /dev/fd/3 3>&1 | head -n 1 > into");
    run_script(&place, &script).assert_messages(0, "");
    assert_eq!(place.read("into").lines().count(), 1);
}

#[test]
fn a_record_is_not_replaced_by_its_report() {
    let place = Place::new();
    place.copy(MEASUREMENT, "run.jsonl");
    let before = place.read("run.jsonl");
    symlink("run.jsonl", place.path("link")).expect("a link");
    for name in ["run.jsonl", "link"] {
        place
            .run(["report", "run.jsonl", "-o", name])
            .assert_failed(2, "is a record, and a record is never overwritten");
    }
    assert!(place.read("run.jsonl") == before);
}
