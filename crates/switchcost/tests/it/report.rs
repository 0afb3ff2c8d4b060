//! Tests `switchcost report` as a user runs it, on the committed sample records.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::common::{Place, text};

fn sample(name: &str) -> String {
    let of = if name.starts_with("measure") {
        "record"
    } else {
        "simulation-record"
    };
    let path: PathBuf = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("..")
        .join(of)
        .join("tests/samples")
        .join(name);
    path.to_str().expect("a plain path").to_owned()
}

#[test]
fn a_page_is_written_whole_and_the_same_again() {
    let place = Place::new();
    let (first, second) = (place.path("first.html"), place.path("second.html"));
    for page in [&first, &second] {
        let ran = place.run(["report", &sample("simulation-1.parquet"), "-o", text(page)]);
        assert_eq!(
            (ran.code, ran.stdout.as_str(), ran.stderr.as_str()),
            (0, "", "")
        );
    }
    let page = place.read("first.html");
    assert!(page.starts_with("<!DOCTYPE html>") && page.ends_with("</html>"));
    assert_eq!(
        page,
        place.read("second.html"),
        "same record in, same bytes out"
    );
}

#[test]
fn several_records_go_on_one_page_and_behind_each_other_in_the_terminal() {
    let place = Place::new();
    let records = [sample("measure-2.jsonl"), sample("simulation-1.parquet")];
    let page = place.path("both.html");
    place.run(("report -o both.html", &records));
    let page = fs::read_to_string(&page).expect("a page");
    assert!(page.contains("measure-2.jsonl") && page.contains("simulation-1.parquet"));
    let ran = place.run(("report", &records));
    let titles: Vec<&str> = ran
        .stdout
        .lines()
        .filter(|line| line.starts_with("== "))
        .collect();
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
    let future = runs.join("9027-01-01T00-00-00-7-simulation.parquet");
    fs::copy(sample("simulation-1.parquet"), &future).expect("copied");
    for name in ["2026-01-01T00-00-00-9", "2026-01-01T00-00-00-10"] {
        let record = runs.join(format!("{name}-measure.jsonl"));
        fs::copy(sample("measure-2.jsonl"), record).expect("copied");
    }
    let ran = place.run("report");
    ran.assert_output("2026-01-01T00-00-00-10-measure.jsonl");
    let said = format!("switchcost report {}", future.display());
    assert!(
        ran.stderr.contains("has a time in the future") && ran.stderr.contains(&said),
        "{}",
        ran.stderr
    );
}

#[test]
fn what_is_planted_among_the_records_is_passed_over_and_reported() {
    let place = Place::new();
    let runs = place.path("switchcost/runs");
    fs::create_dir_all(&runs).expect("room");
    let record = runs.join("2026-01-01T00-00-00-1-simulation.parquet");
    fs::copy(sample("simulation-1.parquet"), &record).expect("copied");
    let named = place.run(["report", text(&record)]);
    let planted = runs.join("2026-01-02T00-00-00-1-measure.jsonl");
    let made = Command::new("mkfifo").arg(&planted).status();
    assert!(made.is_ok_and(|status| status.success()));
    let newest = place.run("report");
    let why = format!(
        "switchcost: {} is not used: it is a FIFO\n",
        planted.display()
    );
    newest.assert_messages(0, &why);
    assert_eq!(newest.stdout, named.stdout);
    place
        .run(["compare", "switchcost/runs", text(&record)])
        .assert_failed(5, "it is a FIFO");
}

#[test]
fn a_record_comes_through_a_pipe() {
    let place = Place::new();
    for name in ["measure-2.jsonl", "simulation-1.parquet"] {
        let record = sample(name);
        let script = r#"exec "$0" report --format json <(cat "$1")"#;
        let mut piped = Command::new("bash");
        piped.args(["-c", script, env!("CARGO_BIN_EXE_switchcost"), &record]);
        let piped = piped.output().expect("bash");
        let named = place.run(format!("report --format json {record}"));
        let text = String::from_utf8_lossy(&piped.stdout);
        assert_eq!(text, named.stdout, "{name}");
        assert_eq!(piped.status.code(), Some(named.code));
    }
}

#[test]
fn commands_that_it_prints_work_whatever_the_record_is_called() {
    let place = Place::new();
    let record = place.path("my run's $HOME & more.parquet");
    fs::copy(sample("simulation-1.parquet"), &record).expect("copied");
    let shown = place
        .run(["report", "my run's $HOME & more.parquet"])
        .stdout;
    for (title, made) in [
        ("full report: ", None),
        ("figures:     ", Some("page.html")),
    ] {
        let command = shown
            .lines()
            .find_map(|line| line.strip_prefix(title))
            .expect("a command");
        let ran = place.run_as_printed(command);
        ran.assert_messages(0, "");
        assert!(
            made.is_none_or(|made| place.path(made).is_file()),
            "{command}"
        );
    }
}

#[test]
fn without_every_record_there_is_no_page() {
    let place = Place::new();
    let page = place.path("page.html");
    place
        .run([
            "report",
            &sample("simulation-1.parquet"),
            "nowhere.jsonl",
            "-o",
            "page.html",
        ])
        .assert_code(5);
    assert!(!page.exists());
    let left: Vec<_> = fs::read_dir(place.folder()).expect("a folder").collect();
    assert!(left.is_empty(), "{left:?}");
}

#[test]
fn a_folder_gets_tables_and_pictures() {
    let place = Place::new();
    let folder = place.path("figures");
    let ran = place.run([
        "report",
        &sample("simulation-1.parquet"),
        "--figures",
        "figures",
    ]);
    let names: Vec<String> = fs::read_dir(&folder)
        .expect("a folder")
        .map(|entry| {
            entry
                .expect("an entry")
                .file_name()
                .to_string_lossy()
                .into_owned()
        })
        .collect();
    assert!(names.iter().any(|name| name.ends_with(".csv")), "{names:?}");
    ran.assert_messages(0, "");
    let again = place.path("again");
    place
        .run([
            "report",
            &sample("simulation-1.parquet"),
            "--figures",
            "again",
        ])
        .assert_code(0);
    let read = |folder: &Path| fs::read_to_string(folder.join("figure-r1-lengths.svg"));
    let picture = read(&folder).expect("a picture");
    assert_eq!(
        picture,
        read(&again).expect("a picture"),
        "the same record gives the same bytes"
    );
    assert!(picture.starts_with("<svg xmlns=") && picture.len() > 1000);
}
