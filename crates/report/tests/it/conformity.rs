//! Checks that printed JSON conforms to its schema. The check supports only the parts of JSON
//! Schema that are used, and refuses others.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use serde_json::Value;

use super::schemas;

/// Reads a report, and checks it against the schema that it names.
pub(crate) fn read(json: impl AsRef<[u8]>) -> Value {
    let json = json.as_ref();
    let value: Value = serde_json::from_slice(json)
        .unwrap_or_else(|error| panic!("{error}: {}", String::from_utf8_lossy(json)));
    conforms(&value);
    value
}

/// Panics if a report does not conform to its schema.
pub(crate) fn conforms(value: &Value) {
    let name = value["schema"]
        .as_str()
        .unwrap_or_else(|| panic!("a report without the name of its schema: {value}"));
    let root = known()
        .get(name)
        .unwrap_or_else(|| panic!("no schema {name}"));
    let faults = Root(root).faults(value, root, &[], name);
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

fn known() -> &'static BTreeMap<&'static str, Value> {
    static KNOWN: OnceLock<BTreeMap<&str, Value>> = OnceLock::new();
    KNOWN.get_or_init(|| {
        schemas()
            .into_iter()
            .map(|(name, schema)| (name, schema.to_value()))
            .collect()
    })
}

/// A whole schema, to which the references (`$ref`) of its parts lead.
struct Root<'a>(&'a Value);

impl<'a> Root<'a> {
    /// Returns a description of each violation of `schema` by a value. The value may also have the
    /// fields of the schemas `above`.
    fn faults(&self, value: &Value, schema: &'a Value, above: &[&'a Value], place: &str) -> Faults {
        let Some(rules) = schema.as_object() else {
            return fault(schema == &Value::Bool(false), || {
                format!("{place}: need nothing")
            });
        };
        let around = [above, &[schema]].concat();
        let mut faults = Vec::new();
        for (rule, need) in rules {
            faults.extend(self.faults_of_rule(value, (rule.as_str(), need), &around, place));
        }
        if rules.contains_key("properties") && !rules.contains_key("additionalProperties") {
            for (name, _) in fields(value) {
                let is_known = self.is_known(name, &around);
                faults.extend(fault(!is_known, || format!("{place}: no field {name}")));
            }
        }
        faults
    }

    fn faults_of_rule(
        &self,
        value: &Value,
        (rule, need): (&str, &'a Value),
        around: &[&'a Value],
        place: &str,
    ) -> Faults {
        let inside =
            |part, need, name: &str| self.faults(part, need, &[], &format!("{place}.{name}"));
        let each = || {
            list(need)
                .iter()
                .map(|need| self.faults(value, need, around, place))
        };
        let size = value
            .as_array()
            .map_or(value.as_f64(), |items| Some(items.len() as f64));
        let is_met = match rule {
            "$schema" | "$defs" | "title" | "description" | "format" | "default" => true,
            "const" => value == need,
            "enum" => list(need).contains(value),
            "type" => is_of(value, need),
            "minimum" | "minItems" => size.is_none() || size >= need.as_f64(),
            "maximum" | "maxItems" => size <= need.as_f64(),
            "required" => list(need)
                .iter()
                .all(|name| name.as_str().is_some_and(|name| value.get(name).is_some())),
            "$ref" => return self.faults(value, self.resolved(need), around, place),
            "properties" => {
                return fields(need)
                    .filter_map(|(name, need)| Some(inside(value.get(name)?, need, name)))
                    .flatten()
                    .collect();
            }
            "additionalProperties" => {
                return fields(value)
                    .filter(|(name, _)| !self.is_known(name, around))
                    .flat_map(|(name, part)| inside(part, need, name))
                    .collect();
            }
            "items" => {
                return list(value)
                    .iter()
                    .flat_map(|item| inside(item, need, "[]"))
                    .collect();
            }
            "prefixItems" => {
                return list(value)
                    .iter()
                    .zip(list(need))
                    .flat_map(|(item, need)| inside(item, need, "[]"))
                    .collect();
            }
            "allOf" => return each().flatten().collect(),
            "anyOf" => each().any(|faults| faults.is_empty()),
            "oneOf" => each().filter(Vec::is_empty).count() == 1,
            other => panic!("{place}: a rule that is not known here: {other}"),
        };
        fault(!is_met, || {
            let forms: Faults = if rule.ends_with("Of") {
                each().flatten().collect()
            } else {
                Vec::new()
            };
            format!("{place}: need {rule} {need}, found {value} {forms:?}")
        })
    }

    fn resolved(&self, reference: &Value) -> &'a Value {
        let place = reference.as_str().and_then(|text| text.strip_prefix('#'));
        let place = place.expect("a reference into the same schema");
        self.0.pointer(place).expect("references lead somewhere")
    }

    fn is_known(&self, name: &str, around: &[&Value]) -> bool {
        around.iter().any(|schema| self.has_field(schema, name))
    }

    fn has_field(&self, schema: &Value, name: &str) -> bool {
        let referred = schema.get("$ref").map(|reference| self.resolved(reference));
        let mut others = ["anyOf", "oneOf", "allOf"]
            .into_iter()
            .flat_map(|rule| list(&schema[rule]))
            .chain(referred);
        schema["properties"].get(name).is_some() || others.any(|other| self.has_field(other, name))
    }
}

type Faults = Vec<String>;

fn fault(is_one: bool, text: impl FnOnce() -> String) -> Faults {
    is_one.then(text).into_iter().collect()
}

fn is_of(value: &Value, types: &Value) -> bool {
    let is = |name: &Value| match name.as_str() {
        Some("integer") => value.is_u64() || value.is_i64(),
        // A number that is not finite is null.
        Some("number") => value.is_number() || value.is_null(),
        Some("string") => value.is_string(),
        Some("boolean") => value.is_boolean(),
        Some("null") => value.is_null(),
        Some("array") => value.is_array(),
        Some("object") => value.is_object(),
        _ => panic!("a type that is not known here: {name}"),
    };
    if types.is_array() {
        list(types).iter().any(is)
    } else {
        is(types)
    }
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

fn fields(value: &Value) -> impl Iterator<Item = (&String, &Value)> {
    value.as_object().into_iter().flatten()
}

#[test]
fn a_report_that_is_not_as_its_schema_says_is_found() {
    let sound = serde_json::json!({ "schema": "switchcost.doctor/1", "verdict": "fit", "checks": [
        { "name": "a", "found": "b", "wanted": "c", "severity": "caveat", "fix": "", "lasting_fix": "" },
    ] });
    conforms(&sound);
    for (place, wrong) in [
        ("/verdict", r#""well""#),
        ("/checks/0/fix", "null"),
        (
            "/checks/0",
            r#"{"name": "a", "found": "b", "wanted": "c", "severity": "caveat", "fix": ""}"#,
        ),
        (
            "/checks/0",
            r#"{"name": "a", "found": "b", "wanted": "c", "severity": "caveat", "fix": "", "lasting_fix": "", "more": 1}"#,
        ),
        ("/schema", r#""switchcost.doctor/0""#),
    ] {
        let mut value = sound.clone();
        *value.pointer_mut(place).expect(place) = serde_json::from_str(wrong).expect("JSON");
        let found = std::panic::catch_unwind(|| conforms(&value));
        assert!(found.is_err(), "{place}: {wrong}");
    }
}
