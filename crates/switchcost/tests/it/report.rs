//! Tests `switchcost report` as a user runs it, on the committed sample records.

use std::fs;
use std::process::Command;

use crate::common::{MEASUREMENT, PROGRAM, Place, Ran, SIMULATION, finished, repository, text};

#[test]
fn several_records_go_on_one_page_and_behind_each_other_in_the_terminal() {
    let place = Place::new();
    let records = (("report", repository(MEASUREMENT)), repository(SIMULATION));
    place.run((&records, "-o both.html"));
    let page = place.read("both.html");
    assert!(page.contains("measure-2.jsonl") && page.contains("simulation-1.parquet"));
    let ran = place.run(records);
    let titles = ran.stdout.lines().filter(|line| line.starts_with("== "));
    let titles: Vec<&str> = titles.collect();
    assert_eq!(
        titles,
        ["== measure-2.jsonl", "== simulation-1.parquet"],
        "{}",
        ran.stderr
    );
}

#[test]
fn the_newest_record_is_shown_and_not_one_that_is_dated_in_the_future() {
    let place = Place::new();
    let runs = place.path("switchcost/runs");
    fs::create_dir_all(&runs).expect("a folder");
    let future = "switchcost/runs/9027-01-01T00-00-00-7-simulation.parquet";
    place.copy(SIMULATION, future);
    for number in [9, 10] {
        let name = format!("switchcost/runs/2026-01-01T00-00-00-{number}-measure.jsonl");
        place.copy(MEASUREMENT, &name);
    }
    place
        .run("report")
        .assert_output("2026-01-01T00-00-00-10-measure.jsonl")
        .assert_message("has a time in the future")
        .assert_message(&format!(
            "switchcost report {}",
            place.path(future).display()
        ));
}

#[test]
fn what_is_planted_among_the_records_is_passed_over_and_reported() {
    let place = Place::new();
    let runs = place.path("switchcost/runs");
    fs::create_dir_all(&runs).expect("room");
    let record = "switchcost/runs/2026-01-01T00-00-00-1-simulation.parquet";
    place.copy(SIMULATION, record);
    let named = place.run(["report", record]);
    let planted = runs.join("2026-01-02T00-00-00-1-measure.jsonl");
    let made = Command::new("mkfifo").arg(&planted).status();
    assert!(made.is_ok_and(|status| status.success()));
    let newest = place.run("report");
    let why = format!(
        "switchcost: {} is not used: it is a FIFO\n",
        planted.display()
    );
    newest.assert_messages(0, &why);
    // After this, each has the command that was used.
    let answer = |ran: &Ran| ran.stdout.split("full report:").next().map(str::to_owned);
    assert_eq!(answer(&newest), answer(&named));
    place
        .run(["compare", "switchcost/runs", record])
        .assert_failed(5, "it is a FIFO");
}

#[test]
fn a_record_comes_through_a_pipe() {
    let place = Place::new();
    for record in [MEASUREMENT, SIMULATION] {
        let record = repository(record);
        let script = r#"exec "$0" report --format json <(cat "$1")"#;
        let mut piped = Command::new("bash");
        let piped = finished(piped.args(["-c", script, PROGRAM]).arg(&record));
        let named = place.run(("report --format json", record));
        piped.assert_prints(named.code, &named.stdout);
    }
}

#[test]
fn commands_that_it_prints_work_whatever_the_record_is_called() {
    let place = Place::new();
    let name = "my run's $HOME & more.parquet";
    place.copy(SIMULATION, name);
    let shown = place.run(["report", name]).stdout;
    for title in ["full report: ", "figures:     "] {
        let mut lines = shown.lines();
        let command = lines.find_map(|line| line.strip_prefix(title));
        let ran = place.run_as_printed(command.expect("a command"));
        ran.assert_messages(0, "");
    }
    assert!(place.path("page.html").is_file());
}

/// If one of the records cannot be read, no page is written.
#[test]
fn a_page_is_written_whole_and_the_same_again_or_not_at_all() {
    let place = Place::new();
    let page = |words: &str, code| {
        let words = format!("{words} -o page.html");
        place
            .run((("report", repository(SIMULATION)), words))
            .assert_code(code);
    };
    page("nowhere.jsonl", 5);
    let left: Vec<_> = fs::read_dir(place.folder()).expect("a folder").collect();
    assert!(left.is_empty(), "{left:?}");
    page("", 0);
    let first = place.read("page.html");
    assert!(first.starts_with("<!DOCTYPE html>") && first.ends_with("</html>"));
    page("", 0);
    assert_eq!(
        first,
        place.read("page.html"),
        "same record in, same bytes out"
    );
}

#[test]
fn a_folder_gets_tables_and_pictures() {
    let place = Place::new();
    let pictures = |folder: &str| {
        let words = (("report", repository(SIMULATION)), ["--figures", folder]);
        place.run(words).assert_messages(0, "");
        place.read(&format!("{folder}/figure-r1-lengths.svg"))
    };
    let picture = pictures("figures");
    assert!(picture.starts_with("<svg xmlns=") && picture.len() > 1000);
    assert_eq!(
        picture,
        pictures("again"),
        "the same record gives the same bytes"
    );
    let mut names = fs::read_dir(place.path("figures"))
        .expect("a folder")
        .flatten();
    assert!(names.any(|entry| text(&entry.path()).ends_with(".csv")));
}
