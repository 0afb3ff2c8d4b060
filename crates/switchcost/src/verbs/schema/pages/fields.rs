//! The fields of an object, as its schema has them.

use serde_json::Value;

use super::words;

/// A field as it was found, perhaps in several of the forms that an object has.
#[derive(Debug)]
pub(super) struct Field {
    pub(super) name: String,
    pub(super) kind: String,
    /// Whether the schema says what it means.
    pub(super) is_described: bool,
    is_always_there: bool,
    /// Texts of which it is one, each the tag of a form.
    tags: Vec<String>,
}

/// What a reference leads to; itself where it is none.
pub(super) fn resolved<'s>(schema: &'s Value, root: &'s Value) -> &'s Value {
    match schema["$ref"].as_str() {
        Some(reference) => root
            .pointer(reference.trim_start_matches('#'))
            .expect("references lead somewhere"),
        None => schema,
    }
}

pub(super) fn alternatives(schema: &Value) -> impl Iterator<Item = &Value> {
    ["oneOf", "anyOf", "allOf"]
        .into_iter()
        .filter_map(|key| schema[key].as_array())
        .flatten()
}

/// All fields: those that are always there in the order in which they are printed, then the others.
pub(super) fn fields(schema: &Value, root: &Value) -> Vec<Field> {
    let mut found = Vec::new();
    collect(schema, root, (true, false), &mut found);
    found.into_iter().map(finished).collect()
}

/// A field of one type in each form, and marked where it may be missing.
fn finished(mut field: Field) -> Field {
    if !field.tags.is_empty() {
        field.kind = field.tags.join("/");
    }
    if !field.is_always_there {
        field.name.push('?');
        field.kind = field.kind.trim_end_matches('?').to_owned();
    }
    field
}

/// `is_described`: the form whose fields they are says what they mean.
fn collect(
    schema: &Value,
    root: &Value,
    (is_always, is_described): (bool, bool),
    found: &mut Vec<Field>,
) {
    let texts = schema["enum"]
        .as_array()
        .into_iter()
        .flatten()
        .chain(Some(&schema["const"]).filter(|c| c.is_string()));
    for text in texts.filter_map(Value::as_str) {
        found.push(Field {
            name: format!("\"{text}\""),
            kind: String::new(),
            is_described: true,
            is_always_there: true,
            tags: Vec::new(),
        });
    }
    for (name, field, is_required) in properties(schema) {
        add(
            name,
            field,
            root,
            (is_always && is_required, is_described),
            found,
        );
    }
    let branches: Vec<&Value> = alternatives(schema)
        .map(|branch| resolved(branch, root))
        .collect();
    let is_one = branches.len() == 1;
    for branch in &branches {
        let is_always = is_always && (is_one || is_in_all(branch, &branches));
        collect(
            branch,
            root,
            (is_always, !words::description(branch).is_empty()),
            found,
        );
    }
}

/// Whether all alternatives have the same fields.
fn is_in_all(branch: &Value, branches: &[&Value]) -> bool {
    branches
        .iter()
        .all(|other| other["required"] == branch["required"])
}

/// In the order in which they are printed, if they always are.
fn properties(schema: &Value) -> Vec<(&str, &Value, bool)> {
    let Some(all) = schema["properties"].as_object() else {
        return Vec::new();
    };
    let required: Vec<&str> = schema["required"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect();
    let others = all
        .keys()
        .map(String::as_str)
        .filter(|name| !required.contains(name));
    let named = |(name, is_required)| all.get(name).map(|field| (name, field, is_required));
    required
        .iter()
        .map(|name| (*name, true))
        .chain(others.map(|name| (name, false)))
        .filter_map(named)
        .collect()
}

fn add(
    name: &str,
    schema: &Value,
    root: &Value,
    (is_always_there, is_described): (bool, bool),
    found: &mut Vec<Field>,
) {
    let tag = schema["const"]
        .as_str()
        .filter(|_| name != "schema")
        .map(str::to_owned);
    if let Some(known) = found.iter_mut().find(|known| known.name == name) {
        known.tags.extend(tag);
        return;
    }
    let said = [schema, resolved(schema, root)].map(words::description);
    found.push(Field {
        name: name.to_owned(),
        kind: words::kind(schema, root),
        is_described: is_described
            || said.iter().any(|said| !said.is_empty())
            || is_form(schema, root),
        is_always_there: is_always_there || tag.is_some(),
        tags: tag.into_iter().collect(),
    });
}

/// Whether it is a form of its own, whose parts are described one by one.
fn is_form(schema: &Value, root: &Value) -> bool {
    alternatives(resolved(schema, root)).next().is_some()
}
