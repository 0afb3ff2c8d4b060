//! Types in words, and in the notation of a shape: `[T]` is a list, `T?` may be null, `a/b` is one of these texts.

use serde_json::Value;

use super::fields::{alternatives, resolved};

/// So many texts of a closed list stand in a shape; a longer list is in the schema alone.
const SHOWN: usize = 9;

/// What is said of a type or a field, on one line.
pub(super) fn description(schema: &Value) -> String {
    schema["description"]
        .as_str()
        .unwrap_or_default()
        .to_owned()
}

/// The name of a type that has fields.
pub(super) fn named<'s>(schema: &'s Value, root: &'s Value) -> Option<&'s str> {
    let name = schema["$ref"].as_str()?.rsplit('/').next()?;
    let has_fields = |of: &Value| of["properties"].is_object();
    let of = resolved(schema, root);
    (has_fields(of) || alternatives(of).any(|branch| has_fields(resolved(branch, root))))
        .then_some(name)
}

pub(super) fn kind(schema: &Value, root: &Value) -> String {
    if let Some(name) = named(schema, root) {
        return name.to_owned();
    }
    let texts = texts(schema, root);
    let schema = resolved(schema, root);
    let mut kinds: Vec<String> = match (&schema["type"], texts.len()) {
        (Value::String(name), 1..=SHOWN) if name == "string" => vec![texts.join("/")],
        (Value::Array(types), _) => types
            .iter()
            .filter_map(Value::as_str)
            .map(|name| of_type(name, schema, root))
            .collect(),
        (Value::String(name), _) => vec![of_type(name, schema, root)],
        (_, 1..) => {
            let one = if texts.len() > SHOWN {
                "text".to_owned()
            } else {
                texts.join("/")
            };
            let is_null = |branch: &Value| kind(branch, root) == "null";
            [one]
                .into_iter()
                .chain(alternatives(schema).any(is_null).then(|| "null".to_owned()))
                .collect()
        }
        _ => alternatives(schema)
            .map(|branch| kind(branch, root))
            .collect(),
    };
    let is_nullable = kinds.iter().any(|kind| kind == "null");
    kinds.retain(|kind| kind != "null");
    kinds.dedup();
    let kind = match (kinds.is_empty(), is_nullable) {
        (true, true) => return "null".to_owned(),
        (true, false) => "any".to_owned(),
        _ => kinds.join("|"),
    };
    if is_nullable && !kind.ends_with('?') {
        kind + "?"
    } else {
        kind
    }
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
    let tuple = schema["prefixItems"].as_array();
    let kinds: Vec<String> = match tuple {
        Some(items) => items.iter().map(|item| kind(item, root)).collect(),
        None => vec![kind(&schema["items"], root)],
    };
    let number = schema["minItems"]
        .as_u64()
        .filter(|least| Some(*least) == schema["maxItems"].as_u64());
    match number.filter(|_| kinds.iter().all(|kind| *kind == kinds[0])) {
        Some(number) => format!("[{};{number}]", kinds[0]),
        None => format!("[{}]", kinds.join(",")),
    }
}

fn object(schema: &Value, root: &Value) -> String {
    if schema["additionalProperties"].is_object() {
        return format!("{{name:{}}}", kind(&schema["additionalProperties"], root));
    }
    let fields = schema["properties"].as_object().into_iter().flatten();
    let fields: Vec<String> = fields
        .map(|(name, field)| format!("{name}:{}", kind(field, root)))
        .collect();
    format!("{{{}}}", fields.join(","))
}

/// The texts of a closed list that a field is one of.
fn texts<'s>(schema: &'s Value, root: &'s Value) -> Vec<&'s str> {
    if named(schema, root).is_some() {
        return Vec::new();
    }
    let schema = resolved(schema, root);
    let listed = schema["enum"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(Value::as_str);
    let mut found: Vec<&str> = listed.chain(schema["const"].as_str()).collect();
    found.extend(alternatives(schema).flat_map(|branch| texts(branch, root)));
    found
}
