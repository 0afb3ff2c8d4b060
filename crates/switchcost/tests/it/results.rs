//! Judges the results in `results/` again, by the current table of claims, from the stored numbers
//! and intervals.

use std::fs;
use std::path::{Path, PathBuf};

use crate::common::{Place, finished, items, repository, text};
use serde_json::Value;
use strum::IntoEnumIterator;
use switchcost_reproduce::Paper;

fn folder() -> PathBuf {
    repository("results")
}

fn json(path: PathBuf) -> Value {
    let text =
        fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    serde_json::from_str(&text).expect("JSON")
}

/// Returns the stored results of a paper; nothing, with a message, if they do not exist or have an
/// older format.
fn stored(paper: Paper) -> Option<Value> {
    let path = folder().join(format!("{paper}.json"));
    let found = path.exists().then(|| json(path));
    if let Some(found) = found.filter(|found| found["schema"] == "switchcost.reproduce/3") {
        return Some(found["papers"][0].clone());
    }
    eprintln!(
        "skipped: there is no results/{paper}.json, or it is older than the table of claims: {MAKE}"
    );
    None
}

const MAKE: &str = "run make results on a quiet machine";

/// Returns the names of the SVG files in a folder; none if there is no folder.
fn pictures(folder: &Path) -> Vec<String> {
    let files = fs::read_dir(folder).into_iter().flatten();
    let names = files.map(|file| file.expect("a file").file_name());
    let names = names.map(|name| name.into_string().expect("a name"));
    names.filter(|name| name.ends_with(".svg")).collect()
}

/// Checks that the program makes each stored result, its page and its figures again from the stored
/// numbers, the current table of claims, and another stored result. Each figure is linked from its
/// page, and its legend has whole names.
#[test]
fn stored_results_and_pages_are_made_of_the_stored_numbers() {
    let place = Place::new();
    let site = place.folder();
    for paper in Paper::iter() {
        let Some(found) = stored(paper) else { continue };
        let words = format!(
            "reproduce {paper} --judge results/{paper}.json --with results/earlier/{paper}.json --figures -o"
        );
        let mut command = place.command((words, [text(site)]));
        finished(command.current_dir(repository(""))).assert_code(0);
        let made = &json(site.join(format!("{paper}.json")))["papers"][0];
        let claims = || {
            items(&made["exhibits"])
                .iter()
                .flat_map(|exhibit| items(&exhibit["claims"]))
        };
        let lacks = "the stored result does not have this number";
        if let Some(newer) = claims().find(|claim| claim["missing"] == lacks) {
            eprintln!(
                "skipped: results/{paper}.json has no claim {}: {MAKE}",
                newer["id"]
            );
            continue;
        }
        let kept = || {
            let exhibits = items(&found["exhibits"]).iter();
            exhibits.flat_map(|exhibit| items(&exhibit["claims"]))
        };
        assert_eq!(claims().count(), kept().count(), "{paper}: other claims");
        // Statements may have other words now.
        let verdicts = |claim: &Value| -> Vec<Value> {
            let reasons = items(&claim["reasons"]).iter();
            reasons.map(|reason| reason["verdict"].clone()).collect()
        };
        for (made, kept) in claims().zip(kept()) {
            for field in ["id", "rule", "verdict", "terms", "others"] {
                assert_eq!(made[field], kept[field], "{paper}: {field} of {kept}");
            }
            assert_eq!(verdicts(made), verdicts(kept), "{paper}: {kept}");
        }
        let page = place.read(&format!("{paper}.md"));
        let page = page.replace(&format!("(figures/{paper}/figure-r1-"), "(figures/");
        let kept = fs::read_to_string(folder().join(format!("{paper}.md"))).expect("a page");
        assert_eq!(page, kept, "{paper}");
        let drawn = site.join("figures").join(paper.to_string());
        let first = format!("{paper}-");
        let stored = pictures(&folder().join("figures"));
        let stored = stored.iter().filter(|name| name.starts_with(&first));
        assert_eq!(stored.count(), pictures(&drawn).len(), "{paper}");
        for name in pictures(&drawn) {
            let kept_as = name.trim_start_matches("figure-r1-");
            let picture = fs::read_to_string(drawn.join(&name)).expect("a picture");
            let stored = fs::read_to_string(folder().join("figures").join(kept_as));
            assert_eq!(stored.expect(kept_as), picture, "{name}");
            assert!(kept.contains(&format!("(figures/{kept_as})")), "{name}");
            assert!(!picture.contains('…'), "{name}: a name is cut");
        }
    }
}

#[test]
fn stored_results_say_what_they_were_made_from() {
    let text = fs::read_to_string(folder().join("README.md")).expect("a README");
    for paper in Paper::iter() {
        let Some(found) = stored(paper) else { continue };
        let [made, earlier] =
            ["", "earlier/"].map(|of| json(folder().join(format!("{of}{paper}.made.json"))));
        assert_ne!(
            made["date"], earlier["date"],
            "{paper}: verdicts stand on two days"
        );
        assert_eq!(made["schema"], "switchcost.results/1");
        assert_eq!(made["paper"], paper.to_string());
        let commit = made["commit"].as_str().expect("a commit");
        assert!(
            commit.len() >= 7 && !commit.contains("dirty"),
            "{paper}: {commit}"
        );
        assert_eq!(made["machine"], found["machine"], "{paper}");
        let records = items(&made["records"]);
        for record in records {
            let digest = record["sha256"].as_str().unwrap_or_default();
            assert_eq!(digest.len(), 64, "{record}");
        }
        for command in items(&found["commands"]) {
            let [step, line] =
                ["step", "command"].map(|name| command[name].as_str().expect("text"));
            let is_of_step = |record: &Value| {
                let file = record["file"].as_str().expect("a file");
                file.split('.').next() == Some(step)
            };
            let is_kept = !line.starts_with("switchcost trace") && command["missing"].is_null();
            assert_eq!(records.iter().any(is_of_step), is_kept, "{paper}: {step}");
        }
        // The README's table has the same values.
        let [tested, calibrated] = ["tested", "calibrated"].map(|kind| {
            let of = &found["verdicts"][kind];
            format!(
                "{} | {} | {}",
                of["holds"], of["differs"], of["inconclusive"]
            )
        });
        let row = format!("| [{paper}]({paper}.md) | {tested} | {calibrated} |");
        assert!(text.contains(&row), "results/README.md lacks {row}");
    }
}
