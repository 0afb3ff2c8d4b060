//! Tests `reproduce` as a user runs it; tests that need Valgrind or minutes are left to `make
//! bench`.

use std::fs;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use crate::common::{Arguments, Place, conformity, items};
use rustix::process::{Pid, Signal, kill_process};

fn words(place: &Place, arguments: impl Arguments) -> (i32, String, String) {
    let ran = place.run(arguments);
    (ran.code, ran.stdout, ran.stderr)
}

#[test]
fn every_step_is_a_command_that_the_program_takes() {
    let place = Place::new();
    let (code, lines, _) = words(&place, "reproduce all --system --dry-run");
    assert_eq!(code, 0);
    let (_, without_guest, _) = words(&place, "reproduce all --dry-run");
    assert!(
        lines.contains(" --system ") && !without_guest.contains(" --system "),
        "{without_guest}"
    );
    let verbs = ["measure", "trace", "simulate", "workload"];
    assert!(lines.starts_with("# ") && lines.contains("\nmkdir -p records\n"));
    for line in lines.lines().skip(2) {
        let (command, _) = line.split_once("   # ").expect("its number");
        let (_, own) = command.split_once("switchcost ").expect("our own program");
        let mut arguments: Vec<&str> = own.split(' ').collect();
        assert!(verbs.contains(&arguments[0]), "{line}");
        // Help is printed only if everything before it is valid.
        arguments.push("--help");
        let (code, _, why) = words(&place, &arguments);
        assert_eq!(code, 0, "{line}: {why}");
    }
    assert!(lines.lines().count() > 100, "{lines}");
    assert!(
        !place.path("switchcost/reproduce").exists(),
        "nothing is run, nothing is made"
    );
}

#[test]
fn the_table_of_claims_is_printed_without_running_anything() {
    let place = Place::new();
    let (code, text, why) = words(&place, "reproduce all --claims --details");
    assert_eq!(code, 0, "{why}");
    assert!(
        text.contains("order-of-costs") && text.contains("Range: every number above 1.00"),
        "{text}"
    );
    let (code, json, _) = words(&place, "reproduce all --claims --format json");
    let json = conformity::read(json);
    assert_eq!((code, &json["schema"]), (0, &"switchcost.claims/1".into()));
    assert_eq!(json["papers"].as_array().map(Vec::len), Some(6));
    assert!(
        !place.path("switchcost/reproduce").exists(),
        "nothing is run, nothing is made"
    );
}

/// Runs with small sizes and one seed, then once more.
#[test]
fn a_paper_is_redone_quickly() {
    check_quickly(&["michigan"], "The Michigan poster");
}

#[test]
#[ignore = "takes long: make test ARGS=--all"]
fn everything_is_redone_quickly() {
    check_quickly(
        &[
            "li2007",
            "michigan",
            "blog",
            "lmbench",
            "mogul1990",
            "today",
        ],
        "Li, Ding and Shen 2007",
    );
}

fn check_quickly(papers: &[&str], first: &str) {
    let place = Place::new();
    let site = place.path("site");
    let (code, printed, why) = words(&place, ("reproduce --quick -o site", papers));
    // Exit code 3: programs of the workloads, Valgrind or perf are missing, and each paper names
    // the missing ones.
    assert!(code == 0 || code == 3, "{code}: {why}");
    assert!(printed.contains(first), "{printed}");
    let mut found = 0;
    for paper in papers {
        let json = fs::read(site.join(format!("{paper}.json"))).expect("a file");
        let json = conformity::read(json);
        for exhibit in items(&json["papers"][0]["exhibits"]) {
            for claim in items(&exhibit["claims"]) {
                assert_eq!(
                    claim["verdict"], "not-told",
                    "{paper}: --quick judges nothing: {claim}"
                );
                assert!(
                    claim["missing"]
                        .as_str()
                        .is_some_and(|why| why.starts_with("not judged: --quick")),
                    "{claim}"
                );
                found += u32::from(
                    claim["terms"]
                        .as_array()
                        .is_some_and(|terms| !terms.is_empty()),
                );
            }
        }
        for command in items(&json["papers"][0]["commands"]) {
            if let Some(why) = command["missing"].as_str() {
                eprintln!("skipped: {paper}, {}: {why}", command["step"]);
            }
        }
    }
    assert!(
        found >= 3 * papers.len() as u32,
        "{found} claims have numbers: {printed}"
    );
    assert!(
        printed
            .replace('\n', " ")
            .contains("No claim is judged, because --quick measures"),
        "{printed}"
    );
    for word in ["reproduced", "inconclusive", "By chance"] {
        assert!(!printed.contains(word), "{word}: {printed}");
    }
    check_michigan(&place, &site, papers);
}

/// Checks the parts of a paper's page that exist on any machine, and that the page can be made
/// again from its records alone.
fn check_michigan(place: &Place, site: &Path, papers: &[&str]) {
    let json = conformity::read(fs::read(site.join("michigan.json")).expect("a file"));
    assert_eq!(json["schema"], "switchcost.reproduce/3");
    let measured = &json["papers"][0]["exhibits"][0];
    let rows = items(&measured["table"]["rows"]);
    assert!(rows.len() >= 3, "{rows:?}");
    // The claim holds on a busy machine, too: the kernel's switch has additional system calls.
    let mut claims = items(&measured["claims"]).iter();
    let slower = claims.find(|claim| claim["id"] == "user-slower");
    let ratio = slower.and_then(|claim| claim["terms"][0]["value"].as_f64());
    assert!(
        ratio.is_some_and(|ratio| 0.0 < ratio && ratio < 1.0),
        "{measured}"
    );
    let page = fs::read(site.join("michigan.html")).expect("a page");
    let arguments = "reproduce michigan --quick -o site";
    let (code, printed, why) = words(place, arguments);
    assert_eq!(code, 0, "{why}");
    assert!(printed.contains("Claims: The Michigan poster"), "{printed}");
    assert!(why.contains("is there"), "{why}");
    assert!(
        page == fs::read(site.join("michigan.html")).expect("a page"),
        "same records, other bytes"
    );
    let index = fs::read_to_string(site.join("index.html")).expect("a page");
    for paper in papers {
        assert!(
            index.contains(&format!("href=\"{paper}.html\"")),
            "a paper of an earlier run is listed, too"
        );
    }
    let (code, again, why) = words(place, arguments);
    assert_eq!((code, again), (0, printed), "{why}");
}

#[test]
fn a_step_that_fails_is_missing_and_the_rest_is_reported() {
    let place = Place::new();
    let site = place.path("site");
    let records = site.join("records");
    fs::create_dir_all(&records).expect("a folder");
    // All files except one exist and are damaged: nothing is run again, and each paper reports the
    // damage.
    let (_, lines, _) = words(&place, "reproduce lmbench --dry-run");
    assert_eq!(lines.lines().count(), 3);
    fs::write(records.join("lmbench-matrix.jsonl"), "no record").expect("written");
    let (code, printed, _) = words(&place, "reproduce lmbench -o site");
    assert_eq!(code, 3);
    let one_line = printed.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        one_line.contains("No claim is judged") && one_line.contains("no result of `"),
        "{printed}"
    );
}

#[test]
fn a_folder_that_cannot_be_is_named() {
    let place = Place::new();
    let file = place.path("file");
    fs::write(&file, "").expect("written");
    let (code, _, why) = words(&place, "reproduce lmbench -o file");
    assert_eq!(code, 1);
    assert!(
        why.contains("cannot make the site in") && why.contains("choose another with -o"),
        "{why}"
    );
    fs::write(&file, "{}").expect("written");
    let (code, _, why) = words(&place, "reproduce lmbench --with file -o site");
    let found = "this is no JSON of reproduce (missing field `papers` at line 1 column 2)";
    let needed = "name a PAPER.json that reproduce wrote";
    let expected = format!("error: cannot read another result, file: {found}\nhint: {needed}\n");
    assert_eq!((code, why), (1, expected));
    assert!(!place.path("site").exists(), "before anything is run");
}

#[test]
fn a_stopped_run_keeps_what_it_has_and_goes_on_later() {
    let place = Place::new();
    let site = place.path("site");
    let mut child = place
        .command("reproduce lmbench -o site")
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("it starts");
    let record = site.join("records/lmbench-matrix.part.jsonl");
    let has_samples = || fs::read_to_string(&record).is_ok_and(|text| text.lines().count() > 20);
    while !has_samples() {
        assert!(
            child.try_wait().expect("ours").is_none(),
            "ended before it measured"
        );
        std::thread::sleep(Duration::from_millis(20));
    }
    // A service manager sends the signal to the program alone, which passes it to its step.
    kill_process(Pid::from_child(&child), Signal::TERM).expect("it is ours");
    assert_eq!(child.wait().expect("it ends").code(), Some(143));
    let kept = fs::read_to_string(&record).expect("the samples are there");
    assert!(
        kept.lines()
            .last()
            .is_some_and(|line| line.contains("interrupted")),
        "the record is ended, not torn"
    );
    assert!(
        !site.join("records/lmbench-matrix.jsonl").exists(),
        "and not taken for whole"
    );
}
