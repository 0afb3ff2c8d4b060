//! Tests bad input: the error says what was found, what is needed and what to do; the exit code is
//! documented; no file is half-written.

use std::path::Path;

use crate::common::{PROGRAM, Place, finished, text};

#[test]
fn a_folder_for_records_that_cannot_be_written_is_done_without() {
    let place = Place::new();
    let (state, temporary) = (place.path("state"), place.path("tmp"));
    std::fs::write(&state, "no folder").expect("a file");
    std::fs::create_dir(&temporary).expect("a folder");
    let run = |temporary: &str| {
        let mut command =
            place.command("measure --mechanism fiber --max-repetitions 5 --no-counters");
        finished(
            command
                .env("XDG_STATE_HOME", &state)
                .env("TMPDIR", temporary),
        )
    };
    let ran = run(text(&temporary));
    ran.assert_result();
    let first = |folder: &Path| {
        let mut entries = std::fs::read_dir(folder).expect("a folder").flatten();
        entries.next().expect("something in it").path()
    };
    let folder = first(&temporary);
    let record = first(&folder);
    let said = format!(
        "switchcost: {}/switchcost/runs cannot be written (Not a directory), so the record of this run \
         is {}; choose another place with --record (-o for a trace), or for all runs with XDG_STATE_HOME\n",
        state.display(),
        folder.display(),
    );
    // If another test is measuring, the message about that comes afterwards.
    assert!(ran.stderr.starts_with(&said), "{}", ran.stderr);
    ran.assert_output(&format!("raw data:    {}", record.display()));
    place.run(["report", text(&record)]).assert_result();
    let nowhere = run("/proc/none");
    let message = format!(
        "error: cannot save the record: {}/switchcost/runs cannot be written (Not a directory), and no temporary \
         folder can be created (No such file or directory at path \"/proc/none",
        state.display()
    );
    assert!(nowhere.stderr.starts_with(&message), "{}", nowhere.stderr);
}

#[test]
fn a_run_without_a_home_is_kept_in_a_temporary_folder_and_no_home_is_made() {
    let place = Place::new();
    let temporary = place.path("tmp");
    std::fs::create_dir(&temporary).expect("a folder");
    place
        .run("trace walks --size 4KiB --turns 4 -o in.sct")
        .assert_code(0);
    let run = |home: Option<&str>, words: &str| {
        let mut command = place.command(words);
        command
            .env_remove("XDG_STATE_HOME")
            .env_remove("HOME")
            .env("TMPDIR", &temporary);
        command.envs(home.map(|home| ("HOME", home)));
        finished(&mut command)
    };
    for (home, found) in [
        (None, "neither XDG_STATE_HOME nor HOME is an absolute path"),
        (
            Some("/nonexistent"),
            "there is no folder /nonexistent, which HOME names",
        ),
    ] {
        let ran = run(home, "simulate in.sct --design mogul-1a");
        let said = format!(
            "switchcost: {found}, so the record of this run is {}",
            text(&temporary)
        );
        ran.assert_failed(0, &said);
        let ran = run(home, "report");
        let said = format!("error: no record is given, and {found}\nhint: name the file\n");
        ran.assert_messages(5, &said);
    }
    assert!(!Path::new("/nonexistent").exists());
}

#[test]
fn a_loopback_device_that_is_down_is_named() {
    let place = Place::new();
    // The program runs in its own network namespace, whose loopback device is down.
    let words = "measure --mechanism tcp --max-repetitions 6 --no-counters --format json";
    let ran = finished(&mut place.command_behind("unshare --net", words));
    if ran.stderr.contains("unshare failed") {
        eprintln!("skipped: no right to make a network ({})", ran.stderr);
        return;
    }
    let why = "the channels of 2 tasks over tcp cannot be created (Network is unreachable (os error 101)); bring the loopback \
               device up (sudo ip link set lo up), or leave tcp out of --mechanism";
    ran.assert_code(3);
    assert_eq!(ran.json()["results"][0]["why"], why);
}

#[test]
fn a_closed_pipe_ends_it_quietly() {
    let script = format!("'{PROGRAM}' completions bash | head -n 1; '{PROGRAM}' man | head -n 0");
    let ran = finished(std::process::Command::new("sh").args(["-c", &script]));
    ran.assert_messages(0, "");
}
