//! `switchcost schema`: prints JSON Schemas of all JSON output, derived from the printed types.

use serde_json::{Map, Value};

use super::man::flags;
use crate::cli::schema::{Printed, SchemaArguments};
use crate::exit::{Exit, Outcome};
use crate::output::Output;

pub(crate) fn run(arguments: &SchemaArguments) -> Outcome<Exit> {
    let mut schemas = schemas();
    schemas.values_mut().for_each(finish_schema);
    let text = match arguments.printed {
        None => format!("{:#}\n", Value::Object(schemas)),
        Some(printed) => format!("{:#}\n", printed_schema(printed, schemas)),
    };
    Output::STDOUT.write(&text)?;
    Ok(Exit::Success)
}

/// Returns all schemas, by name and version.
fn schemas() -> Map<String, Value> {
    let flags = switchcost_report::schema::schema_of::<flags::Description>(flags::SCHEMA);
    switchcost_report::schema::schemas()
        .into_iter()
        .chain([flags])
        .map(|(name, schema)| (name.to_owned(), schema.to_value()))
        .collect()
}

fn printed_schema(printed: Printed, schemas: Map<String, Value>) -> Value {
    let beginning = format!("switchcost.{printed}/");
    let found = schemas
        .into_iter()
        .find(|(name, _)| name.starts_with(&beginning));
    found.map_or(Value::Null, |(_, schema)| schema)
}

/// Completes a schema. Links in descriptions are removed, because their pages are elsewhere.
/// Numbers may be null, because JSON has no infinite numbers.
fn finish_schema(schema: &mut Value) {
    match schema {
        Value::Object(fields) => fields.iter_mut().for_each(|(name, value)| match value {
            Value::String(text) if name == "description" => *text = strip_links(text),
            Value::String(text) if name == "type" && text == "number" => {
                *value = Value::from(vec!["number", "null"])
            }
            _ => finish_schema(value),
        }),
        Value::Array(items) => items.iter_mut().for_each(finish_schema),
        _ => {}
    }
}

/// Replaces links in a text, such as `[words](page.md)`, by their words.
fn strip_links(text: &str) -> String {
    let Some((before, link)) = text.split_once('[') else {
        return text.to_owned();
    };
    match link
        .split_once("](")
        .and_then(|(words, rest)| Some((words, rest.split_once(')')?.1)))
    {
        Some((words, rest)) if !words.contains('[') => {
            format!("{before}{words}{}", strip_links(rest))
        }
        _ => format!("{before}[{}", strip_links(link)),
    }
}

#[cfg(test)]
mod tests {
    use strum::IntoEnumIterator;

    use super::*;

    fn is_described(of: &Value) -> bool {
        of["description"].is_string()
    }

    /// Returns the fields without a description. A type with several forms describes the fields of
    /// each form; a referenced type describes the field that refers to it.
    fn undescribed(at: &str, schema: &Value, root: &Value, is_form: bool) -> Vec<String> {
        let Value::Object(parts) = schema else {
            return Vec::new();
        };
        let mut found = Vec::new();
        for (name, part) in parts {
            if name == "properties" && !(is_form && is_described(schema)) {
                let fields = part.as_object().into_iter().flatten();
                found.extend(fields.filter_map(|(field, of)| {
                    let said = is_described(of) || of["const"].is_string() || refers(of, root);
                    (!said).then(|| format!("{at}.{field}"))
                }));
            }
            found.extend(undescribed(&format!("{at}/{name}"), part, root, false));
            let is_form = ["oneOf", "anyOf"].contains(&name.as_str());
            for (i, form) in part.as_array().into_iter().flatten().enumerate() {
                found.extend(undescribed(
                    &format!("{at}/{name}[{i}]"),
                    form,
                    root,
                    is_form,
                ));
            }
        }
        found
    }

    /// Whether a field refers to a described type, or to a type whose forms are described.
    fn refers(of: &Value, root: &Value) -> bool {
        let target = of["$ref"].as_str();
        let target = target.and_then(|to| root.pointer(to.trim_start_matches('#')));
        target.is_some_and(|to| is_described(to) || !to["oneOf"].is_null())
    }

    #[test]
    fn each_field_says_what_it_means() {
        for (name, schema) in schemas() {
            let found = undescribed(&name, &schema, &schema, false);
            assert_eq!(found, Vec::<String>::new());
        }
        let bare = serde_json::json!({"description": "A type.", "properties": {"field": {"type": "number"}}});
        assert_eq!(undescribed("t", &bare, &bare, false), ["t.field"]);
    }

    #[test]
    fn each_form_has_its_schema_and_is_called_as_in_it() {
        let all = schemas();
        assert_eq!(Printed::iter().count(), all.len(), "{:?}", all.keys());
        for printed in Printed::iter() {
            let schema = printed_schema(printed, all.clone());
            assert_eq!(
                schema["properties"]["schema"]["const"], schema["title"],
                "{printed}"
            );
        }
    }

    #[test]
    fn a_number_may_be_null_as_it_is_where_it_is_not_finite() {
        let mut schema = printed_schema(Printed::Measure, schemas());
        let low = |schema: &Value| schema["$defs"]["Estimate"]["properties"]["low"]["type"].clone();
        assert_eq!(low(&schema), "number");
        finish_schema(&mut schema);
        assert_eq!(low(&schema), serde_json::json!(["number", "null"]));
    }

    #[test]
    fn links_are_words_where_there_are_no_pages() {
        assert_eq!(
            strip_links("By [reason](../method/a.md); a [b] [c](d)."),
            "By reason; a [b] c."
        );
        assert_eq!(strip_links("`[1, 2]`"), "`[1, 2]`");
    }
}
