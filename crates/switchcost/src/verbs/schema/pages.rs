//! The tables of fields on the pages of docs/formats are made from the schemas, between `<!-- fields of NAME -->` and
//! `<!-- end of fields -->`: UPDATE=1 writes them, and without it they are compared.

mod fields;
mod words;

use std::collections::BTreeSet;
use std::fmt::Write;
use std::path::{Path, PathBuf};

use serde_json::Value;

use fields::{Field, fields, referred};

const BEGIN: &str = "<!-- fields of ";
const END: &str = "<!-- end of fields -->";

/// Types whose fields are listed elsewhere, with what they are in a record.
const ELSEWHERE: [(&str, &str); 5] = [
    ("HostManifest", "measure-record.md#hostmanifest"),
    ("ClockFacts", "measure-record.md#clockfacts"),
    ("Control", "measure-record.md#control"),
    ("SelfTest", "measure-record.md#self-test-a-known-answer-test-of-an-instrument"),
    ("WorkingSet", "measure-record.md#case"),
];

fn formats() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/formats")
}

/// What links to a type, from a page that lists all others.
fn place(name: &str) -> String {
    let elsewhere = ELSEWHERE.iter().find(|(known, _)| *known == name).map(|(_, place)| (*place).to_owned());
    elsewhere.unwrap_or_else(|| format!("#{}", name.to_lowercase()))
}

/// The tables of a form: its own fields, then those of each type in it, as they come; those already on the page once.
fn tables(schema: &Value, listed: &mut BTreeSet<String>) -> String {
    let mut text = table(&fields(schema, schema, listed));
    let mut next: Vec<String> = referred(schema, schema);
    while !next.is_empty() {
        let name = next.remove(0);
        let is_new = listed.insert(name.clone());
        if !is_new || ELSEWHERE.iter().any(|(known, _)| *known == name) {
            continue;
        }
        let of = &schema["$defs"][&name];
        let is_one_of = of["properties"].is_null();
        let said = words::description(of) + if is_one_of { " One of these:" } else { "" };
        write!(text, "\n### {name}\n\n{said}\n\n{}", table(&fields(of, schema, listed))).expect("memory");
        // The types of a type follow it.
        next.splice(0..0, referred(of, schema));
    }
    text
}

/// Fields in a row that are the same but for their name share a line.
fn table(fields: &[Field]) -> String {
    let mut text = "| field | type | meaning |\n|---|---|---|\n".to_owned();
    for same in fields.chunk_by(|a, b| (&a.kind, &a.meaning) == (&b.kind, &b.meaning)) {
        let names: Vec<String> = same.iter().map(|field| format!("`{}`", field.name)).collect();
        let [kind, meaning] = [&same[0].kind, &same[0].meaning].map(|words| words.replace('|', "\\|"));
        assert!(!meaning.is_empty(), "nothing is said of {names:?}");
        writeln!(text, "| {} | {kind} | {meaning} |", names.join(", ")).expect("memory");
    }
    text
}

/// The page with its tables as they should be, and the names of the forms that it lists.
fn made(page: &str) -> (String, Vec<String>) {
    let schemas = super::schemas();
    let (mut text, mut rest, mut names, mut listed) = (String::new(), page, Vec::new(), BTreeSet::new());
    while let Some((before, behind)) = rest.split_once(BEGIN) {
        let (name, behind) = behind.split_once(" -->").expect("the mark ends");
        let (_, behind) = behind.split_once(END).expect("the fields end");
        let schema = schemas.get(name).unwrap_or_else(|| panic!("no schema {name}"));
        write!(text, "{before}{BEGIN}{name} -->\n\n{}\n{END}", tables(schema, &mut listed)).expect("memory");
        names.push(name.to_owned());
        rest = behind;
    }
    (text + rest, names)
}

#[test]
fn the_pages_list_the_fields_of_each_form() {
    let mut listed = Vec::new();
    for entry in std::fs::read_dir(formats()).expect("docs/formats") {
        let path = entry.expect("an entry").path();
        let page = std::fs::read_to_string(&path).expect("a page");
        let (made, names) = made(&page);
        listed.extend(names);
        if std::env::var_os("UPDATE").is_some() && made != page {
            std::fs::write(&path, &made).expect("the page is written");
        } else {
            let line = page.lines().zip(made.lines()).find(|(found, need)| found != need);
            assert!(made == page, "{}: UPDATE=1 writes its tables of fields; {line:#?}", path.display());
        }
    }
    listed.sort();
    assert_eq!(listed, super::schemas().keys().cloned().collect::<Vec<_>>(), "each form is listed once");
}
