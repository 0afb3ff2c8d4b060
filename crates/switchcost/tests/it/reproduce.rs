//! Tests `reproduce` as a user runs it; tests that need Valgrind or minutes are left to `make
//! bench`.

use std::fs;
use std::path::Path;
use std::process::Stdio;

use crate::common::{Arguments, Place, conformity, in_one_line, items, send, wait_until};
use rustix::process::Signal;

fn words(place: &Place, arguments: impl Arguments) -> (i32, String, String) {
    let ran = place.run(arguments);
    (ran.code, ran.stdout, ran.stderr)
}

/// A unit test shows that each printed line is a command that the program takes.
#[test]
fn steps_and_claims_are_printed_without_running_anything() {
    let place = Place::new();
    let printed = |words: &str| {
        let ran = place.run(("reproduce all", words));
        ran.assert_code(0);
        ran
    };
    let lines = printed("--system --dry-run").stdout;
    let without_guest = printed("--dry-run").stdout;
    assert!(
        lines.contains(" --system ") && !without_guest.contains(" --system "),
        "{lines}"
    );
    assert!(lines.starts_with("# ") && lines.contains("\nmkdir -p records\n"));
    assert!(lines.lines().count() > 100, "{lines}");
    printed("--claims --details")
        .assert_output("order-of-costs")
        .assert_output("Range: every number above 1.00");
    let json = printed("--claims --format json").json();
    assert_eq!(json["schema"], "switchcost.claims/1");
    assert_eq!(items(&json["papers"]).len(), 6);
    // Nothing is made.
    assert!(!place.path("switchcost/reproduce").exists());
}

/// Reproduces the Michigan poster with small sizes, then once more from the stored records.
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
                assert_eq!(claim["verdict"], "inconclusive", "{paper}: {claim}");
                let why = claim["missing"].as_str().unwrap_or_default();
                assert!(why.starts_with("not judged: --quick"), "{claim}");
                found += usize::from(!items(&claim["terms"]).is_empty());
            }
        }
        for command in items(&json["papers"][0]["commands"]) {
            if let Some(why) = command["missing"].as_str() {
                eprintln!("skipped: {paper}, {}: {why}", command["step"]);
            }
        }
    }
    assert!(
        found >= 3 * papers.len(),
        "{found} claims have numbers: {printed}"
    );
    let said = "No claim is judged, because --quick measures";
    assert!(in_one_line(&printed).contains(said), "{printed}");
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
    let exhibits = items(&json["papers"][0]["exhibits"]);
    let row = &items(&exhibits[exhibits.len() - 1]["table"]["rows"])[1];
    match row[4]["why"].as_str() {
        Some(why) => eprintln!("skipped: work of fibers: {why}"),
        None => assert!(
            row[1] == "fibers" && row[3]["value"].as_f64() > Some(0.0),
            "{row}"
        ),
    }
    let page = fs::read(site.join("michigan.html")).expect("a page");
    let arguments = "reproduce michigan --quick -o site";
    let (code, printed, why) = words(place, arguments);
    assert_eq!(code, 0, "{why}");
    assert!(printed.contains("Study: The Michigan poster"), "{printed}");
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
    let printed = in_one_line(&printed);
    for words in ["No claim is judged", "no result of `"] {
        assert!(printed.contains(words), "{printed}");
    }
}

#[test]
fn a_stopped_run_keeps_what_it_has_and_goes_on_later() {
    let place = Place::new();
    let site = place.path("site");
    let mut command = place.command("reproduce lmbench -o site");
    let command = command.stdout(Stdio::null()).stderr(Stdio::null());
    let mut child = command.spawn().expect("it starts");
    let record = site.join("records/lmbench-matrix.part.jsonl");
    wait_until("it has samples", || {
        fs::read_to_string(&record).is_ok_and(|text| text.lines().count() > 20)
    });
    // A service manager sends the signal to the program alone, which passes it to its step.
    send(&child, Signal::TERM);
    assert_eq!(child.wait().expect("it ends").code(), Some(143));
    let kept = fs::read_to_string(&record).expect("the samples are there");
    let last = kept.lines().last().expect("a line");
    assert!(
        last.contains("interrupted"),
        "the record is ended, not torn: {last}"
    );
    assert!(
        !site.join("records/lmbench-matrix.jsonl").exists(),
        "and not taken for whole"
    );
}
