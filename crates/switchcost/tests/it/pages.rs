//! Tests the documentation pages: each is in the table of contents, and each link leads to an
//! existing target. The table of the documents' items names only what exists.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use strum::IntoEnumIterator;
use switchcost_reproduce::{Kind, Paper, table};

use crate::common::{Place, repository};

fn root() -> PathBuf {
    repository("").canonicalize().expect("the repository")
}

/// Returns the files below a folder whose names have one of these endings, at any depth.
fn files(folder: &Path, endings: &[&str]) -> BTreeSet<PathBuf> {
    let entries = fs::read_dir(folder)
        .expect("a folder")
        .map(|entry| entry.expect("an entry").path());
    let (folders, files): (Vec<_>, Vec<_>) = entries
        .filter(|path| !path.is_symlink())
        .partition(|path| path.is_dir());
    let is_wanted = |path: &PathBuf| {
        endings
            .iter()
            .any(|ending| path.to_string_lossy().ends_with(ending))
    };
    let below = folders
        .iter()
        .flat_map(|folder| self::files(folder, endings));
    files.into_iter().filter(is_wanted).chain(below).collect()
}

fn pages() -> BTreeSet<PathBuf> {
    let folders = [
        "docs",
        "crates",
        "capture",
        "published",
        "results",
        "python",
    ];
    let above = fs::read_dir(root())
        .expect("the repository")
        .map(|entry| entry.expect("an entry").path());
    let above = above.filter(|path| path.extension().is_some_and(|ending| ending == "md"));
    folders
        .iter()
        .flat_map(|folder| files(&root().join(folder), &[".md"]))
        .chain(above)
        .collect()
}

/// Returns the text without its code blocks.
fn prose(text: &str) -> String {
    let mut is_code = false;
    let lines = text.lines().filter(|line| {
        let is_fence = line.trim_start().starts_with("```");
        is_code ^= is_fence;
        !is_code && !is_fence
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// Returns the targets of links within the repository.
fn links(text: &str) -> Vec<String> {
    let behind = prose(text);
    let targets = behind
        .split("](")
        .skip(1)
        .filter_map(|rest| rest.split([')', ' ', '\n']).next());
    targets
        .filter(|target| !target.contains("://"))
        .map(str::to_owned)
        .collect()
}

/// Returns the anchors that GitHub makes of the headings.
fn anchors(text: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for heading in prose(text).lines().filter(|line| line.starts_with('#')) {
        let words = heading.trim_start_matches('#').trim().to_lowercase();
        let kept = words
            .chars()
            .filter(|c| c.is_alphanumeric() || matches!(c, '-' | '_' | ' '));
        let name: String = kept.map(|c| if c == ' ' { '-' } else { c }).collect();
        let repeated = (1..).map(|number| format!("{name}-{number}"));
        let free = std::iter::once(name.clone())
            .chain(repeated)
            .find(|name| !found.contains(name));
        found.extend(free);
    }
    found
}

fn leads_somewhere(page: &Path, link: &str) -> bool {
    let (path, anchor) = link.split_once('#').unwrap_or((link, ""));
    let target = if path.is_empty() {
        page.to_owned()
    } else {
        page.with_file_name("").join(path)
    };
    let is_there = target.exists();
    is_there
        && (anchor.is_empty()
            || fs::read_to_string(target).is_ok_and(|text| anchors(&text).contains(anchor)))
}

#[test]
fn each_link_leads_to_a_file_and_a_heading() {
    let mut lost = Vec::new();
    let pages = pages();
    assert!(pages.len() > 60, "{pages:?}");
    for page in &pages {
        let text = fs::read_to_string(page).expect("a page");
        let broken = links(&text)
            .into_iter()
            .filter(|link| !leads_somewhere(page, link));
        lost.extend(broken.map(|link| {
            format!(
                "{}: {link}",
                page.strip_prefix(root()).unwrap_or(page).display()
            )
        }));
    }
    assert!(lost.is_empty(), "{}", lost.join("\n"));
}

#[test]
fn each_page_of_docs_is_in_the_table_of_contents_once() {
    let docs = root().join("docs");
    let listed = links(&fs::read_to_string(docs.join("SUMMARY.md")).expect("docs/SUMMARY.md"));
    let listed: Vec<PathBuf> = listed
        .iter()
        .filter(|link| !link.starts_with(".."))
        .map(|link| docs.join(link))
        .collect();
    let mut need = files(&docs, &[".md", ".ipynb"]);
    need.remove(&docs.join("SUMMARY.md"));
    assert_eq!(
        listed.iter().cloned().collect::<BTreeSet<_>>(),
        need,
        "docs/SUMMARY.md"
    );
    assert_eq!(listed.len(), need.len(), "a page is listed twice");
}

#[test]
fn a_link_that_leads_nowhere_is_found() {
    let page = root().join("docs/reference.md");
    for (link, is_right) in [
        ("method/README.md", true),
        ("#exit-codes", true),
        ("../README.md#install", true),
        ("../designs", true),
        ("method/readme.md", false),
        ("#exit-code", false),
        ("method/README.md#nothing", false),
    ] {
        assert_eq!(leads_somewhere(&page, link), is_right, "{link}");
    }
    assert_eq!(
        links("a [b](c#d), [e](https://f) and\n```\n[g](h)\n```\n[i](j \"k\")"),
        ["c#d", "j"]
    );
    assert!(
        anchors("# A `b`, c\n## A b c")
            .is_superset(&["a-b-c".to_owned(), "a-b-c-1".to_owned()].into())
    );
}

/// Checks that each item of the documents names claims, pages and options that exist, and that the
/// items name each of the documents' claims.
#[test]
fn each_item_of_the_documents_names_existing_evidence() {
    let of_paper = |paper: Paper| {
        let entries = table(paper).into_iter();
        entries.map(move |entry| (format!("{paper}/{}", entry.id), entry.kind))
    };
    let mut unnamed: BTreeMap<String, Kind> = Paper::iter().flat_map(of_paper).collect();
    let claims: BTreeSet<String> = unnamed.keys().cloned().collect();
    let place = Place::new();
    let accepts = |command: &str| {
        let (words, options): (Vec<&str>, Vec<&str>) =
            command.split(' ').partition(|word| !word.starts_with("--"));
        let help = place.run(format!("{} --help", words.join(" "))).stdout;
        options.iter().all(|option| help.contains(*option))
    };
    let path = root().join("crates/reproduce/claims/documents.tsv");
    let items = fs::read_to_string(&path).expect("the table of items");
    for line in items.lines().skip(1) {
        let columns: Vec<&str> = line.split('\t').collect();
        assert_eq!(columns.len(), 5, "{line}");
        assert!(
            ["full", "partial", "absent"].contains(&columns[3]),
            "{line}"
        );
        for evidence in columns[4].split("; ") {
            unnamed.remove(evidence);
            let exists = match evidence.strip_prefix("switchcost ") {
                Some(command) => accepts(command),
                None => {
                    claims.contains(evidence)
                        || leads_somewhere(&root().join("README.md"), evidence)
                }
            };
            assert!(exists, "{evidence}: {line}");
        }
    }
    unnamed.retain(|_, kind| *kind != Kind::Own);
    assert!(unnamed.is_empty(), "{unnamed:?}");
}
