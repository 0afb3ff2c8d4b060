//! The shapes on the pages of docs/formats are made from the schemas, between `<!-- fields of NAME -->` and
//! `<!-- end of fields -->`: UPDATE=1 writes them, and without it they are compared. What a field means is in the schema
//! alone, which must say it of each.

mod fields;
mod words;

use std::fmt::Write;
use std::path::{Path, PathBuf};

use serde_json::Value;

use fields::{Field, fields};

const BEGIN: &str = "<!-- fields of ";
const END: &str = "<!-- end of fields -->";

/// Where lines end.
const WIDTH: usize = 120;

fn formats() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/formats")
}

/// The shape of a form: its own fields. Those of the types in it are in the schema.
fn shape(name: &str, schema: &Value) -> String {
    format!("```text\n{name}\n{}```", lines(&fields(schema, schema)))
}

/// Fields in a row that are of one kind share a line.
fn lines(fields: &[Field]) -> String {
    let mut text = String::new();
    for same in fields.chunk_by(|a, b| a.kind == b.kind) {
        let names: Vec<&str> = same.iter().map(|field| &*field.name).collect();
        let kind = Some(&*same[0].kind).filter(|kind| !kind.is_empty());
        text += &wrapped(
            &[&*names.join(", ")]
                .into_iter()
                .chain(kind)
                .collect::<Vec<_>>()
                .join(": "),
        );
    }
    text
}

fn wrapped(line: &str) -> String {
    let (mut text, mut length) = ("  ".to_owned(), 2);
    for (i, word) in line.split(' ').enumerate() {
        if i > 0 && length + 1 + word.len() > WIDTH {
            text += "\n     ";
            length = 5;
        }
        let gap = if i > 0 { " " } else { "" };
        text = text + gap + word;
        length += gap.len() + word.len();
    }
    text + "\n"
}

/// The page with its shapes as they should be, and the names of the forms that it lists.
fn made(page: &str) -> (String, Vec<String>) {
    let schemas = super::schemas();
    let (mut text, mut rest, mut names) = (String::new(), page, Vec::new());
    while let Some((before, behind)) = rest.split_once(BEGIN) {
        let (name, behind) = behind.split_once(" -->").expect("the mark ends");
        let (_, behind) = behind.split_once(END).expect("the fields end");
        let schema = schemas
            .get(name)
            .unwrap_or_else(|| panic!("no schema {name}"));
        write!(
            text,
            "{before}{BEGIN}{name} -->\n\n{}\n{END}",
            shape(name, schema)
        )
        .expect("memory");
        names.push(name.to_owned());
        rest = behind;
    }
    (text + rest, names)
}

#[test]
fn each_field_of_each_type_says_what_it_means() {
    for (name, schema) in super::schemas() {
        let types = schema["$defs"]
            .as_object()
            .into_iter()
            .flatten()
            .map(|(_, of)| of);
        for field in types.chain([&schema]).flat_map(|of| fields(of, &schema)) {
            assert!(field.is_described, "{name}: {field:?}");
        }
    }
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
            let line = page
                .lines()
                .zip(made.lines())
                .find(|(found, need)| found != need);
            assert!(
                made == page,
                "{}: UPDATE=1 writes its shapes; {line:#?}",
                path.display()
            );
        }
    }
    listed.sort();
    assert_eq!(
        listed,
        super::schemas().keys().cloned().collect::<Vec<_>>(),
        "each form is listed once"
    );
}
