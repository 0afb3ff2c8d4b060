//! Types and meanings in words.

use std::collections::BTreeSet;

use serde_json::Value;

use super::fields::{alternatives, resolved};

/// So many texts are listed with what each means; of more only the names.
const EXPLAINED: usize = 9;

/// What is said of a type or a field, on one line.
pub(super) fn description(schema: &Value) -> String {
    schema["description"].as_str().unwrap_or_default().to_owned()
}

/// The name of a type that has fields.
pub(super) fn named<'s>(schema: &'s Value, root: &'s Value) -> Option<&'s str> {
    let name = schema["$ref"].as_str()?.rsplit('/').next()?;
    let has_fields = |of: &Value| of["properties"].is_object();
    let of = resolved(schema, root);
    (has_fields(of) || alternatives(of).any(|branch| has_fields(resolved(branch, root)))).then_some(name)
}

pub(super) fn kind(schema: &Value, root: &Value) -> String {
    if let Some(name) = named(schema, root) {
        return format!("[{name}]({})", super::place(name));
    }
    let schema = resolved(schema, root);
    if let Some(types) = schema["type"].as_array() {
        let words = types.iter().filter_map(Value::as_str).map(|name| of_type(name, schema, root));
        return words.collect::<Vec<_>>().join(" or ");
    }
    if let Some(name) = schema["type"].as_str() {
        return of_type(name, schema, root);
    }
    let mut kinds: Vec<String> = alternatives(schema).map(|branch| kind(branch, root)).collect();
    kinds.dedup();
    if kinds.is_empty() { "any".to_owned() } else { kinds.join(" or ") }
}

fn of_type(name: &str, schema: &Value, root: &Value) -> String {
    match name {
        "string" => "text".to_owned(),
        "array" => list(schema, root),
        "object" => object(schema, root),
        other => other.to_owned(),
    }
}

fn list(schema: &Value, root: &Value) -> String {
    if let Some(tuple) = schema["prefixItems"].as_array() {
        let kinds: Vec<String> = tuple.iter().map(|item| kind(item, root)).collect();
        let is_uniform = kinds.iter().all(|kind| *kind == kinds[0]);
        return if is_uniform { several(kinds.len(), &kinds[0]) } else { format!("list of {}", kinds.join(" and ")) };
    }
    let item = kind(&schema["items"], root);
    match schema["minItems"].as_u64().filter(|least| Some(*least) == schema["maxItems"].as_u64()) {
        Some(number) => several(number as usize, &item),
        None => format!("list of {}", plural(&item)),
    }
}

fn several(number: usize, item: &str) -> String {
    let number =
        ["no", "one", "two", "three", "four"].get(number).map_or(number.to_string(), |word| (*word).to_owned());
    format!("list of {number} {}", plural(item))
}

fn plural(item: &str) -> String {
    let (first, rest) = item.split_once(' ').unwrap_or((item, ""));
    let is_word = ["text", "integer", "number", "boolean", "list", "object"].contains(&first);
    if is_word { format!("{first}s {rest}").trim_end().to_owned() } else { item.to_owned() }
}

fn object(schema: &Value, root: &Value) -> String {
    if schema["additionalProperties"].is_object() {
        return format!("object of {}", plural(&kind(&schema["additionalProperties"], root)));
    }
    let names = schema["properties"].as_object().into_iter().flat_map(|fields| fields.keys());
    let names: Vec<String> = names.map(|name| format!("`{name}`")).collect();
    if names.is_empty() { "object" } else { return format!("object with {}", names.join(", ")) }.to_owned()
}

/// What a field says; of a closed list of texts, what each of them says, where that is not on the page yet.
pub(super) fn meaning(schema: &Value, root: &Value, listed: &mut BTreeSet<String>) -> String {
    let said = description(schema);
    let said = if said.is_empty() { description(resolved(schema, root)) } else { said };
    let mut texts = texts(schema, root);
    if !texts.is_empty() && reference(schema).is_some_and(|name| !listed.insert(name.to_owned())) {
        texts.clear();
    }
    let words: Vec<String> = match texts.len() {
        0 => Vec::new(),
        number if number <= EXPLAINED => texts.iter().map(|(text, meaning)| self::text(text, meaning)).collect(),
        _ => vec![texts.iter().map(|(text, _)| format!("`{text}`")).collect::<Vec<_>>().join(", ") + "."],
    };
    [vec![said], words].concat().join(" ")
}

/// The name of the type of a field, or of each item of it, or null.
fn reference(schema: &Value) -> Option<&str> {
    let own = schema["$ref"].as_str().and_then(|place| place.rsplit('/').next());
    own.or_else(|| alternatives(schema).chain(schema.get("items")).find_map(reference))
}

pub(super) fn text(name: &str, meaning: &str) -> String {
    if meaning.is_empty() { format!("`{name}`.") } else { format!("`{name}`: {meaning}") }
}

/// The texts of a closed list that a field, or each item of it, is one of.
fn texts<'s>(schema: &'s Value, root: &'s Value) -> Vec<(&'s str, String)> {
    if named(schema, root).is_some() {
        return Vec::new();
    }
    let schema = resolved(schema, root);
    let listed = schema["enum"].as_array().into_iter().flatten().filter_map(Value::as_str);
    let mut found: Vec<(&str, String)> = listed.map(|name| (name, String::new())).collect();
    for branch in alternatives(schema).chain(schema.get("items")) {
        match branch["const"].as_str() {
            Some(name) => found.push((name, description(branch))),
            None => found.extend(texts(branch, root)),
        }
    }
    found
}
