//! Checks that printed JSON conforms to its schema. The check supports only the parts of JSON
//! Schema that are used, and refuses others.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use serde_json::{Map, Value};

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
    let mut faults = Vec::new();
    Checked {
        root,
        faults: &mut faults,
    }
    .all(value, root, &[], name);
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

struct Checked<'a> {
    root: &'a Value,
    faults: &'a mut Vec<String>,
}

impl<'a> Checked<'a> {
    /// Checks a value against a schema. `above` are schemas that also apply to the value: their
    /// fields are known, too.
    fn all(&mut self, value: &Value, schema: &'a Value, above: &[&'a Value], place: &str) {
        let Some(rules) = schema.as_object() else {
            return self.fault(schema == &Value::Bool(false), place, "nothing");
        };
        let around = [above, &[schema]].concat();
        for (rule, need) in rules {
            self.one(value, rule, need, &around, place);
        }
        if rules.contains_key("properties") && !rules.contains_key("additionalProperties") {
            self.fields_are_known(value, &around, place);
        }
    }

    fn one(
        &mut self,
        value: &Value,
        rule: &str,
        need: &'a Value,
        around: &[&'a Value],
        place: &str,
    ) {
        match rule {
            "$schema" | "$defs" | "title" | "description" | "format" | "default" => {}
            "$ref" => self.all(value, resolved(need, self.root), around, place),
            "const" => self.fault(value != need, place, &format!("{need}, found {value}")),
            "enum" => self.fault(
                !list(need).contains(value),
                place,
                &format!("one of {need}, found {value}"),
            ),
            "type" => self.fault(
                !is_of(value, need),
                place,
                &format!("{need}, found {value}"),
            ),
            "minimum" => self.fault(
                value.is_number() && value.as_f64() < need.as_f64(),
                place,
                &format!("{need} or more, found {value}"),
            ),
            "maximum" => self.fault(
                value.is_number() && value.as_f64() > need.as_f64(),
                place,
                &format!("{need} or less, found {value}"),
            ),
            "minItems" => self.fault(
                value.is_array() && (list(value).len() as u64) < number(need),
                place,
                &format!("{need} items or more"),
            ),
            "maxItems" => self.fault(
                list(value).len() as u64 > number(need),
                place,
                &format!("{need} items or less"),
            ),
            "required" => list(need)
                .iter()
                .filter_map(Value::as_str)
                .for_each(|name| {
                    self.fault(value.get(name).is_none(), place, name);
                }),
            "properties" => {
                for (name, field) in fields(need) {
                    value
                        .get(name)
                        .into_iter()
                        .for_each(|part| self.all(part, field, &[], &format!("{place}.{name}")));
                }
            }
            "additionalProperties" => {
                let others = value
                    .as_object()
                    .into_iter()
                    .flatten()
                    .filter(|(name, _)| !is_known(name, around, self.root));
                others
                    .for_each(|(name, part)| self.all(part, need, &[], &format!("{place}.{name}")));
            }
            "items" => list(value)
                .iter()
                .for_each(|item| self.all(item, need, &[], &format!("{place}[]"))),
            "prefixItems" => list(value).iter().zip(list(need)).for_each(|(item, need)| {
                self.all(item, need, &[], &format!("{place}[]"));
            }),
            "allOf" => list(need)
                .iter()
                .for_each(|need| self.all(value, need, around, place)),
            "anyOf" | "oneOf" => self.some(value, rule == "oneOf", list(need), around, place),
            other => panic!("{place}: a rule that is not known here: {other}"),
        }
    }

    fn some(
        &mut self,
        value: &Value,
        is_one: bool,
        needs: &'a [Value],
        around: &[&'a Value],
        place: &str,
    ) {
        let mut why = Vec::new();
        let fitting = needs.iter().filter(|need| {
            let mut faults = Vec::new();
            Checked {
                root: self.root,
                faults: &mut faults,
            }
            .all(value, need, around, place);
            why.append(&mut faults.clone());
            faults.is_empty()
        });
        let fitting = fitting.count();
        self.fault(
            fitting == 0 || (is_one && fitting > 1),
            place,
            &format!("{fitting} forms fit: {}", why.join("; ")),
        );
    }

    fn fields_are_known(&mut self, value: &Value, around: &[&'a Value], place: &str) {
        for name in value
            .as_object()
            .into_iter()
            .flatten()
            .map(|(name, _)| name)
        {
            self.fault(
                !is_known(name, around, self.root),
                place,
                &format!("no field {name}"),
            );
        }
    }

    fn fault(&mut self, is_one: bool, place: &str, need: &str) {
        if is_one {
            self.faults.push(format!("{place}: need {need}"));
        }
    }
}

fn resolved<'a>(reference: &Value, root: &'a Value) -> &'a Value {
    let place = reference
        .as_str()
        .and_then(|text| text.strip_prefix('#'))
        .expect("a reference into the same schema");
    root.pointer(place).expect("references lead somewhere")
}

fn is_known(name: &str, around: &[&Value], root: &Value) -> bool {
    around.iter().any(|schema| has_field(schema, name, root))
}

fn has_field(schema: &Value, name: &str, root: &Value) -> bool {
    let others = ["anyOf", "oneOf", "allOf"]
        .into_iter()
        .flat_map(|rule| list(&schema[rule]));
    let referred = schema
        .get("$ref")
        .map(|reference| resolved(reference, root));
    schema["properties"].get(name).is_some()
        || others
            .chain(referred)
            .any(|other| has_field(other, name, root))
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

fn fields(value: &Value) -> &Map<String, Value> {
    value.as_object().expect("an object")
}

fn number(value: &Value) -> u64 {
    value.as_u64().expect("a count")
}

#[test]
fn a_report_that_is_not_as_its_schema_says_is_found() {
    let sound = serde_json::json!({ "schema": "switchcost.doctor/1", "verdict": "fit", "checks": [
        { "name": "a", "found": "b", "wanted": "c", "severity": "caveat", "fix": "", "lasting_fix": "" },
    ] });
    conforms(&sound);
    let faults = |change: fn(&mut Value)| {
        let mut value = sound.clone();
        change(&mut value);
        std::panic::catch_unwind(|| conforms(&value)).is_err()
    };
    assert!(
        faults(|value| value["verdict"] = "well".into()),
        "a text that is not in the list"
    );
    assert!(
        faults(|value| value["checks"][0]["fix"] = Value::Null),
        "null"
    );
    assert!(
        faults(|value| value["checks"][0]["more"] = 1.into()),
        "an unknown field"
    );
    assert!(
        faults(|value| drop(
            value
                .as_object_mut()
                .and_then(|fields| fields.remove("checks"))
        )),
        "one that is missing"
    );
    assert!(
        faults(|value| value["schema"] = "switchcost.doctor/0".into()),
        "another version"
    );
}
