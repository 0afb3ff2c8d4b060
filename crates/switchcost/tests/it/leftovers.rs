//! Tests that a run ended in the middle leaves nothing: no process, no temporary file, no partial
//! result.

use std::fs;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Instant;

use crate::common::{
    Arguments, Place, SIMULATION, ended, finished, processes_with, running, send, text, wait_until,
};
use rustix::fs::{CWD, Mode, OFlags, mkfifoat};
use rustix::process::{Pid, Signal, kill_process};

/// A signal that the program catches, and a signal that it cannot catch.
const ENDINGS: [Signal; 2] = [Signal::TERM, Signal::KILL];

/// Returns a command for the program with default signal actions, even if the test runner ignores
/// signals.
fn started(place: &Place, words: impl Arguments) -> Command {
    place.command_with_signals(["--default-signal"], words)
}

fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).expect("a folder").flatten();
    let names = entries.map(|entry| entry.file_name().into_string().expect("text"));
    let mut names: Vec<String> = names.collect();
    names.sort();
    names
}

/// Returns all files below a folder.
fn files(folder: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(folder) else {
        return Vec::new();
    };
    let paths = entries.flatten().map(|entry| entry.path());
    let below = |path: PathBuf| {
        if path.is_dir() {
            files(&path)
        } else {
            vec![path]
        }
    };
    paths.flat_map(below).collect()
}

/// Returns a folder for temporary files.
fn room(place: &Place) -> PathBuf {
    let path = place.path("tmp");
    fs::create_dir_all(&path).expect("a folder");
    path
}

fn nothing_is_left(place: &Place, room: &Path) {
    wait_until("every process has ended", || running(place).is_empty());
    assert_eq!(names(room), Vec::<String>::new());
}

#[test]
fn a_page_that_is_not_finished_leaves_nothing_beside_it() {
    for signal in ENDINGS {
        let place = Place::new();
        // The record is a FIFO without a writer: the program waits for it, after it has claimed the
        // place of its page.
        let (record, page) = (place.path("record.jsonl"), place.path("page.html"));
        mkfifoat(CWD, &record, Mode::RWXU).expect("a fifo");
        fs::write(&page, "before").expect("written");
        let mut child = started(&place, "report record.jsonl -o page.html")
            .spawn()
            .expect("it starts");
        wait_until("the place is claimed", || {
            has_open(child.id(), place.folder())
        });
        send(&child, signal);
        // A program that continues after the signal finds an empty record.
        let _ = fs::OpenOptions::new()
            .write(true)
            .custom_flags(OFlags::NONBLOCK.bits() as i32)
            .open(&record);
        assert!(!child.wait().expect("it ends").success());
        wait_until("every process has ended", || running(&place).is_empty());
        assert_eq!(
            names(place.folder()),
            ["page.html", "record.jsonl"],
            "{signal:?}"
        );
        assert_eq!(place.read("page.html"), "before");
    }
}

fn has_open(pid: u32, folder: &Path) -> bool {
    let files = fs::read_dir(format!("/proc/{pid}/fd"))
        .into_iter()
        .flatten()
        .flatten();
    files
        .filter_map(|file| fs::read_link(file.path()).ok())
        .any(|target| target.starts_with(folder))
}

#[test]
fn a_signal_at_any_moment_leaves_the_old_page_or_the_new_one_and_nothing_else() {
    const ROUNDS: u32 = 24;
    let place = Place::new();
    place.copy(SIMULATION, "record.parquet");
    let mut command = started(&place, "report record.parquet -o page.html");
    let begun = Instant::now();
    finished(&mut command).assert_code(0);
    let (whole, length) = (place.read("page.html"), begun.elapsed());
    for round in 0..ROUNDS {
        fs::write(place.path("page.html"), "before").expect("written");
        let mut child = command.spawn().expect("it starts");
        std::thread::sleep(length * round / ROUNDS);
        let signal = [Signal::INT, Signal::TERM, Signal::HUP][round as usize % 3];
        send(&child, signal);
        child.wait().expect("it ends");
        let names = names(place.folder());
        assert_eq!(names, ["page.html", "record.parquet"], "round {round}");
        let found = place.read("page.html");
        let is_known = found == "before" || found == whole;
        assert!(is_known, "round {round}: {} bytes", found.len());
    }
}

fn workload(place: &Place, room: &Path, set: &str) -> Child {
    let mut command = started(place, format!("workload {set} --switches 100000000"));
    command
        .env("TMPDIR", room)
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .expect("it starts")
}

/// Number of processes of a pair: the program, the watcher, the supervisor, a client and a server.
const PAIR: usize = 5;

#[test]
fn a_workload_that_is_ended_leaves_no_folder_and_no_process() {
    for signal in ENDINGS {
        let place = Place::new();
        let room = room(&place);
        let mut child = workload(&place, &room, "client-server");
        wait_until("all run", || running(&place).len() >= PAIR);
        assert_eq!(names(&room), ["switchcost-1"]);
        send(&child, signal);
        child.wait().expect("it ends");
        nothing_is_left(&place, &room);
    }
}

#[test]
#[ignore = "takes long: make test ARGS=--all"]
fn what_the_programs_of_a_workload_keep_for_a_while_goes_with_them() {
    let place = Place::new();
    let room = room(&place);
    let mut child = workload(&place, &room, "timesharing");
    let is_of_compiler = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        name.starts_with("cc") && name.ends_with(".s")
    };
    let mut has_ended = false;
    wait_until("a compiler has begun", || {
        has_ended = child.try_wait().expect("our own child").is_some();
        has_ended || files(&room).iter().any(is_of_compiler)
    });
    if has_ended {
        let ran = ended(child);
        ran.assert_message("sudo apt-get install");
        eprintln!("skipped: {}", ran.stderr);
        return;
    }
    send(&child, Signal::KILL);
    child.wait().expect("it ends");
    nothing_is_left(&place, &room);
}

#[test]
fn what_a_run_leaves_that_was_killed_with_its_watcher_the_next_one_removes() {
    let place = Place::new();
    let room = room(&place);
    let mut child = workload(&place, &room, "client-server");
    wait_until("all run", || running(&place).len() >= PAIR);
    let own = room.join("switchcost-1");
    let watchers = processes_with("cmdline", &[text(&own)]);
    assert_eq!(watchers.len(), 1);
    let watcher = Pid::from_raw(watchers[0]).expect("a number");
    kill_process(watcher, Signal::KILL).expect("our own watcher");
    send(&child, Signal::KILL);
    child.wait().expect("it ends");
    wait_until("every process has ended", || running(&place).is_empty());
    assert!(!files(&own).is_empty(), "there is something to remove");
    // A process that has ended may hold its lock for a moment longer: it has no command line any
    // more, but still its files.
    wait_until("the next run has removed it", || {
        let mut again = place.command("workload client-server --switches 20");
        let ran = finished(again.env("TMPDIR", &room));
        ran.assert_code(0);
        !own.exists()
    });
    nothing_is_left(&place, &room);
}

/// Script that starts processes in its group, in a new session, and as orphans.
const TREE: &str = "setsid sh -c 'sleep 73.25; true' & (sleep 73.25 &); sleep 73.25; true";

fn trees() -> usize {
    processes_with("cmdline", &["73.25"]).len()
}

/// Ends a run by a signal once the run has started [`TREE`], and checks that nothing of it is left.
fn leaves_no_tree(mut command: Command, signal: Signal) {
    let child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn();
    let mut child = child.expect("it starts");
    wait_until("the tree is there", || trees() >= 3);
    send(&child, signal);
    assert!(!child.wait().expect("it ends").success());
    wait_until("the tree has ended", || trees() == 0);
}

#[test]
fn what_a_command_or_compiler_of_ours_has_started_ends_with_us() {
    for signal in ENDINGS {
        let place = Place::new();
        let counting = (
            "observe --no-bpf --no-calibration -p 1 -d 60s --rate-cmd",
            [TREE],
        );
        leaves_no_tree(started(&place, counting), signal);
        let (row, cache) = (place.path("row.toml"), place.path("cache"));
        let toml = format!(
            "name = 'made-up'\ntitle = 'Made up'\nfind = ['sh']\nversion = ['{{program}}', '-c', 'echo 1.0']\nleast = '1'\nfiles = []\n\
             build = [['sh', '-c', '''{TREE}''']]\nstart = ['{{out}}/none']\nwarm-up-ms = 5\ninstall = 'none'\n\
             [[handoff]]\nname = 'token'\nwords = 'token'\nclass = 'hand-off'\nbetween = 'user'\nbaseline = 'none'\n"
        );
        fs::write(&row, toml).expect("written");
        let mut compiling = started(&place, "measure --runtime row.toml");
        compiling.env("XDG_CACHE_HOME", &cache);
        leaves_no_tree(compiling, signal);
        wait_until("its draft is removed", || {
            names(&cache.join("switchcost/runtimes")).is_empty()
        });
    }
}
