//! Judges the results in `results/` again, by the current table of claims, from the stored numbers
//! and intervals.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::common::items;
use serde_json::Value;
use strum::IntoEnumIterator;
use switchcost_reproduce::{Entry, Paper, Term, Verdict, table};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../results")
}

fn json(name: &str) -> Value {
    let path = folder().join(name);
    let text =
        fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    serde_json::from_str(&text).expect("JSON")
}

const SCHEMA: &str = "switchcost.reproduce/3";

/// Returns the stored results of a paper; nothing, with a message, if they do not exist or are
/// older than the table of claims.
fn stored(paper: Paper) -> Option<Value> {
    let name = format!("{paper}.json");
    if !folder().join(&name).exists() {
        eprintln!("skipped: there is no results/{name}: run make results on a quiet machine");
        return None;
    }
    let found = json(&name);
    if found["schema"] != SCHEMA {
        eprintln!(
            "skipped: results/{paper}.json is older than the table of claims: run make results on a quiet machine"
        );
        return None;
    }
    let found = found["papers"][0].clone();
    if let Some(id) = newer_claim(paper, &found) {
        eprintln!(
            "skipped: results/{paper}.json has no claim {id}: run make results on a quiet machine"
        );
        return None;
    }
    Some(found)
}

/// Returns a claim of the table that is missing in the results. The bound of a claim that they have
/// must not change afterwards.
fn newer_claim(paper: Paper, found: &Value) -> Option<String> {
    let has = |entry: &Entry| claims(found).any(|claim| claim["id"] == entry.id.as_str());
    entries(paper, found)
        .into_iter()
        .find(|entry| !has(entry))
        .map(|entry| entry.id)
}

/// Exhibits that only `reproduce --system` fills.
const OF_A_GUEST: [&str; 5] = [
    "Table 4 with the kernel",
    "Figure 4 with the kernel",
    "The hand-off with the kernel",
    "A path through servers",
    "The kernel's part by miss penalty",
];

/// Returns the claims that results must have; claims about a guest only if the results were made
/// with one.
fn entries(paper: Paper, found: &Value) -> Vec<Entry> {
    let mut entries: Vec<Entry> = table(paper);
    for name in OF_A_GUEST {
        let is_of_it = |entry: &Entry| entry.exhibit == name;
        if entries.iter().any(is_of_it) && !exhibits(found).any(|exhibit| exhibit["name"] == name) {
            eprintln!("skipped: results/{paper}.json was made without --system: {name}");
            entries.retain(|entry| !is_of_it(entry));
        }
    }
    entries
}

fn exhibits(paper: &Value) -> impl Iterator<Item = &Value> {
    items(&paper["exhibits"]).iter()
}

fn claims(paper: &Value) -> impl Iterator<Item = &Value> {
    exhibits(paper).flat_map(|exhibit| items(&exhibit["claims"]))
}

fn terms(stored: &Value) -> Vec<Term> {
    serde_json::from_value(stored["terms"].clone()).expect("terms")
}

/// Returns the verdict on which all results agree, by the numbers that are stored for each.
fn agreed(entry: &Entry, stored: &Value) -> Verdict {
    let others = items(&stored["others"]);
    let results: Vec<Vec<Term>> = std::iter::once(stored).chain(others).map(terms).collect();
    let results: Vec<&[Term]> = results.iter().map(Vec::as_slice).collect();
    let verdicts = entry.judge_results(&results);
    let here = entry.judge(results[0]);
    let agree = verdicts.iter().all(|verdict| *verdict == here);
    if !entry.is_noisy() || (agree && !others.is_empty()) {
        here
    } else {
        Verdict::Undecided
    }
}

fn is(verdict: Verdict, stored: &Value) -> bool {
    serde_json::to_value(verdict).expect("a word") == stored["verdict"]
}

#[test]
fn stored_results_have_the_same_verdicts_when_they_are_judged_again() {
    for paper in Paper::iter() {
        let Some(found) = stored(paper) else { continue };
        let entries = entries(paper, &found);
        assert_eq!(
            claims(&found).count(),
            entries.len(),
            "{paper}: another table of claims"
        );
        for entry in entries {
            let stored = claims(&found).find(|claim| claim["id"] == entry.id.as_str());
            let stored =
                stored.unwrap_or_else(|| panic!("{paper}, {}: not in the results", entry.id));
            assert_eq!(
                serde_json::to_value(entry.rule).expect("a rule"),
                stored["rule"],
                "{paper}, {}",
                entry.id
            );
            assert!(
                is(agreed(&entry, stored), stored),
                "{paper}, {}: {stored}",
                entry.id
            );
            for reason in items(&stored["reasons"]) {
                let of_table = entry
                    .reasons
                    .iter()
                    .find(|known| reason["statement"] == known.statement.as_str());
                let rule = of_table
                    .unwrap_or_else(|| panic!("{paper}, {}: a reason of its own", entry.id))
                    .rule;
                assert!(
                    is(rule.judge_noisy(&terms(reason)), reason),
                    "{paper}, {}: {reason}",
                    entry.id
                );
            }
        }
    }
}

/// Each paper has two stored results, and the verdicts use both.
#[test]
fn verdicts_stand_on_another_result_that_is_kept() {
    for paper in Paper::iter() {
        let Some(found) = stored(paper) else { continue };
        let other = json(&format!("earlier/{paper}.json"))["papers"][0].clone();
        let when = |name: &str| json(name)["date"].clone();
        assert_ne!(
            when(&format!("{paper}.made.json")),
            when(&format!("earlier/{paper}.made.json")),
            "{paper}"
        );
        for claim in claims(&found).filter(|claim| !items(&claim["others"]).is_empty()) {
            let kept = claims(&other).find(|kept| kept["id"] == claim["id"]);
            assert_eq!(
                Some(&claim["others"][0]["terms"]),
                kept.map(|kept| &kept["terms"]),
                "{paper}: {claim}"
            );
        }
    }
}

/// Returns the names of the SVG files in a folder; none if there is no folder.
fn pictures(folder: &Path) -> Vec<String> {
    let files = fs::read_dir(folder).into_iter().flatten();
    let names = files.map(|file| file.expect("a file").file_name());
    let names = names.map(|name| name.into_string().expect("a name"));
    names.filter(|name| name.ends_with(".svg")).collect()
}

/// Each page and its figures are what the program makes of the stored numbers. Each figure is linked
/// from its page, and its legend has whole names.
#[test]
fn stored_pages_are_made_of_the_stored_numbers() {
    let root = folder().join("..");
    let site = tempfile::tempdir().expect("a folder");
    for paper in Paper::iter() {
        if stored(paper).is_none() {
            continue;
        }
        let words = format!(
            "reproduce {paper} --judge results/{paper}.json --with results/earlier/{paper}.json --figures -o"
        );
        let ran = Command::new(env!("CARGO_BIN_EXE_switchcost"))
            .current_dir(&root)
            .args(words.split(' '))
            .arg(site.path())
            .output()
            .expect("it starts");
        assert!(ran.status.success(), "{paper}: {ran:?}");
        let made = fs::read_to_string(site.path().join(format!("{paper}.md"))).expect("a page");
        let made = made.replace(&format!("(figures/{paper}/figure-r1-"), "(figures/");
        let kept = fs::read_to_string(folder().join(format!("{paper}.md"))).expect("a page");
        assert_eq!(made, kept, "{paper}");
        let drawn = site.path().join("figures").join(paper.to_string());
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
        let made = json(&format!("{paper}.made.json"));
        assert_eq!(
            (&made["schema"], &made["paper"]),
            (&"switchcost.results/1".into(), &paper.to_string().into())
        );
        let commit = made["commit"].as_str().expect("a commit");
        assert!(
            commit.len() >= 7 && !commit.contains("dirty"),
            "{paper}: {commit}"
        );
        assert!(
            made["date"].as_str().is_some_and(|date| date.len() == 17),
            "{paper}: {made}"
        );
        assert_eq!(made["machine"], found["machine"], "{paper}");
        let records: Vec<&str> = items(&made["records"])
            .iter()
            .filter_map(|record| record["file"].as_str())
            .collect();
        for command in items(&found["commands"]) {
            let (step, line) = (
                command["step"].as_str().expect("a step"),
                command["command"].as_str().expect("a line"),
            );
            let is_trace = line.starts_with("switchcost trace");
            let is_there = records
                .iter()
                .any(|file| file.split('.').next() == Some(step));
            assert_eq!(
                is_there,
                !is_trace && command["missing"].is_null(),
                "{paper}: {step}"
            );
        }
        for record in items(&made["records"]) {
            assert!(
                record["sha256"]
                    .as_str()
                    .is_some_and(|digest| digest.len() == 64),
                "{record}"
            );
        }
        // The README's table has the same values.
        let [tested, calibrated] = ["tested", "calibrated"].map(|kind| {
            let of = &found["verdicts"][kind];
            format!("{} | {} | {}", of["holds"], of["differs"], of["not_told"])
        });
        let row = format!("| [{paper}]({paper}.json) | {tested} | {calibrated} |");
        assert!(text.contains(&row), "results/README.md lacks {row}");
    }
}
