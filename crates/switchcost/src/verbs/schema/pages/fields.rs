//! The fields of an object, as its schema has them.

use std::collections::BTreeSet;

use serde_json::Value;

use super::words;

/// One row of a table.
#[derive(Debug)]
pub(super) struct Field {
    pub(super) name: String,
    pub(super) kind: String,
    pub(super) meaning: String,
}

/// A field as it was found, perhaps in several of the forms that an object has.
struct Found<'s> {
    name: String,
    schema: &'s Value,
    is_always_there: bool,
    /// It is not there where there is none of it.
    is_left_out: bool,
    /// What is said of the form that it is the field of.
    of: String,
    /// Texts of which it is one, and what each says.
    texts: Vec<(&'s str, String)>,
}

/// What a reference leads to; itself where it is none.
pub(super) fn resolved<'s>(schema: &'s Value, root: &'s Value) -> &'s Value {
    match schema["$ref"].as_str() {
        Some(reference) => root.pointer(reference.trim_start_matches('#')).expect("references lead somewhere"),
        None => schema,
    }
}

pub(super) fn alternatives(schema: &Value) -> impl Iterator<Item = &Value> {
    ["oneOf", "anyOf", "allOf"].into_iter().filter_map(|key| schema[key].as_array()).flatten()
}

/// All fields: those that are always there in the order in which they are printed, then the others.
/// `listed` are types that are on the page.
pub(super) fn fields(schema: &Value, root: &Value, listed: &mut BTreeSet<String>) -> Vec<Field> {
    let mut found = Vec::new();
    collect(schema, root, true, "", &mut found);
    found.into_iter().map(|field| row(field, root, listed)).collect()
}

fn row(found: Found<'_>, root: &Value, listed: &mut BTreeSet<String>) -> Field {
    let mut kind = words::kind(found.schema, root);
    if found.is_left_out {
        kind = kind.replace(" or null", "");
    }
    if !found.is_always_there {
        kind.push_str(", or not there");
    }
    let texts: Vec<String> = found.texts.iter().map(|(text, meaning)| words::text(text, meaning)).collect();
    let said = Some(words::meaning(found.schema, root, listed)).filter(|said| !said.trim().is_empty());
    let said = said.unwrap_or_else(|| if texts.is_empty() { found.of } else { String::new() });
    let mut meaning = [vec![said], texts].concat().join(" ");
    if kind.ends_with(" or null") {
        meaning = meaning.replace("; none where", "; null where");
    }
    Field { name: found.name, kind, meaning: meaning.trim().to_owned() }
}

fn collect<'s>(schema: &'s Value, root: &'s Value, is_always: bool, of: &str, found: &mut Vec<Found<'s>>) {
    if let Some(text) = schema["const"].as_str() {
        let name = format!("\"{text}\"");
        found.push(Found {
            name,
            schema,
            is_always_there: true,
            is_left_out: false,
            of: of.to_owned(),
            texts: Vec::new(),
        });
        return;
    }
    for (name, field, is_required) in properties(schema) {
        add(name, field, (is_always && is_required, !is_required), of, found);
    }
    let branches: Vec<&Value> = alternatives(schema).map(|branch| resolved(branch, root)).collect();
    let is_one = branches.len() == 1;
    for branch in &branches {
        collect(
            branch,
            root,
            is_always && (is_one || is_in_all(branch, &branches)),
            &words::description(branch),
            found,
        );
    }
}

/// Whether all alternatives have the same fields.
fn is_in_all(branch: &Value, branches: &[&Value]) -> bool {
    branches.iter().all(|other| other["required"] == branch["required"])
}

/// In the order in which they are printed, if they always are.
fn properties(schema: &Value) -> Vec<(&str, &Value, bool)> {
    let Some(all) = schema["properties"].as_object() else { return Vec::new() };
    let required: Vec<&str> = schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    let others = all.keys().map(String::as_str).filter(|name| !required.contains(name));
    let named = |(name, is_required)| all.get(name).map(|field| (name, field, is_required));
    required.iter().map(|name| (*name, true)).chain(others.map(|name| (name, false))).filter_map(named).collect()
}

fn add<'s>(
    name: &str,
    schema: &'s Value,
    (is_always_there, is_left_out): (bool, bool),
    of: &str,
    found: &mut Vec<Found<'s>>,
) {
    let is_tag = schema["const"].is_string() && name != "schema";
    let text = schema["const"].as_str().filter(|_| is_tag).map(|text| (text, of.to_owned()));
    match found.iter_mut().find(|known| known.name == name) {
        Some(known) => known.texts.extend(text),
        None => found.push(Found {
            name: name.to_owned(),
            schema,
            is_always_there: is_always_there || is_tag,
            is_left_out,
            of: of.to_owned(),
            texts: text.into_iter().collect(),
        }),
    }
}

/// Names of the types with fields of their own that the fields of an object refer to, each once.
pub(super) fn referred(schema: &Value, root: &Value) -> Vec<String> {
    let mut names = Vec::new();
    refer_from(schema, root, &mut names);
    names
}

/// An alternative of an object is no type that it refers to: its fields are among those of the object.
fn refer_from(schema: &Value, root: &Value, names: &mut Vec<String>) {
    properties(schema).into_iter().for_each(|(_, field, _)| refer(field, root, names));
    alternatives(schema).for_each(|branch| refer_from(resolved(branch, root), root, names));
}

fn refer(schema: &Value, root: &Value, names: &mut Vec<String>) {
    if let Some(name) = words::named(schema, root) {
        if !names.iter().any(|known| known == name) {
            names.push(name.to_owned());
        }
        return;
    }
    let schema = resolved(schema, root);
    let items = [&schema["items"], &schema["additionalProperties"]].into_iter().filter(|part| part.is_object());
    let tuple = schema["prefixItems"].as_array().into_iter().flatten();
    let own = properties(schema).into_iter().map(|(_, field, _)| field);
    items.chain(tuple).chain(own).chain(alternatives(schema)).for_each(|part| refer(part, root, names));
}
