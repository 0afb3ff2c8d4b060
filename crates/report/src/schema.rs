//! JSON Schema of everything that is printed as JSON, made from the types that are printed: their fields, and what is said of them.

use schemars::generate::SchemaSettings;
use schemars::transform::{RecursiveTransform, Transform};
use schemars::{JsonSchema, Schema};
use serde_json::Value;
use switchcost_analysis::compare::{Comparison, History, InTurns};
use switchcost_record::Fitness;
use switchcost_record::observation::Observation;

use crate::for_programs::{Document, OutputFormat};
use crate::simulate::{Sample, at_once, orders, trials};
use crate::{inject, measure, observe, reproduce, simulate, trace};

/// The schemas of all reports, each with its name and version as the reports have it.
pub fn all() -> Vec<(&'static str, Schema)> {
    vec![
        of_document::<measure::json::Report<'_>>(),
        of_document::<observe::json::Report<'_>>(),
        of_document::<observe::interval::Interval<'_>>(),
        of::<Observation>(switchcost_record::observation::OBSERVATION_FORM),
        of_document::<inject::json::Report<'_>>(),
        of::<switchcost_record::profile::Profile>(switchcost_record::profile::PROFILE_SCHEMA),
        of::<switchcost_record::profile::Prices>(switchcost_record::profile::PRICES_SCHEMA),
        of_document::<&Comparison>(),
        of_document::<&InTurns>(),
        of_document::<&History>(),
        of::<Fitness>(switchcost_record::DOCTOR_SCHEMA),
        of_document::<&trace::Info<'_>>(),
        of_document::<&trace::Checked<'_>>(),
        of_document::<simulate::json::Report<'_>>(),
        of_document::<trials::Trials<'_>>(),
        of_document::<orders::Orders<'_>>(),
        of_document::<at_once::Report<'_>>(),
        of_document::<&Sample>(),
        of_document::<reproduce::json::Report<'_>>(),
        of_document::<reproduce::claims::Claims>(),
    ]
}

fn of_document<T: OutputFormat>() -> (&'static str, Schema) {
    of::<Document<T>>(T::NAME)
}

/// The schema of one form, whose field `schema` is its name.
pub fn of<T: JsonSchema>(name: &'static str) -> (&'static str, Schema) {
    let mut schema = SchemaSettings::draft2020_12()
        .for_serialize()
        .into_generator()
        .into_root_schema_for::<T>();
    schema.insert("title".to_owned(), name.into());
    let named = schema
        .pointer_mut("/properties/schema")
        .and_then(Value::as_object_mut);
    named
        .expect("each form says its name")
        .insert("const".to_owned(), name.into());
    RecursiveTransform(as_described).transform(&mut schema);
    (name, schema)
}

/// What is said of a type or field in our sources, as it is said to who reads JSON: there names are no links, and texts are escaped.
fn as_described(schema: &mut Schema) {
    let Some(Value::String(said)) = schema.get_mut("description") else {
        return;
    };
    let line = said.split_whitespace().collect::<Vec<_>>().join(" ");
    let replaced = [
        ("[`", "`"),
        ("`]", "`"),
        (". `None`", ". Null"),
        ("`None`", "null"),
        ("; hostile text until escaped", ""),
        ("; hostile data, made UTF-8 with replacement characters", ""),
        ("; hostile data", ""),
    ];
    *said = replaced
        .into_iter()
        .fold(line, |line, (from, to)| line.replace(from, to));
}
